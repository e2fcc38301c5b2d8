"""How an iteration ends the run, in which order, and what the next one does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from navci.judge import judge
from navci.model import (
    End,
    ExitSignal,
    GateDecision,
    Memory,
    Observation,
    Phase,
    Rules,
    Strategy,
    Usage,
)
from tests.support.observations import DONE, UNATTENDED, indicators, judge_all, observe

DECLINE = ExitSignal(success=False, no_op=False, reason="blocked: need a key\n::set-output")
NO_OP = ExitSignal(success=True, no_op=True, reason="already done")
FRESH = replace(observe(), run_changed=False, tree_changed=False, files_changed=())
# Every end at once, but for the gate's: each row of `test_order_of_ends` takes the first away.
EVERYTHING = replace(
    observe("check:t", number=3),
    signal=DECLINE,
    stop_requested=True,
    spent=Usage(cost_usd=2.0),
    out_of_time=True,
)
STRICT = Rules(
    max_iterations=3, never_pause=False, max_verify_failures=1, max_cost_usd=1.0, approval="strict"
)
STUCK = Memory(failures_since_event=2, streak=2, verify_failures=1)


def test_satisfied_gate_completes() -> None:
    judged = judge(Memory(), observe(claims=True, met=2), UNATTENDED)
    assert (judged.end, judged.phase, judged.progress) == (End.COMPLETE, Phase.COMPLETE, 100)
    assert judged.reason == "EXIT: 2/6 heuristics + explicit signal"
    assert judged.next_action == "Close the run: LOOP COMPLETE."


def test_satisfied_gate_wins_over_every_abort() -> None:  # case 22
    everything = replace(EVERYTHING, gaps=observe().gaps, signal=DONE, indicators=indicators(2))
    memory = replace(STUCK, hashes=("x",) * 5, events=2)
    judged = judge(memory, everything, replace(STRICT, stagnation_threshold=1))
    assert judged.end is End.COMPLETE
    assert not judged.event and not judged.warning and judged.strategy is None


def test_order_of_ends() -> None:
    def end(observation: Observation, memory: Memory, rules: Rules) -> End | None:
        return judge(memory, observation, rules).end

    now, memory, rules = EVERYTHING, STUCK, STRICT
    assert end(now, memory, rules) is End.DECLINED
    now = replace(now, signal=None)
    assert end(now, memory, rules) is End.USER_ABORTED
    now = replace(now, stop_requested=False)
    assert end(now, memory, rules) is End.FAILURE_BUDGET
    memory = replace(memory, verify_failures=0)
    assert end(now, memory, rules) is End.STAGNATED
    memory = replace(memory, failures_since_event=0)
    assert end(now, memory, rules) is End.COST_BUDGET
    now = replace(now, spent=Usage())
    assert end(now, memory, rules) is End.MAX_ITERATIONS, "the last iteration asks nobody"
    rules = replace(rules, max_iterations=4)
    assert end(now, memory, rules) is End.AWAITING_APPROVAL
    rules = replace(rules, approval="none")
    assert end(now, memory, rules) is End.TIME_BUDGET
    now = replace(now, out_of_time=False)
    assert end(now, memory, rules) is None


@pytest.mark.parametrize(
    ("iteration", "signal", "rules", "end"),
    [
        pytest.param(FRESH, NO_OP, {}, End.NO_OP, id="nothing to do"),
        pytest.param(FRESH, NO_OP, {"require_signal": False}, End.NO_OP, id="no signal needed"),
        pytest.param(
            replace(FRESH, indicators=indicators(2)), NO_OP, {}, End.NO_OP, id="two indicators met"
        ),
        pytest.param(FRESH, replace(NO_OP, reason=" \n"), {}, None, id="blank reason"),
        pytest.param(FRESH, replace(NO_OP, no_op=False), {}, None, id="ordinary claim"),
        pytest.param(
            replace(FRESH, run_changed=True, indicators=indicators(2)),
            NO_OP,
            {},
            End.COMPLETE,
            id="something changed: an ordinary claim",
        ),
        pytest.param(
            replace(FRESH, gaps=observe("A").gaps), NO_OP, {}, None, id="gaps: an ordinary claim"
        ),
        pytest.param(observe("A"), DECLINE, {}, End.DECLINED, id="declined"),
        pytest.param(
            observe(met=3), DECLINE, {"require_signal": False}, End.DECLINED, id="declined, green"
        ),
        pytest.param(observe(met=3), None, {"require_signal": False}, End.COMPLETE, id="silent"),
        pytest.param(
            FRESH, replace(NO_OP, success=False), {}, End.DECLINED, id="declined as a no-op"
        ),
    ],
)
def test_what_the_agent_says(
    iteration: Observation, signal: ExitSignal | None, rules: dict[str, Any], end: End | None
) -> None:
    judged = judge(Memory(), replace(iteration, signal=signal), replace(UNATTENDED, **rules))
    assert judged.end is end


def test_reasons_are_one_line() -> None:
    declined = judge(Memory(), replace(observe(), signal=DECLINE), UNATTENDED)
    assert declined.reason == "The agent declined: blocked: need a key ::set-output"
    silent = replace(DECLINE, reason="")
    assert judge(Memory(), replace(observe(), signal=silent), UNATTENDED).reason.endswith(
        "it gave no reason"
    )


def test_refused_claim_is_a_verify_failure_and_no_complete() -> None:
    judged = judge(Memory(), observe("check:t", claims=True, met=5), UNATTENDED)
    assert judged.gate.decision is GateDecision.BLOCKED and judged.end is None
    assert judged.failure and judged.verify_failure and judged.memory.verify_failures == 1
    assert (judged.phase, judged.progress) == (Phase.IMPL, 70)
    assert judged.next_action == "Close 1 gap, first check:t, before signalling exit again."


def test_claim_without_a_change_is_a_failure_too() -> None:
    idle = replace(observe("check:t", claims=True), tree_changed=False, files_changed=())
    assert judge(Memory(), idle, UNATTENDED).verify_failure
    assert not judge(Memory(), replace(idle, signal=None), UNATTENDED).failure


def test_failure_budget_ends_a_converging_run_and_says_so() -> None:
    rules = replace(UNATTENDED, max_verify_failures=5)
    steps = [observe(*"abcde"[: 5 - n], claims=True) for n in range(5)]
    judged = judge_all(steps, rules)
    assert [one.end for one in judged] == [None, None, None, None, End.FAILURE_BUDGET]
    assert judged[-1].progressed and "smaller than the one before" in judged[-1].reason
    constant = judge_all([observe("a", claims=True)] * 9, rules)
    assert constant[-1].iteration == 5 and constant[-1].end is End.FAILURE_BUDGET
    assert "smaller" not in constant[-1].reason


def test_red_iterations_without_a_claim_leave_the_failure_budget_alone() -> None:
    judged = judge_all([observe("a")] * 8, replace(UNATTENDED, max_verify_failures=1))
    assert len(judged) == 8 and judged[-1].memory.verify_failures == 0


def test_raising_the_failure_limit_keeps_the_history() -> None:
    spent = Memory(verify_failures=5)
    assert judge(spent, observe("a"), Rules(max_verify_failures=5)).end is End.FAILURE_BUDGET
    assert judge(spent, observe("a"), Rules(max_verify_failures=6)).end is None
    last = judge(spent, observe("a", claims=True), Rules(max_verify_failures=6))
    assert last.end is End.FAILURE_BUDGET and "6 times" in last.reason


def test_max_iterations() -> None:
    judged = judge_all([observe("a")] * 9, Rules(max_iterations=4, never_pause=True))
    assert judged[-1].iteration == 4 and judged[-1].end is End.MAX_ITERATIONS


@pytest.mark.parametrize(
    ("spent", "end"),
    [
        (Usage(0.99, 99), None),
        (Usage(1.0, None), End.COST_BUDGET),
        (Usage(None, 100), End.COST_BUDGET),
        (Usage(None, None), None),
    ],
)
def test_cost(spent: Usage, end: End | None) -> None:
    rules = Rules(max_cost_usd=1.0, max_tokens=100)
    assert judge(Memory(), replace(observe("a"), spent=spent), rules).end is end


def test_strategy_is_chosen_only_when_there_is_a_next_turn() -> None:
    two = judge_all([observe("a")] * 2)[-1].memory
    event = observe("a", number=3)
    going_on = judge(two, event, replace(UNATTENDED, strategy=Strategy.RADICAL))
    assert going_on.event and going_on.strategy is Strategy.RADICAL
    assert going_on.next_action.startswith("Diversify (RADICAL): discard the current approach")
    assert "event 1 of 3" in going_on.reason
    last = judge(two, event, replace(UNATTENDED, max_iterations=3))
    assert last.event and last.strategy is None and last.end is End.MAX_ITERATIONS
    resumable = judge(two, replace(event, out_of_time=True), UNATTENDED)
    assert resumable.end is End.TIME_BUDGET and resumable.strategy is Strategy.COMBINE
    assert "When it goes on, diversify (COMBINE)" in resumable.next_action
    assert resumable.memory.strategies == (Strategy.COMBINE,)


@pytest.mark.parametrize(
    ("iteration", "action"),
    [
        (observe("a", "b"), "Close 2 gaps, first a."),
        (
            observe(met=5),
            "Check the work against the task and, if all of it is done, give the exit signal.",
        ),
        (
            replace(observe(), indicators=dict(list(indicators(1).items())[:3])),
            "Go on with the task: 1 more of tests_passing, code_simplified needed.",
        ),
    ],
)
def test_next_action(iteration: Observation, action: str) -> None:
    assert judge(Memory(), iteration, UNATTENDED).next_action == action


def test_warning_asks_for_a_hypothesis() -> None:
    judged = judge_all([observe("a")] * 2)
    assert judged[-1].next_action == (
        "State a new hypothesis, as the run is about to stagnate; then close 1 gap, first a."
    )


def test_end_says_why_it_stops() -> None:
    judged = judge(Memory(), observe("a"), Rules(max_iterations=1))
    assert judged.next_action == (
        "Stop the run (max_iterations): iteration 1 of at most 1 did not complete the task "
        f"({judged.gate.reason})."
    )
