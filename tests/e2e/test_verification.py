"""``verification.md``: in the artifact, in the journal, and made again from the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from navci.journal import ref_of
from tests.support.navci_run import Result, run_folders, run_navci, write_playbook
from tests.support.repos import git, make_repo

pytestmark = pytest.mark.e2e

TASK = "TASK-3"
DOCUMENT = ".agent/tasks/TASK-3-double.md"
TEXT = """# TASK-3: Double | halve

- [ ] doubles (test=test_calc.py::test_double)
- [ ] halves (test=test_calc.py::test_half)
- [ ] the whole suite is green (check=tests)
- [ ] it is **fast** | and <b>small</b>
"""
FILES = {
    DOCUMENT: TEXT,
    "calc.py": "def double(n):\n    return n\n",
    "test_calc.py": "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
}
FIX = {"write": {"path": "calc.py", "text": "def double(n):\n    return 2 * n\n"}}


def run(tmp_path: Path) -> tuple[Path, Result]:
    repo = make_repo(tmp_path / "repo", FILES)
    book = write_playbook(repo, [{"say": "looking"}], [FIX])
    return repo, run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "2", "--test-command", "python -m pytest -q --junitxml=build/junit.xml",
        "--junit", "build/*.xml",
    )  # fmt: skip


def test_every_item_has_status_evidence_and_receipt(tmp_path: Path) -> None:
    repo, result = run(tmp_path)
    assert result.exit_code == 10, result.said
    (folder,) = run_folders(repo)
    text = (folder / "artifact" / "verification.md").read_text()
    assert "Run `" in text
    assert ", iteration 2, commit `" in text
    assert "**Checks: 1 green. Acceptance items: 2 true, 1 missing, 1 unverified.**" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    told = [row.replace("\\_", "_").replace("\\`", "`") for row in rows]
    why, evidence = "`test_calc::test_double` is passed", "`tests test_calc::test_double` passed"
    assert f"| doubles | ✅ true | {why} | {evidence} |" in told
    assert any("halves | ❌ missing" in row for row in rows)
    assert any("the whole suite is green | ✅ true" in row for row in rows)
    assert any("❔ unverified" in row and "<b>" not in row for row in rows)
    tree = git(repo, "rev-parse", f"{result.outputs['branch']}^{{tree}}")
    assert any(f"`{tree[:12]}`" in row for row in rows)
    assert "`build/junit.xml`: `" in text
    assert "## Open gaps: 1" in text


def test_the_journal_carries_it_and_makes_it_again(tmp_path: Path) -> None:
    repo, _ = run(tmp_path)
    (folder,) = run_folders(repo)
    text = (folder / "artifact" / "verification.md").read_text()
    assert git(repo, "show", f"{ref_of(TASK)}:verification.md") == text.rstrip("\n")
    again = run_navci(repo, "show", TASK, "--verification")
    assert (again.exit_code, again.stdout) == (0, text)


def test_nothing_was_judged_yet(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", FILES)
    book = write_playbook(repo, [{"fail": 3}], [{"fail": 3}], [{"fail": 3}])
    run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "2", "--test-command", "true",
    )  # fmt: skip
    result = run_navci(repo, "show", TASK, "--verification")
    assert result.exit_code == 2
    assert f"no iteration of {TASK} was judged yet" in result.said
