"""A clock for tests that wait: sleeping passes the time at once, and is remembered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from navci.system.clock import Clock

START = datetime(2026, 3, 1, 2, 0, tzinfo=UTC)


class WaitingClock(Clock):
    """Stands still but for :meth:`sleep` and :meth:`pass_`."""

    def __init__(self) -> None:
        self.slept = 0.0
        self.longest = 0.0
        self._passed = 0.0

    def now(self) -> datetime:
        return START + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        return 1000.0 + self._passed

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.longest = max(self.longest, seconds)
        self._passed += seconds

    def pass_(self, seconds: float) -> None:
        """Time goes by, and nobody slept."""
        self._passed += seconds
