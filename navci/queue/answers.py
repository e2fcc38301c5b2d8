"""What the trigger does beside deciding: stop and end runs, and answer who asked in a comment."""

from __future__ import annotations

from collections.abc import Callable

from navci.actions.event import Asked
from navci.errors import InfraError
from navci.model import GitHubRules
from navci.queue.decide import Decision
from navci.queue.journals import Journals
from navci.queue.refusals import Refusal
from navci.report.prose import prose
from navci.tickets.github import GitHub


def carry_out(
    decision: Decision,
    asked: Asked,
    github: GitHub,
    rules: GitHubRules,
    journals: Callable[[], Journals],
) -> list[str]:
    """Do what was asked beside starting a run; notes on what could not be done."""
    task, number = f"issue-{decision.number}", decision.number
    notes: list[str] = []
    try:
        if decision.refusal is Refusal.STOPPING:
            journals().stop(task, decision.by)
        elif decision.refusal is Refusal.ENDING and number is not None:
            journals().end(task, decision.by)
            github.labels(number, add=[rules.label_aborted], remove=[rules.label_awaiting])
        elif decision.run:
            journals().forget_stops([task])
    except InfraError as error:
        notes.append(str(error))
    if answers(decision, asked) and number is not None:
        failed = f", which failed: {notes[0]}" if notes else ""
        try:
            github.say(number, f"answer/{asked.comment}", said(decision, failed))
        except InfraError as error:
            notes.append(f"the comment was not answered: {error}")
    return notes


def answers(decision: Decision, asked: Asked) -> bool:
    """Whether a comment gets an answer: it is of someone who may ask, and no run will tell."""
    return (
        asked.name == "issue_comment"
        and asked.event is not None
        and decision.by.casefold() == asked.by.casefold() != ""
        and not decision.run
    )


def said(decision: Decision, failed: str) -> str:
    """The answer, as Markdown in which nothing of a stranger's works."""
    done = decision.refusal in (Refusal.STOPPING, Refusal.ENDING)
    command = f"`/navci {decision.command}`: " if decision.command else ""
    what = "" if done else "no run was started; "
    return f"{command}{what}{prose(decision.why + failed, 1000)}"
