"""What an issue waits for, by its own words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from navci.queue.decide import Refused
from navci.queue.refusals import Refusal
from navci.task_text import commonmark, visible
from navci.tickets.github_answers import Issue

_MOST = 20
_PHRASE = re.compile(r"\b(?:blocked\s+by|depends\s+on)\b", re.IGNORECASE)
_NEXT = re.compile(
    r"[\s,;:&]+|and\b|(?P<repository>[\w.-]{1,100}/[\w.-]{1,100})?#(?P<number>\d{1,9})\b",
    re.IGNORECASE,
)


def blockers(issue: Issue, repository: str) -> tuple[int | None, ...]:
    """The issues it is blocked by or depends on, as its body says outside of code.

    In a sentence, ``blocked by #3, #4 and #5``, or in a list below it. ``None`` is one that cannot
    be asked about: of another repository, or one too many.
    """
    if "#" not in issue.body:
        return ()
    found: dict[int | None, None] = {}
    words = "\n".join(_words(issue.body))
    for phrase in _PHRASE.finditer(words):
        at = phrase.end()
        while one := _NEXT.match(words, at):
            at = one.end()
            if one["number"]:
                here = (one["repository"] or repository).casefold() == repository.casefold()
                found[int(one["number"]) if here else None] = None
    found.pop(issue.number, None)
    some = list(found)
    return tuple(some[:_MOST]) + ((None,) if some[_MOST:] else ())


def _words(markdown: str) -> Iterator[str]:
    """What is said outside of code, block by block."""
    for token in commonmark().parse(visible(markdown)):
        yield "".join(
            part.content if part.type == "text" else "\n" if part.type.endswith("break") else ""
            for part in token.children or ()
        )


def refuse_blocked(number: int | None, *, readable: bool) -> Refused:
    """One that it waits for."""
    if number is None:
        return Refused(
            Refusal.BLOCKED,
            "it is blocked by issues of another repository, or by too many, which cannot be read",
        )
    what = "open" if readable else "unreadable"
    return Refused(Refusal.BLOCKED, f"it is blocked by #{number}, which is {what}")
