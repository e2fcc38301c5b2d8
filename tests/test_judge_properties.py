"""What holds of the judge for any input: it answers, the same again, never better than true."""

from __future__ import annotations

import copy
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from navci.judge import judge
from navci.judge.stagnation import progressed
from navci.model import (
    End,
    Gaps,
    GateDecision,
    Indicator,
    Memory,
    Observation,
    Phase,
    Reading,
    Rules,
)
from tests.support.observations import (
    ANY_GAPS,
    ANY_MEMORY,
    ANY_OBSERVATION,
    ANY_RULES,
    UNATTENDED,
    judge_all,
    observe,
)


@given(ANY_MEMORY, ANY_OBSERVATION, ANY_RULES)
def test_total_deterministic_and_consistent(
    memory: Memory, observation: Observation, rules: Rules
) -> None:
    judged = judge(memory, observation, rules)
    again = judge(copy.deepcopy(memory), copy.deepcopy(observation), rules)
    assert again == judged
    complete = judged.end is End.COMPLETE
    assert complete == (judged.phase is Phase.COMPLETE)
    assert complete == (judged.gate.decision is GateDecision.EXIT)
    assert 0 <= judged.progress <= 100 and (not complete or judged.progress == 100)
    assert not (complete and (observation.gaps or judged.event or judged.failure))
    assert not (judged.event and judged.warning)
    assert judged.verify_failure <= judged.failure <= bool(observation.gaps)
    assert (judged.signature is not None) == judged.failure
    assert all(text.isprintable() and text for text in (judged.reason, judged.next_action))
    assert judged.memory.verify_failures == memory.verify_failures + judged.verify_failure
    assert judged.memory.events == memory.events + judged.event


@given(ANY_MEMORY, ANY_OBSERVATION, ANY_RULES)
def test_a_declining_agent_never_completes(
    memory: Memory, observation: Observation, rules: Rules
) -> None:
    judged = judge(memory, observation, rules)
    if observation.signal is not None and not observation.signal.success:
        assert judged.end is End.DECLINED


@given(ANY_MEMORY, ANY_OBSERVATION, ANY_RULES, st.sampled_from(Indicator))
def test_one_more_indicator_never_blocks_an_exit(
    memory: Memory, observation: Observation, rules: Rules, name: Indicator
) -> None:
    before = judge(memory, observation, rules)
    more = {**observation.indicators, name: Reading(True, "")}
    after = judge(memory, replace(observation, indicators=more), rules)
    if before.end is End.COMPLETE:
        assert after.end is End.COMPLETE


@given(ANY_GAPS, ANY_GAPS, st.none() | ANY_GAPS, st.none() | ANY_GAPS)
def test_fewer_gaps_are_never_less_progress(
    some: Gaps, more: Gaps, last: Gaps | None, smallest: Gaps | None
) -> None:
    both = Gaps(some.acc | more.acc, some.chk | more.chk)
    assert progressed(both, last, smallest) <= progressed(some, last, smallest)


@given(ANY_MEMORY, ANY_OBSERVATION, ANY_GAPS)
def test_fewer_gaps_never_cost_more(memory: Memory, observation: Observation, more: Gaps) -> None:
    some = observation.gaps
    both = Gaps(some.acc | more.acc, some.chk | more.chk)
    better = judge(memory, observation, UNATTENDED)
    worse = judge(memory, replace(observation, gaps=both), UNATTENDED)
    assert better.memory.verify_failures <= worse.memory.verify_failures
    assert better.memory.streak <= worse.memory.streak or not worse.failure
    assert not (worse.end is End.COMPLETE and better.end is not End.COMPLETE)


@given(st.lists(st.frozensets(st.sampled_from("abcdef")), min_size=20, max_size=20))
def test_every_unattended_run_ends(found: list[frozenset[str]]) -> None:
    judged = judge_all(observe(*ids) for ids in found)
    assert judged[-1].end in (End.STAGNATED, End.MAX_ITERATIONS)
    assert judged[-1].memory.events <= 3
    events = [one.iteration for one in judged if one.event]
    assert all(later - earlier >= 3 for earlier, later in zip([0, *events], events, strict=False))
