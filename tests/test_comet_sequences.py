"""Comet's Native Loop in tables: progress, stages, override, budget, as navci counts them.

A step is what a verification finds: gap ids in one word, acceptance items in capitals, checks and
tests in small letters. Every step claims to be done, as every verification of Comet's does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from navci.judge import judge
from navci.judge.budget import failures
from navci.model import End, Gaps, Hypothesis, Judgement, Memory, Observation, Rules
from tests.support.observations import judge_all, observe

BUDGET = Rules(max_iterations=20, never_pause=True, max_verify_failures=5)
ENDLESS = replace(BUDGET, max_verify_failures=100)
GO_ON, WARN, EVENT, BUDGET_OUT = "go on", "warn", "event", "budget"


def step(word: str, hypothesis: Hypothesis | None = None, *, claims: bool = True) -> Observation:
    return replace(observe(*word.replace(" ", ""), claims=claims), hypothesis=hypothesis)


def guess(gap: str = "A", number: int = 0) -> Hypothesis:
    """A hypothesis that shares no word with one of another number."""
    return Hypothesis(gap, f"cause{number}", f"change{number}")


def stage(judged: Judgement) -> str:
    if judged.end is End.FAILURE_BUDGET:
        return BUDGET_OUT
    return EVENT if judged.event else WARN if judged.warning else GO_ON


def judge_words(words: Iterable[str], rules: Rules = BUDGET) -> list[Judgement]:
    return judge_all((step(word) for word in words), rules)


# --- progress: steps, streak after each, stage after each ------------------------------------

PROGRESS: dict[str, tuple[str, list[int], list[str]]] = {
    "the same gap": ("A A A", [1, 2, 3], [GO_ON, WARN, EVENT]),
    "one gap of each kind swapped": ("ABcd ABcd ACce", [1, 2, 3], [GO_ON, WARN, EVENT]),
    "both kinds shrink after a warning": ("ABcd ABcd Ac", [1, 2, 1], [GO_ON, WARN, GO_ON]),
    "an item became a red check": ("AB Ac", [1, 2], [GO_ON, WARN]),
    "always another item": ("A B C", [1, 2, 3], [GO_ON, WARN, EVENT]),
    "back to where it was, and stays": ("AB A AB AB", [1, 1, 2, 3], [GO_ON, GO_ON, WARN, EVENT]),
    "to and fro": ("AB A AB A", [1, 1, 2, 3], [GO_ON, GO_ON, WARN, EVENT]),
    "one red check fewer each time": (
        "abcde abcd abc ab a", [1, 1, 1, 1, 1], [GO_ON] * 4 + [BUDGET_OUT],
    ),
    "items shrink while a check turns red": ("ABC ABCd ABd", [1, 2, 1], [GO_ON, WARN, GO_ON]),
    "items shrink as a check turns red": ("ABC ABd", [1, 2], [GO_ON, WARN]),
    "a check turns green as an item fails": ("Acd ABc", [1, 2], [GO_ON, WARN]),
    "growth": ("A AB ABc", [1, 2, 3], [GO_ON, WARN, EVENT]),
    "the later generations' counter: a swap, growth, a shrink": (
        "A B AB A", [1, 2, 3, 4], [GO_ON, WARN, EVENT, GO_ON],
    ),
    "two gaps in turn": ("A B A B", [1, 2, 3, 4], [GO_ON, WARN, EVENT, GO_ON]),
    "a shrink to what was reached, by a detour": (
        "ABC A ABC AB", [1, 1, 2, 3], [GO_ON, GO_ON, WARN, EVENT],
    ),
    "below what was reached, after a step back": (
        "ABC AB ABC A", [1, 1, 2, 1], [GO_ON, GO_ON, WARN, GO_ON],
    ),
    "another small set, never reached before": (
        "ABC AB ABCd C", [1, 1, 2, 1], [GO_ON, GO_ON, WARN, GO_ON],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "streaks", "stages"), PROGRESS.values(), ids=PROGRESS)
def test_progress(words: str, streaks: list[int], stages: list[str]) -> None:
    judged = judge_words(words.split())
    assert [one.memory.streak for one in judged] == streaks
    assert [stage(one) for one in judged] == stages
    assert all(one.verify_failure for one in judged)


EDITS = {
    "other files": {"files_changed": ("b.py", "c.py")},
    "more files read": {"files_read": ("x", "y")},
    "another phase": {"tests_exit": None},
    "a new run": {"run_changed": False},
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_what_is_never_progress(change: dict[str, object]) -> None:
    again = replace(step("A"), **change)  # type: ignore[arg-type]
    judged = judge_all([step("A"), again, step("A")], BUDGET)
    assert [one.memory.streak for one in judged] == [1, 2, 3]
    assert not any(one.progressed for one in judged)


# --- stages: the first that applies ----------------------------------------------------------

SAID = guess()
COPY = guess()
STAGES: dict[str, tuple[list[Observation], Rules, list[str], list[bool]]] = {
    # steps, rules, stage after each, whether a hypothesis is pursued after each
    "the limit comes before everything": (
        [step("A"), step("A"), step("A", SAID)],
        replace(BUDGET, max_verify_failures=3),
        [GO_ON, WARN, BUDGET_OUT], [False] * 3,
    ),
    "one: the gaps": ([step("A")], BUDGET, [GO_ON], [False]),
    "two: a warning, and a hypothesis is not heard yet": (
        [step("A"), step("A", SAID)], BUDGET, [GO_ON, WARN], [False, False],
    ),
    "three, with a hypothesis: pursued": (
        [step("A"), step("A"), step("A", SAID)], BUDGET, [GO_ON, WARN, EVENT],
        [False, False, True],
    ),
    "three, without one: the strategy": (
        [step("A")] * 3, BUDGET, [GO_ON, WARN, EVENT], [False] * 3,
    ),
    "the next event of the same failure: the strategy": (
        [step("A"), step("A"), step("A", SAID), step("A"), step("A"), step("A", guess(number=1))],
        ENDLESS, [GO_ON, WARN, EVENT] * 2, [False, False, True, False, False, False],
    ),
    "the next event of another failure: pursued": (
        [step("A"), step("A"), step("A", SAID), step("A"), step("B"),
         step("C", guess("C", 1))],
        ENDLESS, [GO_ON, WARN, EVENT] * 2, [False, False, True, False, False, True],
    ),
    "with five: warned, changed, warned again, and out": (
        [step("A")] * 6, BUDGET, [GO_ON, WARN, EVENT, GO_ON, BUDGET_OUT], [False] * 5,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("steps", "rules", "stages", "pursued"), STAGES.values(), ids=STAGES)
def test_stages(
    steps: list[Observation], rules: Rules, stages: list[str], pursued: list[bool]
) -> None:
    judged = judge_all(steps, rules)
    assert [stage(one) for one in judged] == stages
    assert [one.hypothesis is not None for one in judged] == pursued
    for one in judged:
        going_on = one.event and one.end is None
        assert (one.strategy is not None) == (going_on and one.hypothesis is None)


def test_a_hypothesis_costs_no_failure() -> None:
    told = judge_all([step("A"), step("A"), step("A", SAID), step("A")], BUDGET)[-1]
    silent = judge_all([step("A")] * 4, BUDGET)[-1]
    assert told.memory.verify_failures == silent.memory.verify_failures == 4
    assert told.memory.streak == silent.memory.streak == 4


# --- override: what stands before it, what is said, whether it is taken ----------------------

STUCK = judge_words("AA").pop().memory
AFTER = judge(STUCK, step("A", SAID), ENDLESS).memory
LATER = judge_all([step("A")] * 2, ENDLESS, AFTER).pop().memory
GREEN = replace(observe(), hypothesis=SAID)
OVERRIDES: dict[str, tuple[Memory, Observation, Rules, str | None]] = {
    "valid": (STUCK, step("A", SAID), ENDLESS, None),
    "before any stop": (Memory(), step("A", SAID), ENDLESS, ""),
    "at the warning": (judge_words("A")[-1].memory, step("A", SAID), ENDLESS, ""),
    "for a gap that is not open": (STUCK, step("A", guess("B")), ENDLESS, "not the name of"),
    "for no gap": (STUCK, step("A", guess("")), ENDLESS, "not the name of"),
    "a second time for the same failure": (
        LATER, step("A", guess(number=1)), ENDLESS, "has had its one",
    ),
    "a copy, for another failure": (LATER, step("AB", COPY), ENDLESS, "nearly the same"),
    "right after one, without a failure": (
        AFTER, replace(step("A", guess(number=1), claims=False), tree_changed=False), ENDLESS, "",
    ),
    "when the budget is out": (
        replace(STUCK, verify_failures=4), step("A", SAID), BUDGET, "",
    ),
    "of another contract": (Memory(), replace(step("A", SAID), contract="c1"), ENDLESS, ""),
    "when nothing is red": (
        replace(STUCK, hashes=("x",) * 9), GREEN, replace(ENDLESS, stagnation_threshold=1),
        "not the name of",
    ),
    "empty": (STUCK, step("A", Hypothesis("A", "", "")), ENDLESS, "both a `cause`"),
    "white space": (STUCK, step("A", Hypothesis("A", " ", "\t\n")), ENDLESS, "both a `cause`"),
    "2,000 characters": (STUCK, step("A", Hypothesis("A", "x" * 1000, "y" * 1000)), ENDLESS, None),
    "2,001 characters": (
        STUCK, step("A", Hypothesis("A", "x" * 1000, "y" * 1001)), ENDLESS, "2,001 characters",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("memory", "now", "rules", "why"), OVERRIDES.values(), ids=OVERRIDES)
def test_override(memory: Memory, now: Observation, rules: Rules, why: str | None) -> None:
    """``why`` ``None``: taken up; empty: not heard; else a part of the refusal."""
    judged = judge(memory, now, rules)
    assert (judged.hypothesis is not None) == (why is None)
    assert bool(judged.refusal) == bool(why)
    assert (why or "") in judged.refusal
    assert (judged.memory.overridden != memory.overridden) == (why is None)


# --- budget ----------------------------------------------------------------------------------


def test_four_different_failures_and_a_fifth_with_a_hypothesis() -> None:
    steps = [step(word) for word in "ABCD"] + [step("E", guess("E"))]
    last = judge_all(steps, BUDGET)[-1]
    assert (last.iteration, last.end, last.hypothesis) == (5, End.FAILURE_BUDGET, None)
    assert BUDGET.max_verify_failures - last.memory.verify_failures == 0
    assert last.memory.overridden == frozenset()


def test_a_pass_gives_neither_budget_nor_streak_back() -> None:
    passed = replace(observe(), indicators={})
    steps = [step("A"), step("A"), step("A", SAID), passed, step("A")]
    last = judge_all(steps, BUDGET)[-1]
    assert (last.memory.verify_failures, last.memory.streak) == (4, 4)


@pytest.mark.parametrize(
    ("so_far", "limit", "words", "end"),
    [
        pytest.param(5, 6, "A", End.FAILURE_BUDGET, id="raised by one: one more attempt"),
        pytest.param(5, 7, "A", None, id="raised by two"),
        pytest.param(4, 5, "A", End.FAILURE_BUDGET, id="the fifth stops, there is no sixth"),
        pytest.param(3, 5, "A", None, id="the fourth goes on"),
        pytest.param(0, 1, "A", End.FAILURE_BUDGET, id="a limit of one: the first stops"),
    ],
)
def test_limit(so_far: int, limit: int, words: str, end: End | None) -> None:
    rules = replace(BUDGET, max_verify_failures=limit)
    judged = judge(Memory(verify_failures=so_far), step(words), rules)
    assert judged.end is end
    assert judged.memory.verify_failures == so_far + 1


@pytest.mark.parametrize(("so_far", "limit", "stops"), [(5, 5, True), (5, 6, False), (3, 2, True)])
def test_a_spent_or_lowered_limit_stops_before_a_turn(so_far: int, limit: int, stops: bool) -> None:
    assert bool(failures(so_far, replace(BUDGET, max_verify_failures=limit))) is stops


@pytest.mark.parametrize(
    ("now", "counts"),
    [
        pytest.param(step("A"), 1, id="said done, and was not"),
        pytest.param(step("A", claims=False), 0, id="did not say done"),
        pytest.param(replace(step("A", claims=False), tree_changed=False), 0, id="changed nothing"),
        pytest.param(replace(step("A"), gaps=Gaps()), 0, id="said done, without a gap"),
    ],
)
def test_what_counts_against_the_budget(now: Observation, counts: int) -> None:
    assert judge(Memory(), now, BUDGET).memory.verify_failures == counts


# --- the whole run, as navci's issue words it ------------------------------------------------


def reds(numbers: Iterable[int]) -> Observation:
    tests = frozenset(f"test:t::{n:02}" for n in numbers)
    return replace(step("t", claims=False), gaps=Gaps(chk=tests | {"check:t"} if tests else tests))


def test_forty_failing_tests_fixed_two_at_a_time_complete_without_an_event() -> None:
    steps = [reds(range(2 * n, 40)) for n in range(1, 20)] + [observe(claims=True, met=2)]
    judged = judge_all(steps, BUDGET)
    assert len(judged) == 20 and judged[-1].end is End.COMPLETE
    assert not any(one.event or one.warning for one in judged)


def test_forty_failing_tests_that_rotate_stagnate() -> None:
    steps = [reds((2 * n + k) % 40 for k in range(20)) for n in range(20)]
    judged = judge_all(steps, BUDGET)
    assert [one.iteration for one in judged if one.event] == [3, 6, 9]
    assert judged[-1].end is End.STAGNATED and judged[-1].iteration == 9
