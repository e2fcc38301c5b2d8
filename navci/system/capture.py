"""One output stream of a step: to a file, a bounded tail in memory, and lines to who listens."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

LINE_LIMIT = 16 * 1024
"""Bytes of one line that listeners see; the file keeps the whole line."""


def readable(raw: bytes) -> str:
    """Text of any bytes: invalid UTF-8 and NULs become U+FFFD."""
    return raw.decode("utf-8", "replace").replace("\0", "\ufffd")


class Capture:
    """Takes a stream's chunks. Never fails: a file that cannot be written becomes a note.

    ``size`` counts every byte of the stream; ``truncated`` says that the file holds fewer.
    A listener that returns ``False`` has heard enough and is told no more.
    """

    def __init__(
        self, path: Path, *, limit: int, tail: int, on_line: Callable[[str], object] | None
    ) -> None:
        self.path = path
        self.size = 0
        self.truncated = False
        self.notes: list[str] = []
        self._limit = limit
        self._written = 0
        self._tail = bytearray()
        self._tail_limit = tail
        self._on_line = on_line
        self._line = bytearray()
        self._line_cut = False
        self._file: int | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        except OSError as problem:
            self._lose(problem)

    def feed(self, chunk: bytes) -> None:
        """The stream's next bytes."""
        self.size += len(chunk)
        self._write(chunk)
        self._tail += chunk[-self._tail_limit :] if self._tail_limit else b""
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]
        if self._on_line is not None:
            self._split(chunk)

    def mute(self) -> None:
        """Tell nobody any more: whoever listened failed."""
        self._on_line = None

    def close(self) -> None:
        """The stream is over: a last line without an end is still a line."""
        if self._on_line is not None and (self._line or self._line_cut):
            self._tell(b"")
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self.truncated:
            self.notes.append(
                f"{self.path.name}: {self.size:,} bytes were printed, the first"
                f" {self._written:,} are kept"
            )

    def tail(self) -> str:
        """The stream's last bytes as text, from the start of a line where it was cut."""
        raw = bytes(self._tail[-self._tail_limit :]) if self._tail_limit else b""
        if self.size > len(raw):
            raw = raw.partition(b"\n")[2] or raw
        return readable(raw)

    def _write(self, chunk: bytes) -> None:
        room = self._limit - self._written
        if len(chunk) > room or self._file is None:
            self.truncated = True
        if self._file is None:
            return
        rest = memoryview(chunk)[:room]
        try:
            while rest:
                count = os.write(self._file, rest)
                self._written += count
                rest = rest[count:]
        except OSError as problem:
            self.truncated = True
            os.close(self._file)
            self._file = None
            self._lose(problem)

    def _lose(self, problem: OSError) -> None:
        self.notes.append(f"cannot write {self.path}: {problem.strerror}; the rest is not kept")

    def _split(self, chunk: bytes) -> None:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            self._tell(end)
            if self._on_line is None:
                return
        self._grow(rest)

    def _grow(self, part: bytes) -> None:
        room = LINE_LIMIT - len(self._line)
        self._line += part[:room]
        self._line_cut = self._line_cut or len(part) > room

    def _tell(self, end: bytes) -> None:
        self._grow(end)
        line = readable(bytes(self._line)).removesuffix("\r") + ("…" if self._line_cut else "")
        self._line.clear()
        self._line_cut = False
        if self._on_line is None:
            return
        try:
            if self._on_line(line) is False:
                self._on_line = None
        except OSError as problem:  # the log navci prints to is gone; the step is not
            self._on_line = None
            self.notes.append(f"cannot show {self.path.name} as it comes: {problem}")
