"""What comes between opening a run and its first iteration: set-up, baseline, banner."""

from __future__ import annotations

from dataclasses import replace

from navci.journal import NOT_JUDGED
from navci.judge.gaps import summary
from navci.loop.iteration import Ending
from navci.loop.observe import gaps_of
from navci.loop.original import originals_of
from navci.loop.run import Run
from navci.loop.show import refresh
from navci.loop.ticket import tell_opened
from navci.loop.verify import forget_baseline, set_up, take_baseline, verify
from navci.loop.work import enter_checkout
from navci.model import ENDS, End
from navci.report.status_block import Banner, banner
from navci.system.clock import show_duration


def begin_work(run: Run) -> Ending | None:
    """Ready for the first iteration, or how the run ends without one.

    Raises :class:`navci.errors.ConfigError` for checks nobody could pass.
    """
    tell_found(run)
    state = run.state
    if state.deciding is End.COMPLETE:
        confirmed = confirm(run)
        if confirmed is not None:
            return confirmed
    elif state.deciding is not None and not is_to_go_on(state.deciding):
        return Ending(state.deciding, state.reason)
    missing = run.agent.check()
    if missing:
        return Ending(End.INFRA_ERROR, f"the agent cannot start: {missing}")
    limit = run.settings.rules.max_verify_failures
    if state.memory.verify_failures >= limit:
        return Ending(
            End.FAILURE_BUDGET,
            f"this contract has used up its failure budget ({state.memory.verify_failures} of "
            f"{limit}) in earlier runs",
        )
    with run.console.group(f"Checks before iteration {run.state.iteration + 1}"):
        set_up(run)
        take_baseline(run)
        enter_checkout(run)
        if run.required and not run.stop.requested and run.verified_tree is None:
            # Not `run.tree`: what an interrupted attempt left is there too, and stays there.
            verify(run, run.worktree.tree(), run.folders.transcripts / "opening")
    run.console.line(banner(Banner.ACTIVATED, described(run)), style="cyan")
    tell_opened(run, refresh(run))
    return None


def confirm(run: Run) -> Ending | None:
    """The complete end that a process before this one decided, or ``None``: the run goes on.

    Its word is in the journal, which whoever killed it could write to, and so can be its baseline.
    So the checks say it once more, on the tree there is now.
    """
    decided = Ending(End.COMPLETE, run.state.reason)
    if not run.required:
        return decided
    folder = run.folders.transcripts / "closing"
    with run.console.group("Checks before the run is closed as complete"):
        forget_baseline(run)
        set_up(run)
        take_baseline(run)
        enter_checkout(run)
        run.tree = run.worktree.tree()
        verify(run, run.tree, folder)
        found = originals_of(run, run.tree, folder)
    if run.stop.requested:
        return Ending(End.USER_ABORTED, f"stopped on request ({run.stop.requested})")
    gaps = gaps_of(run, {}, found)
    if not gaps:
        return decided
    why = f"the journal says complete, but not the evidence ({summary(gaps)}); the run goes on"
    run.note(why)
    run.journal.append(NOT_JUDGED, replace(run.state, deciding=None, reason=""), {"why": why})
    return None


def is_to_go_on(deciding: End) -> bool:
    """Whether a run whose process died while it closed goes on all the same.

    It was to be taken up again anyway; only a person's approval must not be passed by.
    """
    return ENDS[deciding].resumable and deciding is not End.AWAITING_APPROVAL


def tell_found(run: Run) -> None:
    """What was found while opening: which defaults are used, and what people should know."""
    for text in run.settings.defaults:
        run.console.line(text)
    for text in run.notes:
        run.console.warning(text)


def described(run: Run) -> str:
    """The run in a few lines, for the log."""
    rules = run.settings.rules
    known = {c.check: " green" if c.passed else " red" for c in run.checks}
    checks = ", ".join(spec.id + known.get(spec.id, "") for spec in run.required)
    reachable = ["code_committed", "docs_updated", *["code_simplified"] * run.settings.simplify]
    lines = [
        f"Task: {run.task.id}: {run.task.title}",
        f"Agent: {run.settings.agent}, branch {run.state.branch}, base {run.state.base[:12]}"
        f"{', pushed at the end' if run.pushes else ''}",
        f"Limits: {rules.max_iterations} iterations, stagnation at {rules.stagnation_threshold}, "
        f"time {show_duration(run.settings.time_budget)}",
        f"Checks: {checks}"
        if run.required
        else "Checks: none; nothing but the agent's word and git stands behind this run. "
        f"{rules.min_heuristics} of {', '.join(reachable)} are needed",
    ]
    return "\n".join(lines)
