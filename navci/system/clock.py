"""Time, as a door: everything that reads a clock gets one handed in."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*([smh])")


class Clock:
    """The system's clocks. Tests hand in one of their own."""

    def now(self) -> datetime:
        """The wall clock, UTC and aware."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never run backwards; for measuring."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait ``seconds``."""
        time.sleep(seconds)


SYSTEM_CLOCK = Clock()


def iso(moment: datetime) -> str:
    """UTC ISO 8601 to the second, ``2026-01-31T23:59:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_duration(text: str) -> float:
    """Seconds of ``90s``, ``60m`` or ``5h`` (DESIGN §7). Raises :class:`ValueError` otherwise."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None:
        raise ValueError("a duration is written like 90s, 60m or 5h")
    seconds = float(match[1]) * _UNITS[match[2]]
    if seconds <= 0:
        raise ValueError("a duration must be longer than 0")
    return seconds


def show_duration(seconds: float) -> str:
    """A duration for people: ``4s``, ``3m 20s``, ``2h 5m``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    return f"{whole // 3600}h {whole % 3600 // 60}m"
