"""The time a step has, and what it prints meanwhile."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import time
from collections.abc import Mapping
from subprocess import Popen, TimeoutExpired
from typing import IO

from navci.system import supervisor
from navci.system.capture import Capture
from navci.system.stop import StopFlag

STOP_GRACE = 2.0
"""Seconds a step gets when the run is stopped: the runner itself kills after 10."""

_TICK = 0.1
_CHUNK = 256 * 1024


class Watch:
    """Follows one supervisor: reads what comes, keeps the time, ends it when it must."""

    def __init__(
        self,
        process: Popen[bytes],
        streams: Mapping[IO[bytes] | None, Capture],
        report: int,
        deadline: float,
        grace: float,
        stop: StopFlag | None,
    ) -> None:
        self.ending: str | None = None
        self.notes: list[str] = []
        self.said = bytearray()
        self._process = process
        self._report = report
        self._deadline = deadline
        self._grace = grace
        self._stop = stop
        self._until = deadline
        self._orders = 0
        self._pipes = [stream for stream in streams if stream is not None]
        self._captures = list(streams.values())
        self._selector = selectors.DefaultSelector()
        for stream, capture in streams.items():
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._selector.register(stream.fileno(), selectors.EVENT_READ, capture.feed)
        os.set_blocking(report, False)
        self._selector.register(report, selectors.EVENT_READ, self._hear)

    def until_over(self) -> None:
        """Until the supervisor is gone, with everything that it could reach."""
        while self._process.poll() is None:
            self._read(_TICK)
            if not self._keep_time(time.monotonic()):
                return

    def end_now(self) -> None:
        """Only does something when we are here by an exception: end the step without grace."""
        if self._process.poll() is None:
            for capture in self._captures:
                capture.mute()
            self._orders = max(self._orders, 1)
            self._until = 0.0
            while self._process.poll() is None and self._keep_time(time.monotonic()):
                self._read(_TICK)

    def drain(self) -> None:
        """What is still in the pipes. Does not wait: somebody out of reach may hold them open."""
        give_up = time.monotonic() + 1.0
        while time.monotonic() < give_up and self._read(0):
            pass

    def close(self) -> None:
        """The last of what was printed, and no more reading."""
        self.drain()
        self._selector.close()
        os.close(self._report)
        for stream in self._pipes:
            stream.close()

    def _hear(self, chunk: bytes) -> None:
        self.said += chunk[: 4096 - len(self.said)]

    def _read(self, timeout: float) -> bool:
        """One round over what is readable; False when there was nothing."""
        ready = self._selector.select(timeout)
        for key, _ in ready:
            try:
                chunk = os.read(key.fd, _CHUNK)
            except BlockingIOError:
                continue
            if chunk:
                key.data(chunk)
            else:
                self._selector.unregister(key.fd)
                if key.fd == self._report:  # its end closes with the supervisor: no need to poll
                    with contextlib.suppress(TimeoutExpired):
                        self._process.wait(_TICK)
        return bool(ready)

    def _keep_time(self, now: float) -> bool:
        """Each order is firmer than the one before; False when there is none left to give."""
        if self._orders == 0 and self._stop is not None and self._stop.requested is not None:
            self.ending = "stopped"
            self.notes.append(f"stopped: {self._stop.requested}")
            self._politely(now, min(self._grace, STOP_GRACE))
        elif now < self._until:
            return True
        elif self._orders == 0:
            self.ending = "timed out"
            self._politely(now, self._grace)
        elif self._orders == 1:
            self._until = now + supervisor.KILL_LIMIT + 1
            self._signal(signal.SIGTERM)
            self._signal(signal.SIGCONT)  # the step may have stopped it
        elif self._orders == 2:
            self._until = now + 2
            for pid in self._tree():
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            self._signal(signal.SIGKILL)
        else:
            self.notes.append(f"process {self._process.pid} would not die and was left behind")
            return False
        self._orders += 1
        return True

    def _politely(self, now: float, grace: float) -> None:
        self._until = now + grace
        for pid in self._tree():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(OSError):
            self._process.send_signal(number)

    def _tree(self) -> list[int]:
        if not sys.platform.startswith("linux"):
            import psutil

            with contextlib.suppress(psutil.Error):
                return [child.pid for child in psutil.Process(self._process.pid).children(True)]
            return []
        return list(supervisor.descendants(self._process.pid, supervisor.process_table()))
