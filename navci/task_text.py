"""A task's text as people see it: what the rendered page hides does not reach the agent."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
# Letters and marks that take no ink though Unicode does not call them format characters:
# fillers, the grapheme joiner, variation selectors (which can carry whole hidden messages).
_INKLESS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0f"
    "\U000e0000-\U000e0fff]"
)
# Markup a browser takes for a comment; it ends at ``-->``, or at ``>`` for the last two.
_OPENING = re.compile(r"<!--|<!|<\?")


def visible(markdown: str) -> str:
    """``markdown`` without what its rendered page hides; line ends become ``\\n``.

    Gone are HTML comments (and the markup browsers take for one), control, bidirectional and
    other characters without ink, terminal escapes. Comments shown as code stay: people see them.
    """
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    hiding = "<!" in markdown or "<?" in markdown
    # From the last block to the first, so that the line numbers of the others stay true.
    for token in reversed(commonmark().parse("\n".join(lines)) if hiding else []):
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


def normalised(text: str) -> str:
    """One spelling of equal words: NFC, white space collapsed, case kept."""
    return " ".join(unicodedata.normalize("NFC", text).split())


@cache
def commonmark() -> MarkdownIt:
    """The parser of Markdown's plain form, in which task lists are lists."""
    # Imported late: commands that read no task should not pay for it.
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark")
