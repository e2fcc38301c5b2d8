"""One event: may a run of its issue start, and if not, why. Asked for as little as that needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from navci.actions.event import Asked
from navci.actions.slash import Word
from navci.errors import TrackerError
from navci.model import GitHubRules
from navci.queue import decide
from navci.queue.approved import labelling
from navci.queue.asking import approval, person, refuse_edits
from navci.queue.decide import Decision, Past, Refused
from navci.queue.refusals import Refusal
from navci.tickets.github import GitHub
from navci.tickets.github_answers import Issue

_GONE = ("gone", "moved")


@dataclass(frozen=True, slots=True)
class _Word:
    """Whose word a run stands on, the text it may work on, and when it was asked for."""

    by: str
    issue: Issue
    since: datetime | None


class _No(Exception):
    """A refusal, on its way to the one place that makes a decision of it."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused


def decide_for_run(
    asked: Asked,
    github: GitHub,
    rules: GitHubRules,
    *,
    number: int | None = None,
    past: Callable[[], Past] | None = None,
    spent: Callable[[Issue, Past], Refused | None] = lambda _issue, _past: None,
) -> Decision:
    """Whether a run may start, and on which text.

    ``number`` is the issue that the job was told to work on, for a job of the nightly matrix;
    ``past`` gives what the journal says, when it is wanted (not given: the caller looks at lease,
    ends and failure budget itself), ``spent`` whether the failure budget is used up. Raises
    :class:`navci.errors.TrackerError` when GitHub cannot be asked.

    Requests: 2 for a labelling, 4 for a comment or a dispatch, and 1 for each editor.
    """
    issue = asked.issue if asked.issue is not None else number
    command = asked.command.word if asked.command else None
    decision = Decision(True, "", number=issue, command=command)
    if asked.command and command is Word.ADJUST:
        decision = replace(decision, note=asked.command.text)
    try:
        _must(decide.refuse_event(asked, issue, rules))
        starter = _starter(asked, github, rules)
        decision = replace(decision, by=starter or "")
        word = _examined(asked, issue or 0, github, rules, starter, past, spent)
    except _No as no:
        return replace(decision, run=False, why=no.refused.why, refusal=no.refused.reason)
    return replace(decision, why=_said(asked, word, rules), issue=word.issue, by=word.by)


def _examined(
    asked: Asked,
    number: int,
    github: GitHub,
    rules: GitHubRules,
    starter: str | None,
    past: Callable[[], Past] | None,
    spent: Callable[[Issue, Past], Refused | None],
) -> _Word:
    """Everything that is asked of one issue, cheapest first. Raises :class:`_No`."""
    command = asked.command.word if asked.command else None
    known = past() if past else None
    if known is not None:
        if command is not None and starter is not None:
            _must(decide.refuse_word(command, known))
        _must(decide.refuse_busy(known))
    elif command in (Word.STOP, Word.ABORT) and starter is not None:
        _must(Refused(Refusal.NOTHING_RUNS, f"`/navci {command}` ends runs, and starts none"))
    try:
        issue = github.issue(number)
    except TrackerError as error:
        if error.kind not in _GONE:
            raise
        raise _No(Refused(Refusal.GONE, str(error))) from error
    labelled = starter is None or _is_first_labelling(asked)
    _must(decide.refuse_issue(issue, rules, labelled=labelled))
    word = _text(asked, issue, github, rules, starter)
    _must(decide.refuse_text(word.issue))
    if known is not None:
        _must(spent(word.issue, known))
        if starter is None:
            _must(decide.refuse_unarmed(known, word.since))
    return word


def _starter(asked: Asked, github: GitHub, rules: GitHubRules) -> str | None:
    """The person who asks for this run, and may; ``None`` where the label alone does.

    A schedule that a person started again is that person's word.
    """
    if asked.rerun_by:
        again = person(github, rules, asked.rerun_by)
        if again.may_start or asked.issue is not None:
            _must(decide.refuse_person(again, "started the job again"))
            return again.login
        return None
    if asked.issue is None:
        return None
    did = {
        "issues": f"put {rules.label} on",
        "issue_comment": "wrote the comment",
    }.get(asked.name, "started the workflow")
    _must(decide.refuse_person(person(github, rules, asked.by, app=asked.by_app), did))
    return asked.by


def _is_first_labelling(asked: Asked) -> bool:
    return asked.name == "issues" and not asked.rerun_by


def _text(
    asked: Asked, issue: Issue, github: GitHub, rules: GitHubRules, starter: str | None
) -> _Word:
    """Title and body that someone with write access looked at."""
    event = asked.event
    if event is not None and _is_first_labelling(asked):
        shown = replace(issue, title=event.title, body=event.body)
        return _Word(starter or "", shown, None)
    timeline = github.timeline(issue.number)
    if starter is None:
        found, refused = approval(github, rules, issue, timeline)
        _must(refused)
        return _Word(found.actor if found else "", issue, found.at if found else None)
    approved = labelling(timeline, rules)
    if approved is not None:
        _must(refuse_edits(github, rules, issue, timeline, approved))
    elif event is not None:
        # Never labelled: the comment is the word, and what the issue said then is what it is about.
        issue = replace(issue, title=event.title, body=event.body)
    return _Word(starter, issue, None)


def _must(refused: Refused | None) -> None:
    if refused is not None:
        raise _No(refused)


def _said(asked: Asked, word: _Word, rules: GitHubRules) -> str:
    """Why it runs, in one sentence."""
    command = asked.command.word if asked.command else None
    what = f"#{word.issue.number}"
    if asked.rerun_by and word.by.casefold() == asked.rerun_by.casefold():
        return f"{word.by} started the job for {what} again"
    if asked.name == "issue_comment" and command is not None:
        return f"{word.by} wrote `/navci {command}` on {what}"
    if asked.issue is not None and asked.name != "issues":
        return f"{word.by} started the workflow for {what}"
    return f"{word.by} labelled {what} {rules.label}"
