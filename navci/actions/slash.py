"""``/navci …``: what a comment asks for. Nothing else of a comment is ever read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from navci.task_text import commonmark, visible

MAX_COMMENT = 256 * 1024
"""Four times GitHub's own limit; what is longer is no comment a person wrote."""

MAX_NOTE = 4000

_MAYBE = re.compile(r"^/navci\b", re.IGNORECASE | re.MULTILINE)
_LINE = re.compile(r"/navci(?:[ \t]+(?P<word>[^\s]+)(?P<rest>.*))?[ \t]*", re.IGNORECASE)


class Word(StrEnum):
    """What people can ask for."""

    RUN = "run"
    STOP = "stop"
    CONTINUE = "continue"
    ADJUST = "adjust"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Command:
    """``word`` is ``None`` for a word that navci does not know, which is ``said`` then.

    ``text``: what follows ``adjust``, also on the lines after it; only what people see of it.
    """

    word: Word | None
    text: str = ""
    said: str = ""


def read_command(comment: str) -> Command | None:
    """The first command of a comment: ``/navci`` at the start of a line, outside of code.

    A quoted line starts with its ``>`` and is none; nor is what an HTML comment hides.
    """
    if len(comment) > MAX_COMMENT or not _MAYBE.search(comment):
        return None
    text = visible(comment)
    lines = text.split("\n")
    hidden: set[int] = set()
    for token in commonmark().parse(text):
        if token.type in ("fence", "code_block", "html_block") and token.map:
            hidden.update(range(*token.map))
    for number, line in enumerate(lines):
        found = _LINE.fullmatch(line)
        if found and number not in hidden:
            return _command(found["word"] or "", [found["rest"] or "", *lines[number + 1 :]])
    return None


def command_of_words(words: str) -> Command:
    """The same for a dispatch, which says it without ``/navci``."""
    word, _, rest = visible(words).strip().partition(" ")
    return _command(word, rest.split("\n"))


def _command(said: str, rest: list[str]) -> Command:
    word = said.lower()
    if word not in list(Word):
        return Command(None, said=said)
    text = "\n".join(rest).strip() if word == Word.ADJUST else ""
    return Command(Word(word), text[:MAX_NOTE].strip(), said)
