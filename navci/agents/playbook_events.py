"""What a playbook's turn reports, read back: JSON lines among which anything may be printed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from navci.model import AgentError, AgentErrorKind, Usage


def _event(line: bytes | str) -> dict[str, Any] | None:
    """The event of a line, or ``None`` for whatever else was printed."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None


def _events(transcript: Path) -> Iterator[dict[str, Any]]:
    try:
        with transcript.open("rb") as stream:
            for line in stream:
                if (event := _event(line)) is not None:
                    yield event
    except OSError:  # it could not be written; run() said so in its notes
        return


class Events:
    """The sum of a transcript's events."""

    def __init__(self, transcript: Path) -> None:
        self.said: list[str] = []
        self.files_read: list[str] = []
        self.commands: list[str] = []
        self.usage = Usage()
        self.error: AgentError | None = None
        for event in _events(transcript):
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        match event:
            case {"event": "say", "text": str(text)}:
                self.said.append(text)
            case {"event": "read", "path": str(path)}:
                self.files_read.append(path)
            case {"event": "run", "command": str(command)}:
                self.commands.append(command)
            case {"event": "usage"}:
                self._spend(event.get("cost_usd"), event.get("tokens"))
            case {"event": "error", "kind": str(kind), "message": str(message)} if (
                kind in AgentErrorKind.__members__.values()
            ):
                at = event.get("resets_at")
                resets_at = float(at) if isinstance(at, int | float) else None
                self.error = AgentError(AgentErrorKind(kind), message, resets_at)

    def _spend(self, cost: object, tokens: object) -> None:
        if isinstance(cost, int | float):
            cost = cost + (self.usage.cost_usd or 0.0)
        if isinstance(tokens, int):
            tokens = tokens + (self.usage.tokens or 0)
        self.usage = Usage(
            cost if isinstance(cost, int | float) else self.usage.cost_usd,
            tokens if isinstance(tokens, int) else self.usage.tokens,
        )


def for_people(on_line: Callable[[str], object]) -> Callable[[str], None]:
    """A listener that turns event lines into what a person would like to see of them."""

    def listen(line: str) -> None:
        match _event(line):
            case None:
                on_line(line)
            case {"event": "say", "text": str(text)}:
                for part in text.splitlines():
                    on_line(part)
            case {"event": "run", "command": str(command)}:
                on_line(f"$ {command}")
            case {"event": "read" | "write" | "delete" as verb, "path": str(path)}:
                on_line(f"{verb} {path}")
            case {"event": "error", "message": str(message)}:
                on_line(f"error: {message}")

    return listen
