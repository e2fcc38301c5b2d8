"""A test that is red once and green when run again, on the same tree, sends no agent after it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.navci_run import Result, journal_events, run_navci, tasks_of, write_playbook
from tests.support.repos import make_repo

pytestmark = pytest.mark.e2e

TEST = "from pathlib import Path\n\nfrom calc import double\n\n\n"
FILES = {
    "calc.py": "def double(n):\n    return n\n",
    "test_calc.py": TEST + "def test_double():\n    assert double(2) == 4\n",
    # Red in every run whose number the file names; each run counts.
    "test_luck.py": TEST + "def test_luck():\n"
    "    runs = Path('../runs').read_text() + 'x'\n"
    "    Path('../runs').write_text(runs)\n"
    "    assert str(len(runs)) not in Path('../red').read_text().split()\n",
}
FIX = {"write": {"path": "calc.py", "text": "def double(n):\n    return 2 * n\n"}}
DONE = {"signal": {"type": "exit", "success": True, "reason": "doubles"}}
FLAKY = "flaky: test_luck::test_luck was red, and green when run again on the same tree"


def run(tmp_path: Path, red: str, *turns: Sequence[object]) -> tuple[int, Result, list[str]]:
    """A run in which the test is red in its ``red`` runs; how often it ran, and each gate."""
    repo = make_repo(tmp_path / "repo", FILES)
    (tmp_path / "runs").write_text("")
    (tmp_path / "red").write_text(red)
    book = write_playbook(repo, *turns)
    result = run_navci(
        repo, "run", "--task", "Double it", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "2", "--test-command", "python -m pytest -q --junitxml=build/junit.xml",
        "--junit", "build/*.xml",
    )  # fmt: skip
    events = journal_events(repo, tasks_of(repo)[0])
    judged = [event["data"]["judgement"] for event in events if event["kind"] == "iteration"]
    gates = [judgement["gate"]["reason"] for judgement in judged]
    return len((tmp_path / "runs").read_text()), result, gates


def test_red_once_is_no_gap(tmp_path: Path) -> None:
    """Run 1 is the baseline's; in run 2, after the fix, the other test is red by chance."""
    runs, result, gates = run(tmp_path, "2", [FIX, DONE])
    assert result.exit_code == 0, result.said
    assert runs == 3
    assert FLAKY in result.said
    assert FLAKY in result.summary
    assert gates[0].startswith("EXIT")


def test_red_twice_is_a_gap(tmp_path: Path) -> None:
    runs, result, gates = run(tmp_path, "2 3", [FIX, DONE], [DONE])
    assert result.exit_code == 10, result.said
    assert gates[0].startswith("BLOCKED")
    assert json.loads(result.outputs["gaps"]) == ["check:tests", "test:test_luck::test_luck"]
    assert "flaky" not in result.said
    assert runs == 3  # the second turn left the tree as it was: the receipts stand


def test_what_was_never_green_is_not_run_again(tmp_path: Path) -> None:
    runs, result, _ = run(tmp_path, "1 2", [FIX, DONE], [{"say": "going on"}])
    assert result.exit_code == 10
    assert runs == 2
    assert "flaky" not in result.said
