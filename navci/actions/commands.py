"""What navci prints while it works: workflow commands of its own, and strangers' text disarmed.

The runner reads every line of a step's output for commands: ``::name::`` after any leading
whitespace, ``##[name]`` anywhere (GitHub docs and runner source). Untrusted lines are broken so
that they are none, and printed between ``::stop-commands::`` tokens as a second line of defence.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, TextIO

from navci.system.neutral import mask, plain

Level = Literal["error", "warning", "notice"]
Style = Literal["bold", "dim", "red", "green", "yellow", "cyan"]

_CODES: Mapping[Style, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}
_LEVEL_STYLES: Mapping[Level, Style] = {"error": "red", "warning": "yellow", "notice": "cyan"}
_PER_LEVEL = 10  # The runner silently drops every annotation of a level beyond these.
_LINE_LIMIT = 4000


def group(title: str) -> str:
    """The command that opens a fold of the log."""
    return f"::group::{escape_data(_single(title))}"


def endgroup() -> str:
    """The command that closes a fold."""
    return "::endgroup::"


def annotation(level: Level, message: str, title: str = "") -> str:
    """The command that puts ``message`` on the run's page; it may have several lines."""
    properties = f" title={escape_property(_single(title))}" if title else ""
    return f"::{level}{properties}::{escape_data(plain(message))}"


def escape_data(text: str) -> str:
    """A command's text, as the runner unescapes it."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """A command's property, as the runner unescapes it."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def disarm(text: str) -> list[str]:
    """``text`` as visible lines none of which is a command to the runner."""
    lines = []
    for line in plain(text).split("\n"):
        cut = line if len(line) <= _LINE_LIMIT else line[:_LINE_LIMIT] + "…"
        cut = cut.replace("##[", "## [")
        body = cut.lstrip()
        lines.append(cut if not body.startswith("::") else cut.replace("::", ": :", 1))
    return lines


class Console:
    """Prints for people. In Actions with groups and annotations, elsewhere in plain lines.

    A stream that cannot be written to any more (closed pipe, full disk) is left alone: a reader
    who goes away must not end the run.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        in_actions: bool = False,
        color: bool = False,
        max_lines: int = 2000,
        max_bytes: int = 1 << 20,
    ) -> None:
        self._stream = stream
        self._in_actions = in_actions
        self._color = color
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._secrets: tuple[str, ...] = ()
        self._token: str | None = None
        self._annotations: Counter[Level] = Counter()
        self._broken = False

    @classmethod
    def for_env(cls, stream: TextIO, env: Mapping[str, str] | None = None) -> Console:
        """A console for this process; ``NO_COLOR`` is honoured (no-color.org)."""
        env = os.environ if env is None else env
        in_actions = env.get("GITHUB_ACTIONS") == "true"
        terminal = in_actions or stream.isatty()
        return cls(stream, in_actions=in_actions, color=terminal and not env.get("NO_COLOR"))

    def add_mask(self, values: Iterable[str]) -> None:
        """Print ``***`` instead of these from now on."""
        self._secrets = (*self._secrets, *values)

    def line(self, text: str = "", style: Style | None = None) -> None:
        """navci's own words, one line or several; safe even where they quote a stranger."""
        for line in disarm(mask(plain(text), self._secrets)):
            if style and self._color and line:
                self._write(f"\x1b[{_CODES[style]}m{line}\x1b[0m\n")
            else:
                self._write(f"{line}\n")

    def error(self, message: str, title: str = "") -> None:
        """Something that ends the run or that a person must mend."""
        self._annotate("error", message, title)

    def warning(self, message: str, title: str = "") -> None:
        """Something a person should know before trusting the result."""
        self._annotate("warning", message, title)

    def notice(self, message: str, title: str = "") -> None:
        """Something worth a place on the run's page."""
        self._annotate("notice", message, title)

    @contextmanager
    def group(self, title: str) -> Iterator[None]:
        """Fold what is printed inside (Actions folds one level; groups do not nest)."""
        title = mask(_single(title), self._secrets)
        if not self._in_actions:
            self.line(title, style="bold")
            yield
            return
        self._command(group(title))
        try:
            yield
        finally:
            self._command(endgroup())

    @contextmanager
    def untrusted(self, transcript: str = "") -> Iterator[Callable[[str], bool]]:
        """Yields a function that prints a stranger's output, a line or a piece at a time.

        Over the console's limits the function returns ``False``, the rest is left out and one line
        says that more of it is in ``transcript``. The token is never told to a child process.
        """
        lines = size = 0
        full = False

        def show(text: str) -> bool:
            nonlocal lines, size, full
            if full:
                return False
            for line in disarm(mask(plain(text.removesuffix("\n")), self._secrets)):
                if full:
                    break
                lines, size = lines + 1, size + len(line.encode()) + 5
                full = lines > self._max_lines or size > self._max_bytes
                self._write("" if full else f"    {line}\n")
            return not full

        if self._in_actions:
            self._stop_commands()
        try:
            yield show
        finally:
            if self._in_actions:
                self._resume_commands()
            if full:
                where = f"; more of it is in {transcript}" if transcript else ""
                self.line(f"    (output cut after {lines - 1:,} lines{where})", style="dim")

    def _annotate(self, level: Level, message: str, title: str) -> None:
        message, title = (mask(plain(text), self._secrets) for text in (message, title))
        self._annotations[level] += 1
        if self._in_actions and self._annotations[level] <= _PER_LEVEL:
            self._command(annotation(level, message, title))
            return
        said = f"{level}: {title + ': ' if title else ''}{message}"
        self.line(said, style=_LEVEL_STYLES[level])

    def _command(self, command: str) -> None:
        """Print one of our commands; inside a block of untrusted output commands are off."""
        blocked = self._token is not None
        if blocked:
            self._resume_commands()
        self._write(f"{command}\n")
        if blocked:
            self._stop_commands()

    def _stop_commands(self) -> None:
        self._token = secrets.token_hex(16)
        self._write(f"::stop-commands::{self._token}\n")

    def _resume_commands(self) -> None:
        # The newline first: after half a line of output the token would not start its line.
        self._write(f"\n::{self._token}::\n")
        self._token = None

    def _write(self, text: str) -> None:
        if self._broken:
            return
        encoding = self._stream.encoding or "utf-8"
        try:
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError):
            self._broken = True


def _single(text: str) -> str:
    return " ".join(plain(text).split())
