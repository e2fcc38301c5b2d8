"""Is a hypothesis worth a turn? At an event it may take the strategy's place (DESIGN §4).

Comet Native Loop's override: one per failure signature, about a gap that is there, and new.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from navci.judge.gaps import one_line, ordered
from navci.judge.stagnation import signature
from navci.model import MAX_HYPOTHESIS, Gaps, Hypothesis, Memory

NEAR = 0.6
KEPT = 16  # accepted hypotheses that are remembered, the last ones
# Scripts that put no spaces between words: each character is one.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_NAME_LIMIT = 300


def refusal(
    said: Hypothesis, gaps: Gaps, earlier: Sequence[Hypothesis], *, used: bool
) -> str | None:
    """Why ``said`` is not taken up, or ``None`` when it is.

    ``earlier``: the accepted hypotheses of the contract; ``used``: this failure's signature has
    had its one already.
    """
    size = len(f"{said.cause.strip()}{said.change.strip()}")
    if not words(said.cause) or not words(said.change):
        return "it must say both a `cause` and a `change`, in words"
    if size > MAX_HYPOTHESIS:
        return f"it has {size:,} characters; at most {MAX_HYPOTHESIS:,} are read"
    if not names_gap(said.gap, gaps):
        return f"`{one_line(said.gap, 120) or 'nothing'}` is not the name of an open gap"
    for one in earlier:
        if overlap(said, one) >= NEAR:
            return f"it says nearly the same as an earlier one: {one_line(one.change, 200)}"
    if used:
        return "this failure, with the very same gaps, has had its one hypothesis already"
    return None


def names_gap(text: str, gaps: Gaps) -> bool:
    """Whether ``text`` is an open gap's id as people and prompts show it, or holds one whole."""
    text = one_line(text, MAX_HYPOTHESIS)
    shown = (one_line(gap, _NAME_LIMIT) for gap in ordered(gaps))
    return any(
        name in text and re.search(rf"(?<![\w:-]){re.escape(name)}(?![\w:-])", text)
        for name in shown
        if name
    )


def overlap(one: Hypothesis, other: Hypothesis) -> float:
    """How much of what two hypotheses say together they have in common, from 0 to 1."""
    left, right = words(f"{one.cause} {one.change}"), words(f"{other.cause} {other.change}")
    return len(left & right) / max(1, len(left | right))


def words(text: str) -> frozenset[str]:
    """The words of ``text``, whatever their order, case and punctuation."""
    return frozenset(_TOKEN.findall(text.casefold()))


def consider(
    said: Hypothesis | None, contract: str, gaps: Gaps, memory: Memory
) -> tuple[Hypothesis | None, str, Memory]:
    """At an event: the hypothesis that the next turn pursues, why not, and what is remembered."""
    if said is None:
        return None, "", memory
    signed = signature(contract, gaps)
    refused = refusal(said, gaps, memory.hypotheses, used=signed in memory.overridden)
    if refused is not None:
        return None, f"The hypothesis was not taken up: {refused}.", memory
    memory = replace(
        memory,
        hypotheses=(*memory.hypotheses, said)[-KEPT:],
        overridden=memory.overridden | {signed},
    )
    return said, "", memory
