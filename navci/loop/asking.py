"""The issue a run is asked to work on: may it, and on which text (DESIGN §9, §10)."""

from __future__ import annotations

from dataclasses import replace

from navci.actions.event import read_asked
from navci.actions.slash import Word
from navci.errors import ConfigError, Skipped
from navci.journal import State
from navci.loop.finding import Found
from navci.loop.run import RunRequest
from navci.loop.ticket import Ticket, connect, ticket_of
from navci.model import End
from navci.queue.trigger import decide_for_run
from navci.settings import Settings
from navci.task import from_issue

UNASKED = (
    "there is no token for GitHub, so nobody was asked whether this run may start, and the issue "
    "is left to a person; give `github-token`"
)


def ask(
    request: RunRequest, found: Found, chosen: Settings, state: State
) -> tuple[Found, Ticket | None]:
    """The task as someone with write access saw it, and its ticket; ``None`` for other tasks.

    Raises :class:`Skipped` with the reason when the run may not start, :class:`ConfigError` when
    the issue's text cannot be had, and :class:`navci.errors.TrackerError` when GitHub does not
    answer: what nobody could be asked about is not begun.
    """
    number = found.number
    if number is None:
        return found, None
    environment, stop = request.environment, request.stop
    hubs = connect(environment, lambda _: None, lambda: stop.requested is not None)
    if hubs is None:
        if found.unread:
            raise ConfigError(
                f"issue {number} was asked for, and this job's event is not about it: to read it, "
                "give `github-token` (or NAVCI_GITHUB_TOKEN and GITHUB_REPOSITORY), or give the "
                "text with `task`"
            )
        return found, None
    asked = read_asked(environment)
    decision = decide_for_run(asked, hubs[0], chosen.github, number=number)
    if not decision.run:
        raise Skipped(decision.why)
    if decision.command in (Word.STOP, Word.ABORT):
        raise Skipped(f"`/navci {decision.command}` ends runs and starts none")
    if decision.command in (Word.CONTINUE, Word.ADJUST) and state.paused is None:
        raise Skipped(f"`/navci {decision.command}`: no run of issue {number} waits")
    # A person's approval is a person's word: the label alone, put on before, is none.
    if state.paused is End.AWAITING_APPROVAL and asked.name == "schedule":
        raise Skipped(f"issue {number} waits for a person's approval")
    ticket = ticket_of(hubs, number, chosen.github, environment)
    ticket.who, ticket.note = decision.by, decision.note
    if decision.issue is None:
        return found, ticket
    issue = decision.issue
    return replace(found, task=from_issue(number, issue.title, issue.body), unread=False), ticket
