"""Where the work stands, and the progress percentage that goes with it (Navigator nav-loop)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from navci.model import Phase

# Indicators that, with an exit signal, make Navigator's detector say COMPLETE.
COMPLETE_AT = 4
BASE: Mapping[Phase, int] = {
    Phase.INIT: 10,
    Phase.RESEARCH: 25,
    Phase.IMPL: 50,
    Phase.VERIFY: 75,
    Phase.COMPLETE: 100,
}


class Detection(NamedTuple):
    """A phase, how sure Navigator's table is of it (0 to 1), and why."""

    phase: Phase
    confidence: float
    reason: str


def detect(
    *,
    met: int = 0,
    exit_signal: bool = False,
    tests_running: bool = False,
    tests_exit: int | None = None,
    files_changed: Collection[str] = (),
    files_read: Collection[str] = (),
    fresh: bool = False,
) -> Detection:
    """The first row that matches (Navigator's shipped detector; DESIGN §4).

    ``tests_exit`` is the last test run's exit code, ``None`` when none ran; ``fresh`` is the
    detector's ``--init`` switch. The drop-in helper uses the table as it stands; :func:`judge
    <navci.judge.judge>` gives it no exit signal that the gate did not accept.
    """
    if fresh:
        return Detection(Phase.INIT, 1.0, "Fresh initialization")
    if met >= COMPLETE_AT and exit_signal:
        return Detection(Phase.COMPLETE, 1.0, f"{met} indicators met and exit signal")
    if tests_running:
        return Detection(Phase.VERIFY, 0.95, "Tests running")
    if tests_exit == 0:
        return Detection(Phase.VERIFY, 0.9, "Tests passed")
    if tests_exit is not None:
        return Detection(Phase.IMPL, 0.85, f"Tests failed (exit code: {tests_exit})")
    if files_changed:
        return Detection(Phase.IMPL, 0.9, f"Files changed: {len(files_changed)}")
    if files_read:
        return Detection(Phase.RESEARCH, 0.85, f"Files read: {len(files_read)}")
    return Detection(Phase.INIT, 0.7, "Nothing happened yet")


def progress(phase: Phase, met: int, total: int) -> int:
    """Progress in percent, truncated: the phase's base plus up to 25 for the indicators met."""
    return min(100, BASE[phase] + 25 * met // max(total, 1))
