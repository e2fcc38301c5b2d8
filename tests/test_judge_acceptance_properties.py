"""What holds of acceptance items whatever the evidence: an answer, and never a better one."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from navci.judge.acceptance import statuses
from navci.model import AcceptanceItem, Binding, BindingKind, CheckFacts, Contract, ItemState
from navci.system.canonical import canonical

ITEM = AcceptanceItem("acc-12ab34cd56ef7890", "nine is not prime")
OTHER = AcceptanceItem("acc-aaaaaaaabbbbbbbb", "two is prime")
SATISFIED, FAILED, UNVERIFIED = ItemState.SATISFIED, ItemState.FAILED, ItemState.UNVERIFIED


def contract(*bindings: Binding, strict: bool = False) -> Contract:
    return Contract("k", (ITEM, OTHER), (), {ITEM.id: bindings} if bindings else {}, strict)


TESTS = st.frozensets(
    st.sampled_from(
        ["t::a", "t::a[1]", "t::acc_12ab34cd", "t::id_1", "m", "", "\udcff::*", "t::a\n`x`"]
    )
)
CHECKS = st.lists(
    st.builds(
        CheckFacts,
        st.sampled_from(["tests", "lint"]),
        st.booleans(),
        st.text(max_size=5),
        TESTS, TESTS, TESTS, TESTS,
        st.dictionaries(st.sampled_from([ITEM.id, "id-1", "x", ""]), TESTS, max_size=2),
    ),
    max_size=3,
)  # fmt: skip
BINDINGS = st.lists(
    st.builds(
        Binding,
        st.sampled_from(BindingKind),
        st.sampled_from(["t::a", "t", "*", "lint", "id-1", "", "[", "t::a*"]) | st.text(max_size=4),
    ),
    max_size=3,
).map(tuple)


@given(BINDINGS, CHECKS, st.booleans())
def test_total_and_fit_for_the_journal(
    bindings: tuple[Binding, ...], checks: list[CheckFacts], strict: bool
) -> None:
    made = contract(*bindings, strict=strict)
    found = statuses(made, checks)
    assert found == statuses(made, checks)
    assert set(found) == {ITEM.id, OTHER.id}
    canonical(found)
    for status in found.values():
        assert status.why and status.why.isprintable() and len(status.why) <= 600
        assert len(status.evidence) <= 5
        assert (status.state is UNVERIFIED) <= (not strict)


@given(BINDINGS, CHECKS, TESTS)
def test_what_is_not_passed_never_satisfies(
    bindings: tuple[Binding, ...], checks: list[CheckFacts], red: frozenset[str]
) -> None:
    """Take every pass away: nothing may stay satisfied, and no red test may go unseen."""
    without = [replace(one, passed=False, passing=frozenset(), red=one.red | red) for one in checks]
    made = contract(*bindings)
    assert statuses(made, without)[ITEM.id].state is not SATISFIED
    if statuses(made, checks)[ITEM.id].state is FAILED:
        assert statuses(made, without)[ITEM.id].state is FAILED
