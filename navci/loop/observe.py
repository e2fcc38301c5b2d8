"""Everything measured in an iteration, as the judge's one input (DESIGN §3.2.10)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from navci.evidence.checks import to_facts
from navci.judge import indicators
from navci.judge.acceptance import open_items, statuses
from navci.judge.gaps import derive, normalise
from navci.loop.preexisting import tolerated, wanted_baseline
from navci.loop.run import Run
from navci.loop.work import Work, paths_changed
from navci.model import (
    CheckFacts,
    CheckResult,
    CloseIssue,
    Gaps,
    Indicator,
    Indicators,
    ItemState,
    ItemStatus,
    Observation,
    Reading,
    Signals,
    Turn,
)
from navci.system.globs import match_glob

_PATHS = 5000
"""Paths of one iteration that are kept in full; a tree of more is told by its count."""


def observe(
    run: Run, number: int, turn: Turn, signals: Signals, work: Work, before: str
) -> Observation:
    """The facts of iteration ``number``. What could not be measured is a gap, never a pass."""
    gaps = gaps_of(run, work.guards, work.originals)
    signal = signals.exit
    changed = tuple(name_of(path) for path in work.changed)
    if len(changed) > _PATHS:
        changed = (f"{len(changed)} files",)
    return Observation(
        iteration=number,
        contract=run.contract.hash,
        indicators=indicators_of(run, uncommitted=len(run.leave_out)),
        gaps=gaps,
        signal=signal,
        files_changed=changed,
        files_read=tuple(name_of(path) for path in turn.files_read),
        tests_exit=run.tests_exit,
        tree_changed=work.tree != before,
        run_changed=bool(changed_since_base(run)),
        spent=run.state.spent,
        out_of_time=run.seconds_left <= 0,
        stop_requested=run.stop.requested is not None,
        hypothesis=signals.hypothesis,
        acceptance=statuses_of(run),
    )


def name_of(path: str) -> str:
    """A path as text that JSON and people can hold: bytes that are no UTF-8 as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def unobserved(run: Run, number: int) -> Observation:
    """An iteration of which nothing is known: nothing is met, everything required is open."""
    return Observation(
        iteration=number,
        contract=run.contract.hash,
        indicators=dict.fromkeys(Indicator, Reading(False, "could not be measured")),
        gaps=all_open(run, ()),
        tests_exit=run.tests_exit,
        tree_changed=True,
        run_changed=True,
        spent=run.state.spent,
        out_of_time=run.seconds_left <= 0,
        stop_requested=run.stop.requested is not None,
    )


def gaps_of(run: Run, guards: Mapping[str, str], originals: Iterable[str] = ()) -> Gaps:
    """The gaps of the latest results; a required check without one is a gap.

    ``originals``: what the original-tests run found wanting.
    """
    originals = tuple(originals)
    guards = {name_of(path): why for path, why in guards.items()}

    def derived() -> Gaps:
        facts = facts_of(run.checks)
        missing = {spec.id for spec in run.required} - {fact.check for fact in facts}
        return derive(
            wanted_baseline(run.baseline, run.settings),
            facts,
            guards,
            missing,
            open_items(statuses_of(run)),
            originals=originals,
            tolerated=tolerated(run.baseline, run.settings),
        )

    return run.measured("gaps", derived, all_open(run, guards))


def all_open(run: Run, guards: Iterable[str]) -> Gaps:
    """What is open when it could not be derived: a bug of ours must not read as "no gaps"."""
    checks = [f"check:{spec.id}" for spec in run.required] or ["guard:gaps"]
    items = frozenset(item.id for item in run.contract.items)
    return Gaps(items, frozenset((*checks, *(f"guard:{name}" for name in guards))))


def statuses_of(run: Run) -> Mapping[str, ItemStatus]:
    """Where the acceptance items stand on the latest results; one that fails us is missing."""
    unmet = ItemStatus(ItemState.MISSING, "it could not be measured")
    return run.measured(
        "acceptance items",
        lambda: statuses(run.contract, facts_of(run.checks)),
        {item.id: unmet for item in run.contract.items},
    )


def facts_of(checks: Iterable[CheckResult]) -> tuple[CheckFacts, ...]:
    """What decisions need of the results."""
    return tuple(to_facts(check) for check in checks)


def indicators_of(
    run: Run, *, uncommitted: int = 0, closed: bool = False, marker: bool = False
) -> Indicators:
    """The six indicators now; a ticket that navci cannot close is not applicable."""
    unmeasured: Indicators = dict.fromkeys(Indicator, Reading(False, "could not be measured"))
    readings = run.measured(
        "indicators",
        lambda: indicators.read(
            ahead=commits_ahead(run),
            uncommitted=uncommitted,
            required=[spec.id for spec in run.required],
            checks=facts_of(run.checks),
            changed=(changed := changed_since_base(run)),
            docs_changed=[path for path in changed if is_document(run, path)],
            simplify=run.settings.simplify,
            simplified=run.simplified_tree is not None,
            closed=closed if run.task.source or (run.ticket and run.ticket.closes) else None,
            marker=marker,
        ),
        unmeasured,
    )
    shown = dict(readings)
    if run.task.id.startswith("issue-") and readings[Indicator.TICKET_CLOSED].met is None:
        shown[Indicator.TICKET_CLOSED] = Reading(None, left_open(run))
    elif run.close_problem and not closed:
        shown[Indicator.TICKET_CLOSED] = Reading(False, run.close_problem)
    if run.simplify_note and shown[Indicator.CODE_SIMPLIFIED].met is not True:
        shown[Indicator.CODE_SIMPLIFIED] = replace(
            shown[Indicator.CODE_SIMPLIFIED], why=run.simplify_note
        )
    return shown


def left_open(run: Run) -> str:
    """Why navci does not close the issue."""
    if run.ticket is None:
        return "the issue is left to a person"
    rule = run.ticket.rules.close_issue
    merged = rule is CloseIssue.WHEN_MERGED
    return f"the issue is left to {'the merge' if merged else 'a person'} (close-issue: {rule})"


def commits_ahead(run: Run) -> int:
    """Commits of the work branch that base lacks; 0 while they change nothing."""
    git = run.git
    if git.tree_of(run.state.head) == git.tree_of(run.state.base):
        return 0
    return int(git.text("rev-list", "--count", f"{run.state.base}..{run.state.head}"))


def changed_since_base(run: Run) -> tuple[str, ...]:
    """Paths of the work branch that differ from base."""
    git = run.git
    return paths_changed(run, git.tree_of(run.state.base), git.tree_of(run.state.head))


def is_document(run: Run, path: str) -> bool:
    """Whether ``path`` is documentation, as the settings' ``docs`` say."""
    return any(match_glob(path, glob) for glob in run.settings.docs)


def excerpts_of(run: Run, gaps: Gaps, work: Work | None = None) -> Mapping[str, str]:
    """What the evidence shows for each gap; bounded, for people and for the next prompt."""
    found: dict[str, str] = {}
    for check in run.checks:
        if not check.passed:
            found[f"check:{check.check}"] = f"{check.why}\n{check.excerpt}".strip()
        red = check.report.red if check.report else {}
        found.update({f"test:{normalise(test)}": text for test, text in red.items()})
    found = {**vanished(run, gaps), **found}
    if work is not None:
        found.update({f"guard:{name_of(path)}": why for path, why in work.guards.items()})
        found.update({f"original:{name}": why for name, why in work.originals.items()})
    return {gap: found[gap][:4000] for gap in _first(sorted(gaps.chk), 200) if found.get(gap)}


def vanished(run: Run, gaps: Gaps) -> dict[str, str]:
    """What there is to say of tests of base that do not run any more: the line that allows it."""
    if run.baseline is None:
        return {}
    base = {normalise(test): test for tests in run.baseline.must_pass.values() for test in tests}
    skipped = {
        normalise(test)
        for check in run.checks
        for test in (check.report.skipped if check.report else ())
    }
    found = {}
    for gap in gaps.chk:
        test = base.get(gap.removeprefix("test:"))
        if test is None or not gap.startswith("test:"):
            continue
        ran = "it ran on the base commit"
        if normalise(test) in skipped:
            found[gap] = f"{ran} and is skipped now; a skip is no pass, and neither is an xfail"
            continue
        allow = json.dumps({"navci": {"allow_removed_tests": [test]}})
        found[gap] = (
            f"{ran}, and no report names it now: put it back, or have a person allow it with "
            f"{allow} in {run.settings.config_path} of the base"
        )
    return found


def _first(names: Sequence[str], count: int) -> Sequence[str]:
    return names[:count]
