"""Which hypotheses are taken up, what the next turn then does, and what is remembered of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from navci.judge import judge
from navci.judge.hypothesis import KEPT, names_gap, overlap, refusal
from navci.judge.stagnation import signature
from navci.model import (
    End,
    Gaps,
    Hypothesis,
    Judgement,
    Memory,
    Observation,
    Rules,
    Strategy,
)
from navci.system.canonical import canonical
from tests.support.observations import (
    ANY_MEMORY,
    ANY_OBSERVATION,
    ANY_RULES,
    UNATTENDED,
    gaps,
    judge_all,
    observe,
)

OPEN = gaps("A", "check:t", "test:t.T::nine[a b]")
GUESS = Hypothesis("check:t", "the cache keeps stale primes", "clear the cache in setup")
OTHER = Hypothesis("check:t", "rounding hides the last divisor", "use integer square roots")
TWICE = replace(GUESS, cause="The stale primes: the cache keeps!", change="in setup, clear cache")


def stuck(said: Hypothesis | None = None, *ids: str) -> Observation:
    return replace(observe(*(ids or ("check:t",))), hypothesis=said)


@pytest.mark.parametrize(
    ("said", "earlier", "used", "why"),
    [
        pytest.param(GUESS, [], False, None, id="new, about an open gap"),
        pytest.param(GUESS, [OTHER], False, None, id="unlike the earlier one"),
        pytest.param(replace(GUESS, cause=" "), [], False, "both a `cause`", id="no cause"),
        pytest.param(replace(GUESS, change="…"), [], False, "both a `cause`", id="no change"),
        pytest.param(replace(GUESS, gap="check:u"), [], False, "`check:u` is not", id="other gap"),
        pytest.param(replace(GUESS, gap=""), [], False, "`nothing` is not", id="no gap"),
        pytest.param(GUESS, [GUESS], False, "nearly the same", id="copy"),
        pytest.param(TWICE, [GUESS], False, "nearly the same", id="same words, other order"),
        pytest.param(replace(GUESS, gap="A"), [GUESS], False, "nearly the same", id="for another"),
        pytest.param(GUESS, [], True, "has had its one", id="this failure had one"),
        pytest.param(replace(GUESS, cause="x" * 1999, change="y"), [], False, None, id="2,000"),
        pytest.param(
            replace(GUESS, cause="x" * 2000, change="y"), [], False, "2,001 characters", id="2,001"
        ),
    ],
)
def test_refusal(said: Hypothesis, earlier: list[Hypothesis], used: bool, why: str | None) -> None:
    found = refusal(said, OPEN, earlier, used=used)
    assert (found is None) == (why is None)
    assert why is None or (found is not None and why in found)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("check:t", True),
        ("`check:t`", True),
        ("The gap check:t, which is red", True),
        ("A", True),
        ("test:t.T::nine[a b]", True),
        ("test:t.T::nine", False),
        ("check:tt", False),
        ("check:t:report", False),
        ("xcheck:t", False),
        ("check:t:report, check:t", True),
        ("a", False),
        ("", False),
    ],
)
def test_a_gap_is_named_as_people_see_it(text: str, named: bool) -> None:
    assert names_gap(text, OPEN) is named


def test_a_gap_whose_name_is_cut_is_named_as_it_is_shown() -> None:
    long = f"test:{'x' * 400}"
    assert names_gap(f"{long[:299]}…", Gaps(chk=frozenset({long})))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("a b c", "a b c", 1.0),
        ("A, b; C!", "c b a", 1.0),
        ("a b c d", "a b c e", 0.6),
        ("a b", "c d", 0.0),
        ("素数を直す", "素数を直す", 1.0),
        ("素数", "関数", 1 / 3),
    ],
)
def test_overlap(one: str, other: str, expected: float) -> None:
    left, right = Hypothesis("g", one, ""), Hypothesis("h", "", other)
    assert overlap(left, right) == overlap(right, left) == pytest.approx(expected)


def test_an_accepted_hypothesis_is_pursued_in_the_strategys_place() -> None:
    third = judge_all([stuck(), stuck(), stuck(GUESS)])[-1]
    assert third.event and third.strategy is None and third.hypothesis == GUESS
    assert third.refusal == ""
    assert third.next_action == (
        "Pursue the hypothesis on check:t: clear the cache in setup; "
        "then close 1 gap, first check:t."
    )
    assert third.memory.hypotheses == (GUESS,)
    assert third.memory.overridden == {signature("c0", gaps("check:t"))}
    assert third.memory.strategies == ()


def test_a_refused_hypothesis_leaves_the_strategy_and_says_why() -> None:
    third = judge_all([stuck(), stuck(), stuck(replace(GUESS, gap="check:u"))])[-1]
    assert third.hypothesis is None and third.strategy is Strategy.COMBINE
    assert third.refusal == (
        "The hypothesis was not taken up: `check:u` is not the name of an open gap."
    )
    assert third.memory.hypotheses == () and third.memory.overridden == frozenset()


def test_without_an_event_a_hypothesis_changes_nothing() -> None:
    quiet = judge_all([stuck(), stuck(GUESS)])
    assert quiet == judge_all([stuck(), stuck()])


def test_one_override_a_signature() -> None:
    steps = [stuck(), stuck(), stuck(GUESS), stuck(), stuck(), stuck(OTHER)]
    sixth = judge_all(steps)[-1]
    assert sixth.event and sixth.hypothesis is None and sixth.strategy is Strategy.COMBINE
    assert "has had its one hypothesis already" in sixth.refusal
    other = [*steps[:5], stuck(OTHER, "check:u")]
    moved = judge_all([*other[:5], replace(other[5], hypothesis=replace(OTHER, gap="check:u"))])[-1]
    assert moved.memory.streak == 6 and moved.hypothesis is not None
    assert len(moved.memory.overridden) == 2


def test_the_third_event_ends_the_run_whatever_is_stated() -> None:
    steps = [stuck(replace(GUESS, cause=f"cause{n}", change=f"change{n}")) for n in range(9)]
    judged = judge_all(steps)
    assert judged[-1].end is End.STAGNATED and judged[-1].iteration == 9
    assert judged[-1].hypothesis is None and judged[-1].refusal == ""


def test_no_hypothesis_is_used_up_where_no_turn_follows() -> None:
    for rules in (Rules(max_iterations=3, never_pause=True), Rules(never_pause=False)):
        last = judge_all([stuck(), stuck(), stuck(GUESS)], rules)[-1]
        assert last.event and last.end is not None
        assert last.hypothesis is None and last.memory.overridden == frozenset()


def test_an_idle_agent_may_state_one_too() -> None:
    idle = replace(stuck(GUESS), tree_changed=False, files_changed=())
    assert judge_all([idle] * 3)[-1].hypothesis == GUESS


def test_only_the_last_ones_are_remembered() -> None:
    memory = Memory(hypotheses=(OTHER,) * KEPT, failures_since_event=2)
    kept = judge(memory, stuck(GUESS), UNATTENDED).memory.hypotheses
    assert len(kept) == KEPT and kept[-1] == GUESS


ADAPTER: TypeAdapter[Judgement] = TypeAdapter(Judgement)
SEEN: TypeAdapter[tuple[Memory, Observation]] = TypeAdapter(tuple[Memory, Observation])


def test_read_back_from_json_it_is_judged_the_same_again() -> None:
    before = judge_all([stuck(), stuck()])[-1].memory
    now = stuck(GUESS)
    judged = judge(before, now, UNATTENDED)
    memory, observation = SEEN.validate_python(json.loads(canonical((before, now))))
    assert canonical(judge(memory, observation, UNATTENDED)) == canonical(judged)
    assert ADAPTER.validate_python(json.loads(canonical(judged))) == judged
    forged = replace(judged, hypothesis=OTHER)
    assert canonical(judge(memory, observation, UNATTENDED)) != canonical(forged)


@given(ANY_MEMORY, ANY_OBSERVATION, ANY_RULES)
def test_at_most_one_change_of_approach(
    memory: Memory, observation: Observation, rules: Rules
) -> None:
    judged = judge(memory, observation, rules)
    assert not (judged.hypothesis and judged.strategy)
    assert judged.event or not (judged.hypothesis or judged.strategy or judged.refusal)
    assert judged.hypothesis in (None, observation.hypothesis)
    assert judged.refusal.isprintable()
    added = judged.memory.overridden - memory.overridden
    assert len(added) == (judged.hypothesis is not None)


@given(st.text(), st.text(), st.text())
def test_refusal_is_total_and_one_line(gap: str, cause: str, change: str) -> None:
    said = Hypothesis(gap, cause, change)
    why = refusal(said, gaps("A", gap or "b"), [], used=False)
    assert why is None or why.isprintable()
    assert why is not None or refusal(said, OPEN, [said], used=False)
