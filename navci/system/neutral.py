"""The one place that makes hostile text harmless (DESIGN §10).

Task titles, test names, agent and test output come from strangers. Before such text is shown it
goes through one of these. ``plain`` is the base of all of them; ``inline``, ``table_cell``,
``code_span``, ``table_code`` and ``fence`` are for Markdown, ``html_escape`` for HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_ESCAPES = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC, hyperlinks too
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c\n]*(?:\x1b\\|\x9c)?"  # DCS SOS PM APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI
    r"|\x1b[ -/]*[0-~]?"  # every other escape
)
# Colour codes whose ESC a producer dropped (mocha, playwright); `rate(x[5m])` is none.
_REMNANTS = re.compile(r"\[(?:\d\d?|10[0-7])(?:;\d{1,3})*m(?!\])")
_NEWLINES = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 and C1; tab and newline stay
    r"\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f"  # zero width, bidirectional
    r"\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"  # tags and the like
)
_SURROGATES = re.compile(r"[\ud800-\udfff]")

_ZERO_WIDTH = "\u200b"
_MARKUP = re.compile(r"[\\`*\[\]<>~&$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_LEADING = re.compile(r"^(?:[#+=-]|\d{1,9}[.)])")
# What GitHub turns into a link or a notification: mentions, issues, commits, addresses.
_REFERENCES = re.compile(
    r"(?P<mention>@)(?=\w)|(?P<issue>#|\bGH-)(?=\d)|(?P<sha>\b[0-9a-f])(?=[0-9a-f]{6,63}\b)"
    r"|(?P<scheme>:)(?=//)|(?P<www>\bwww)(?=\.)",
    re.IGNORECASE,
)
_BACKTICKS = re.compile(r"`+")


def no_ansi(text: str) -> str:
    """Without terminal escape sequences, and without the remnants of broken ones."""
    return _REMNANTS.sub("", _ESCAPES.sub("", text))


def plain(text: str) -> str:
    """Visible text only: lines end in LF; no escapes, controls, invisible or bidirectional marks.

    Lone surrogates (bytes that were not UTF-8) become U+FFFD, so that the result can be encoded.
    """
    text = _UNSEEN.sub("", _NEWLINES.sub("\n", no_ansi(text)))
    return _SURROGATES.sub("\ufffd", text)


def one_line(text: str, limit: int = 300) -> str:
    """``plain`` on a single line of at most ``limit`` characters, with ``…`` where it was cut."""
    line = " ".join(plain(text[: 64 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def show_path(path: str, limit: int = 300) -> str:
    """A path on one line that still tells apart what differs: odd characters as escapes."""

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return (
            f"\\x{code & 0xFF:02x}"
            if code < 0x100 or 0xDC80 <= code <= 0xDCFF
            else f"\\u{code:04x}"
        )

    shown = re.sub(r"[\t\n\v\f\r\u2028\u2029]", escape, path)
    shown = _SURROGATES.sub(escape, _UNSEEN.sub(escape, shown))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def inline(text: str, limit: int = 300) -> str:
    """One line for Markdown's flow: no markup, HTML, link, mention or reference works in it."""
    line = _REFERENCES.sub(lambda m: m[0] + _ZERO_WIDTH, one_line(text, limit))
    line = _MARKUP.sub(lambda m: "&amp;" if m[0] == "&" else "\\" + m[0], line)
    return _LEADING.sub(_escape_leading, line)


def _escape_leading(match: re.Match[str]) -> str:
    return match[0][:-1] + "\\" + match[0][-1]


def table_cell(text: str, limit: int = 200) -> str:
    """``inline`` for a cell of a Markdown table."""
    return inline(text, limit).replace("|", "\\|")


def code_span(text: str, limit: int = 300) -> str:
    """One line as a code span; empty for empty text."""
    line = one_line(text, limit)
    if not line:
        return ""
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def table_code(text: str, limit: int = 200) -> str:
    """``code_span`` for a cell of a Markdown table, where ``|`` ends a cell even in code."""
    return code_span(text, limit).replace("|", "\\|")


def fence(text: str, limit: int = 4000, language: str = "text") -> str:
    """A fenced block, on lines of its own, that nothing in ``text`` can close.

    Over ``limit`` characters the middle is left out and the block says how much.
    """
    body = excerpt(text, limit)
    ticks = "`" * max(3, _longest_run(body) + 1)
    return f"{ticks}{language}\n{body}\n{ticks}"


def excerpt(text: str, limit: int = 4000, line_limit: int = 500) -> str:
    """``plain`` text of about ``limit`` characters: two thirds its head, one third its tail."""
    lines = plain(text).strip("\n").split("\n")
    body = "\n".join(
        cut if len(cut := x.rstrip()) <= line_limit else cut[:line_limit] + "…" for x in lines
    )
    if len(body) <= limit:
        return body
    head, tail = body[: limit * 2 // 3], body[-(limit // 3) :]
    return f"{head}\n… {len(body) - len(head) - len(tail):,} characters left out …\n{tail}"


def html_escape(text: str) -> str:
    """``plain`` text for HTML content and quoted attributes."""
    return html.escape(plain(text), quote=True)


def mask(text: str, secrets: Iterable[str]) -> str:
    """``text`` with every secret, and every line of one, replaced by ``***``.

    Values under four characters are left alone: masking ``1`` would make everything unreadable.
    """
    parts = {part.strip() for secret in secrets for part in (secret, *secret.splitlines())}
    for part in sorted((p for p in parts if len(p) >= 4), key=len, reverse=True):
        text = text.replace(part, "***")
    return text


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
