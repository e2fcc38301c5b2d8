"""A sentence of navci's own for Markdown: its code spans are shown as code, nothing else counts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from navci.system.neutral import code_span, inline, one_line

# CommonMark 6.1: as many backticks close as opened, and none stands beside them.
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def prose(text: str, limit: int = 300) -> str:
    """One line in which what stands between backticks is a code span and all else is plain words.

    navci's messages quote commands and names that way. A stranger's text in them can make a code
    span as well, but nothing more: the parts are read here and written anew.
    """
    return "".join(_parts(one_line(text, limit), limit))


def _parts(line: str, limit: int) -> Iterator[str]:
    at = 0
    for span in _SPAN.finditer(line):
        if code := code_span(span[2], limit):
            yield _words(line[at : span.start()], limit)
            yield code
            at = span.end()
    yield _words(line[at:], limit)


def _words(text: str, limit: int) -> str:
    """``inline``, with the spaces around it, which keep it apart from the code beside it."""
    words = inline(text, limit)
    before, after = text[:1].isspace(), text[-1:].isspace()
    return f"{' ' * before}{words}{' ' * after}" if words else " " * before
