"""A test that was green and is red now: its check runs once more before an agent is sent after it.

One full run decides, never a mixture of two: the second one's result counts as a whole, so what
an exit rests on was green all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from navci.loop.run import Run
from navci.model import CheckResult

_SHOWN = 5


def settled(run: Run, first: CheckResult, again: Callable[[], CheckResult]) -> CheckResult:
    """``first``, or the result of running the check ``again`` on the same tree.

    Only where a test turned red whose last verdict was passed, and where there is time.
    """
    turned = _turned(run, first)
    if not turned or run.stop.requested or run.seconds_left < 2 * first.seconds:
        return _remembered(run, first)
    second = again()
    if run.stop.requested or second.report is None or second.blind or first.report is None:
        return _remembered(run, first)
    flaky = sorted(set(first.report.red) & second.report.passed)
    if not flaky:
        return _remembered(run, first)
    for test in flaky[:_SHOWN]:
        run.note(f"flaky: {test} was red, and green when run again on the same tree")
    why = f"{second.why}; flaky: {_named(flaky)}"
    return _remembered(run, replace(second, why=why, seconds=first.seconds + second.seconds))


def _turned(run: Run, result: CheckResult) -> set[str]:
    """The tests red in ``result`` whose last verdict was passed."""
    report = result.report
    if result.passed or report is None or result.changed:
        return set()
    return set(report.red) & _green(run, result.check)


def _green(run: Run, check: str) -> frozenset[str]:
    """The tests whose last verdict was passed, in this process's results or the baseline's."""
    if check in run.green:
        return run.green[check]
    facts = run.baseline.checks if run.baseline else ()
    return frozenset().union(*(one.passing for one in facts if one.check == check))


def _remembered(run: Run, result: CheckResult) -> CheckResult:
    """``result``, whose verdicts are from now on the last ones."""
    report = result.report
    if report is not None and not result.blind:
        before = _green(run, result.check)
        run.green[result.check] = (before | report.passed).difference(report.red)
    return result


def _named(tests: Iterable[str]) -> str:
    names = list(tests)
    more = f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else ""
    return ", ".join(names[:_SHOWN]) + more
