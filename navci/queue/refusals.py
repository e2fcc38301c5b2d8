"""Every reason a run can be refused for, with what a person does about it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Refusal(StrEnum):
    """Why no run is started."""

    EVENT = "event"
    OTHER_LABEL = "other-label"
    NO_COMMAND = "no-command"
    UNKNOWN_COMMAND = "unknown-command"
    NO_ISSUE = "no-issue"
    GONE = "gone"
    PULL_REQUEST = "pull-request"
    CLOSED = "closed"
    NOT_LABELLED = "not-labelled"
    APP = "app"
    NO_WRITE_ACCESS = "no-write-access"
    REFUSE_LABEL = "refuse-label"
    JUST_ONCE = "just-once"
    EMPTY = "empty"
    EDITED = "edited"
    RUNNING = "running"
    WAITING = "waiting"
    FAILURE_BUDGET = "failure-budget"
    NOT_REARMED = "not-rearmed"
    BLOCKED = "blocked"
    NOTHING_RUNS = "nothing-runs"
    NOT_WAITING = "not-waiting"
    NO_NOTE = "no-note"
    STOPPING = "stopping"
    ENDING = "ending"


REFUSALS: Mapping[Refusal, tuple[str, str]] = {
    Refusal.EVENT: (
        "The event is none that starts a loop.",
        "Start it by a label, a comment `/navci run`, or a dispatch that names the issue.",
    ),
    Refusal.OTHER_LABEL: (
        "Another label was put on.",
        "Put on the loop's own label (`github.label`, by default `loop-mode`).",
    ),
    Refusal.NO_COMMAND: (
        "The comment asks for nothing.",
        "Write `/navci run` at the start of a line, outside of code.",
    ),
    Refusal.UNKNOWN_COMMAND: (
        "The comment asks for something navci does not know.",
        "Write `/navci run`, `stop`, `continue`, `adjust …` or `abort`.",
    ),
    Refusal.NO_ISSUE: ("No issue is named.", "Give its number with `issue`."),
    Refusal.GONE: (
        "The issue cannot be read: deleted, transferred, or a discussion now.",
        "Do what the message says.",
    ),
    Refusal.PULL_REQUEST: (
        "It is a pull request.",
        "Put the label on an issue that says what to do.",
    ),
    Refusal.CLOSED: ("The issue is closed.", "Reopen it, then label it again."),
    Refusal.NOT_LABELLED: (
        "The issue does not have the loop's label (any more).",
        "Put the label on.",
    ),
    Refusal.APP: (
        "An app asks, and it is not listed.",
        "List its login in `github.allow_bots`, or let a person ask.",
    ),
    Refusal.NO_WRITE_ACCESS: (
        "Who asks, or put the label on, may not write in the repository.",
        "Let someone with write access put the label on.",
    ),
    Refusal.REFUSE_LABEL: (
        "The issue has a label of `github.refuse_labels` (by default `security`).",
        "Take that label off, if the issue may be worked on in public.",
    ),
    Refusal.JUST_ONCE: (
        'The issue says "just do this once", or is off by its own word.',
        "Take these words out.",
    ),
    Refusal.EMPTY: ("The issue says nothing to do.", "Write what to do into it."),
    Refusal.EDITED: (
        "Someone without write access edited it after the labelling.",
        "Read it again, take the label off and put it on again.",
    ),
    Refusal.RUNNING: ("A loop is working on it.", "Wait for its end, or write `/navci stop`."),
    Refusal.WAITING: (
        "Its run waits for a person's word.",
        "Write `/navci continue`, `/navci adjust …` or `/navci abort`.",
    ),
    Refusal.FAILURE_BUDGET: (
        "Its failure budget is used up, and neither contract nor limit changed.",
        "Change what is asked for, or raise `native.max_verify_failures`.",
    ),
    Refusal.NOT_REARMED: (
        "Its last run ended, and nobody asked for another one since.",
        "Take the label off and put it on again, or write `/navci run`.",
    ),
    Refusal.BLOCKED: (
        "It is blocked by, or depends on, an issue that is open or unreadable.",
        "Close that one, or take the words out.",
    ),
    Refusal.NOTHING_RUNS: ("There is no loop to stop.", "Nothing."),
    Refusal.NOT_WAITING: (
        "No run of it waits for a person's word.",
        "Write `/navci run` to start one.",
    ),
    Refusal.NO_NOTE: (
        "`/navci adjust` does not say what to adjust.",
        "Write it behind the word, on the same line or below.",
    ),
    Refusal.STOPPING: ("The loop is asked to stop.", "Wait about a minute."),
    Refusal.ENDING: (
        "The run that waited for a person's word is ended by `/navci abort`.",
        "Write `/navci run` when it should be tried again.",
    ),
}
"""What each means, and what to do. The README's table is made from it."""
