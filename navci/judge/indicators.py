"""The six completion indicators, each from plain facts: met, unmet or not applicable."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from navci.model import CheckFacts, Indicator, Indicators, Reading


def read(
    *,
    ahead: int,
    uncommitted: int,
    required: Collection[str],
    checks: Sequence[CheckFacts],
    changed: Collection[str],
    docs_changed: Collection[str],
    simplify: bool,
    simplified: bool,
    closed: bool | None,
    marker: bool,
) -> Indicators:
    """All six, in the order people see them.

    ``ahead``: commits of the work branch that base lacks; ``uncommitted``: the run's changes that
    no commit holds; ``required``: ids of the required checks; ``checks``: their facts on this
    tree; ``changed``: paths that differ from base; ``docs_changed``: those of them that match
    the ``docs`` globs; ``simplify``: is it enabled; ``simplified``: was it done for this tree;
    ``closed``: the tracker's answer, ``None`` without a ticket; ``marker``: does a completion
    marker exist.
    """
    return {
        Indicator.CODE_COMMITTED: code_committed(ahead, uncommitted),
        Indicator.TESTS_PASSING: tests_passing(required, checks),
        Indicator.CODE_SIMPLIFIED: code_simplified(simplify, simplified, changed, docs_changed),
        Indicator.DOCS_UPDATED: docs_updated(docs_changed),
        Indicator.TICKET_CLOSED: ticket_closed(closed),
        Indicator.MARKER_CREATED: marker_created(marker),
    }


def code_committed(ahead: int, uncommitted: int) -> Reading:
    """Met when the branch is ahead of base and nothing of the run is uncommitted."""
    if ahead <= 0:
        return Reading(False, "the branch is not ahead of base")
    if uncommitted > 0:
        return Reading(False, f"uncommitted changes: {uncommitted}")
    return Reading(True, f"commits ahead of base: {ahead}")


def tests_passing(required: Collection[str], checks: Sequence[CheckFacts]) -> Reading:
    """Met when every required check has facts and is green; not applicable without any."""
    if not required:
        return Reading(None, "no checks")
    facts = {one.check: one for one in checks}
    for name in sorted(required):
        if name not in facts:
            return Reading(False, f"{name}: not measured on this tree")
        if not facts[name].passed:
            return Reading(False, f"{name}: {facts[name].why}")
    return Reading(True, f"green: {', '.join(sorted(required))}")


def code_simplified(
    enabled: bool, simplified: bool, changed: Collection[str], docs_changed: Collection[str]
) -> Reading:
    """Not applicable when disabled, and when every change is a documentation file."""
    if not enabled:
        return Reading(None, "disabled")
    if changed and set(changed) <= set(docs_changed):
        return Reading(None, "docs only")
    if simplified:
        return Reading(True, "simplified and still green")
    return Reading(False, "not simplified yet")


def docs_updated(docs_changed: Collection[str]) -> Reading:
    """Met when a documentation file differs from base."""
    if not docs_changed:
        return Reading(False, "no documentation file differs from base")
    more = f" and {len(docs_changed) - 1} more" if len(docs_changed) > 1 else ""
    return Reading(True, f"{min(docs_changed)}{more}")


def ticket_closed(closed: bool | None) -> Reading:
    """The tracker's own answer; without a ticket not applicable."""
    if closed is None:
        return Reading(None, "no ticket")
    return Reading(closed, "the tracker says closed" if closed else "the tracker says open")


def marker_created(completion_marker: bool) -> Reading:
    """Met by a *completion* marker only: an aborted run's marker must not help to exit."""
    if completion_marker:
        return Reading(True, "the completion marker exists")
    return Reading(False, "no completion marker yet")
