"""JUnit reports as evidence: what a check's tests say, and whether that can be believed.

A report that is missing, cut off, too deep, in another format or written with entities is
*unusable*: never passing, always with the reason. The rules R0 to R11 are DESIGN §5's.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from navci.evidence.junit_ids import Namer
from navci.evidence.junit_reader import read_file
from navci.evidence.junit_tally import Tally
from navci.model import TestReport, Totals, Verdict
from navci.system import neutral

_REASONS = 20
_NAMED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class FileReport:
    """What one file says on its own. ``red`` are the ids of tests that failed or errored."""

    path: str
    verdict: Verdict
    reasons: tuple[str, ...]
    totals: Totals
    red: tuple[str, ...] = ()
    oddities: tuple[str, ...] = ()


def read_reports(paths: Sequence[Path], root: Path) -> TestReport:
    """All reports of one run of a check, taken together; ids and names are relative to ``root``.

    Any file that cannot be used makes the whole *unusable*, whatever the others say; what the
    others hold is kept, so that people and the agent see it. Never raises for what is in a file.
    """
    report, _ = _read_all(paths, root, names=True, each=False)
    return report


def survey_reports(paths: Sequence[Path], root: Path) -> tuple[TestReport, tuple[FileReport, ...]]:
    """The same for a person, and what each file says on its own; red tests are always named.

    Over 16 MiB of reports passed and skipped tests are counted, not named: ``passed``,
    ``skipped``, ``repeated``, ``acceptance`` and ``digests`` of the report are empty.
    """
    names = sum(_size(path) for path in paths) <= _NAMED_BYTES
    return _read_all(paths, root, names=names, each=True)


def relative_name(path: Path, root: Path) -> str:
    """``path`` seen from ``root``, or itself when elsewhere; bytes that are no UTF-8 as escapes."""
    name = os.path.relpath(path, root) if path.is_absolute() else str(path)
    if name.startswith(".."):
        name = str(path)
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _read_all(
    paths: Sequence[Path], root: Path, *, names: bool, each: bool
) -> tuple[TestReport, tuple[FileReport, ...]]:
    namer = Namer(root)
    total = Tally.empty(names=names)
    unusable: list[str] = []
    digests: dict[str, str] = {}
    files: list[FileReport] = []
    paths = list(dict.fromkeys(paths))
    for path in paths:
        name = relative_name(path, root)
        shown = neutral.show_path(name)
        tally, digest, problem = read_file(path, namer, names=names)
        if digest:
            digests[name] = digest
        if tally is None:
            unusable.append(f"{shown}: {problem}")
            files.append(FileReport(name, Verdict.UNUSABLE, (problem,), Totals()))
            continue
        if len(paths) > 1:
            total.merge(tally, shown)
        if each:
            files.append(_on_its_own(name, tally))
        if len(paths) == 1:  # one big report is neither held nor settled twice
            total = tally
            total.name_source(shown)
    return _together(total, unusable, digests, len(paths)), tuple(files)


def _on_its_own(name: str, tally: Tally) -> FileReport:
    tally.settle()
    verdict, reasons = _judge(tally, [], 1)
    return FileReport(
        name, verdict, tuple(reasons), _totals(tally), tuple(tally.red), tuple(tally.oddities)
    )


def _together(total: Tally, unusable: list[str], digests: dict[str, str], files: int) -> TestReport:
    settled = total.settle()
    verdict, reasons = _judge(total, unusable, files)
    return TestReport(
        verdict=verdict,
        reasons=tuple(reasons),
        totals=_totals(total),
        passed=settled.passed,
        red=total.red,
        skipped=settled.skipped,
        unloaded=frozenset(total.unloaded.values()),
        digests=digests,
        oddities=tuple(total.oddities),
        repeated=settled.repeated,
        acceptance={value: frozenset(tests) for value, tests in total.acceptance.items()},
    )


def _totals(tally: Tally) -> Totals:
    _, skipped, failed, errored = tally.counts
    return Totals(tally.cases, tally.passed_cases, failed, errored, skipped, tally.flaky)


def _judge(total: Tally, unusable: list[str], files: int) -> tuple[Verdict, list[str]]:
    _, _, failed, errored = total.counts
    reasons = _first(unusable)
    if failed or errored:
        reasons.append(_count_red(total))
    reasons += _first(total.failures)
    if unusable:
        return Verdict.UNUSABLE, reasons
    if failed or errored or total.failures:
        return Verdict.FAILING, reasons
    if not files:
        return Verdict.UNUSABLE, ["there is no report"]
    if total.doubts:
        return Verdict.UNUSABLE, _first(total.doubts)
    if not total.cases:
        return Verdict.UNUSABLE, ["no report holds a testcase: nothing ran"]
    if not total.passed_cases:
        return Verdict.UNUSABLE, [f"no test passed: {total.cases} of {total.cases} were skipped"]
    return Verdict.PASSING, []


def _count_red(total: Tally) -> str:
    _, _, failed, errored = total.counts
    parts = [f"{n} {word}" for n, word in ((failed, "failed"), (errored, "errored")) if n]
    first = neutral.one_line(next(iter(total.red), ""), 200)
    tests = "1 test" if total.cases == 1 else f"{total.cases} tests"
    where = f" in {total.first_red}" if total.first_red else ""
    return f"{' and '.join(parts)} of {tests}, first: {first}{where}"


def _first(reasons: list[str]) -> list[str]:
    unique = list(dict.fromkeys(reasons))
    rest = len(unique) - _REASONS
    return unique[:_REASONS] + ([f"… and {rest} more of this kind"] if rest > 0 else [])


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0
