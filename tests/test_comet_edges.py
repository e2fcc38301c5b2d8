"""The twenty-five edge cases of Comet's Native Loop: the pure part, and who holds the rest."""

from __future__ import annotations

import copy
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from navci.errors import ConfigError
from navci.judge import judge
from navci.judge.acceptance import open_items, statuses
from navci.judge.budget import failures
from navci.judge.gaps import derive
from navci.judge.stagnation import progressed, signature
from navci.model import (
    Baseline,
    Binding,
    BindingKind,
    CheckFacts,
    CheckSpec,
    Contract,
    End,
    Gaps,
    Hypothesis,
    ItemState,
    Memory,
    Rules,
)
from navci.settings import load
from navci.task import build_contract, from_text
from navci.task_items import items_of
from tests.support.observations import UNATTENDED, gaps, judge_all, observe

TESTS = Path(__file__).parent
BUDGET = replace(UNATTENDED, max_verify_failures=5)
PYTEST = CheckSpec("tests", "pytest", ("r.xml",))
BOUND = build_contract(from_text("- [ ] works (test=t::a)"), [PYTEST])
(ITEM,) = BOUND.items

# What no decision can hold alone: where the rest of a case is tested.
ELSEWHERE = {
    9: ["test_checks::test_without_reports_the_exit_code_decides"],
    13: ["test_guards::test_protected"],
    17: ["e2e/test_kill::test_killed_after_so_many_events"],
    18: ["test_journal::test_the_second_of_two_writers_is_refused"],
    19: ["e2e/test_ends::test_a_second_run_of_a_task_waits_for_the_first"],
    20: ["test_checks::test_every_kind_of_stale_report_is_deleted"],
    21: ["test_junit::test_unusable_says_why"],
    22: ["test_checks::test_a_check_that_changes_the_tree_is_void"],
    23: ["e2e/test_ends::test_a_crash_between_good_turns_counts_nowhere"],
    24: ["test_journal::test_a_damaged_tip_falls_back_to_the_append_before_it"],
    25: ["test_journal::test_two_that_start_a_journal_at_once"],
}


@pytest.mark.parametrize("number", range(1, 26))
def test_every_case_has_a_test(number: int) -> None:
    own = re.search(rf"^def test_{number:02}_", Path(__file__).read_text("utf-8"), re.MULTILINE)
    assert own or ELSEWHERE.get(number)
    for name in ELSEWHERE.get(number, ()):
        module, test = name.split("::")
        assert f"def {test}(" in (TESTS / f"{module}.py").read_text("utf-8"), name


def facts(*, red: str = "", passing: str = "", skipped: str = "", why: str = "") -> CheckFacts:
    return CheckFacts(
        "tests",
        bool(passing) and not red,
        why,
        red=frozenset(red.split()),
        passing=frozenset(passing.split()),
        skipped=frozenset(skipped.split()),
    )


def base(must_pass: str) -> Baseline:
    return Baseline("c", "k", (facts(passing=must_pass),), {"tests": frozenset(must_pass.split())})


def measured(found: CheckFacts, contract: Contract = BOUND) -> Gaps:
    return derive(None, [found], acceptance=open_items(statuses(contract, [found])))


def test_01_ids_are_the_same_from_run_to_run() -> None:
    first = derive(None, [facts(red="t::x[0x7f00aa11]", why="exited 1 after 2.1 s at 10:00")])
    again = derive(None, [facts(red="t::x[0x55bb0011]", why="exited 1 after 9.9 s at 11:00")])
    assert first == again and signature("c", first) == signature("c", again)


def test_02_a_swap_is_another_signature_and_no_progress() -> None:
    first, second = judge_all([observe("A", "c"), observe("B", "c")])
    assert first.signature != second.signature and not second.progressed
    assert second.memory.streak == 2


def test_03_an_item_less_and_a_red_check_more_is_no_progress() -> None:
    assert not progressed(gaps("A", "c"), gaps("A", "B"), gaps("A", "B"))


def test_04_missing_to_failed_is_no_progress_and_missing_to_satisfied_is() -> None:
    missing, failed = measured(facts(passing="t::z")), measured(facts(red="t::a", passing="t::z"))
    assert missing.acc == failed.acc == {ITEM.id}
    assert not progressed(failed, missing, missing)
    with_other = replace(missing, chk=frozenset({"check:lint"}))
    satisfied = replace(measured(facts(passing="t::a")), chk=with_other.chk)
    assert satisfied.acc == frozenset() and progressed(satisfied, with_other, with_other)


def test_05_oscillation_is_bounded_by_more_than_the_budget() -> None:
    judged = judge_all([observe("A", "B"), observe("A")] * 10)
    assert judged[-1].end is End.STAGNATED
    assert [one.memory.streak for one in judged[:5]] == [1, 1, 2, 3, 4]


def test_06_the_fifth_failure_stops_a_run_that_converges_and_says_so() -> None:
    judged = judge_all([observe(*"abcde"[n:], claims=True) for n in range(5)], BUDGET)
    assert judged[-1].end is End.FAILURE_BUDGET
    assert "smaller than the one before" in judged[-1].reason


def test_07_the_budget_comes_before_an_override() -> None:
    said = Hypothesis("A", "cause", "change")
    last = replace(observe("A", claims=True), hypothesis=said)
    judged = judge_all(
        [observe("A", claims=True)] * 2 + [last], replace(BUDGET, max_verify_failures=3)
    )
    assert judged[-1].end is End.FAILURE_BUDGET and judged[-1].event
    assert judged[-1].hypothesis is None and judged[-1].memory.overridden == frozenset()


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", '"5"', "true", "null", "[]"])
def test_08_a_limit_that_is_none_is_refused(limit: str) -> None:
    text = f'{{"native": {{"max_verify_failures": {limit}}}, "navci": {{"agent": "x"}}}}'
    with pytest.raises(ConfigError, match=r"native\.max_verify_failures"):
        load({}, text, in_actions=False, known_agents=["x"])


def test_08_a_limit_of_one_stops_at_the_first() -> None:
    one = replace(BUDGET, max_verify_failures=1)
    assert judge(Memory(), observe("a", claims=True), one).end is End.FAILURE_BUDGET


def test_09_a_failure_names_a_gap() -> None:
    assert derive(None, [facts(why="exited 1")]).chk == {"check:tests"}
    without = judge(Memory(), observe(claims=True), UNATTENDED)
    assert not without.failure and without.signature is None


def test_10_a_pass_does_not_reset_the_budget() -> None:
    judged = judge_all([observe("a", claims=True), observe(), observe("a", claims=True)], BUDGET)
    assert judged[-1].memory.verify_failures == 2


def test_11_prose_around_a_list_is_no_part_of_the_contract() -> None:
    def made(text: str) -> str:
        return build_contract(from_text(text), [PYTEST]).hash

    assert made("Please.\n\n- [ ] works") == made("It is urgent!\n\n- [x] works")
    assert made("Please fix it") != made("Please do fix it")


def test_12_the_way_back_to_a_contract_is_the_same_contract() -> None:
    there, elsewhere = from_text("- [ ] a\n- [ ] b"), from_text("- [ ] a")
    hashes = [build_contract(task, [PYTEST]).hash for task in (there, elsewhere, there)]
    assert hashes[0] == hashes[2] != hashes[1]
    assert signature(hashes[0], gaps("A")) != signature(hashes[1], gaps("A"))


@pytest.mark.parametrize(
    ("now", "gap"),
    [
        pytest.param(facts(passing="t::b"), "test:t::a", id="deleted"),
        pytest.param(facts(passing="t::b", skipped="t::a"), "test:t::a", id="skipped"),
        pytest.param(facts(passing="t::b t::A"), "test:t::a", id="renamed"),
    ],
)
def test_13_making_the_gap_smaller_by_hand_is_a_gap(now: CheckFacts, gap: str) -> None:
    assert derive(base("t::a t::b"), [now]).chk == {gap}
    assert derive(None, [facts(passing="t::b")], guards=["ci.yml"]).chk == {"guard:ci.yml"}


def test_14_raising_the_limit_keeps_history_and_lowering_stops_at_once() -> None:
    raised = replace(BUDGET, max_verify_failures=6)
    assert judge(Memory(verify_failures=5), observe("a"), raised).end is None
    assert failures(3, Rules(max_verify_failures=3)) is not None


def test_15_an_override_needs_an_event_a_gap_and_words() -> None:
    good = Hypothesis("A", "cause", "change")
    bad = [replace(good, gap="B"), replace(good, cause=" "), replace(good, change="x" * 2001)]
    stuck = judge_all([observe("A")] * 2)[-1].memory
    for said in bad:
        assert judge(stuck, replace(observe("A"), hypothesis=said), UNATTENDED).refusal
    assert judge(stuck, replace(observe("A"), hypothesis=good), UNATTENDED).hypothesis
    assert judge(Memory(), replace(observe("A"), hypothesis=good), UNATTENDED).hypothesis is None


def test_16_another_failure_has_an_override_of_its_own_and_the_streak_goes_on() -> None:
    said = Hypothesis("A", "cause", "change")
    third = judge_all([observe("A"), observe("A"), replace(observe("A"), hypothesis=said)])[-1]
    fourth = judge(third.memory, observe("B"), UNATTENDED)
    assert fourth.memory.streak == 4 and not fourth.progressed
    other = replace(observe("B"), hypothesis=Hypothesis("B", "reason", "remedy"))
    sixth = judge_all([observe("B"), other], memory=fourth.memory)[-1]
    assert sixth.event and sixth.hypothesis is not None and len(sixth.memory.overridden) == 2


def test_17_the_same_failure_judged_again_after_a_crash_counts_once() -> None:
    before = judge_all([observe("a", claims=True)] * 2)[-1].memory
    lost = judge(before, observe("a", claims=True), BUDGET)
    again = judge(copy.deepcopy(before), observe("a", claims=True), BUDGET)
    assert again == lost and again.memory.verify_failures == 3


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(replace(facts(), blind=True), id="20: a stale report was not read"),
        pytest.param(facts(), id="21: no test at all"),
        pytest.param(facts(skipped="t::a"), id="21: all skipped"),
        pytest.param(replace(facts(), unloaded=frozenset({"t"})), id="21: nothing loaded"),
        pytest.param(
            replace(facts(passing="t::z"), passed=False, blind=True), id="21: cut in the middle"
        ),
    ],
)
def test_20_21_what_proves_nothing_is_no_pass(now: CheckFacts) -> None:
    status = statuses(BOUND, [now])[ITEM.id]
    assert status.state in (ItemState.MISSING, ItemState.FAILED)
    assert measured(now).acc == {ITEM.id} and "check:tests" in measured(now).chk


def test_22_a_check_that_voided_itself_is_red() -> None:
    void = replace(facts(passing="t::a"), passed=False, why="it changed files")
    assert measured(void).chk == {"check:tests"}


def test_23_what_could_not_be_measured_is_a_gap_and_no_failure_of_the_agent() -> None:
    found = derive(base("t::a"), [], errors=["tests"])
    assert found.chk == {"check:tests"}
    idle = replace(observe(), gaps=found, tree_changed=False)
    assert not judge(Memory(), idle, BUDGET).failure


def test_24_counts_that_were_floored_hold_before_the_first_turn() -> None:
    assert failures(5, BUDGET) is not None and failures(4, BUDGET) is None


# --- and those it adds -----------------------------------------------------------------------


def test_more_than_a_thousand_gaps_are_all_in_the_signature() -> None:
    many = frozenset(f"test:t::{n}" for n in range(3000))
    assert signature("c", Gaps(chk=many)) != signature("c", Gaps(chk=many - {"test:t::2999"}))


def test_line_ends_and_unicode_forms_do_not_change_ids() -> None:
    text = "- [ ] déjà vu (test=t::a)\n- [ ] naïve\n  café"
    assert items_of(text.replace("\n", "\r\n")) == items_of(text)
    assert items_of(unicodedata.normalize("NFD", text)) == items_of(text)


def test_a_huge_log_changes_no_verdict() -> None:
    huge = replace(facts(red="t::a"), why="x" * 1_000_000)
    assert measured(huge) == measured(facts(red="t::a"))
    assert len(statuses(BOUND, [huge])[ITEM.id].why) < 700


# --- where navci goes further ----------------------------------------------------------------


def test_a_compile_error_is_no_smaller_set_than_the_red_tests_behind_it() -> None:
    """The report that is not there has a gap of its own, so neither set holds the other."""
    broken = replace(facts(), blind=True)
    steps = [broken, facts(red="t::a t::b t::c"), facts(red="t::a t::b"), facts(red="t::a"), broken]
    found = [derive(None, [one]) for one in steps]
    assert found[0].chk == {"check:tests", "check:tests:report"}
    judged = judge_all(replace(observe(), gaps=one) for one in found)
    assert [one.progressed for one in judged] == [False, False, True, True, False]
    assert [one.memory.streak for one in judged] == [1, 2, 1, 1, 2]


def test_a_check_mended_while_another_does_not_compile_is_progress() -> None:
    broken, lint = replace(facts(), blind=True), CheckFacts("lint", False, "exited 1")
    both, one = derive(None, [broken, lint]), derive(None, [broken])
    assert progressed(one, both, both)


def test_a_binding_of_the_contract_is_evidence_of_the_contract_alone() -> None:
    """A test that the agent names after the item does not stand in for the one it is bound to."""
    stand_in = facts(passing=f"t::test_{ITEM.id.replace('-', '_')}")
    assert statuses(BOUND, [stand_in])[ITEM.id].state is ItemState.MISSING
    free = replace(BOUND, bindings={})
    assert statuses(free, [stand_in])[ITEM.id].state is ItemState.SATISFIED
    both = replace(BOUND, bindings={ITEM.id: (Binding(BindingKind.CHECK, "tests"),)})
    assert statuses(both, [stand_in])[ITEM.id].state is ItemState.SATISFIED
