"""Who asked the run to stop, remembered for whoever works to look at."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType


class StopFlag:
    """Remembers that somebody wants the run to stop; a context manager that hears the signals.

    ``requested`` is what asked first (``SIGINT``, or a word given to :meth:`request`), or ``None``.
    Nothing is raised anywhere: whoever works looks at the flag.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        self.requested: str | None = None
        self._before: dict[signal.Signals, object] = {}

    def request(self, who: str) -> None:
        """Ask for the stop. Later requests change nothing."""
        if self.requested is None:
            self.requested = who

    def install(self) -> None:
        """Listen. Only the main thread can (:class:`ValueError` elsewhere)."""
        for number in self.SIGNALS:
            self._before[number] = signal.signal(number, self._hear)

    def restore(self) -> None:
        """Stop listening; the handlers are again as they were."""
        while self._before:
            number, handler = self._before.popitem()
            # None: a handler that was not set from Python cannot be put back from Python.
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)  # type: ignore[arg-type]

    def __enter__(self) -> StopFlag:
        self.install()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.restore()

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.request(signal.Signals(number).name)
