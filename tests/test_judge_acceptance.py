"""Where acceptance items stand: Comet's table of evidence, and what becomes a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from navci.judge.acceptance import open_items, statuses
from navci.judge.gaps import derive
from navci.model import (
    AcceptanceItem,
    Binding,
    BindingKind,
    CheckFacts,
    Contract,
    Evidence,
    ItemState,
)

ITEM = AcceptanceItem("acc-12ab34cd56ef7890", "nine is not prime")
OTHER = AcceptanceItem("acc-aaaaaaaabbbbbbbb", "two is prime")
SATISFIED, FAILED = ItemState.SATISFIED, ItemState.FAILED
MISSING, UNVERIFIED = ItemState.MISSING, ItemState.UNVERIFIED


def by_test(selector: str) -> Binding:
    return Binding(BindingKind.TEST, selector)


def by_check(name: str) -> Binding:
    return Binding(BindingKind.CHECK, name)


def by_id(name: str) -> Binding:
    return Binding(BindingKind.ID, name)


def contract(*bindings: Binding, strict: bool = False) -> Contract:
    bound = {ITEM.id: bindings} if bindings else {}
    return Contract("k", (ITEM,), (), bound, strict)


def facts(
    name: str = "tests", *, red: str = "", passing: str = "", skipped: str = "", unloaded: str = ""
) -> CheckFacts:
    """Facts of a check that is green unless a test of it is red; ids separated by blanks."""
    return CheckFacts(
        name,
        not red and not unloaded,
        "exited 1",
        red=frozenset(red.split()),
        passing=frozenset(passing.split()),
        skipped=frozenset(skipped.split()),
        unloaded=frozenset(unloaded.split()),
    )


BY_TEST = contract(by_test("tests/test_p.py::test_nine"))
ROWS = {
    # Comet's table: evidence of the bound test, then the item's state and a part of why.
    "all bound tests passed": (
        BY_TEST,
        [facts(passing="tests.test_p::test_nine[1] tests.test_p::test_nine[2]")],
        SATISFIED,
        "and 1 more are passed",
    ),
    "one bound test is red": (
        BY_TEST,
        [facts(red="tests.test_p::test_nine[2]", passing="tests.test_p::test_nine[1]")],
        FAILED,
        "`tests.test_p::test_nine[2]` is red",
    ),
    "no bound test": (BY_TEST, [facts(passing="a::b")], MISSING, "no test that ran matches"),
    "no tests at all": (BY_TEST, [facts()], MISSING, "no test that ran matches"),
    "no facts at all": (BY_TEST, [], MISSING, "no test that ran matches"),
    "only skipped": (
        BY_TEST,
        [facts(skipped="tests.test_p::test_nine")],
        MISSING,
        "is skipped, which proves",
    ),
    "a mix of passed and skipped": (
        BY_TEST,
        [facts(passing="tests.test_p::test_nine[1]", skipped="tests.test_p::test_nine[2]")],
        MISSING,
        "`tests.test_p::test_nine[2]` is skipped",
    ),
    "red beats skipped": (
        BY_TEST,
        [facts(red="tests.test_p::test_nine[1]", skipped="tests.test_p::test_nine[2]")],
        FAILED,
        "is red",
    ),
    "the same test twice, worst wins": (
        BY_TEST,
        [facts(passing="tests.test_p::test_nine"), facts("x", red="tests.test_p::test_nine")],
        FAILED,
        "is red",
    ),
    "passed in one check, skipped in another": (
        BY_TEST,
        [facts(passing="tests.test_p::test_nine"), facts("x", skipped="tests.test_p::test_nine")],
        MISSING,
        "is skipped",
    ),
    "its module did not load": (
        BY_TEST,
        [facts(unloaded="tests.test_p")],
        FAILED,
        "`tests.test_p` is red",
    ),
    "another module did not load": (
        BY_TEST,
        [facts(unloaded="tests.test_q", passing="tests.test_p::test_nine")],
        SATISFIED,
        "is passed",
    ),
    "exit 1 although all green": (
        BY_TEST,
        [replace(facts(passing="tests.test_p::test_nine"), passed=False)],
        SATISFIED,
        "is passed",
    ),
    "bound to a green check": (contract(by_check("lint")), [facts("lint")], SATISFIED, "passed"),
    "bound to a red check": (
        contract(by_check("lint")),
        [replace(facts("lint"), passed=False)],
        FAILED,
        "exited 1",
    ),
    "bound to a check without result": (
        contract(by_check("lint")),
        [facts()],
        MISSING,
        "no result",
    ),
    "two bindings, both hold": (
        contract(by_test("tests.test_p"), by_check("tests")),
        [facts(passing="tests.test_p::test_nine")],
        SATISFIED,
        "passed",
    ),
    "two bindings, one fails": (
        contract(by_test("tests.test_p"), by_check("lint")),
        [facts(passing="tests.test_p::test_nine"), replace(facts("lint"), passed=False)],
        FAILED,
        "the check `lint` is red",
    ),
    "two bindings, failed before missing": (
        contract(by_test("nowhere"), by_check("lint")),
        [replace(facts("lint"), passed=False)],
        FAILED,
        "the check `lint` is red",
    ),
    "two selectors, one finds nothing": (
        contract(by_test("tests.test_p"), by_test("gone")),
        [facts(passing="tests.test_p::test_nine")],
        MISSING,
        "matches `gone`",
    ),
    "an id that a test carries": (
        contract(by_id("AVATAR-1")),
        [facts(passing="t::test_avatar_1")],
        SATISFIED,
        "is passed",
    ),
    "an id that a red test carries": (
        contract(by_id("AVATAR-1")),
        [facts(red="t::test_avatar_1")],
        FAILED,
        "is red",
    ),
    "an id that nothing carries": (
        contract(by_id("AVATAR-1")),
        [facts(passing="t::a")],
        MISSING,
        "`AVATAR-1` in its name",
    ),
    "bound to nothing": (
        contract(),
        [facts(passing="t::a")],
        UNVERIFIED,
        "a test with `acc_12ab34cd` in its name",
    ),
    "bound to nothing, strict": (
        contract(strict=True),
        [facts(passing="t::a")],
        MISSING,
        "`acc_12ab34cd` in its name",
    ),
    "bound to nothing, its id in a test's name": (
        contract(),
        [facts(passing="t::test_acc_12ab34cd_works")],
        SATISFIED,
        "is passed",
    ),
    "bound to nothing, its id in a red test's name": (
        contract(),
        [facts(red="t::test_acc_12ab34cd_works")],
        FAILED,
        "is red",
    ),
    "a property names it": (
        contract(),
        [replace(facts(passing="t::a"), acceptance={ITEM.id: frozenset({"t::a"})})],
        SATISFIED,
        "`t::a` is passed",
    ),
    "a property of a skipped test names it": (
        contract(),
        [replace(facts(skipped="t::a"), acceptance={ITEM.id: frozenset({"t::a"})})],
        MISSING,
        "is skipped",
    ),
    "a property names a test without result": (
        contract(),
        [replace(facts(), acceptance={ITEM.id: frozenset({"t::a"})})],
        UNVERIFIED,
        "nothing measures it",
    ),
    "a tag stands above a test that carries the id": (
        contract(by_test("gone")),
        [facts(passing="t::test_acc_12ab34cd")],
        MISSING,
        "matches `gone`",
    ),
}


@pytest.mark.parametrize(("made", "checks", "state", "why"), ROWS.values(), ids=ROWS)
def test_evidence_to_state(
    made: Contract, checks: Sequence[CheckFacts], state: ItemState, why: str
) -> None:
    status = statuses(made, checks)[ITEM.id]
    assert (status.state, why in status.why) == (state, True), status
    acc = open_items(statuses(made, checks))
    assert acc == ({ITEM.id} if state in (FAILED, MISSING) else set())
    assert derive(None, checks, acceptance=acc).acc == acc


def test_the_three_states_of_comets_first_example() -> None:
    items = tuple(AcceptanceItem(f"acc-{name * 16}", name) for name in "abc")
    bound = {item.id: (by_test(f"t::{item.text}"),) for item in items}
    found = statuses(Contract("k", items, (), bound), [facts(red="t::b", passing="t::a")])
    assert [status.state for status in found.values()] == [SATISFIED, FAILED, MISSING]
    assert list(found) == [item.id for item in items]


def test_evidence_is_kept_the_worst_first_and_bounded() -> None:
    many = " ".join(f"t::x[{n}]" for n in range(50))
    status = statuses(contract(by_test("t::x")), [facts(passing=many, red="t::x[red]")])[ITEM.id]
    assert len(status.evidence) == 5
    assert status.evidence[0] == Evidence("tests", "t::x[red]", "red")
    both = statuses(contract(by_test("t::x"), by_check("tests")), [facts(passing="t::x")])[ITEM.id]
    assert both.evidence == (Evidence("tests", "t::x", "passed"), Evidence("tests", "", "passed"))


def test_without_items_nothing_is_asked() -> None:
    assert statuses(Contract("k", (), ()), [facts(red="t::a")]) == {}


def test_missing_to_failed_is_the_same_gap() -> None:
    missing = open_items(statuses(BY_TEST, [facts()]))
    failed = open_items(statuses(BY_TEST, [facts(red="tests.test_p::test_nine")]))
    assert missing == failed == {ITEM.id}
