"""What navci makes of JUnit reports, as text for a person and as JSON for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from navci.evidence.junit import FileReport
from navci.model import TestReport, Totals, Verdict
from navci.system.neutral import one_line, plain, show_path
from navci.system.templates import render

_RED, _LINES, _WIDTH, _FILES, _NOTES = 20, 12, 160, 30, 20
_NEXT = {
    Verdict.PASSING: "A check whose command exits 0 with these reports passes.",
    Verdict.FAILING: "A check with these reports is red, even when its command exits 0: "
    "mend what is named above and run the tests again.",
    Verdict.UNUSABLE: "These reports prove nothing, so a check with them is red: "
    "mend what the reasons name and run the tests again.",
}


def headline(report: TestReport, files: Sequence[FileReport]) -> str:
    """Verdict, files and totals in one line."""
    said = show_path(files[0].path) if len(files) == 1 else f"{len(files):,} files"
    return f"{report.verdict}: {said}, {_counted(report.totals)}"


def describe(report: TestReport, files: Sequence[FileReport]) -> str:
    """Everything below the headline: reasons, red tests with excerpts, files, oddities."""
    several = files if len(files) > 1 else ()
    odd_files = [file for file in several if file.verdict is not Verdict.PASSING or file.oddities]
    listed = list(several) if len(several) <= _FILES else odd_files[:_FILES]
    oddities = _oddities(report, files)
    where = _first_files(several)
    return render(
        "junit_report.j2",
        reasons=[one_line(reason, 500) for reason in report.reasons],
        red=[
            {
                "id": one_line(test, 300),
                "file": show_path(where.get(test, "")),
                "lines": _lines(excerpt),
            }
            for test, excerpt in islice(report.red.items(), _RED)
        ],
        more_red=max(0, len(report.red) - _RED),
        files=[
            {
                "verdict": file.verdict,
                "path": show_path(file.path),
                "totals": _counted(file.totals),
                "why": _why_alone(file, report),
            }
            for file in listed
        ],
        more_files=len(several) - len(listed),
        more_odd=max(0, len(odd_files) - len(listed)),
        oddities=oddities[:_NOTES],
        more_oddities=max(0, len(oddities) - _NOTES),
        next_step=_NEXT[report.verdict],
    )


def json_pieces(report: TestReport, files: Sequence[FileReport]) -> Iterator[str]:
    """One JSON object, in ASCII; the totals are keys of their own, for all files and for each.

    Ids and paths are told exactly as they are: control characters are escapes in JSON. In pieces,
    so that a million red tests are not held twice.
    """
    value = {
        "verdict": report.verdict,
        "reasons": report.reasons,
        **_totals(report.totals),
        "oddities": report.oddities,
        "files": [
            {
                "path": file.path,
                "verdict": file.verdict,
                "reasons": file.reasons,
                **_totals(file.totals),
                "failed_ids": file.red,
                "oddities": file.oddities,
            }
            for file in files
        ],
    }
    for piece in json.JSONEncoder(indent=2).iterencode(value):
        # The runner takes `##[name]` anywhere in a line for a command; escaped, JSON reads the
        # same, and a piece never ends inside a string.
        yield piece.replace("##[", "\\u0023\\u0023[")
    yield "\n"


def _totals(totals: Totals) -> dict[str, int]:
    return {
        "tests": totals.tests,
        "passed": totals.passed,
        "failed": totals.failed,
        "errored": totals.errored,
        "skipped": totals.skipped,
        "flaky": totals.flaky,
    }


def _counted(totals: Totals) -> str:
    """``3 tests: 2 passed, 1 failed``; flaky tests are among the passed."""
    tests = "1 test" if totals.tests == 1 else f"{totals.tests:,} tests"
    if not totals.tests:
        return "no tests"
    counts = _totals(totals)
    flaky = f" ({counts['flaky']:,} flaky)" if totals.flaky else ""
    parts = [f"{totals.passed:,} passed{flaky}"]
    parts += [f"{counts[k]:,} {k}" for k in ("failed", "errored", "skipped") if counts[k]]
    return f"{tests}: {', '.join(parts)}"


def _why_alone(file: FileReport, report: TestReport) -> str:
    """Why a file proves nothing on its own, where that is not why the whole proves nothing."""
    if file.verdict is not Verdict.UNUSABLE or report.verdict is Verdict.UNUSABLE:
        return ""
    return one_line(file.reasons[0])


def _oddities(report: TestReport, files: Sequence[FileReport]) -> list[str]:
    """With the file they are about, and those that only show in all files together."""
    if len(files) == 1:
        return [one_line(note, 500) for note in report.oddities]
    known = {note for file in files for note in file.oddities}
    together = [note for note in report.oddities if note not in known]
    notes = [f"{show_path(file.path)}: {note}" for file in files for note in file.oddities]
    return [one_line(note, 500) for note in (*together, *notes)]


def _first_files(files: Sequence[FileReport]) -> Mapping[str, str]:
    """For every red test the first file that has it red."""
    return {test: file.path for file in reversed(files) for test in file.red}


def _lines(excerpt: str) -> list[str]:
    lines = [line[:_WIDTH] for line in plain(excerpt).split("\n") if line.strip()]
    left = len(lines) - _LINES
    return lines if left <= 0 else [*lines[:_LINES], f"… {left} more lines"]
