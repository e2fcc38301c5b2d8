"""The labelling a run stands on, and edits since then. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from navci.model import GitHubRules
from navci.queue.decide import Person, Refused
from navci.queue.refusals import Refusal
from navci.system.clock import iso
from navci.tickets.github_answers import Edit, Happened

EDITS_KNOWN = 100
"""So many edits GitHub tells of; before the oldest of them there may be more."""

_HAND = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Labelling:
    """Who put the loop's label on, and when; ``place`` is where the timeline has it."""

    actor: str
    at: datetime
    place: int


@dataclass(frozen=True, slots=True)
class Change:
    """An edit of title or body."""

    part: str
    editor: str
    at: datetime


def labelling(timeline: Sequence[Happened], rules: GitHubRules) -> Labelling | None:
    """The labelling that a run stands on: the last one that navci did not do itself.

    A run that pauses swaps ``loop-running`` for the label again, and the word of who put that on
    first still holds; unless someone else took the label off in between.
    """
    ours: Labelling | None = None
    for place in range(len(timeline) - 1, -1, -1):
        one = timeline[place]
        if one.at is None or (one.label or "").casefold() != rules.label.casefold():
            continue
        if one.kind == "labeled":
            found = Labelling(one.actor, one.at, place)
            if not _swapped(timeline, one, "unlabeled", rules):
                return found
            ours = ours or found
        elif one.kind == "unlabeled" and ours and not _swapped(timeline, one, "labeled", rules):
            return ours
    return ours


def _swapped(timeline: Sequence[Happened], one: Happened, kind: str, rules: GitHubRules) -> bool:
    """Whether the same account did the opposite with ``loop-running`` at that time."""
    return any(
        other.kind == kind
        and other.actor.casefold() == one.actor.casefold()
        and (other.label or "").casefold() == rules.label_running.casefold()
        and other.at is not None
        and one.at is not None
        and abs(other.at - one.at) <= _HAND
        for other in timeline
    )


def changes_since(
    approved: Labelling, timeline: Sequence[Happened], edits: Sequence[Edit], author: str
) -> list[Change]:
    """The edits of title and body after the labelling, one for each editor, and those in doubt.

    GitHub tells seconds only: an edit in the second of the labelling counts. But the oldest
    "edit" of a body is its creation, by its author.
    """
    found = [
        Change("title", one.actor, one.at)
        for one in timeline[approved.place + 1 :]
        if one.kind == "renamed" and one.at is not None
    ]
    oldest = edits[-1] if edits else None
    for edit in edits:
        creation = edit is oldest and edit.editor.casefold() == author.casefold()
        if edit.at > approved.at or (edit.at == approved.at and not creation):
            found.append(Change("body", edit.editor, edit.at))
    return list({(one.part, one.editor.casefold()): one for one in found}.values())


def unseen_edits(approved: Labelling, edits: Sequence[Edit]) -> Refused | None:
    """More edits since the labelling than GitHub tells of."""
    if len(edits) >= EDITS_KNOWN and edits[-1].at >= approved.at:
        return Refused(
            Refusal.EDITED,
            f"its body was edited {len(edits)} times or more after the labelling, which is more "
            "than can be checked; read it, take the label off and put it on again",
        )
    return None


def refuse_change(change: Change, editor: Person, approved: Labelling) -> Refused | None:
    """An edit that nobody with write access looked at."""
    if editor.may_start:
        return None
    return Refused(
        Refusal.EDITED,
        f"its {change.part} was edited by {editor.login}, who has no write access, at "
        f"{iso(change.at)}, after {approved.actor} labelled it; read it, then label again to "
        "approve",
    )
