"""Finish what closing a complete run could not do: a GitHub that was away, a token that died."""

from __future__ import annotations

from dataclasses import replace

from navci.actions.commands import Console
from navci.agents import AgentOptions
from navci.agents.command import CommandAgent
from navci.errors import InfraError
from navci.evidence.worktree import Worktree
from navci.journal import Journal
from navci.loop.carried import results
from navci.loop.chosen import find_identity
from navci.loop.closing import once
from navci.loop.earlier import as_seen
from navci.loop.push import push_branch, push_journal
from navci.loop.run import Folders, Run, RunRequest
from navci.loop.show import refresh, report_of
from navci.loop.ticket import Ticket, close_ticket, unfinished
from navci.loop.transcripts import secrets_of
from navci.model import Contract, End, Task
from navci.settings import Settings
from navci.system.checkout import Checkout
from navci.system.git import Git


def finish(
    request: RunRequest,
    console: Console,
    checkout: Checkout,
    folders: Folders,
    git: Git,
    journal: Journal,
    task: Task,
    contract: Contract,
    chosen: Settings,
    ticket: Ticket,
) -> list[str]:
    """Do what is left of closing; what was done. Nothing in the checkout is touched.

    Raises :class:`InfraError` when something is still left, with what and why.
    """
    now, state = request.clock.monotonic(), journal.state
    run = Run(
        request, chosen, task, contract, checkout, git,
        Worktree(git, state.base, folders.scratch), journal,
        # A run has an agent; this one starts none.
        CommandAgent(AgentOptions(command="false")), console, folders,
        identity=find_identity(chosen, checkout), deadline=now + chosen.time_budget, opened=now,
        secrets=secrets_of(chosen, request.environment), ticket=ticket,
    )  # fmt: skip
    journal.on_append = run.mirror
    run.iterations.extend(map(as_seen, journal.judged(state.run)))
    run.checks = results(journal)
    before = unfinished(run)
    if not before:
        return []
    end = state.end or End.COMPLETE
    # Both tell of the rest, so they are written anew.
    kept = tuple(step for step in state.closing if step not in ("labels", "comment"))
    journal.state = replace(state, closing=kept)
    if run.pushes:
        once(run, "pushed", "the branch was not pushed", lambda: push_branch(run))
    close_ticket(run, end, lambda: report_of(run, end, state.reason))
    if run.pushes:
        run.attempt("the journal was not pushed", lambda: push_journal(run))
    refresh(run, end, state.reason)
    left = unfinished(run)
    if left:
        why = run.close_problem or "; ".join(run.notes[-3:])
        raise InfraError(f"of closing {task.id}, {', '.join(left)} could not be done: {why}")
    return [name for name in before if name not in left]
