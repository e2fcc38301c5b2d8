"""Each indicator's three values from plain facts."""

from __future__ import annotations

import pytest

from navci.judge import indicators
from navci.model import CheckFacts, Indicator, Reading

GREEN, RED = CheckFacts("t", True, "12 passed"), CheckFacts("lint", False, "exit 1")


@pytest.mark.parametrize(
    ("reading", "met", "why"),
    [
        (indicators.code_committed(0, 0), False, "the branch is not ahead of base"),
        (indicators.code_committed(2, 3), False, "uncommitted changes: 3"),
        (indicators.code_committed(2, 0), True, "commits ahead of base: 2"),
        (indicators.tests_passing([], []), None, "no checks"),
        (indicators.tests_passing(["t"], [GREEN]), True, "green: t"),
        (indicators.tests_passing(["t", "lint"], [GREEN, RED]), False, "lint: exit 1"),
        (indicators.tests_passing(["t", "x"], [GREEN]), False, "x: not measured on this tree"),
        (indicators.code_simplified(False, True, ["a.py"], []), None, "disabled"),
        (indicators.code_simplified(True, False, ["a.md"], ["a.md"]), None, "docs only"),
        (indicators.code_simplified(True, False, ["a.py"], []), False, "not simplified yet"),
        (indicators.code_simplified(True, False, [], []), False, "not simplified yet"),
        (
            indicators.code_simplified(True, True, ["a.py", "b.md"], ["b.md"]),
            True,
            "simplified and still green",
        ),
        (indicators.docs_updated([]), False, "no documentation file differs from base"),
        (indicators.docs_updated(["README.md"]), True, "README.md"),
        (indicators.docs_updated(["b.md", "a.md", "c.md"]), True, "a.md and 2 more"),
        (indicators.ticket_closed(None), None, "no ticket"),
        (indicators.ticket_closed(False), False, "the tracker says open"),
        (indicators.ticket_closed(True), True, "the tracker says closed"),
        (indicators.marker_created(False), False, "no completion marker yet"),
        (indicators.marker_created(True), True, "the completion marker exists"),
    ],
)
def test_reading(reading: Reading, met: bool | None, why: str) -> None:
    assert (reading.met, reading.why) == (met, why)


def test_all_six_in_order() -> None:
    read = indicators.read(
        ahead=1,
        uncommitted=0,
        required=["t"],
        checks=[GREEN],
        changed=["a.py", "README.md"],
        docs_changed=["README.md"],
        simplify=False,
        simplified=False,
        closed=None,
        marker=False,
    )
    assert list(read) == list(Indicator)
    assert [reading.met for reading in read.values()] == [True, True, None, True, None, False]
