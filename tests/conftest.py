"""What every test starts from: no CI variables, no personal git settings, no deadlines."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

_FOREIGN = ("GITHUB_", "RUNNER_", "ACTIONS_", "NAVCI_", "PILOT_", "GIT_")

# The suite runs inside Actions, inside a loop, and on laptops: none of that may reach a test.
for name in [name for name in os.environ if name.startswith(_FOREIGN)]:
    del os.environ[name]
os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
os.environ["GIT_TERMINAL_PROMPT"] = "0"

settings.register_profile("navci", deadline=None, print_blob=True)
settings.load_profile("navci")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what the benchmarks measured (DESIGN §12), whichever worker measured it."""
    for report in terminalreporter.getreports("passed"):
        for name, measured in report.user_properties:
            if name == "benchmark":
                terminalreporter.write_line(str(measured))
