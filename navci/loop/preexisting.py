"""Tests of the baseline that need not pass: allowed to vanish, or red before and tolerated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from navci.model import Baseline, CheckResult, Verdict
from navci.settings import Settings

_COULD_NOT_RUN = 126


def may_vanish(globs: Iterable[str]) -> Callable[[str], bool]:
    """Whether a test is one that ``allow_removed_tests`` names: as it is written, or as a glob."""
    wanted = tuple(globs)
    exact = frozenset(wanted)
    return lambda test: test in exact or any(fnmatchcase(test, glob) for glob in wanted)


def wanted_baseline(baseline: Baseline | None, settings: Settings) -> Baseline | None:
    """The baseline without the tests that may vanish. One that is there and red is a gap still."""
    globs = settings.allow_removed_tests
    if baseline is None or not globs:
        return baseline
    allowed = may_vanish(globs)
    must_pass = {
        check: frozenset(test for test in tests if not allowed(test))
        for check, tests in baseline.must_pass.items()
    }
    return replace(baseline, must_pass=must_pass)


def tolerated(baseline: Baseline | None, settings: Settings) -> frozenset[str]:
    """Tests red at baseline that may stay so, where the settings say that.

    One that an acceptance item is bound to is none of the test gaps either, but the item then is
    not true: that gap stays.
    """
    if baseline is None or not settings.tolerate_baseline_failures:
        return frozenset()
    return frozenset(test for facts in baseline.checks for test in facts.red)


def forgiven(result: CheckResult, allowed: frozenset[str]) -> CheckResult:
    """``result``, passed when it is red only for tests in ``allowed``.

    Its report has to be usable and hold a passed test, and its command to have ended by itself,
    with the exit code of a program that says "some failed" rather than one that could not run.
    """
    report, receipt = result.report, result.receipt
    if not allowed or result.passed or report is None or result.changed or receipt.timed_out:
        return result
    ended = receipt.exit_code is not None and receipt.exit_code < _COULD_NOT_RUN
    only = report.verdict is Verdict.FAILING and report.red and allowed.issuperset(report.red)
    if not (ended and only and report.passed) or report.unloaded:
        return result
    count = len(report.red)
    tests = "1 test that was" if count == 1 else f"{count} tests that were"
    why = f"red only in {tests} red at baseline, which the settings tolerate"
    return replace(result, passed=True, why=f"{why}; {len(report.passed)} passed")
