"""navci.system.git: commands of our own git directory, and the compare-and-swap of its refs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from navci.errors import GitError, InfraError
from navci.system import programs
from navci.system.checkout import adopt, find_checkout
from navci.system.git import Git, Identity
from navci.system.gitcall import Answer, environment, failed
from tests.support.repos import make_repo

WHO = Identity("navci", "navci@example.org")
WHEN = datetime(2026, 11, 30, 22, 15, tzinfo=UTC)
REF = "refs/navci/issue-7"


@pytest.fixture
def ours(tmp_path: Path) -> Git:
    repo = make_repo(tmp_path / "repo", {"a.txt": "one\n", "é b\n/c": b"\xff\0"})
    (tmp_path / "run").mkdir()
    return adopt(find_checkout(repo), tmp_path / "run")


def commits(ours: Git, count: int) -> list[str]:
    tree = ours.tree_of("HEAD")
    return [ours.commit_tree(tree, [], f"commit {number}", WHO, WHEN) for number in range(count)]


def test_a_command_that_fails_says_what_failed(ours: Git) -> None:
    with pytest.raises(GitError, match=r"git cat-file failed \(exit 128\): fatal: Not a valid"):
        ours.run("cat-file", "blob", "nothing")
    assert not ours.ok("cat-file", "-e", "nothing")
    assert ours.ok("cat-file", "-e", "HEAD")


def test_git_missing_and_folder_gone_are_told_apart(
    ours: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as nowhere:
        nowhere.setenv("PATH", "/nowhere")
        programs.trusted_path.cache_clear()
        programs.program.cache_clear()
        with pytest.raises(InfraError, match="git was not found; install git"):
            ours.run("version")
    programs.trusted_path.cache_clear()
    ours.work_tree.rename(ours.work_tree.with_name("moved"))
    with pytest.raises(InfraError, match="is gone"):
        ours.run("version")


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        (
            "error: unable to write file objects/ab/cd: No space left on device\n"
            "fatal: Unable to process path a.txt\n",
            "No space left on device",
        ),
        (
            "error: unable to create temporary file: Read-only file system\n"
            "error: a.txt: failed to insert into database\nfatal: unable to write\n",
            "Read-only file system",
        ),
        ("fatal: no such ref\n", "no such ref"),
        ("", "git said nothing"),
    ],
    ids=["full disk", "read-only", "git's own", "silent"],
)
def test_a_reason_of_the_system_is_what_people_read(stderr: str, said: str) -> None:
    error = failed(("--literal", "update-index", "--add"), Answer(128, b"", stderr))
    assert str(error).startswith("git update-index failed (exit 128)")
    assert said in str(error)


def test_a_full_disk_is_named(ours: Git) -> None:
    with Path("/dev/full").open("wb") as full, pytest.raises(GitError, match="No space left"):
        ours.run("cat-file", "-p", "HEAD", stdout=full)


def test_a_ref_that_cannot_be_written_is_an_error_and_no_lost_race(ours: Git) -> None:
    (ours.git_dir / "refs" / "navci").write_text("in the way")
    with pytest.raises(GitError, match=r"git update-ref failed"):
        ours.update_ref(REF, commits(ours, 1)[0], None)


def test_a_hanging_command_is_ended(ours: Git) -> None:
    started = time.monotonic()
    with pytest.raises(GitError, match=r"no answer within 1 s"):
        ours.run("-c", "alias.hang=!sleep 30", "hang", timeout=1)
    assert time.monotonic() - started < 10


def test_the_environment_holds_no_secret_and_no_git_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_TOKEN", "ANTHROPIC_API_KEY", "GIT_DIR", "GIT_INDEX_FILE", "GIT_SSH"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("https_proxy", "http://proxy")
    env = environment(tmp_path)
    assert "secret" not in env.values()
    assert env["https_proxy"] == "http://proxy"
    assert env["GIT_CONFIG_GLOBAL"] == str(tmp_path / ".gitconfig")


def test_an_inherited_git_dir_changes_nothing(ours: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    head = ours.rev("HEAD")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", "/nowhere")
    assert ours.rev("HEAD") == head


def test_revisions_trees_and_ancestors(ours: Git) -> None:
    head = ours.rev("HEAD")
    assert head is not None
    child = ours.commit_tree(ours.tree_of(head), [head], "child", WHO, WHEN)
    assert ours.rev(child[:12]) == child
    assert ours.rev("nothing") is None
    assert ours.rev("--all") is None
    assert ours.rev(ours.tree_of(head)) is None
    assert ours.is_ancestor(head, child)
    assert ours.is_ancestor(head, head)
    assert not ours.is_ancestor(child, head)
    with pytest.raises(GitError):
        ours.is_ancestor("nothing", head)


def test_show_gives_bytes_of_odd_names_and_none_for_what_is_no_file(ours: Git) -> None:
    assert ours.show("HEAD", "a.txt") == b"one\n"
    assert ours.show("HEAD", "é b\n/c") == b"\xff\0"
    assert ours.show("HEAD", "é b\n") is None
    assert ours.show("HEAD", "absent") is None
    with pytest.raises(GitError):
        ours.show("nothing", "a.txt")


def test_a_commit_carries_identity_time_and_message(ours: Git) -> None:
    tree = ours.tree_of("HEAD")
    commit = ours.commit_tree(tree, [], "feat: é\0\udcff\n\nbody\n", WHO, WHEN)
    assert ours.text("log", "-1", "--format=%an %ae %cI %s", commit) == (
        "navci navci@example.org 2026-11-30T22:15:00+00:00 feat: é\ufffd?"
    )


# --- refs -----------------------------------------------------------------------------------


def test_compare_and_swap(ours: Git) -> None:
    first, second, third = commits(ours, 3)
    assert ours.read_ref(REF) is None
    assert ours.update_ref(REF, first, None)
    assert not ours.update_ref(REF, second, None)
    assert ours.update_ref(REF, second, first)
    assert not ours.update_ref(REF, third, first)
    assert ours.update_ref(REF, second, first)  # already there: a retry after an ambiguous death
    assert ours.read_ref(REF) == second
    ours.delete_ref(REF)
    assert ours.read_ref(REF) is None


def test_a_lock_of_a_killed_git_is_removed_when_it_is_old(ours: Git) -> None:
    first, second = commits(ours, 2)
    assert ours.update_ref(REF, first, None)
    lock = ours.git_dir / f"{REF}.lock"
    lock.touch()
    os.utime(lock, (1, 1))
    assert ours.update_ref(REF, second, first)
    assert not lock.exists()


def test_a_young_lock_is_waited_for(ours: Git) -> None:
    first, second = commits(ours, 2)
    assert ours.update_ref(REF, first, None)
    lock = ours.git_dir / f"{REF}.lock"
    lock.touch()
    threading.Timer(0.5, lock.unlink).start()
    assert ours.update_ref(REF, second, first)


def test_racing_writers_lose_nothing(ours: Git) -> None:
    """Two processes append 20 commits each, every one on top of what it read."""
    program = f"""
import sys
from pathlib import Path
from tests.test_git import *
ours = Git(Path({str(ours.git_dir)!r}), Path({str(ours.work_tree)!r}), Path({str(ours.home)!r}))
tree = ours.tree_of("HEAD")
for number in range(20):
    while True:
        old = ours.read_ref(REF)
        parents = [old] if old else []
        new = ours.commit_tree(tree, parents, f"{{sys.argv[1]}} {{number}}", WHO, WHEN)
        if ours.update_ref(REF, new, old):
            break
"""
    top = Path(__file__).parents[1]
    writers = [
        subprocess.Popen([sys.executable, "-c", program, name], cwd=top) for name in ("a", "b")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    assert ours.text("rev-list", "--count", REF) == "40"
