"""The exit gate's table, Navigator's cases 1 to 6, and the approval gate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navci.judge.gate import approval_due, count, count_readings, decide
from navci.model import Gaps, GateDecision, Indicator, Reading, Rules
from tests.support.observations import ANY_GAPS, gaps

EXIT, BLOCKED, CONTINUE = GateDecision.EXIT, GateDecision.BLOCKED, GateDecision.CONTINUE
NONE, SOME = Gaps(), gaps("A", "check:tests", "test:t::x")


@pytest.mark.parametrize(
    ("met", "signal", "found", "require", "decision", "reason"),
    [
        (2, True, NONE, True, EXIT, "EXIT: 2/6 heuristics + explicit signal"),
        (2, True, SOME, True, BLOCKED, "BLOCKED: Exit signal but 3 gaps, first A"),
        (1, True, NONE, True, BLOCKED, "BLOCKED: Exit signal but only 1/6 heuristics"),
        (1, True, SOME, True, BLOCKED, "BLOCKED: Exit signal but only 1/6 heuristics"),
        (2, False, NONE, True, CONTINUE, "CONTINUE: 2/6 heuristics, awaiting EXIT_SIGNAL"),
        (2, False, SOME, True, CONTINUE, "CONTINUE: 2/6 heuristics, awaiting EXIT_SIGNAL"),
        (2, False, NONE, False, EXIT, "EXIT: 2/6 heuristics (explicit signal not required)"),
        (2, False, SOME, False, CONTINUE, "CONTINUE: 2/6 heuristics, 3 gaps, first A"),
        (1, False, NONE, True, CONTINUE, "CONTINUE: 1/6 heuristics, no exit signal"),
        (1, False, NONE, False, CONTINUE, "CONTINUE: 1/6 heuristics, no exit signal"),
        (6, False, NONE, True, CONTINUE, "CONTINUE: 6/6 heuristics, awaiting EXIT_SIGNAL"),
    ],
)
def test_table(
    met: int, signal: bool, found: Gaps, require: bool, decision: GateDecision, reason: str
) -> None:
    gate = decide(met, 6, signal=signal, gaps=found, require_signal=require)
    assert (gate.decision, gate.reason) == (decision, reason)
    assert (gate.met, gate.total, gate.required) == (met, 6, 2)


def test_refused_claim_names_the_only_gap() -> None:
    gate = decide(3, 5, signal=True, gaps=gaps("check:tests"))
    assert gate.reason == "BLOCKED: Exit signal but 1 gap, first check:tests"


def test_nothing_given_is_none_of_six() -> None:  # case 1; an older Navigator said 0/5
    gate = decide(*count([]), signal=True)
    assert gate.reason == "BLOCKED: Exit signal but only 0/6 heuristics"


def test_two_given_and_met_await_the_signal() -> None:  # cases 2 and 3
    assert decide(*count([True, True]), signal=False).decision is CONTINUE
    assert decide(*count([True, True]), signal=False, require_signal=False).decision is EXIT


def test_no_minimum_lets_a_lone_signal_exit() -> None:  # case 5
    assert decide(*count([]), signal=True, required=0).decision is EXIT


def test_not_applicable_leaves_the_total() -> None:
    readings = {
        Indicator.CODE_COMMITTED: Reading(True, ""),
        Indicator.TESTS_PASSING: Reading(None, "no checks"),
        Indicator.DOCS_UPDATED: Reading(False, ""),
    }
    assert count_readings(readings) == (1, 2)
    assert count([None, None]) == (0, 0)


def test_only_gaps_stop_a_claim_that_navigator_lets_pass() -> None:
    assert decide(6, 6, signal=True).decision is EXIT
    assert decide(6, 6, signal=True, gaps=gaps("guard:ci.yml")).decision is BLOCKED


@pytest.mark.parametrize(
    ("approval", "interval", "asked_at"),
    [
        ("none", 3, []),
        ("strict", 3, [1, 2, 3, 4, 5, 6]),
        ("periodic", 3, [3, 6]),
        ("periodic", 1, [1, 2, 3, 4, 5, 6]),
        ("periodic", 0, []),
    ],
)
def test_approval(approval: str, interval: int, asked_at: list[int]) -> None:
    rules = Rules(approval=approval, approval_interval=interval)
    assert [number for number in range(1, 7) if approval_due(number, rules)] == asked_at


@given(st.integers(0, 6), st.integers(0, 7), st.booleans(), st.booleans(), ANY_GAPS, ANY_GAPS)
def test_more_indicators_and_fewer_gaps_are_never_worse(
    met: int, required: int, signal: bool, require: bool, some: Gaps, more: Gaps
) -> None:
    worth = {BLOCKED: 0, CONTINUE: 1, EXIT: 2}

    def worth_of(met: int, found: Gaps) -> int:
        gate = decide(met, 6, signal=signal, gaps=found, required=required, require_signal=require)
        assert gate.decision is not EXIT or not found
        return worth[gate.decision]

    both = Gaps(some.acc | more.acc, some.chk | more.chk)
    assert worth_of(met, both) <= worth_of(met, some) <= worth_of(met + 1, some)
    assert worth_of(met, some) <= worth_of(met, Gaps())
