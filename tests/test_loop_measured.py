"""A step of navci's own that fails: logged, shown, counted as not met, and the loop goes on.

A program that is navci but for one function, which raises. It is started as a process of its own,
because a run changes the process it is in (what it leaves to a debugger, whose orphans it adopts).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.navci_run import (
    Result,
    journal_events,
    journal_state,
    run_folders,
    run_navci,
    write_playbook,
)
from tests.support.repos import git, make_repo

pytestmark = pytest.mark.e2e

BROKEN = """
import importlib, sys
module, name, first, last = sys.argv[1].split(":")
place, calls = importlib.import_module(module), 0
working = getattr(place, name)
def broken(*args, **options):
    global calls
    calls += 1
    if int(first) <= calls <= int(last):
        raise ZeroDivisionError("a bug of ours")
    return working(*args, **options)
setattr(place, name, broken)
sys.argv[:3] = ["navci"]
from navci.cli.main import main
main()
"""
TASK = "TASK-7"
DOCUMENT = "tasks/TASK-7.md"
RIGHT = {"write": {"path": "answer.txt", "text": "42\n"}}
WRONG = {"write": {"path": "answer.txt", "text": "41\n"}}
EXIT = {"signal": {"type": "exit", "success": True, "reason": "it is 42"}}
SAY = {"say": "going on"}


def run_broken(
    tmp_path: Path, what: str, *turns: list[object], args: tuple[str, ...] = ()
) -> Result:
    """A run in which ``module:function`` raises, always or from call n to m (``:n:m``)."""
    repo = make_repo(tmp_path / "repo", {DOCUMENT: "# Write the answer\n", "README.md": "# a\n"})
    book = write_playbook(repo, *turns)
    where = what if what.count(":") == 3 else f"{what}:1:1000"
    return run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "2", "--test-command", "grep -qx 42 answer.txt", *args,
        through=(sys.executable, "-c", BROKEN, f"navci.{where}"),
    )  # fmt: skip


def check_told(result: Result, tmp_path: Path, words: str) -> None:
    """The failure is in the log with its traceback, on the screen, and in the summary."""
    (folder,) = run_folders(tmp_path / "repo")
    log = (folder / "navci.log").read_text()
    assert "ZeroDivisionError: a bug of ours" in log
    assert "Traceback" in log
    assert words in result.said
    assert "ZeroDivisionError: a bug of ours" in result.said
    assert "ZeroDivisionError: a bug of ours" in result.summary


MEASURED = {
    "signals": ("loop.iteration:read_signals", "the agent's signals could not be measured"),
    "check": ("loop.verify:run_check:2:1000", "checks could not be measured"),
    "checks": ("loop.iteration:verify", "checks could not be measured"),
    "gaps": ("loop.observe:derive", "gaps could not be measured"),
    "indicators": ("judge.indicators:read", "indicators could not be measured"),
    "protected": ("loop.work:protected", "protected files could not be measured"),
    "secrets": ("loop.work:find_secrets", "secrets could not be measured"),
    "conflicts": ("loop.work:find_conflicts", "conflicts could not be measured"),
    "facts": ("loop.observe:facts_of", "gaps could not be measured"),
    "changes": ("loop.observe:changed_since_base", "the iteration could not be measured"),
    "observation": ("loop.iteration:observe", "the iteration could not be measured"),
}


@pytest.mark.parametrize("name", MEASURED)
def test_what_could_not_be_measured_is_not_met(name: str, tmp_path: Path) -> None:
    """The work is right and the agent says so, twice. Without the evidence it is not complete."""
    where, words = MEASURED[name]
    result = run_broken(tmp_path, where, [RIGHT, EXIT])
    assert result.exit_code == 10, result.said
    assert result.outputs["outcome"] == "max_iterations"
    assert result.outputs["iterations"] == "2"
    assert result.kind == "loop-aborted"
    check_told(result, tmp_path, words)
    assert git(tmp_path / "repo", "show", f"refs/heads/navci/{TASK}:README.md") == "# a"


@pytest.mark.parametrize("name", MEASURED)
def test_a_step_that_fails_once_costs_an_iteration_at_most(name: str, tmp_path: Path) -> None:
    module, function, *_ = MEASURED[name][0].split(":")
    first = 2 if name == "check" else 1  # the first check is the baseline's
    result = run_broken(
        tmp_path,
        f"{module}:{function}:{first}:{first}",
        [RIGHT, EXIT],
        args=("--max-iterations", "3"),
    )
    assert result.exit_code == 0, result.said
    assert result.kind == "complete"
    check_told(result, tmp_path, "could not be")


def test_no_older_result_stands_in_for_checks_that_failed_to_run(tmp_path: Path) -> None:
    """Green in iteration 1; in iteration 2 the work is broken and nobody can measure that."""
    result = run_broken(tmp_path, "loop.verify:run_check:3:3", [RIGHT, SAY], [WRONG, EXIT])
    assert result.exit_code == 10, result.said
    assert "check:tests" in result.outputs["gaps"]
    check_told(result, tmp_path, "checks could not be measured and counts as not met")


def test_excerpts_and_blocks_are_no_evidence(tmp_path: Path) -> None:
    """What is only shown costs nothing but itself."""
    for number, what in enumerate(("loop.iteration:announce", "loop.iteration:excerpts_of")):
        place = tmp_path / str(number)
        place.mkdir()
        result = run_broken(place, what, [RIGHT, EXIT])
        assert result.exit_code == 0, result.said
        assert "could not be" in result.said
        assert result.kind == "complete"


def test_an_iteration_that_cannot_be_judged_ends_the_run_resumable(tmp_path: Path) -> None:
    result = run_broken(tmp_path, "loop.iteration:judge", [RIGHT, EXIT])
    assert result.exit_code == 18, result.said
    assert "navci failed: ZeroDivisionError: a bug of ours" in result.said
    assert result.outputs["outcome"] == "infra_error"
    assert result.marker is not None
    assert (result.kind, result.marker["resumable"]) == ("loop-aborted", True)
    repo = tmp_path / "repo"
    assert git(repo, "show", f"refs/heads/navci/{TASK}:answer.txt") == "42"
    assert journal_events(repo, TASK)[-1]["kind"] == "run_paused"
    # Started again, by a navci without the bug, the work goes on from there.
    book = write_playbook(repo, [EXIT])
    again = run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--test-command", "grep -qx 42 answer.txt",
    )  # fmt: skip
    assert again.exit_code == 0, again.said


CLOSING = {
    "archive": "loop.closing:archive_task",
    "end event": "loop.closing:journal_end",
    "block": "loop.last_words:status_block",
    "banner": "loop.last_words:banner",
    "places": "loop.last_words:places",
    "summary": "loop.show:job_summary",
    "report": "loop.show:report_of",
    "changed files": "loop.show:changed_since_base",
    "outputs": "loop.show:outputs_of:3:1000",
}


@pytest.mark.parametrize("name", CLOSING)
def test_a_bug_in_closing_does_not_cost_the_marker(name: str, tmp_path: Path) -> None:
    result = run_broken(tmp_path, CLOSING[name], [RIGHT, EXIT])
    assert result.exit_code == 0, result.said
    assert "could not be" in result.said or "was not" in result.said
    (path,) = result.marker_files
    assert path.name.endswith("-complete.json")
    if name != "outputs":
        assert result.kind == "complete"
        assert result.outputs["complete"] == "true"
    assert git(tmp_path / "repo", "show", f"refs/heads/navci/{TASK}:answer.txt") == "42"


@pytest.mark.parametrize("what", ["loop.opening:lay_out", "loop.opening:choose_start"])
def test_a_bug_in_opening_has_a_marker_too(what: str, tmp_path: Path) -> None:
    result = run_broken(tmp_path, what, [RIGHT, EXIT])
    assert result.exit_code == 18, result.said
    assert "navci failed: ZeroDivisionError: a bug of ours" in result.said
    assert result.kind == "loop-aborted"
    assert result.outputs["outcome"] == "infra_error"


def test_a_bug_before_there_is_a_task(tmp_path: Path) -> None:
    result = run_broken(tmp_path, "loop.opening:find_task", [RIGHT, EXIT])
    assert result.exit_code == 18, result.said
    assert "navci failed: ZeroDivisionError: a bug of ours" in result.said
    assert result.outputs["outcome"] == "infra_error"
    assert result.marker_files == []


def test_a_simplify_turn_that_fails_is_undone(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".agent").mkdir(parents=True)
    (tmp_path / "repo" / ".agent" / ".nav-config.json").write_text(
        '{"simplification": {"enabled": true}}'
    )
    simplified: list[object] = [
        {"run": "if [ -e answer.txt ]; then echo '# simpler' >> answer.txt; fi"},
        {"run": "[ -e answer.txt ] || echo 42 > answer.txt"},
        EXIT,
    ]
    result = run_broken(tmp_path, "loop.simplify:verify", simplified)
    assert result.exit_code == 0, result.said
    assert json.loads(result.outputs["indicators"])["code_simplified"] is False
    check_told(result, tmp_path, "the simplify turn could not be measured")
    repo = tmp_path / "repo"
    assert git(repo, "show", f"refs/heads/navci/{TASK}:answer.txt") == "42"
    assert git(repo, "status", "--porcelain") == ""
    assert journal_state(repo, TASK)["simplified"] is None
