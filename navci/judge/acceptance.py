"""Where each acceptance item stands, from the evidence alone (Comet Native Loop; DESIGN §4, ACC).

An item bound to nothing is looked for by its id in the ``acceptance`` properties and the names of
tests. All of its evidence has to hold: red anywhere is failed; not there, or skipped, is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from navci.judge.gaps import one_line
from navci.judge.selectors import Carriers, TestNames
from navci.model import (
    AcceptanceItem,
    Binding,
    BindingKind,
    CheckFacts,
    Contract,
    Evidence,
    ItemState,
    ItemStatus,
)

RED, SKIPPED, PASSED = "red", "skipped", "passed"
_WORST = (RED, SKIPPED, PASSED)
_ORDER = tuple(ItemState)
_KEPT = 5  # pieces of evidence of one item that are kept


def statuses(contract: Contract, checks: Sequence[CheckFacts]) -> dict[str, ItemStatus]:
    """The status of every item of ``contract`` on what was measured now, in their order."""
    if not contract.items:
        return {}
    seen = _Seen(contract, checks)
    return {item.id: _of_item(item, contract, seen) for item in contract.items}


def open_items(found: Mapping[str, ItemStatus]) -> frozenset[str]:
    """ACC: the items that are failed or missing; an unverified one is no gap."""
    open_states = (ItemState.FAILED, ItemState.MISSING)
    return frozenset(item for item, status in found.items() if status.state in open_states)


class _Seen:
    """What the checks brought, indexed by how items ask for it."""

    def __init__(self, contract: Contract, checks: Sequence[CheckFacts]) -> None:
        self.checks = {facts.check: facts for facts in checks}
        self._results: dict[str, tuple[str, str]] = {}
        for facts in checks:
            for result, tests in zip(
                _WORST, (facts.red, facts.skipped, facts.passing), strict=True
            ):
                told = (facts.check, result)
                for test in tests:
                    known = self._results.setdefault(test, told)
                    if _WORST.index(result) < _WORST.index(known[1]):
                        self._results[test] = told
        bound = [one for several in contract.bindings.values() for one in several]
        by_name = any(one.kind is BindingKind.TEST for one in bound)
        self._names = TestNames(self._results if by_name else ())
        self._modules = {
            module: facts.check for facts in checks for module in sorted(facts.unloaded)
        }
        self._unloaded = TestNames(self._modules if by_name else ())
        self._carriers = Carriers(
            {item.id: _ids(contract.bindings.get(item.id, ())) for item in contract.items},
            self._results,
            [facts.acceptance for facts in checks],
        )

    def selected(self, selector: str) -> list[Evidence]:
        """The tests of a selector, and the modules it needs that did not load."""
        modules = {*self._unloaded.select(selector), *self._unloaded.above(selector)}
        broken = [Evidence(self._modules[module], module, RED) for module in sorted(modules)]
        return [*broken, *self._evidence(self._names.select(selector))]

    def carrying(self, item: str) -> list[Evidence]:
        """The tests that carry an item's id."""
        return self._evidence(self._carriers.of(item))

    def _evidence(self, tests: Iterable[str]) -> list[Evidence]:
        told = ((test, self._results.get(test)) for test in sorted(tests))
        # A property may name a test that is in no result set; it then says nothing.
        return [Evidence(found[0], test, found[1]) for test, found in told if found]


def _ids(bindings: Sequence[Binding]) -> tuple[str, ...]:
    return tuple(one.value for one in bindings if one.kind is BindingKind.ID)


def _of_item(item: AcceptanceItem, contract: Contract, seen: _Seen) -> ItemStatus:
    bindings = contract.bindings.get(item.id, ())
    firm = [one for one in bindings if one.kind is not BindingKind.ID]
    if firm:
        return _all_of([_of_binding(one, seen) for one in firm])
    found = seen.carrying(item.id)
    wanted = f"`{_id_to_carry(item, bindings)}`"
    if found:
        return _of_tests(found, "")
    if bindings or contract.strict:
        return ItemStatus(ItemState.MISSING, f"no test that ran has {wanted} in its name")
    return ItemStatus(
        ItemState.UNVERIFIED, f"nothing measures it; a test with {wanted} in its name would"
    )


def _id_to_carry(item: AcceptanceItem, bindings: Sequence[Binding]) -> str:
    ids = _ids(bindings)
    return one_line(ids[0] if ids else item.id[: len("acc-") + 8].replace("-", "_"), 64)


def _of_binding(binding: Binding, seen: _Seen) -> ItemStatus:
    if binding.kind is BindingKind.CHECK:
        return _of_check(binding.value, seen.checks.get(binding.value))
    return _of_tests(
        seen.selected(binding.value), f"no test that ran matches `{one_line(binding.value, 120)}`"
    )


def _of_check(name: str, facts: CheckFacts | None) -> ItemStatus:
    if facts is None:
        return ItemStatus(ItemState.MISSING, f"the check `{one_line(name, 80)}` has no result")
    if facts.passed:
        evidence = (Evidence(name, "", PASSED),)
        return ItemStatus(ItemState.SATISFIED, f"the check `{one_line(name, 80)}` passed", evidence)
    why = f"the check `{one_line(name, 80)}` is red: {one_line(facts.why, 200)}"
    return ItemStatus(ItemState.FAILED, why, (Evidence(name, "", RED),))


def _of_tests(found: Sequence[Evidence], none: str) -> ItemStatus:
    """Comet's table: one red fails them all, and a skipped one proves nothing."""
    by_result = {result: [one for one in found if one.result == result] for result in _WORST}
    kept = tuple(one for result in _WORST for one in by_result[result])[:_KEPT]
    if by_result[RED]:
        return ItemStatus(ItemState.FAILED, f"{_named(by_result[RED])} red", kept)
    if not found:
        return ItemStatus(ItemState.MISSING, none)
    if by_result[SKIPPED]:
        why = f"{_named(by_result[SKIPPED])} skipped, which proves nothing"
        return ItemStatus(ItemState.MISSING, why, kept)
    return ItemStatus(ItemState.SATISFIED, f"{_named(by_result[PASSED])} passed", kept)


def _named(found: Sequence[Evidence]) -> str:
    """``` `a::b` is``` or ``` `a::b` and 2 more are```: the subject of a sentence."""
    first = f"`{one_line(found[0].test, 160)}`"
    return f"{first} is" if len(found) == 1 else f"{first} and {len(found) - 1} more are"


def _all_of(parts: Sequence[ItemStatus]) -> ItemStatus:
    """Bindings of one item together: the worst of them, and what it says."""
    state = min((part.state for part in parts), key=_ORDER.index)
    worst = [part for part in parts if part.state is state]
    evidence = tuple(_in_turn([part.evidence for part in (*worst, *parts)]))
    why = "; ".join(dict.fromkeys(part.why for part in worst))
    return ItemStatus(state, one_line(why, 600), evidence[:_KEPT])


def _in_turn(lists: Sequence[Sequence[Evidence]]) -> Iterator[Evidence]:
    yield from dict.fromkeys(one for several in lists for one in several)
