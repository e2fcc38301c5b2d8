"""Checks in a folder of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from navci.evidence.checks import CheckPlace, run_check
from navci.model import CheckResult, CheckSpec
from navci.system.clock import SYSTEM_CLOCK
from navci.system.process import scrubbed_env


class Bench:
    """A repository-like folder in which checks run."""

    def __init__(self, folder: Path) -> None:
        self.repo = folder / "repo"
        self.repo.mkdir()
        self.output = folder / "out"
        self.cwd = self.repo
        self.tracked: frozenset[str] = frozenset()

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def __call__(self, command: str, *junit: str, spec: Any = None, **options: Any) -> CheckResult:
        """Run a check; the tests' own reports are ``build/*.xml`` unless said otherwise."""
        place = CheckPlace(self.cwd, self.repo, scrubbed_env(), self.output, self.tracked)
        given = CheckSpec("tests", command, junit, 20.0)
        return run_check(
            replace(given, **(spec or {})),
            place,
            contract="k",
            tree="t",
            commit="c",
            clock=SYSTEM_CLOCK,
            **options,
        )
