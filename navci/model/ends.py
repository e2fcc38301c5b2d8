"""How a run ends: exit code, marker, colour, what to do next (DESIGN §4, ends)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class MarkerKind(StrEnum):
    """How a marker calls the end of a run; the value is the suffix of its file name."""

    COMPLETE = "complete"
    LOOP_ABORTED = "loop-aborted"
    USER_ABORTED = "user-aborted"


class End(StrEnum):
    """Every way a run can end (DESIGN §4, ends)."""

    COMPLETE = "complete"
    MAX_ITERATIONS = "max_iterations"
    STAGNATED = "stagnated"
    FAILURE_BUDGET = "failure_budget"
    COST_BUDGET = "cost_budget"
    DECLINED = "declined"
    NO_OP = "no_op"
    TIME_BUDGET = "time_budget"
    RATE_LIMITED = "rate_limited"
    INFRA_ERROR = "infra_error"
    AWAITING_APPROVAL = "awaiting_approval"
    USER_ABORTED = "user_aborted"
    JOURNAL_DAMAGED = "journal_damaged"
    SKIPPED = "skipped"
    CONFIG_ERROR = "config_error"


class FailOn(StrEnum):
    """When the job turns red: ``fail-on`` of the action."""

    INCOMPLETE = "incomplete"
    ERROR = "error"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class EndRule:
    """One row of DESIGN's table of ends.

    ``red`` says under which ``fail-on`` values the job fails. ``next_step`` is the one sentence
    that tells a person what to do.
    """

    exit_code: int
    marker: MarkerKind | None
    label: str | None
    red: frozenset[FailOn]
    next_step: str
    resumable: bool = False


_INCOMPLETE = frozenset({FailOn.INCOMPLETE})
_BOTH = frozenset({FailOn.INCOMPLETE, FailOn.ERROR})
_NEVER: frozenset[FailOn] = frozenset()

ENDS: Mapping[End, EndRule] = {
    End.COMPLETE: EndRule(
        0, MarkerKind.COMPLETE, "loop-complete", _NEVER, "Review the branch and merge it."
    ),
    End.MAX_ITERATIONS: EndRule(
        10,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Look at the open gaps; raise max_iterations (up to 20) or split the task, then run again.",
    ),
    End.STAGNATED: EndRule(
        11,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Give the task more context or a smaller goal, then run again.",
    ),
    End.FAILURE_BUDGET: EndRule(
        12,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Look at the open gaps, then raise the limit (`native.max_verify_failures` in "
        "`.agent/.nav-config.json`), change the requirement, or stop here.",
    ),
    End.COST_BUDGET: EndRule(
        16,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Raise max-cost-usd or max-tokens if the progress so far is worth it, then run again.",
    ),
    End.DECLINED: EndRule(
        13,
        MarkerKind.LOOP_ABORTED,
        "loop-declined",
        _INCOMPLETE,
        "Read the agent's reason, give it what it asks for, then run again.",
    ),
    End.NO_OP: EndRule(
        14,
        MarkerKind.LOOP_ABORTED,
        "loop-declined",
        _NEVER,
        "Check the agent's reason; close the ticket yourself if it is right.",
    ),
    End.TIME_BUDGET: EndRule(
        15,
        MarkerKind.LOOP_ABORTED,
        "loop-mode",
        _INCOMPLETE,
        "Run again to go on from here, or raise time-budget.",
        resumable=True,
    ),
    End.RATE_LIMITED: EndRule(
        17,
        MarkerKind.LOOP_ABORTED,
        "loop-mode",
        _INCOMPLETE,
        "Run again after the limit resets; nothing is lost.",
        resumable=True,
    ),
    End.INFRA_ERROR: EndRule(
        18,
        MarkerKind.LOOP_ABORTED,
        "loop-mode",
        _BOTH,
        "Mend what the reason names, then run again; nothing counts against the task.",
        resumable=True,
    ),
    End.AWAITING_APPROVAL: EndRule(
        21,
        MarkerKind.LOOP_ABORTED,
        "loop-awaiting",
        _NEVER,
        "Look at the work so far, then start the run again to go on.",
        resumable=True,
    ),
    End.USER_ABORTED: EndRule(
        130,
        MarkerKind.USER_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Run again when you want the work to go on; what was done is kept.",
    ),
    End.JOURNAL_DAMAGED: EndRule(
        20,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _BOTH,
        "Look at the journal with `navci show`; move its ref aside to start afresh.",
    ),
    End.SKIPPED: EndRule(
        19,
        None,
        None,
        _NEVER,
        "Do what the reason says, if anything; nothing was started and nothing was spent.",
    ),
    End.CONFIG_ERROR: EndRule(2, None, None, _BOTH, "Mend what the message names, then run again."),
}
