"""Phase detection (Navigator's cases 8 to 12), progress (its goldens, cases 23 and 24)."""

from __future__ import annotations

from typing import Any

import pytest

from navci.judge.phase import BASE, detect, progress
from navci.model import Phase


@pytest.mark.parametrize(
    ("facts", "phase", "confidence"),
    [
        ({"met": 4, "exit_signal": True, "tests_running": True}, Phase.COMPLETE, 1.0),
        ({"met": 3, "exit_signal": True, "tests_running": True}, Phase.VERIFY, 0.95),
        ({"met": 6}, Phase.INIT, 0.7),
        ({"tests_exit": 0, "files_changed": ["a"]}, Phase.VERIFY, 0.9),
        ({"tests_exit": 1, "files_changed": ["a"]}, Phase.IMPL, 0.85),
        ({"tests_exit": -9}, Phase.IMPL, 0.85),
        ({"files_changed": ["a"], "files_read": ["b"]}, Phase.IMPL, 0.9),
        ({"files_read": ["b"]}, Phase.RESEARCH, 0.85),
        ({}, Phase.INIT, 0.7),
        ({"fresh": True, "files_changed": ["a"]}, Phase.INIT, 1.0),
    ],
)
def test_first_match(facts: dict[str, Any], phase: Phase, confidence: float) -> None:
    assert detect(**facts)[:2] == (phase, confidence)


def test_reasons_in_navigators_words() -> None:
    assert detect(tests_exit=2).reason == "Tests failed (exit code: 2)"
    assert detect(fresh=True).reason == "Fresh initialization"


@pytest.mark.parametrize(
    ("phase", "met", "total", "percent"),
    [
        (Phase.INIT, 1, 1, 35),
        (Phase.RESEARCH, 0, 0, 25),
        (Phase.IMPL, 1, 6, 54),
        (Phase.IMPL, 2, 6, 58),
        (Phase.IMPL, 3, 6, 62),
        (Phase.IMPL, 2, 4, 62),
        (Phase.VERIFY, 0, 1, 75),
        (Phase.VERIFY, 2, 3, 91),
        (Phase.VERIFY, 3, 6, 87),
        (Phase.VERIFY, 5, 6, 95),
        (Phase.VERIFY, 1, 1, 100),
        (Phase.COMPLETE, 0, 0, 100),
        (Phase.COMPLETE, 3, 6, 100),
    ],
)
def test_progress_goldens(phase: Phase, met: int, total: int, percent: int) -> None:
    assert progress(phase, met, total) == percent


def test_progress_is_navigators_floating_point_for_every_count() -> None:
    for phase, base in BASE.items():
        for total in range(7):
            for met in range(total + 1):
                shipped = min(100, int(base + met / max(total, 1) * 25))
                assert progress(phase, met, total) == shipped
