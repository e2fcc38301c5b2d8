"""A resumable end is no end of the run: the next process goes on with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.test_ends import AWAY, DOCUMENT, DONE, RIGHT, TASK, TEST, TEXT, WRONG, Turn
from tests.support.navci_run import Result, journal_state, run_navci, write_playbook
from tests.support.repos import commit_all, git, make_repo, write_files

pytestmark = pytest.mark.e2e

CONFIG = ".agent/.nav-config.json"
STRICT = {"loop_mode": {"iteration_approval": "strict", "max_iterations": 4}}
SPEND = {"usage": {"cost_usd": 0.5}}


def repository(tmp_path: Path, config: object) -> Path:
    files = {DOCUMENT: TEXT, "README.md": "# answers\n", CONFIG: json.dumps(config)}
    return make_repo(tmp_path / "repo", files)


def run(repo: Path, *turns: Turn, args: tuple[str, ...] = ()) -> Result:
    book = write_playbook(repo, *turns)
    return run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--test-command", TEST, *args,
    )  # fmt: skip


def test_a_person_approves_by_running_it_again(tmp_path: Path) -> None:
    repo = repository(tmp_path, STRICT)
    turns = (
        [WRONG, SPEND],
        [{"write": {"path": "answer.txt", "text": "43\n"}}, SPEND],
        [RIGHT, DONE],
    )
    first = run(repo, *turns)
    assert (first.exit_code, first.outputs["iterations"]) == (21, "1"), first.said
    second = run(repo, *turns)
    assert (second.exit_code, second.outputs["iterations"]) == (21, "2"), second.said
    assert "paused (awaiting_approval) after iteration 1" in second.said
    assert second.outputs["cost-usd"] == "1.0000"
    third = run(repo, *turns)
    assert (third.exit_code, third.outputs["iterations"]) == (0, "3"), third.said
    (marker,) = third.marker_files  # one run has one marker
    assert json.loads(marker.read_text())["kind"] == "complete"
    state = journal_state(repo, TASK)
    assert (state["pauses"], state["paused"], state["end"]) == (2, None, "complete")


def test_the_last_iteration_is_the_last_one_of_all_processes(tmp_path: Path) -> None:
    repo = repository(tmp_path, {"loop_mode": {**STRICT["loop_mode"], "max_iterations": 2}})
    turns = [[{"write": {"path": f"note-{n}.txt", "text": f"{n}\n"}}] for n in range(1, 3)]
    assert [run(repo, *turns).exit_code for _ in range(2)] == [21, 10]


def test_a_limit_is_waited_for_by_the_next_night(tmp_path: Path) -> None:
    repo = repository(tmp_path, {})
    first = run(repo, [WRONG], [AWAY])
    assert (first.exit_code, first.outputs["iterations"]) == (17, "1"), first.said
    second = run(repo, [WRONG], [RIGHT, DONE])
    assert (second.exit_code, second.outputs["iterations"]) == (0, "2"), second.said


def test_the_settings_that_were_mended_hold(tmp_path: Path) -> None:
    """A person raised the time budget on the main branch, and started the run again from there."""
    repo = repository(tmp_path, {"navci": {"time_budget": "4s"}})
    slow: Turn = [WRONG, {"sleep": "20s"}]
    first = run(repo, slow)
    assert first.exit_code == 15, first.said
    git(repo, "switch", "-q", "main")
    write_files(repo, {CONFIG: json.dumps({"navci": {"time_budget": "5m"}})})
    commit_all(repo, "more time")
    number = int(first.outputs["iterations"])
    second = run(repo, *[slow] * number, [RIGHT, DONE])
    assert (second.exit_code, second.outputs["iterations"]) == (0, str(number + 1)), second.said


@pytest.mark.parametrize("what", ["task", "check"])
def test_a_task_that_was_changed_starts_a_new_run(what: str, tmp_path: Path) -> None:
    repo = repository(tmp_path, STRICT)
    assert run(repo, [WRONG]).exit_code == 21
    git(repo, "switch", "-q", "main")
    args: tuple[str, ...] = ()
    if what == "task":
        write_files(repo, {DOCUMENT: TEXT + "\n- [ ] it is 42 (check=tests)\n"})
        commit_all(repo, "say more")
    else:
        args = ("--checks", "there: test -e answer.txt")
    second = run(repo, [RIGHT, DONE], args=args)
    assert (second.exit_code, second.outputs["iterations"]) == (0, "1"), second.said
    assert "going on from the work already on" in second.said


def test_what_a_person_changed_meanwhile_is_not_taken_for_the_agents(tmp_path: Path) -> None:
    repo = repository(tmp_path, STRICT)
    assert run(repo, [WRONG]).exit_code == 21
    (repo / "README.md").write_text("# mine\n")
    second = run(repo, [WRONG], [RIGHT, DONE])
    assert second.exit_code == 2, second.said
    assert "the checkout has uncommitted changes in tracked files: README.md" in second.said
    assert (repo / "README.md").read_text() == "# mine\n"
    third = run(repo, [WRONG], [RIGHT, DONE], args=("--allow-dirty",))
    assert (third.exit_code, third.outputs["iterations"]) == (0, "2"), third.said
    assert git(repo, "show", f"navci/{TASK}:README.md") == "# mine"
