"""Close a run: each step journalled, none able to prevent the marker (DESIGN §3.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from navci.journal import CLOSING, ENDED, PAUSED
from navci.loop.iteration import Ending
from navci.loop.last_words import say_end, with_evidence
from navci.loop.observe import statuses_of
from navci.loop.push import push_branch, push_journal
from navci.loop.run import Run
from navci.loop.show import refresh, report_of
from navci.loop.ticket import close_ticket
from navci.loop.work import commit_work
from navci.model import ENDS, End, ItemState
from navci.outcome import RunReport
from navci.system.neutral import one_line
from navci.tickets.taskfile import archive

_ITEMS = 20


def close(run: Run, ending: Ending) -> RunReport:
    """Whatever can be done of the end is done; what cannot is said. Never raises our own errors."""
    ending = with_evidence(run, ending)
    run.attempt("the end could not be journalled", lambda: decide(run, ending))
    if ending.end is End.COMPLETE:
        run.attempt("the acceptance items could not be told", lambda: name_unverified(run))
    if ending.end is End.COMPLETE and run.task.source:
        once(run, "archived", "the task document could not be archived", lambda: archive_task(run))
    if run.pushes:
        once(run, "pushed", "the branch was not pushed", lambda: push_branch(run))
    refresh(run, ending.end, ending.reason)
    run.attempt(
        "GitHub was not told",
        lambda: close_ticket(run, ending.end, lambda: report_of(run, ending.end, ending.reason)),
    )
    run.attempt("the end could not be journalled", lambda: journal_end(run, ending))
    if run.pushes:
        run.attempt("the journal was not pushed", lambda: push_journal(run))
    report = refresh(run, ending.end, ending.reason)
    run.attempt("the end could not be shown", lambda: say_end(run, report))
    return report


def decide(run: Run, ending: Ending) -> None:
    """From here on a process that takes over closes the run and starts no agent."""
    if run.state.deciding is not ending.end:
        state = replace(run.state, deciding=ending.end, reason=ending.reason)
        run.journal.append(CLOSING, state, {"end": ending.end, "reason": ending.reason})


def once(run: Run, name: str, failed: str, step: Callable[[], None]) -> None:
    """A step of closing that is not done again by a process that takes over."""
    if name in run.state.closing:
        return

    def do() -> None:
        step()
        state = replace(run.state, closing=(*run.state.closing, name))
        run.journal.append(CLOSING, state, {"step": name})

    run.attempt(failed, do)


def name_unverified(run: Run) -> None:
    """Say behind which acceptance items nothing but the agent's word stands."""
    known = statuses_of(run)
    texts = [i.text for i in run.contract.items if known[i.id].state is ItemState.UNVERIFIED]
    if texts:
        shown = "; ".join(one_line(text, 120) for text in texts[:_ITEMS])
        more = f"; and {len(texts) - _ITEMS} more" if texts[_ITEMS:] else ""
        run.note(f"unverified, so see for yourself (nothing measures it): {shown}{more}")


def archive_task(run: Run) -> None:
    """The task document goes to the archive, as a commit of navci's own."""
    target = archive(run.task, run.checkout.top)
    tree = run.worktree.tree()
    commit_work(run, tree, f"docs(tasks): archive as {target}")
    run.tree = tree


def journal_end(run: Run, ending: Ending) -> None:
    """The end event: after it, the next process starts a new run.

    A resumable end is none: the next process goes on with this run, in numbers, events and cost.
    """
    kind, state = ENDED, replace(run.state, end=ending.end, reason=ending.reason, lease=None)
    if ENDS[ending.end].resumable:
        kind = PAUSED
        state = replace(
            state, end=None, paused=ending.end, pauses=state.pauses + 1, deciding=None, closing=()
        )
    data = {"end": ending.end, "reason": ending.reason}
    run.journal.append(kind, state, data, snapshot=run.state.snapshot)
