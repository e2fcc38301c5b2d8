"""Which issues come first, and what becomes of labels that no run answers for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from navci.model import ENDS, End, GitHubRules
from navci.queue.decide import Past
from navci.tickets.github_answers import Happened, Issue

MAX_MATRIX = 256
"""GitHub's own limit of a matrix."""

STARTING = timedelta(minutes=15)
"""So long a run may have said that it works, and have no journal on the remote yet."""

KEEP = timedelta(days=90)
"""So long the journal of a closed task is kept."""

_MOST_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Candidate:
    """An issue that asks for a run; ``at`` is its last attempt, ``None``: it was never tried."""

    issue: Issue
    at: datetime | None


def limit(rules: GitHubRules) -> int:
    """How many runs a night has at the most."""
    return min(rules.max_per_night, MAX_MATRIX)


def ordered(candidates: Iterable[Candidate], rules: GitHubRules) -> list[Candidate]:
    """Priority labels first, in the order of the settings; then who waited longest (DESIGN §9)."""
    ranks = {name.casefold(): rank for rank, name in reversed([*enumerate(rules.priority_labels)])}

    def key(one: Candidate) -> tuple[int, float, int]:
        rank = min(
            (ranks.get(label.casefold(), len(ranks)) for label in one.issue.labels),
            default=len(ranks),
        )
        return rank, one.at.timestamp() if one.at else float("-inf"), one.issue.number

    return sorted(candidates, key=key)


def starting(timeline: Sequence[Happened], rules: GitHubRules, now: datetime) -> bool:
    """Whether ``loop-running`` was put on so lately that a run may just begin."""
    running = rules.label_running.casefold()
    put_on = [
        one.at
        for one in timeline
        if one.kind == "labeled" and (one.label or "").casefold() == running and one.at
    ]
    return bool(put_on) and now - put_on[-1] < STARTING


def label_after(past: Past, rules: GitHubRules) -> str:
    """The label that an issue has whose run is over; the loop's own when it is not.

    ``loop-running`` on an issue that nobody works on says what is not so.
    """
    end = past.ended or (past.state.paused if past.state else None)
    names: Mapping[str, str] = {
        "loop-mode": rules.label,
        "loop-complete": rules.label_complete,
        "loop-aborted": rules.label_aborted,
        "loop-declined": rules.label_declined,
        "loop-awaiting": rules.label_awaiting,
    }
    if end is None:
        return rules.label
    label = ENDS[end].label or "loop-mode"
    if past.ended is not None and label == "loop-mode":
        return rules.label_aborted  # the third night that a resumable end came
    return names.get(label, label)


def worth_a_look(
    at: Mapping[str, datetime], open_tasks: Collection[str], now: datetime
) -> list[str]:
    """Tasks whose journal is old enough to be dropped: each night some others, oldest first."""
    old = sorted(
        (when, task) for task, when in at.items() if now - when >= KEEP and task not in open_tasks
    )
    tasks = [task for _, task in old]
    if len(tasks) <= _MOST_LOOKED_AT:
        return tasks
    first = now.toordinal() * _MOST_LOOKED_AT % len(tasks)
    return (tasks[first:] + tasks[:first])[:_MOST_LOOKED_AT]


def closed_long_ago(issue: Issue, timeline: Sequence[Happened], now: datetime) -> bool:
    """Whether the issue is closed, and was 90 days ago."""
    closings = [one.at for one in timeline if one.kind == "closed" and one.at]
    return issue.closed and bool(closings) and now - closings[-1] >= KEEP


def done_long_ago(past: Past) -> bool:
    """The same for a task that is no issue: it is closed by being complete."""
    return past.ended is End.COMPLETE
