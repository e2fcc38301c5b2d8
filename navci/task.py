"""The task: what to do, and what of it must become true.

A task's text is data written by someone else. It is read as Markdown, the way a person sees it
on the page: what the page hides (comments, invisible characters) does not reach the agent.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from navci.errors import ConfigError
from navci.model import AcceptanceItem, CheckSpec, Contract, Task
from navci.system.canonical import digest

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_ITEMS = 1024
MAX_HEADLINE = 100  # of a text, whose title is its first line
MAX_TITLE = 256  # GitHub's limit for an issue's title

_TICK = re.compile(r"\[[ xX]\]\s+(?=\S)")
_ONCE = re.compile(r"\bjust\s+do\s+this\s+once\b", re.IGNORECASE)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+|\s+#+\s*$")
_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
# Letters and marks that take no ink though Unicode does not call them format characters:
# fillers, the grapheme joiner, variation selectors (which can carry whole hidden messages).
_INKLESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f"
    "\U000e0000-\U000e0fff]"
)
# Markup a browser takes for a comment; it ends at ``-->``, or at ``>`` for the last two.
_OPENING = re.compile(r"<!--|<!|<\?")


# --- where a task comes from ----------------------------------------------------------------


def from_text(text: str) -> Task:
    """A task given as text; its id is made of the exact text, so the same text is the same task.

    Raises :class:`ConfigError` when there is nothing in it to do.
    """
    seen = _something(text, "give the text of what to do with --task")
    return Task(
        id=text_id(text), title=_first_line(seen, MAX_HEADLINE), body=text, items=items_of(text)
    )


def from_issue(number: int, title: str, body: str | None, *, closed: bool = False) -> Task:
    """A task that is a GitHub issue. An issue without a body is its title."""
    _something(f"{title}\n\n{body or ''}", f"write into issue #{number} what to do")
    return Task(
        id=f"issue-{number}",
        title=_first_line(visible(title)) or f"Issue {number}",
        body=body or "",
        items=items_of(body or ""),
        closed=closed,
        has_ticket=True,
    )


def from_document(
    task_id: str,
    title: str,
    body: str,
    *,
    source: str,
    loop_mode: bool | None = None,
    closed: bool = False,
) -> Task:
    """A task that is a document of the repository; the document is its own ticket."""
    _something(body, f"write into {source} what to do")
    return Task(
        id=task_id,
        title=_first_line(visible(title)) or task_id,
        body=body,
        items=items_of(body),
        source=source,
        loop_mode=loop_mode,
        closed=closed,
        has_ticket=True,
    )


def text_id(text: str) -> str:
    """``text-`` and the first 8 hex digits of the text's SHA-256 (DESIGN §1)."""
    return f"text-{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


# --- what becomes of it ---------------------------------------------------------------------


def text_for_agent(task: Task) -> str:
    """The task as the agent is told it: Markdown, without what people do not see of it."""
    body = visible(task.body).strip("\n")
    if not body:
        return task.title
    if task.id.startswith("text-") or task.title in body.partition("\n")[0]:
        return body
    return f"# {task.title}\n\n{body}"


def build_contract(task: Task, checks: Sequence[CheckSpec]) -> Contract:
    """What must become true, and its hash.

    Ticks, line ends, the order of items and checks, and, where there are items, the prose around
    them are not part of the hash; nor is a check's time limit, which bounds a check without
    changing what it demands.
    """
    wanted: object = (
        {"items": sorted(item.id for item in task.items)}
        if task.items
        else {"text": normalised(text_for_agent(task))}
    )
    demanded = [
        {
            "id": check.id,
            "command": check.command.replace("\r\n", "\n").strip(),
            "junit": sorted(set(check.junit)),
            "may_write": sorted(set(check.may_write)),
        }
        for check in sorted(checks, key=lambda check: check.id)
    ]
    return Contract(
        hash=digest({"contract": 1, "task": wanted, "checks": demanded}),
        items=task.items,
        checks=tuple(checks),
    )


def explicitly_off(task: Task) -> str | None:
    """Why this task must not be looped (DESIGN §9), or ``None``.

    The words count where they are said, not where code quotes them.
    """
    if task.loop_mode is False:
        return f"{task.source or 'the task'} says `loop_mode: false`"
    said = " ".join((*_prose(visible(task.title)), *_prose(visible(task.body))))
    if _ONCE.search(said):
        return 'the task says "just do this once"'
    return None


# --- acceptance items -----------------------------------------------------------------------


def items_of(markdown: str) -> tuple[AcceptanceItem, ...]:
    """The task-list lines of ``markdown`` outside code and comments, equal ones once.

    An item is the first paragraph of a list item that starts with ``[ ]``, ``[x]`` or ``[X]``
    (GitHub's task lists); whether it is ticked says nothing. Its id survives re-wrapping,
    reordering and ticking. Raises :class:`ConfigError` for more than 1,024.
    """
    found: dict[str, AcceptanceItem] = {}
    for content in _list_items(_markdown().parse(visible(markdown))):
        tick = _TICK.match(content)
        if tick is None:
            continue
        text = normalised(content[tick.end() :])
        name = f"acc-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        found.setdefault(name, AcceptanceItem(name, text))
    if len(found) > MAX_ITEMS:
        raise ConfigError(
            f"the task has {len(found):,} acceptance items; at most {MAX_ITEMS:,} are allowed: "
            "split it into several tasks"
        )
    return tuple(found.values())


def normalised(text: str) -> str:
    """One spelling of equal words: NFC, white space collapsed, case kept."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def first_heading(markdown: str) -> str:
    """The text of the first heading people see in ``markdown``, or nothing."""
    tokens = _markdown().parse(visible(markdown))
    for opened, inline in pairwise(tokens):
        if opened.type == "heading_open" and inline.content.strip():
            return normalised(inline.content)
    return ""


def _list_items(tokens: Sequence[Token]) -> Iterator[str]:
    for opened, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opened.type == "list_item_open" and paragraph.type == "paragraph_open":
            yield inline.content


# --- what people see ------------------------------------------------------------------------


def visible(markdown: str) -> str:
    """``markdown`` without what its rendered page hides; line ends become ``\\n``.

    Gone are HTML comments (and the markup browsers take for one), control, bidirectional and
    other characters without ink, terminal escapes. Comments shown as code stay: people see them.
    """
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    hiding = "<!" in markdown or "<?" in markdown
    # From the last block to the first, so that the line numbers of the others stay true.
    for token in reversed(_markdown().parse("\n".join(lines)) if hiding else []):
        if token.map is None:
            continue
        start, end = token.map
        text = "\n".join(lines[start:end])
        if token.type == "html_block":
            text, unclosed = _without_comments(text)
            # A browser looks for the end of a comment beyond the block that Markdown ends.
            lines[start : len(lines) if unclosed else end] = [text]
        elif token.type == "inline" and _hides(token):
            lines[start:end] = [_without_comments(text, keep_unclosed=True)[0]]
    return _with_ink("\n".join(lines))


def _hides(inline: Token) -> bool:
    return any(
        part.type == "html_inline" and part.content.startswith(("<!", "<?"))
        for part in inline.children or ()
    )


def _without_comments(text: str, *, keep_unclosed: bool = False) -> tuple[str, bool]:
    """``text`` without comments, and whether one was still open at its end."""
    kept: list[str] = []
    never_closed: set[str] = set()
    at = 0
    for opened in _OPENING.finditer(text):
        start, opening = opened.start(), opened[0]
        if start < at or opening in never_closed:
            continue
        closing = "-->" if opening == "<!--" else ">"
        end = text.find(closing, start + 2)
        if end >= 0:
            kept.append(text[at:start])
            at = end + len(closing)
        elif keep_unclosed:
            never_closed.add(opening)
        else:
            return "".join((*kept, text[at:start])), opening == "<!--"
    return "".join((*kept, text[at:])), False


def _with_ink(text: str) -> str:
    text = _INKLESS.sub("", _TERMINAL.sub("", text))
    return "".join(kept for character in text if (kept := _ink(character)))


@cache
def _ink(character: str) -> str:
    if character in "\n\t":
        return character
    match unicodedata.category(character):
        case "Cc" | "Cf":
            return ""
        case "Zl" | "Zp":
            return "\n"
        case "Cs":  # half of a character: bytes that were not UTF-8
            return "\ufffd"
        case _:
            return character


def _prose(markdown: str) -> Iterator[str]:
    """The words of ``markdown`` that are not code, block by block."""
    for token in _markdown().parse(markdown):
        parts = token.children or () if token.type == "inline" else ()
        words = [part.content if part.type == "text" else " " for part in parts if not part.nesting]
        if words:
            # A full stop between blocks: words of two blocks make no phrase.
            yield "".join(words) + " ."


def _something(text: str, remedy: str) -> str:
    seen = visible(text)
    if not seen.strip():
        raise ConfigError(f"the task is empty; {remedy}")
    return seen


def _first_line(text: str, limit: int = MAX_TITLE) -> str:
    for line in text.split("\n"):
        if title := normalised(_HEADING.sub("", line)):
            return title if len(title) <= limit else f"{title[: limit - 1].rstrip()}…"
    return ""


@cache
def _markdown() -> MarkdownIt:
    # Imported late: commands that read no task should not pay for it.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")
