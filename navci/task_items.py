"""Acceptance items: the task-list lines of a task, and what their own lines bind them to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from navci.errors import ConfigError
from navci.model import AcceptanceItem, Binding
from navci.settings_bindings import read_binding
from navci.task_text import commonmark, normalised, visible

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_ITEMS = 1024
_SHOWN = 80
_TICK = re.compile(r"\[[ xX]\]\s+(?=\S)")
# A word before the parenthesis makes it a call, as in `sort(test=None)`.
_TAG = re.compile(r"(?<![^\s`])\(\s*(?:test|check|id)\s*=\s*(?P<tick>`?)")


def items_of(markdown: str) -> tuple[AcceptanceItem, ...]:
    """The task-list lines of ``markdown`` outside code and comments, equal ones once.

    An item is the first paragraph of a list item that starts with ``[ ]``, ``[x]`` or ``[X]``
    (GitHub's task lists); whether it is ticked says nothing. Its id survives re-wrapping,
    reordering, ticking and another tag. A tag is ``(test=<selector>)``, ``(check=<id>)`` or
    ``(id=<id>)``, anywhere on the line, also in backticks; a value in backticks may hold a lone
    parenthesis. Raises :class:`ConfigError` for more than 1,024 items and for tags that say
    nothing.
    """
    found: dict[str, AcceptanceItem] = {}
    problems: list[str] = []
    for content in _list_items(commonmark().parse(visible(markdown))):
        tick = _TICK.match(content)
        if tick is None:
            continue
        try:
            text, bindings = _tags(content[tick.end() :])
        except ValueError as error:
            shown = normalised(content[tick.end() :])
            problems.append(f"the acceptance item “{brief(shown)}” has a tag that fails: {error}")
            continue
        name = f"acc-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        known = found.get(name, AcceptanceItem(name, text, times=0))
        both = tuple(dict.fromkeys((*known.bindings, *bindings)))
        found[name] = replace(known, bindings=both, times=known.times + 1)
    if len(found) > MAX_ITEMS:
        problems.append(
            f"the task has {len(found):,} acceptance items; at most {MAX_ITEMS:,} are allowed: "
            "split it into several tasks"
        )
    if problems:
        raise ConfigError(*problems[:MAX_ITEMS])
    return tuple(found.values())


def brief(text: str) -> str:
    """An item's text, short enough to be named in a sentence."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1].rstrip()}…"


def _tags(content: str) -> tuple[str, list[Binding]]:
    """The words of an item without its tags, and what these bind it to."""
    words: list[str] = []
    bindings: list[Binding] = []
    at = 0
    for tag in _TAG.finditer(content):
        start = tag.start()
        if start < at:
            continue
        end = _end(content, tag)
        bindings.append(read_binding(content[start + 1 : end]))
        quoted = content[start - 1 : start] == content[end + 1 : end + 2] == "`"
        words.append(content[at : start - quoted])
        at = end + 1 + quoted
    text = normalised("".join((*words, content[at:])))
    return text or normalised(content), bindings


def _end(content: str, tag: re.Match[str]) -> int:
    """Where the parenthesis of ``tag`` is closed; brackets of a test's name are skipped."""
    if tag["tick"]:
        end = content.find("`)", tag.end()) + 1
        if end:
            return end
    depth = 1
    for at in range(tag.end(), len(content)):
        depth += {"(": 1, ")": -1}.get(content[at], 0)
        if depth == 0:
            return at
    raise ValueError("its parenthesis is not closed")


def _list_items(tokens: Sequence[Token]) -> Iterator[str]:
    for opened, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opened.type == "list_item_open" and paragraph.type == "paragraph_open":
            yield inline.content
