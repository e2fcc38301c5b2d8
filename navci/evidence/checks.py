"""Running a check, and saying in one sentence what it proved (DESIGN §5).

A check passes when its command exited 0 and, where it names JUnit reports, every report was made by
this run, is well-formed, and holds at least one passed and no red test. Everything else is red.
"""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from navci.evidence.junit import read_reports
from navci.evidence.junit_files import Found, ReportGlobs, clear, fresh
from navci.model import CheckFacts, CheckResult, CheckSpec, Receipt, TestReport, Verdict
from navci.system import neutral
from navci.system.canonical import digest
from navci.system.clock import Clock, iso, show_duration
from navci.system.files import append_text
from navci.system.globs import match_glob
from navci.system.process import CannotStart, Finished, StopFlag, run
from navci.system.programs import program

OUTPUT_LIMIT = 32 << 20
"""Bytes of a check's output that are kept, and its end: checks run often, and disks are small."""

_EXCERPT_LINES = 30
_EXCERPT_LIMIT = 4_000
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CheckPlace:
    """Where checks run: in ``cwd`` inside the repository ``repo``, with exactly ``env``.

    ``folder`` gets their output; ``tracked`` are the files git tracks, relative to ``repo``.
    """

    cwd: Path
    repo: Path
    env: Mapping[str, str]
    folder: Path
    tracked: frozenset[str] = frozenset()


def run_check(
    spec: CheckSpec,
    place: CheckPlace,
    *,
    contract: str,
    tree: str,
    commit: str,
    clock: Clock,
    stop: StopFlag | None = None,
    on_line: Callable[[str], object] | None = None,
    changed_files: Callable[[], tuple[str, ...]] = tuple,
    deadline: float | None = None,
) -> CheckResult:
    """Run ``spec`` on the tree as it lies in the work tree; a red result is a result, not an error.

    ``deadline`` is what is left of the step, in seconds; the check's own limit may be shorter.
    ``changed_files`` is asked once, afterwards: the files of the tree that the check changed.

    Raises :class:`~navci.errors.ConfigError` for a JUnit glob that is absolute or leaves the
    repository.
    """
    globs = ReportGlobs(spec.junit, place.cwd, place.repo)
    receipt = Receipt(spec.id, contract, definition(spec), tree, commit, iso(clock.now()), "", None)
    before = globs.find()
    limit = spec.timeout if deadline is None else min(spec.timeout, deadline)
    problem = clear(before, place.repo, place.tracked)
    if problem is None:
        place.folder.mkdir(parents=True, exist_ok=True)
        output = output_file(spec, place.folder)
        try:
            finished = run(
                [program("bash"), "-eo", "pipefail", "-c", spec.command],
                cwd=place.cwd,
                env=place.env,
                output=output,
                max_output=OUTPUT_LIMIT,
                deadline=max(limit, 0.0),
                on_line=on_line,
                stop=stop,
            )
        except CannotStart as error:
            problem = f"`{_command(spec)}` could not start: {error}"
    if problem is not None:
        ended = replace(receipt, ended=iso(clock.now()))
        return CheckResult(spec.id, False, problem, ended, blind=bool(spec.junit))
    if finished.truncated:
        with contextlib.suppress(OSError):  # the end says most; what is lost is noted anyway
            append_text(output, f"\n[navci: cut here; the end follows]\n{finished.tail}")
    after = globs.find()
    paths = fresh(before, after, place.tracked)
    report = read_reports([place.repo / p for p in paths], place.repo) if spec.junit else None
    changed = _void(changed_files(), spec)
    nowhere = _why_no_report(spec, paths, after, place.tracked)
    passed, why = judge_run(spec, finished, report, limit, nowhere)
    if changed:
        named = ", ".join(neutral.show_path(path) for path in changed[:_SHOWN])
        rest = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
        void = f"it changed files of the repository, which makes it void: {named}{rest}"
        passed, why = False, f"`{_command(spec)}`: {void}" if passed else f"{why}; also, {void}"
    return CheckResult(
        check=spec.id,
        passed=passed,
        why=why,
        receipt=replace(
            receipt,
            ended=iso(clock.now()),
            exit_code=None if finished.interrupted else finished.exit_code,
            timed_out=finished.timed_out,
            report_digests=report.digests if report else {},
        ),
        report=report if paths else None,
        excerpt=_excerpt(finished),
        changed=changed,
        seconds=finished.seconds,
        blind=report is not None and (not paths or report.verdict is Verdict.UNUSABLE),
    )


def output_file(spec: CheckSpec, folder: Path) -> Path:
    """Where in ``folder`` the output of ``spec`` goes."""
    return folder / f"check-{re.sub(r'[^A-Za-z0-9_.-]', '_', spec.id)}.out"


def judge_run(
    spec: CheckSpec, finished: Finished, report: TestReport | None, limit: float, nowhere: str
) -> tuple[bool, str]:
    """Whether a finished check passed, and the sentence that says why.

    ``nowhere`` says why there is no report, when there is none although some were expected.
    """
    command = f"`{_command(spec)}`"
    if finished.interrupted:
        return False, f"{command} was interrupted"
    if finished.timed_out:
        return False, f"{command} timed out after {show_duration(limit)}; its processes were ended"
    ended = f"{command} {_ended(finished.exit_code)}"
    if report is None:
        return finished.exit_code == 0, ended
    if nowhere and finished.exit_code != 0:
        return False, f"{ended}, and {nowhere}"
    if nowhere:
        return False, f"{nowhere} after {ended}; set `junit:` or remove it to judge by exit code"
    said = report.reasons[0] if report.reasons else ""
    match report.verdict, finished.exit_code:
        case Verdict.PASSING, 0:
            return True, f"{command} exited 0, {_tests(report.totals.passed)} passed"
        case Verdict.PASSING, _:
            green = f"although its report is green ({_tests(report.totals.passed)} passed)"
            return False, f"{ended}, {green}; its output says what else went wrong"
        case Verdict.FAILING, 0:
            return False, f"{ended}, but its report says otherwise: {said}"
        case Verdict.FAILING, _:
            return False, f"{ended}: {said}"
        case _, 0:
            return False, f"{ended}, but its JUnit report proves nothing: {said}"
        case _:
            return False, f"{ended}, and its JUnit report proves nothing: {said}"


def to_facts(result: CheckResult) -> CheckFacts:
    """What decisions need of a result. Modules that did not load are not tests, so not ``red``."""
    report = result.report
    if report is None:
        return CheckFacts(result.check, result.passed, result.why, blind=result.blind)
    return CheckFacts(
        check=result.check,
        passed=result.passed,
        why=result.why,
        red=frozenset(report.red) - report.unloaded,
        passing=report.passed,
        unloaded=report.unloaded,
        skipped=report.skipped,
        acceptance=report.acceptance,
        blind=result.blind,
    )


def baseline_must_pass(result: CheckResult) -> frozenset[str]:
    """The tests that ran on the base commit, passed or red: each must be *passed* at the end."""
    facts = to_facts(result)
    return facts.passing | facts.red


def receipt_stands(receipt: Receipt, contract: str, tree: str, spec: CheckSpec) -> bool:
    """Whether ``receipt`` still says what running ``spec`` on ``tree`` would: red or green.

    A check that could not start, was interrupted or ran out of time said nothing about the tree.
    """
    return (
        receipt.exit_code is not None
        and not receipt.timed_out
        and (receipt.check, receipt.contract, receipt.tree) == (spec.id, contract, tree)
        and receipt.definition == definition(spec)
    )


def definition(spec: CheckSpec) -> str:
    """The SHA-256 of what a check is; a changed check is another check."""
    return digest(spec)


def _void(changed: tuple[str, ...], spec: CheckSpec) -> tuple[str, ...]:
    return tuple(p for p in changed if not any(match_glob(p, glob) for glob in spec.may_write))


def _why_no_report(spec: CheckSpec, paths: list[str], after: Found, tracked: frozenset[str]) -> str:
    """Why there is no report to read; empty when there is one."""
    if paths:
        return ""
    globs = ", ".join(f"`{neutral.one_line(glob, 80)}`" for glob in spec.junit)
    nothing = f"no JUnit report matched {globs}"
    kept = [path for path in after.files if path in tracked]
    for paths, why in (
        (kept, "is tracked by git and therefore no report"),
        (after.links, "is a symbolic link to a folder and not followed"),
        (after.closed, "cannot be read"),
    ):
        if paths:
            return f"{nothing} ({neutral.show_path(paths[0], 100)} {why})"
    return nothing


def _ended(code: int) -> str:
    if code == 126:
        return "exited 126: a command in it is not executable"
    if code == 127:
        return "exited 127: a command in it was not found"
    if code - 128 in signal.valid_signals():
        return f"exited {code}: killed by signal {code - 128} ({_signal_name(code - 128)})"
    return f"exited {code}"


def _tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "a real-time signal"


def _command(spec: CheckSpec) -> str:
    return neutral.one_line(spec.command, 120).replace("`", "'")


def _excerpt(finished: Finished) -> str:
    """The last lines of the output, and what navci has to say about the run."""
    lines = neutral.plain(finished.tail).rstrip().split("\n")[-_EXCERPT_LINES:]
    if finished.truncated:
        lines.append("[navci: the output was too long to be kept whole]")
    lines += [f"[navci: {note}]" for note in finished.notes]
    return neutral.excerpt("\n".join(lines), _EXCERPT_LIMIT)
