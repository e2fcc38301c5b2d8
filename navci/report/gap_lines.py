"""Open gaps as people read them in a log or a sentence: which, and what the evidence says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from navci.judge.gaps import ordered
from navci.model import AcceptanceItem, Gaps, ItemStatus
from navci.system.neutral import one_line, plain


def gap_lines(
    gaps: Gaps,
    excerpts: Mapping[str, str],
    items: Sequence[AcceptanceItem] = (),
    statuses: Mapping[str, ItemStatus] | None = None,
    *,
    limit: int = 10,
    width: int = 200,
) -> list[str]:
    """A line for each of the first ``limit`` gaps, acceptance items by their text; then the rest.

    A line is the gap in backticks and, where it is known, what its evidence says first, each of at
    most ``width`` characters.
    """
    texts = {item.id: item.text for item in items}
    lines = []
    for gap in ordered(gaps)[:limit]:
        status = (statuses or {}).get(gap)
        evidence = status.why if status else _first_words(gap, excerpts.get(gap, ""))
        name = texts.get(gap, gap)
        shown = f"`{_quoted(one_line(name, width))}`"
        lines.append(f"{shown}: {one_line(evidence, width)}" if evidence else shown)
    if len(gaps) > limit:
        lines.append(f"and {len(gaps) - limit} more")
    return lines


def _first_words(gap: str, excerpt: str) -> str:
    """Of a test the place and the message, of all else the first line."""
    lines = [line for line in plain(excerpt).split("\n") if line.strip()]
    return ": ".join(lines[: 2 if gap.startswith("test:") else 1])


def _quoted(name: str) -> str:
    """A name without what would end the quotation."""
    return name.replace("`", "'")
