"""A case is a playbook and what must come of it, as data; this is how one is read and played.

The cases stand in ``*.yml`` files beside the tests, in the playbook's own language
(:mod:`navci.agents.playbook`). Each is played by the real program on a small real repository,
beside which lies ``../outside``, a folder for what an agent does outside of its checkout.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from tests.support.navci_run import Result, environment, place_of, run_navci, write_playbook
from tests.support.repos import make_repo
from tests.support.small_task import bash

RUNNER = "python -m pytest -q -p no:cacheprovider --junitxml=build/junit.xml"
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {RUNNER}"  # faster; plug-ins have a case of their own
PLACES = {
    "PYTEST": PYTEST,
    "RUNNER": RUNNER,
    "GREP": "grep -q 'return 2 [*] n' calc.py",  # where pytest adds nothing but seconds
    # The interpreter without the virtual environment's switches: it looks at user sites.
    "BASE_PYTHON": getattr(sys, "_base_executable", sys.executable),
}
CONFIG = ".agent/.nav-config.json"
DONE = {"signal": {"type": "exit", "success": True, "reason": "all tests pass"}}

FILES: Mapping[str, str] = {
    "calc.py": "def double(n):\n    return n\n",
    "test_calc.py": (
        "from calc import double\n\n\n"
        "def test_double():\n    assert double(2) == 4\n\n\n"
        "def test_zero():\n    assert double(0) == 0\n"
    ),
    "test_more.py": "def test_more():\n    assert 1 + 1 == 2\n",
    "Makefile": f"test:\n\t{PYTEST}\n",
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n',
    ".gitignore": "build/\n__pycache__/\n",
}
"""``double`` is wrong: the task is to mend it. ``test_double`` is red, the others are green."""


@dataclass(frozen=True)
class Case:
    """A playbook, the repository it is played in, and what people and jobs must see afterwards.

    Of ``turns`` the last is repeated, and each claims to be done unless ``claims`` is false.
    ``files`` are laid over :data:`FILES` (``null``: not there), ``setup`` is what a person does in
    the repository before the run, in bash. ``gaps`` are exactly those of the
    end, ``says`` is what a person must read in the log or the summary, ``never`` what must not be
    there. ``left`` and ``gone`` are paths that must, and must not, exist afterwards. ``used`` is
    how many iterations were judged, ``subjects`` those of the work branch's commits, newest first.
    """

    case: str
    turns: Sequence[Sequence[object]]
    gaps: Sequence[str] = ()
    says: Sequence[str] = ()
    never: Sequence[str] = ()
    end: str = "max_iterations"
    iterations: int = 1
    claims: bool = True
    test: str = PYTEST
    junit: str = "build/*.xml"
    files: Mapping[str, str | None] = field(default_factory=dict)
    setup: str = ""
    config: Mapping[str, object] = field(default_factory=dict)
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    task: str = "Mend double"
    left: Sequence[str] = ()
    gone: Sequence[str] = ()
    used: int = 0
    subjects: Sequence[str] = ()
    timeout: float = 60


@dataclass(frozen=True)
class Played:
    """The repository after the run, and the run's result."""

    repo: Path
    result: Result

    @property
    def read(self) -> str:
        """Everything a person reads of the run."""
        return self.result.said + self.result.summary

    @property
    def gaps(self) -> list[str]:
        found: list[str] = json.loads(self.result.outputs.get("gaps", "[]"))
        return found


def cases(file: Path) -> list[Case]:
    """The cases of a YAML file, each a document with the fields of :class:`Case`."""
    found = []
    for number, document in enumerate(yaml.safe_load_all(file.read_text("utf-8")), start=1):
        unknown = document.keys() - {known.name for known in fields(Case)}
        assert not unknown, f"{file.name}, document {number}: unknown {sorted(unknown)}"
        found.append(Case(**document))
    names = [case.case for case in found]
    assert len(names) == len(set(names)), f"{file.name}: two cases have one name"
    return found


def all_cases(folder: Path) -> list[Case]:
    """The cases of every YAML file in ``folder``."""
    return [case for file in sorted(folder.glob("*.yml")) for case in cases(file)]


def play(case: Case, tmp_path: Path) -> Played:
    """Make the repository, let the agent do its turns, and wait for the run's end."""
    (tmp_path / "outside").mkdir()
    files = {name: text for name, text in {**FILES, **case.files}.items() if text is not None}
    if case.config:
        files[CONFIG] = json.dumps(case.config)
    repo = make_repo(tmp_path / "repo", {name: _filled(text) for name, text in files.items()})
    if case.setup:
        bash(repo, case.setup)
    claim = [DONE] if case.claims else []
    book = write_playbook(repo, *[[*turn, *claim] for turn in case.turns])
    options = {
        "--task": case.task,
        "--agent": "playbook",
        "--playbook": str(book),
        "--max-iterations": str(case.iterations),
        "--test-command": _filled(case.test),
        "--junit": case.junit,
    }
    given = [word for name, value in options.items() if value for word in (name, value)]
    places = {"repo": str(repo), "PATH": environment(place_of(repo))["PATH"]}
    env = {name: value.format(**places) for name, value in case.env.items()}
    result = run_navci(repo, "run", *given, *case.args, env=env, timeout=case.timeout)
    return Played(repo, result)


def _filled(text: str) -> str:
    for name, value in PLACES.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def marker_of(played: Played) -> Mapping[str, Any]:
    """The marker that the outputs name."""
    assert played.result.marker is not None, played.result.said
    return played.result.marker
