"""Every departure from Navigator and Comet that the documentation lists is held by a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / ".github" / "docs" / "navigator.md"
ROWS = [
    line
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| They |")
]


def test_the_page_lists_departures() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:40])
def test_every_departure_names_tests_that_exist(row: str) -> None:
    cells = row.strip("| ").split(" | ")
    assert len(cells) == 4
    named = re.findall(r"`(test_\w+)::(test_\w+)`", cells[3])
    assert named
    for module, test in named:
        source = (TESTS / f"{module}.py").read_text("utf-8")
        assert re.search(rf"^def {test}\(", source, re.MULTILINE), f"{module}::{test}"
