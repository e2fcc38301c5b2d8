"""The open gaps as a prompt tells them: most telling first, with excerpts, in bounded space."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from navci.judge.gaps import normalise
from navci.model import AcceptanceItem, Gaps, ItemState, ItemStatus
from navci.system.neutral import code_span, excerpt, one_line, plain

MAX_GAPS, MIN_GAPS = 24 * 1024, 8 * 1024
"""Bytes that gaps and their excerpts may take, and those they get however long the task is."""

_NAMES = 6 * 1024  # of these, kept for the names of gaps whose excerpts do not fit
_MAX_EXCERPT = 1500
_BACKTICKS = re.compile(r"`+")
_MISSING = "no evidence yet for"
_FAILED = "not true yet"

# Failed acceptance comes before missing, evidence before guards (Comet Native Loop).
_KINDS = (
    ("check:", "this check is red"),
    ("test:", "this test is red, or no longer runs"),
    ("original:", "this test fails with the test files as they were at base"),
    ("guard:", "this is not yours to change; your change was put back or left out"),
)
_BLIND = "it left no test report that can be used, so which tests are red is not known"


@dataclass(frozen=True, slots=True)
class GapFacts:
    """The gaps, and per gap what is known of it (see :class:`navci.prompt.PromptFacts`)."""

    gaps: Gaps
    items: Sequence[AcceptanceItem]
    statuses: Mapping[str, ItemStatus]
    labels: Mapping[str, str]
    excerpts: Mapping[str, str]

    def missing(self, item: str) -> bool:
        """Whether an open item lacks evidence, rather than having evidence against it."""
        status = self.statuses.get(item)
        return status is not None and status.state is ItemState.MISSING


def gap_list(facts: GapFacts, room: int) -> str:
    """The open gaps in at most ``room`` bytes; an excerpt that several share is shown once."""
    texts = {item.id: item.text for item in facts.items}
    order = sorted(facts.gaps.acc, key=lambda gap: (facts.missing(gap), gap))
    order += sorted(facts.gaps.chk, key=lambda gap: (_kind(gap)[0], gap))
    shown: list[str] = []
    told: set[str] = set()
    left = room - 200  # for the line that says how many are not shown
    for gap in order:
        why = facts.labels.get(gap) or _why(gap, facts, texts)
        entry = f"- {code_span(gap)}: {one_line(why, 700)}"
        source = _source(gap, facts)
        if source and source not in told:
            whole = f"{entry}\n\n{fenced(facts.excerpts[source], _MAX_EXCERPT)}\n"
            if _size(whole) <= left - _NAMES:
                entry = whole
                told.add(source)
        if _size(entry) > left:
            break
        left -= _size(entry)
        shown.append(entry)
    rest = len(order) - len(shown)
    if rest:
        shown.append(f"- … and {rest} of {len(order)} open gaps that are not shown here")
    return "\n".join(shown).rstrip("\n")


def within(lines: Sequence[str], limit: int, where: str = "") -> list[str]:
    """The first of ``lines`` that fit into ``limit`` bytes, and how many do not."""
    shown: list[str] = []
    left = limit
    for line in lines:
        left -= _size(line)
        if left < 0:
            break
        shown.append(line)
    rest = len(lines) - len(shown)
    return [*shown, f"and {rest} more{', ' if where else ''}{where}"] if rest else shown


def fenced(text: str, limit: int) -> str:
    """A text from outside as a block that no echo can parse; the middle of a longer one is cut."""
    lines = excerpt(text, limit, line_limit=limit).split("\n")
    longest = max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)
    ticks = "`" * max(3, longest + 1)
    body = "\n".join(f"    {line}".rstrip() for line in lines)
    return f"{ticks}text\n{body}\n{ticks}"


def _source(gap: str, facts: GapFacts) -> str | None:
    """The gap whose excerpt shows ``gap``: its own, or that of an item's first red evidence."""
    status = facts.statuses.get(gap)
    evidence = [
        f"test:{normalise(one.test)}" if one.test else f"check:{one.check}"
        for one in (status.evidence if status else ())
        if one.result == "red"
    ]
    found = (name for name in (gap, *evidence) if plain(facts.excerpts.get(name, "")).strip())
    return next(found, None)


def _size(entry: str) -> int:
    return len(entry.encode()) + 1


def _kind(gap: str) -> tuple[int, str]:
    for place, (prefix, why) in enumerate(_KINDS):
        if gap.startswith(prefix):
            blind = prefix == "check:" and gap.endswith(":report")
            return place, _BLIND if blind else why
    return len(_KINDS), "this is not true yet"


def _why(gap: str, facts: GapFacts, texts: Mapping[str, str]) -> str:
    if gap not in texts:
        return _kind(gap)[1]
    said = f"{_MISSING if facts.missing(gap) else _FAILED}: {one_line(texts[gap], 300)}"
    status = facts.statuses.get(gap)
    return f"{said} ({status.why})" if status else said
