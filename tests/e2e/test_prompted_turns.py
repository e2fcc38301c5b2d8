"""The simplify turn, and what the settings put into the agent's prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.navci_run import (
    place_of,
    run_folders,
    run_navci,
)
from tests.support.repos import git
from tests.support.small_task import (
    CONFIG,
    FIX,
    RUN,
    SIGNAL,
    assert_complete,
    committed,
    small_repo,
    with_test,
)

pytestmark = pytest.mark.e2e


def prompts(repo: Path) -> list[str]:
    """What the agent was told, turn by turn; extra turns come after their iteration's own."""
    (run,) = run_folders(repo)
    files = run.glob("transcripts/*/**/prompt.md")
    return [path.read_text() for path in sorted(files, key=lambda path: path.stat().st_mtime_ns)]


def simplifying(extra: str) -> str:
    """An agent that does the task, and ``extra`` in the turn that asks for simpler code."""
    turn = f'[[ $(cat) == *"extra turn makes the code easier"* ]] && {{ {extra}; exit; }}\n'
    return f"{turn}{FIX}"


@pytest.mark.parametrize(
    ("extra", "kept", "says"),
    [
        ("echo s > simple.txt; echo simpler", True, "simplified and still green"),
        (
            "echo 41 > answer.txt; echo s > simple.txt; echo simpler",
            False,
            "was red and was undone",
        ),
        ("echo s > simple.txt; false", False, "the simplify turn failed"),
        ("rm .agent/.nav-config.json; echo simpler", False, "undone"),
    ],
    ids=["green", "red", "crash", "protected"],
)
def test_the_simplify_turn(tmp_path: Path, extra: str, kept: bool, says: str) -> None:
    config = {"simplification": {"enabled": True}}
    repo = small_repo(tmp_path / "repo", {"fix.sh": simplifying(extra)}, config)
    result = run_navci(repo, *RUN)
    assert_complete(result)
    assert len(prompts(repo)) == 2
    assert "- `answer.txt`" in prompts(repo)[1]
    assert result.marker is not None
    reading = result.marker["indicators"]["code_simplified"]
    assert (reading["met"], says in reading["why"]) == (kept, True)
    files = committed(repo)
    assert files["answer.txt"] == "42"
    assert ("simple.txt" in files) is kept
    assert CONFIG in files
    assert git(repo, "status", "--short", "--branch").splitlines() == [
        f"## {result.outputs['branch']}"
    ]


def test_without_simplification_there_is_no_extra_turn(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"fix.sh": simplifying("touch simple.txt")})
    result = run_navci(repo, *RUN)
    assert_complete(result)
    assert len(prompts(repo)) == 1
    assert "[ ] Code simplified (skipped - simplification is not enabled)" in result.stdout


def test_documents_alone_need_no_simplifying(tmp_path: Path) -> None:
    config = {"simplification": {"enabled": True}}
    fix = simplifying("touch simple.txt").replace("answer.txt", "answer.md")
    repo = small_repo(tmp_path / "repo", {"fix.sh": fix}, config)
    result = run_navci(repo, *with_test("grep -qx 42 answer.md"))
    assert_complete(result)
    assert len(prompts(repo)) == 1
    assert "[ ] Code simplified (skipped - " in result.stdout


@pytest.mark.parametrize("on", [True, False])
def test_diagnose_is_in_the_prompt_after_a_stagnation(tmp_path: Path, on: bool) -> None:
    config = {
        "loop_mode": {"stagnation_threshold": 2, "never_pause_on_stagnation": True},
        "tom_features": {"diagnose_enabled": on},
    }
    repo = small_repo(tmp_path / "repo", {"fix.sh": "echo I am thinking"}, config)
    result = run_navci(repo, *RUN, "--max-iterations", "3")
    assert result.exit_code == 10
    told = prompts(repo)
    assert ["QUALITY CHECK" in prompt for prompt in told] == [False, False, on]
    assert "**STAGNATION.**" in told[2]


@pytest.mark.parametrize("on", [True, False])
def test_verification_checkpoints_are_in_the_prompt_once_the_tests_are_green(
    tmp_path: Path, on: bool
) -> None:
    config = {"tom_features": {"verification_checkpoints": on}}
    fix = f"if grep -qx 42 answer.txt; then {SIGNAL}else echo 42 > answer.txt; echo ok; fi\n"
    repo = small_repo(tmp_path / "repo", {"fix.sh": fix}, config)
    result = run_navci(repo, *RUN)
    assert_complete(result)
    asked = "Before you claim to be done, check for yourself"
    assert [asked in prompt for prompt in prompts(repo)] == [False, on]
    assert place_of(repo).is_dir()
