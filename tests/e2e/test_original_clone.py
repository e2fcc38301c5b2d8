"""With a ``setup-command`` the original-tests run happens in a fresh clone of the commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.test_original import FILES, GREEN, GREEN_CALC, PATCH_CALC, PYTEST, write
from tests.support.navci_run import Result, run_navci, write_playbook
from tests.support.repos import git, make_repo

pytestmark = pytest.mark.e2e

DONE = {"signal": {"type": "exit", "success": True, "reason": "all tests pass"}}
SETUP = "echo 'FACTOR = 2' > generated.py"
DOUBLE = "from generated import FACTOR\n\n\ndef double(n):\n    return FACTOR * n\n"


def run(tmp_path: Path, *steps: object, setup: str = SETUP) -> tuple[Path, Result]:
    ignore = "generated.py\nhelp_*.py\n"
    repo = make_repo(tmp_path / "repo", {**FILES, ".gitignore": ignore, "setup.sh": "exit 0\n"})
    book = write_playbook(repo, [*steps, DONE])
    result = run_navci(
        repo, "run", "--task", "Fix it", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "1", "--test-command", PYTEST, "--junit", "build/*.xml",
        "--setup-command", setup,
    )  # fmt: skip
    return repo, result


def test_what_the_setup_makes_is_there(tmp_path: Path) -> None:
    repo, result = run(tmp_path, write("calc.py", DOUBLE))
    assert result.exit_code == 0, result.said
    assert git(repo, "status", "--porcelain", "--untracked-files=no") == ""
    assert (repo / "build/junit.xml").exists()


def test_work_that_needs_a_file_no_commit_holds(tmp_path: Path) -> None:
    """Base ignores the file, so it is in no commit: green here, and nowhere else."""
    steps = write("help_calc.py", GREEN), write("calc.py", "from help_calc import double\n")
    repo, result = run(tmp_path, *steps)
    assert result.exit_code == 10, result.said
    gaps = json.loads(result.outputs["gaps"])
    assert "original:test_calc" in gaps or "original:test_calc::test_double" in gaps
    assert "in a fresh clone of the commit, after `setup-command`" in json.dumps(result.marker)
    assert (repo / "help_calc.py").exists()


def test_a_control_file_counts_for_nothing_there_either(tmp_path: Path) -> None:
    _, result = run(tmp_path, write("conftest.py", PATCH_CALC))
    assert result.exit_code == 10, result.said
    assert "original:test_calc::test_double" in json.loads(result.outputs["gaps"])


def test_a_setup_that_the_work_broke(tmp_path: Path) -> None:
    steps = GREEN_CALC, write("setup.sh", "echo no such package; exit 3\n")
    _, result = run(tmp_path, *steps, setup="bash setup.sh")
    assert result.exit_code == 10, result.said
    assert json.loads(result.outputs["gaps"]) == ["original:run"]
    assert "setup-command `bash setup.sh` exited 3" in result.said
    assert "no such package" in result.said
