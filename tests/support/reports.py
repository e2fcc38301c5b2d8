"""A run's report for tests: realistic, every part replaceable."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from navci.model import (
    CheckResult,
    End,
    ExitSignal,
    Gaps,
    Gate,
    GateDecision,
    Indicator,
    Indicators,
    Iteration,
    Judgement,
    Memory,
    Observation,
    Phase,
    Reading,
    Receipt,
    Rules,
    Strategy,
    Task,
    TestReport,
    Totals,
    Usage,
    Verdict,
)
from navci.outcome import RunReport

STARTED = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
GAP = "test:tests.test_prime::test_one"


def readings(*met: Indicator) -> Indicators:
    """Six readings: ``met`` met, no ticket, the rest unmet."""
    known = {name: Reading(name in met, "measured") for name in Indicator}
    return {**known, Indicator.TICKET_CLOSED: Reading(None, "no ticket")}


def check(
    passed: bool = False, name: str = "tests", why: str = "1 of 3 tests failed"
) -> CheckResult:
    """A check with a report of three tests."""
    receipt = Receipt(
        check=name,
        contract="c" * 64,
        definition="d" * 64,
        tree="e" * 40,
        commit="f" * 40,
        started="2026-03-04T05:06:08Z",
        ended="2026-03-04T05:06:09Z",
        exit_code=0 if passed else 1,
    )
    totals = Totals(3, 3) if passed else Totals(3, 2, 1)
    verdict = Verdict.PASSING if passed else Verdict.FAILING
    report = TestReport(verdict, (), totals)
    return CheckResult(name, passed, why if not passed else "", receipt, report, seconds=1.25)


def iteration(number: int, gaps: Gaps, **judged: Any) -> Iteration:
    """One judged iteration with ``gaps``; ``judged`` replaces parts of its judgement."""
    decision = GateDecision.CONTINUE if gaps else GateDecision.EXIT
    values: dict[str, Any] = {
        "iteration": number,
        "phase": Phase.IMPL,
        "progress": 54,
        "gate": Gate(decision, "more work needed", 1, 5, 2),
        "state_hash": "a7b3c9",
        "previous_hash": None,
        "counter": 1,
        "failure": bool(gaps),
        "verify_failure": False,
        "progressed": False,
        "signature": None,
        "warning": False,
        "event": False,
        "strategy": None,
        "end": None,
        "reason": "",
        "next_action": "Run tests",
        "memory": Memory(streak=number, verify_failures=1),
    }
    observation = Observation(
        iteration=number,
        contract="c" * 64,
        indicators=readings(Indicator.CODE_COMMITTED),
        gaps=gaps,
        signal=None if gaps else ExitSignal(True, False, "done"),
        files_read=("src/prime.py",),
    )
    return Iteration(
        number,
        observation,
        Judgement(**{**values, **judged}),
        checks=(check(passed=not gaps),),
    )


def make_report(end: End | None = End.STAGNATED, **changes: Any) -> RunReport:
    """Three iterations of a run about ``is_prime`` that ended ``end``."""
    complete = end is End.COMPLETE
    gaps = Gaps() if complete else Gaps(chk=frozenset({"check:tests", GAP}))
    red = Gaps(chk=frozenset({"check:tests", GAP}))
    event = {"event": True, "strategy": Strategy.COMBINE, "counter": 3}
    report = RunReport(
        task=Task("TASK-12", "Fix is_prime", "Make `is_prime(1)` false.\n\n- [ ] tests pass"),
        run_id="run-1",
        started=STARTED,
        updated=STARTED.replace(minute=9),
        rules=Rules(max_iterations=12),
        indicators=readings(Indicator.CODE_COMMITTED, Indicator.TESTS_PASSING)
        if complete
        else readings(Indicator.CODE_COMMITTED),
        base="1" * 40,
        base_branch="main",
        branch="navci/TASK-12",
        run_dir=Path("/run"),
        end=end,
        reason="three times the same state" if end else "",
        commit="2" * 40,
        iterations=(iteration(1, red), iteration(2, red, **event), iteration(3, gaps)),
        gaps=gaps,
        excerpts={} if complete else {GAP: "assert is_prime(1) is False\nE  assert True"},
        checks=(check(passed=complete),),
        spent=Usage(0.25, 1200),
        seconds=182.0,
        strategies=(Strategy.COMBINE,),
        verify_failures=1,
        files_changed=("src/prime.py",),
        commits=3,
        agent="playbook",
        version="0.1.0",
        kept_refs=("refs/navci/TASK-12",),
    )
    return replace(report, **changes)
