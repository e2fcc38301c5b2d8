"""Run or not, and why: decisions on facts that were gathered elsewhere. Pure; no clock, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from navci.actions.event import Asked
from navci.actions.slash import Command, Word
from navci.errors import ConfigError
from navci.journal import State
from navci.model import ENDS, End, GitHubRules, Task
from navci.queue.refusals import Refusal
from navci.system.clock import iso
from navci.task import explicitly_off, from_issue
from navci.tickets.github_answers import Issue, Permission

KNOWN = ", ".join(f"`/navci {word}`" for word in Word)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why not: which of the reasons, and the sentence for this case."""

    reason: Refusal
    why: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Run or not, and why, in one sentence of plain text.

    ``issue`` is the snapshot whose title and body may be worked on; ``command`` what a comment or
    a dispatch asked for, with ``note`` for the agent; ``by`` whose word the run stands on: who
    asked, or who put the label on.
    """

    run: bool
    why: str
    refusal: Refusal | None = None
    number: int | None = None
    issue: Issue | None = None
    command: Word | None = None
    note: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Person:
    """An account. ``app``: an event says it is none of a person; ``listed``: in ``allow_bots``."""

    login: str
    permission: Permission = Permission.NONE
    app: bool = False
    listed: bool = False

    @property
    def may_start(self) -> bool:
        """Whether a run may stand on this account's word."""
        return self.listed or (self.permission.writes and not self.app)


@dataclass(frozen=True, slots=True)
class Past:
    """What the journal says about a task.

    ``at`` is its last append, ``alive`` whether a process holds the task; ``problem``: why the
    journal cannot be read.
    """

    state: State | None = None
    at: datetime | None = None
    alive: bool = False
    problem: str = ""

    @property
    def ended(self) -> End | None:
        """The end after which the label alone starts nothing; ``None`` where it still does."""
        end = self.state.end if self.state else None
        return end if end and ENDS[end].marker is not None else None

    @property
    def waits(self) -> bool:
        """Whether a run waits for a person's word."""
        return bool(self.state and self.state.paused is End.AWAITING_APPROVAL)

    @property
    def under_way(self) -> bool:
        """Whether there is a run that a process would go on with."""
        return bool(self.state and self.state.run and self.state.end is None)


def past_of(state: State, at: datetime | None, now: float, job: str = "", attempt: int = 0) -> Past:
    """What ``state`` says, as one looks at ``now`` (Unix time) who is that attempt of a job."""
    lease = state.lease if state.end is None else None
    alive = lease is not None and lease.holder_is_alive(now, job, attempt)
    return Past(state, at, alive)


# --- the event ------------------------------------------------------------------------------


def refuse_event(asked: Asked, number: int | None, rules: GitHubRules) -> Refused | None:
    """What the payload alone shows. ``number`` is the issue that the job was told to work on."""
    event = asked.event
    if event is not None and event.pull_request:
        return Refused(
            Refusal.PULL_REQUEST, f"#{event.number} is a pull request; loops work on issues"
        )
    match asked.name:
        case "issues":
            return _refuse_labelling(asked, rules)
        case "issue_comment":
            if asked.action != "created":
                return Refused(Refusal.EVENT, f"a comment was {asked.action}; only new ones count")
            return refuse_command(asked.command)
        case "workflow_dispatch" | "repository_dispatch" if asked.issue is not None:
            return refuse_command(asked.command)
    if number is not None:
        return None
    if asked.name in ("schedule", "workflow_dispatch", "repository_dispatch"):
        return Refused(
            Refusal.NO_ISSUE,
            f"the event `{asked.name}` names no issue; give its number with `issue`, or let "
            "`navci queue` choose",
        )
    return Refused(Refusal.EVENT, f"the event `{asked.name}` starts no loop")


def _refuse_labelling(asked: Asked, rules: GitHubRules) -> Refused | None:
    if asked.action != "labeled":
        return Refused(
            Refusal.EVENT, f"the issue was {asked.action}; only its labelling starts a loop"
        )
    label = (asked.event and asked.event.label) or ""
    if label.casefold() != rules.label.casefold():
        return Refused(
            Refusal.OTHER_LABEL, f"the label is {label}; {rules.label} is what starts a loop"
        )
    return None


def refuse_command(command: Command | None) -> Refused | None:
    """A comment or a dispatch that asks for nothing navci knows."""
    if command is None:
        return Refused(Refusal.NO_COMMAND, "the comment asks for nothing")
    if command.word is None:
        return Refused(
            Refusal.UNKNOWN_COMMAND,
            f"there is no command {command.said[:40]!r}; known: {KNOWN}"
            if command.said
            else f"`/navci` alone asks for nothing; known: {KNOWN}",
        )
    if command.word is Word.ADJUST and not command.text:
        return Refused(
            Refusal.NO_NOTE,
            "`/navci adjust` says nothing to adjust; write it behind the word, or below",
        )
    return None


# --- people ---------------------------------------------------------------------------------


def refuse_person(person: Person, did: str) -> Refused | None:
    """Who may not start a run; ``did``: what the account did."""
    if person.may_start:
        return None
    who = person.login or "nobody known"
    if person.app:
        return Refused(
            Refusal.APP,
            f"{who} {did}, and is an app; list it in `github.allow_bots`, or let a person ask",
        )
    return Refused(
        Refusal.NO_WRITE_ACCESS,
        f"{who} {did}, and has no write access here (GitHub says: {person.permission}); "
        "someone who has it must ask",
    )


# --- the issue ------------------------------------------------------------------------------


def refuse_issue(issue: Issue, rules: GitHubRules, *, labelled: bool) -> Refused | None:
    """What the issue itself shows; ``labelled``: it needs the loop's label."""
    if issue.is_pull:
        return Refused(
            Refusal.PULL_REQUEST, f"#{issue.number} is a pull request; loops work on issues"
        )
    if issue.closed:
        return Refused(Refusal.CLOSED, f"#{issue.number} is closed; reopen it to start a loop")
    for label in rules.refuse_labels:
        if issue.has_label(label):
            return Refused(
                Refusal.REFUSE_LABEL,
                f"#{issue.number} is labelled {label}, which loops keep away from; take that "
                "label off if it may be worked on",
            )
    if labelled and not (issue.has_label(rules.label) or issue.has_label(rules.label_running)):
        return Refused(
            Refusal.NOT_LABELLED, f"#{issue.number} is not labelled {rules.label} any more"
        )
    return None


def refuse_text(issue: Issue) -> Refused | None:
    """What the issue's own words forbid."""
    try:
        off = explicitly_off(task_of_issue(issue))
    except ConfigError as error:
        return Refused(Refusal.EMPTY, str(error))
    return Refused(Refusal.JUST_ONCE, f"{off}; remove it to start a loop") if off else None


def task_of_issue(issue: Issue) -> Task:
    """The issue as a task. Raises :class:`ConfigError` when it says nothing."""
    return from_issue(issue.number, issue.title, issue.body, closed=issue.closed)


# --- what came before -----------------------------------------------------------------------


def refuse_busy(past: Past) -> Refused | None:
    """A loop that is at work."""
    state = past.state
    if not (past.alive and state and state.lease):
        return None
    until = iso(datetime.fromtimestamp(state.lease.until).astimezone())
    return Refused(
        Refusal.RUNNING,
        f"a loop is working on {state.task} (on {state.lease.host}, until {until} at most); wait "
        "for its end, or write `/navci stop`",
    )


def refuse_spent(past: Past, contract: str, limit: int) -> Refused | None:
    """A failure budget that is used up, by a contract and a limit that did not change."""
    state = past.state
    if state is None:
        return None
    memory = state.memory if state.contract == contract else state.shelved.get(contract)
    if memory is None or memory.verify_failures < limit:
        return None
    return Refused(
        Refusal.FAILURE_BUDGET,
        f"this contract has used up its failure budget ({memory.verify_failures} of {limit}); "
        "change what is asked for, or raise `native.max_verify_failures`",
    )


def refuse_unarmed(past: Past, since: datetime | None) -> Refused | None:
    """A run that ended, and nobody who asked for another one; ``since``: the last who did."""
    if since and past.at and since > past.at:
        return None
    if past.waits:
        return Refused(
            Refusal.WAITING,
            "its run waits for a person's word: write `/navci continue`, `/navci adjust …` or "
            "`/navci abort`",
        )
    end = past.ended
    if end is None:
        return None
    when = f" at {iso(past.at)}" if past.at else ""
    return Refused(
        Refusal.NOT_REARMED,
        f"its last run ended {end}{when}, and nobody asked for another since; take the label off "
        "and put it on again, or write `/navci run`",
    )


def refuse_word(word: Word, past: Past) -> Refused | None:
    """Whether there is what the word wants: something to stop, or a run that waits.

    Stopping and aborting are refusals as well: they end a run, and start none.
    """
    if word in (Word.STOP, Word.ABORT) and past.alive:
        return Refused(
            Refusal.STOPPING,
            "the loop is asked to stop; it looks once a minute, keeps its work and says how it "
            "ended",
        )
    if word is Word.STOP:
        more = "; its run waits, and `/navci abort` ends it" if past.waits else ""
        return Refused(Refusal.NOTHING_RUNS, f"no loop is working on it{more}")
    if word is Word.ABORT and past.waits:
        return Refused(
            Refusal.ENDING,
            "the run that waited is ended; its work is kept, `/navci run` tries again",
        )
    if word is Word.ABORT:
        return Refused(Refusal.NOTHING_RUNS, "no loop is working on it, and none waits")
    if word in (Word.CONTINUE, Word.ADJUST) and not (past.waits or past.alive):
        return Refused(
            Refusal.NOT_WAITING,
            "no run of it waits for a person's word; write `/navci run` to start one",
        )
    return None
