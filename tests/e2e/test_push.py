"""What reaches the remote: the journal as the run goes on, the branch once, at the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from navci.journal import ref_of
from tests.support.navci_run import (
    Result,
    is_reachable,
    journal_events,
    journal_state,
    run_navci,
    start_navci,
    tasks_of,
    write_playbook,
)
from tests.support.processes import wait_until
from tests.support.repos import commit_all, git, make_repo, write_files

pytestmark = pytest.mark.e2e

TASK = "TASK-7"
BRANCH = f"refs/heads/navci/{TASK}"
JOURNAL = ref_of(TASK)
FILES = {"TASK-7.md": "# Write the answer\n", "README.md": "# answers\n"}
RIGHT = {"write": {"path": "answer.txt", "text": "42\n"}}
WRONG = {"write": {"path": "answer.txt", "text": "41\n"}}
EXIT = {"signal": {"type": "exit", "success": True, "reason": "it is 42"}}


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    source = make_repo(tmp_path / "source", FILES)
    git(tmp_path, "clone", "-q", "--bare", str(source), str(tmp_path / "origin.git"))
    return tmp_path / "origin.git"


def clone(origin: Path, name: str = "repo") -> Path:
    git(origin.parent, "clone", "-q", str(origin), str(origin.parent / name))
    return origin.parent / name


def options(repo: Path, *turns: list[object]) -> tuple[str, ...]:
    book = write_playbook(repo, *turns)
    return (
        *("run", "--task-file", "TASK-7.md", "--agent", "playbook", "--playbook", str(book)),
        *("--max-iterations", "3", "--test-command", "grep -qx 42 answer.txt"),
    )


def refs(repo: Path) -> dict[str, str]:
    lines = git(repo, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split() for line in lines)


def hook(origin: Path, script: str) -> None:
    path = origin / "hooks" / "pre-receive"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_branch_and_journal_are_pushed(origin: Path, tmp_path: Path) -> None:
    """The branch once, at the end; the journal with every iteration, for another job to go on."""
    repo = clone(origin)
    look = {
        "run": f"git -C {origin} for-each-ref --format='%(refname) %(subject)' >> {tmp_path}/seen"
    }
    result = run_navci(repo, *options(repo, [WRONG, {"say": "going on"}], [look, RIGHT, EXIT]))
    assert result.exit_code == 0, result.said
    seen = (tmp_path / "seen").read_text()
    assert f"{JOURNAL} iteration {TASK}" in seen
    assert BRANCH not in seen
    there, here = refs(origin), refs(repo)
    assert there[BRANCH] == here[BRANCH] == result.outputs["commit"]
    assert there[JOURNAL] == here[JOURNAL]
    assert there["refs/heads/main"] == here["refs/heads/main"]
    assert set(there) == {BRANCH, JOURNAL, "refs/heads/main"}
    assert journal_events(origin, TASK)[-1]["kind"] == "run_ended"
    assert git(origin, "show", f"{BRANCH}:answer.txt") == "42"


def test_a_run_that_is_aborted_pushes_its_work_too(origin: Path) -> None:
    repo = clone(origin)
    result = run_navci(repo, *options(repo, [WRONG, {"say": "going on"}]))
    assert result.exit_code in (10, 11), result.said
    assert git(origin, "show", f"{BRANCH}:answer.txt") == "41"


def test_a_run_without_changes_pushes_no_branch(origin: Path) -> None:
    repo = clone(origin)
    result = run_navci(repo, *options(repo, [{"say": "thinking"}]))
    assert "there is no branch to push" in result.said
    assert BRANCH not in refs(origin)
    assert JOURNAL in refs(origin)


@pytest.mark.parametrize("how", ["option", "config"])
def test_no_push_pushes_nothing(how: str, origin: Path) -> None:
    repo = clone(origin)
    if how == "config":
        write_files(repo, {".agent/.nav-config.json": '{"navci": {"push": false}}'})
        commit_all(repo, "config")
    before = refs(origin)
    result = run_navci(
        repo, *options(repo, [RIGHT, EXIT]), *(["--no-push"] if how == "option" else [])
    )
    assert result.exit_code == 0, result.said
    assert refs(origin) == before
    assert refs(repo)[BRANCH] == result.outputs["commit"]


def kept(repo: Path, result: Result) -> None:
    """Refused or not: the run is complete, and its work is here."""
    assert result.exit_code == 0, result.said
    assert (result.outputs["outcome"], result.kind) == ("complete", "complete")
    assert refs(repo)[BRANCH] == result.outputs["commit"]
    assert is_reachable(repo, "42\n")


def test_a_push_that_is_refused_is_said(origin: Path) -> None:
    hook(
        origin,
        "while read old new ref; do\n"
        "case $ref in refs/heads/*) echo no branches here; exit 1; esac\ndone",
    )
    repo = clone(origin)
    result = run_navci(repo, *options(repo, [RIGHT, EXIT]))
    kept(repo, result)
    assert BRANCH not in refs(origin)
    for text in (result.said, result.summary):
        assert "the branch was not pushed" in text
        assert "no branches here" in text
    assert JOURNAL in refs(origin)


def test_a_remote_that_takes_nothing(origin: Path) -> None:
    hook(origin, "echo read only; exit 1")
    repo = clone(origin)
    result = run_navci(repo, *options(repo, [RIGHT, EXIT]))
    kept(repo, result)
    assert "the journal was not pushed" in result.said
    assert "the branch was not pushed" in result.said
    assert set(refs(origin)) == {"refs/heads/main"}


def test_a_remote_that_is_gone(origin: Path) -> None:
    repo = clone(origin)
    origin.rename(origin.with_name("moved"))
    result = run_navci(repo, *options(repo, [RIGHT, EXIT]))
    kept(repo, result)
    assert "the remote's journal could not be read" in result.said
    assert "the branch was not pushed" in result.said


def test_a_remote_branch_that_went_on_is_not_overwritten(origin: Path) -> None:
    repo, other = clone(origin), clone(origin, "other")
    write_files(other, {"theirs.txt": "theirs\n"})
    theirs = commit_all(other, "theirs")
    script = f"git -C {other} push -q origin HEAD:{BRANCH}"
    result = run_navci(repo, *options(repo, [{"run": script}, RIGHT, EXIT]))
    kept(repo, result)
    assert refs(origin)[BRANCH] == theirs
    assert "the remote has commits that this run does not know" in result.said


def test_hooks_of_the_clone_do_not_run(origin: Path, tmp_path: Path) -> None:
    repo = clone(origin)
    path = repo / ".git" / "hooks" / "pre-push"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\ntouch {tmp_path}/fired\nexit 1\n")
    path.chmod(0o755)
    result = run_navci(repo, *options(repo, [RIGHT, EXIT]))
    kept(repo, result)
    assert BRANCH in refs(origin)
    assert not (tmp_path / "fired").exists()


def test_another_clone_goes_on_from_the_remote(origin: Path, tmp_path: Path) -> None:
    """As a job does whose predecessor's machine is gone: from what was pushed, and nothing else."""
    repo = clone(origin)
    waiting = tmp_path / "waiting"
    turns: list[list[object]] = [
        [{"write": {"path": "one.txt", "text": "one\n"}}, {"say": "going on"}],
        [{"run": f"[ -e {waiting} ] || {{ touch {waiting}; sleep 30; }}"}, RIGHT, EXIT],
    ]
    run = start_navci(repo, *options(repo, *turns))
    assert wait_until(waiting.exists, 20), run.said
    run.kill()
    new = clone(origin, "new")
    assert tasks_of(new) == []
    result = run_navci(new, *options(new, *turns))
    kept(new, result)
    assert "continuing the run started" in result.said
    assert "Iteration 1/3" not in result.said
    assert result.outputs["iterations"] == "2"
    assert git(origin, "show", f"{BRANCH}:one.txt") == "one"
    assert journal_state(origin, TASK)["end"] == "complete"
    # The old clone sees on the remote that the run has ended, and starts none of its own.
    numbers = [
        event["data"]["observation"]["iteration"]
        for event in journal_events(origin, TASK)
        if event["kind"] == "iteration"
    ]
    assert numbers == [1, 2]
