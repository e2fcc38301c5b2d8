"""The agent's explicit word, read from its final message as Markdown (DESIGN §5, Signals).

Accepted, at the top level of the message only: a closed ``pilot-signal`` fence holding one JSON
object, the same inside an HTML comment, a ``nav-signal:v3`` comment on a line of its own, and a
bare ``{"v":2,…}`` line of a paragraph (Navigator nav-loop, Pilot). Inside another fence, a quote,
a list, a table, indented code or prose it is an example, and examples never end a run.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import NoReturn

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pydantic import BaseModel, ConfigDict, ValidationError

from navci.model import MAX_HYPOTHESIS, ExitSignal, Hypothesis, Signals
from navci.system.neutral import one_line, plain

MAX_TEXT = 1 << 20
_MAX_JSON = 64 * 1024
_MAX_REASON = 2000
_MAX_COMPLAINTS = 5
_V3 = re.compile(r"<!--[ \t]*nav-signal:v3:[ \t]*(\{[^\n]*\})[ \t]*-->")
_BARE = re.compile(r' {0,3}(\{[ \t]*"v"[ \t]*:[ \t]*2[ \t]*[,}].*)')
_TICKS = re.compile(r"`+")
_UNCLOSED = "a `pilot-signal` fence was not closed; end it with a line of three backticks"
_STATUS_EXIT = "`exit_signal` in a status signal is no exit; to exit, set `type` to exit"
_NO_REASON = "`no_op` counts only with `success` true and a `reason` that says why"
_HOW = {
    "type": "text, such as exit or status",
    "indicators": "an object whose values are true or false",
    **dict.fromkeys(
        ("phase", "reason", "message", "gap", "cause", "change"), "text in double quotes"
    ),
    **dict.fromkeys(("success", "exit_signal", "no_op"), "true or false, without quotes"),
}


class _Signal(BaseModel):
    """The fields of a v2 signal (Pilot). A wrong JSON type, null included, refuses the block."""

    model_config = ConfigDict(strict=True, extra="ignore")

    v: int = 2
    type: str = "status"
    phase: str = ""
    progress: int = 0
    iteration: int = 0
    max_iterations: int = 0
    indicators: dict[str, bool] = {}
    exit_signal: bool = False
    success: bool = True
    no_op: bool = False
    reason: str = ""
    message: str = ""


class _Hypothesis(BaseModel):
    """The fields of a hypothesis: which gap, why it is still open, what would be changed."""

    model_config = ConfigDict(strict=True, extra="ignore")

    v: int = 2
    gap: str
    cause: str
    change: str


class _BlockError(Exception):
    """A block that is dropped; the message tells the agent what was wrong with it."""


def read_signals(text: str) -> Signals:
    """What ``text``, an agent's final message, signals. Pure, and never raises.

    The last exit wins, and so does the last hypothesis. Dropped blocks are named in ``complaints``,
    which hold nothing of the message itself. Of a longer text only the last ``MAX_TEXT`` characters
    are read.
    """
    if len(text) > MAX_TEXT:
        text = text[-MAX_TEXT:].partition("\n")[2]
    source = plain(text)
    if "signal" not in source and '"v"' not in source:
        return Signals()
    exit_signal: ExitSignal | None = None
    phase: str | None = None
    hypothesis: Hypothesis | None = None
    complaints: dict[str, None] = {}
    for block in _blocks(source):
        try:
            signal = _decode(block)
        except _BlockError as refused:
            complaints[f"a signal was ignored: {refused}"] = None
            continue
        if signal is None:
            continue
        if isinstance(signal, _Hypothesis):
            hypothesis = _stated(signal)
            continue
        if signal.type == "status":
            phase = one_line(signal.phase, 40) or phase
            if signal.exit_signal:
                complaints[_STATUS_EXIT] = None
            continue
        exit_signal = _exit(signal)
        if signal.no_op and not exit_signal.no_op:
            complaints[_NO_REASON] = None
    return Signals(exit_signal, phase, _bounded(list(complaints)), hypothesis)


def _stated(signal: _Hypothesis) -> Hypothesis:
    # One character more than is read: the judge then sees that it is too long.
    limit = MAX_HYPOTHESIS + 1
    return Hypothesis(
        *(one_line(text, limit) for text in (signal.gap, signal.cause, signal.change))
    )


def _exit(signal: _Signal) -> ExitSignal:
    reason = one_line(signal.reason, _MAX_REASON)
    # A claim that nothing needs doing has to say why (Pilot).
    no_op = signal.no_op and signal.success and bool(reason)
    return ExitSignal(success=signal.success, no_op=no_op, reason=reason)


def _bounded(complaints: Sequence[str]) -> tuple[str, ...]:
    if len(complaints) <= _MAX_COMPLAINTS:
        return tuple(complaints)
    rest = len(complaints) - _MAX_COMPLAINTS
    return (*complaints[:_MAX_COMPLAINTS], f"{rest} more kinds of wrong signal were ignored")


# --- where signals stand ----------------------------------------------------------------------


@cache
def _markdown() -> MarkdownIt:
    # Only blocks matter; without the inline rules a MiB of text takes a tenth of a second.
    return MarkdownIt("commonmark").enable("table").disable("inline")


def _blocks(source: str) -> Iterator[str | _BlockError]:
    """Each candidate's JSON text, in document order."""
    lines = source.split("\n")
    for token in _markdown().parse(source):
        if token.level != 0 or token.map is None:
            continue
        if token.type == "fence":
            yield from _fence(token, lines)
        elif token.type == "html_block":
            yield from _comment(token.content.strip())
        elif token.type == "paragraph_open":
            yield from _paragraph(lines[slice(*token.map)])


def _fence(token: Token, lines: Sequence[str]) -> Iterator[str | _BlockError]:
    if token.info.split()[:1] != ["pilot-signal"] or token.map is None:
        return
    start, end = token.map
    closing = rf" {{0,3}}{re.escape(token.markup[0])}{{{len(token.markup)},}}[ \t]*"
    closed = end - 1 > start and re.fullmatch(closing, lines[end - 1])
    yield token.content if closed else _BlockError(_UNCLOSED)


def _comment(block: str) -> Iterator[str | _BlockError]:
    if found := _V3.fullmatch(block):
        yield found[1]
        return
    inner, closing, after = block.removeprefix("<!--").partition("-->")
    if not block.startswith("<!--") or not closing or after.strip():
        return
    lines = inner.split("\n")
    for token in _markdown().parse(inner):
        if token.type == "fence" and token.level == 0:
            yield from _fence(token, lines)


def _paragraph(lines: Sequence[str]) -> Iterator[str]:
    """The bare lines of a paragraph, but none inside a code span or comment over several lines."""
    found = [
        (number, match[1].rstrip())
        for number, line in enumerate(lines)
        if (match := _BARE.fullmatch(line)) and line.rstrip().endswith("}")
    ]
    if not found:
        return
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    hidden = {
        number
        for begin, end in _spans("\n".join(lines))
        for number in range(bisect_right(starts, begin), bisect_left(starts, end))
    }
    yield from (bare for number, bare in found if number not in hidden)


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the code spans and comments of a paragraph begin and end."""
    runs = [match.span() for match in _TICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for begin, end in reversed(runs):
        later.setdefault(end - begin, []).append(end)
    spans, covered = [], 0
    for begin, end in runs:
        same = later[end - begin]
        same.pop()  # this run itself
        if begin >= covered and same:
            covered = same[-1]
            spans.append((begin, covered))
    at = 0
    while (begin := text.find("<!--", at)) >= 0 and (at := text.find("-->", begin + 4)) >= 0:
        spans.append((begin, at))
    return spans


# --- what they say ----------------------------------------------------------------------------


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    data = dict(pairs)
    if len(data) != len(pairs):
        raise _BlockError("a key stands in it twice; name each key once")
    return data


def _integer(digits: str) -> int:
    if len(digits) > 18:
        raise _BlockError("a number in it is too large")
    return int(digits)


def _constant(name: str) -> NoReturn:
    raise _BlockError(f"{name} is not JSON")


_JSON = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_int=_integer,
    parse_constant=_constant,
)


def _decode(block: str | _BlockError) -> _Signal | _Hypothesis | None:
    """The signal in ``block``; ``None`` when it is of a type navci does not act on."""
    if isinstance(block, _BlockError):
        raise block
    if len(block) > _MAX_JSON:
        raise _BlockError(f"it is over {_MAX_JSON // 1024} KiB; one short JSON object is enough")
    try:
        data = _JSON.decode(block.strip())
    except (ValueError, RecursionError):
        raise _BlockError("it is not valid JSON; write exactly one JSON object") from None
    if not isinstance(data, dict):
        raise _BlockError("it is JSON, but not an object; write one object in braces")
    kind = data.get("type", "status")
    if isinstance(kind, str) and kind not in ("status", "exit", "hypothesis"):
        return None
    try:
        return (_Hypothesis if kind == "hypothesis" else _Signal).model_validate(data)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        field = str(first["loc"][0])
        if first["type"] == "missing":
            raise _BlockError(
                f"`{field}` is missing; a hypothesis has gap, cause, change"
            ) from None
        how = _HOW.get(field, "a whole number without quotes")
        raise _BlockError(f"`{field}` has the wrong JSON type; it must be {how}") from None
