"""navci.evidence.worktree: the work tree as git trees, against real files of every kind."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from navci.errors import GitError
from navci.evidence.worktree import Change, Worktree
from navci.system.checkout import adopt, find_checkout
from tests.support.attack import Canary, arm
from tests.support.repos import commit_all, git, make_repo, write_files

FILES = {
    "a.txt": "a\n",
    "src/b.py": "b\n",
    "src/deep/c.py": "c\n",
    "kept.log": "tracked although ignored\n",
    ".gitignore": "*.log\n/build/\n",
}


def measured(repo: Path, run_dir: Path, ignore: Sequence[str] = ()) -> Worktree:
    run_dir.mkdir()
    checkout = find_checkout(repo)
    ours = adopt(checkout, run_dir)
    return Worktree(ours, checkout.head or ours.empty_tree, run_dir, ignore=ignore)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = make_repo(tmp_path / "repo", FILES)
    git(repo, "add", "-f", "kept.log")
    commit_all(repo, "all")
    return repo


@pytest.fixture
def tree(repo: Path, tmp_path: Path) -> Worktree:
    return measured(repo, tmp_path / "run")


def base(tree: Worktree) -> str:
    return tree.git.tree_of(tree.base)


def changes(tree: Worktree) -> dict[str, str]:
    """path -> status, from base to now."""
    return {change.path: change.status for change in tree.changed(base(tree), tree.tree())}


# --- what is in the tree --------------------------------------------------------------------


def test_an_untouched_work_tree_is_its_commit(tree: Worktree) -> None:
    assert tree.tree() == base(tree)
    assert tree.tracked(tree.base) == frozenset(FILES)


def test_new_changed_and_deleted_files_count_and_ignored_ones_do_not(
    tree: Worktree, repo: Path
) -> None:
    write_files(repo, {"a.txt": "A\n", "new/x": "x", "y.log": "y", "build/z": "z"})
    (repo / "kept.log").write_text("still tracked\n")
    (repo / "src" / "b.py").unlink()
    assert changes(tree) == {"a.txt": "M", "new/x": "A", "kept.log": "M", "src/b.py": "D"}


def test_a_change_names_blobs_and_modes(tree: Worktree, repo: Path) -> None:
    (repo / "a.txt").chmod(0o755)
    (repo / "src" / "b.py").unlink()
    (repo / "src" / "b.py").symlink_to("deep/c.py")
    write_files(repo, {"new": ""})
    a, b = git(repo, "rev-parse", "HEAD:a.txt", "HEAD:src/b.py").split()
    link = git(repo, "hash-object", "--stdin", stdin=b"deep/c.py")
    empty = git(repo, "hash-object", "--stdin", stdin=b"")
    assert tree.changed(base(tree), tree.tree()) == (
        Change("a.txt", "M", a, a, "100644", "100755"),
        Change("new", "A", None, empty, "000000", "100644"),
        Change("src/b.py", "T", b, link, "100644", "120000"),
    )


def test_the_ignore_rules_are_those_of_base(tree: Worktree, repo: Path) -> None:
    write_files(repo, {".gitignore": "*\n", ".git/info/exclude": "*\n", "hidden.py": "x"})
    write_files(repo, {"src/.gitignore": "!*.log\n", "src/y.log": "y"})
    assert set(changes(tree)) == {".gitignore", "hidden.py", "src/.gitignore"}


def test_further_globs_and_markers_are_ignored(repo: Path, tmp_path: Path) -> None:
    tree = measured(repo, tmp_path / "run", ignore=["out/*.xml"])
    write_files(repo, {"out/r.xml": "", "out/r.txt": "", "sub/out/r.xml": ""})
    write_files(repo, {".agent/.context-markers/m.md": "", ".agent/tasks/T.md": ""})
    write_files(repo, {"pkg/.agent/.context-markers/m.md": ""})
    assert set(changes(tree)) == {"out/r.txt", "sub/out/r.xml", ".agent/tasks/T.md"}


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "empty", {})
    tree = measured(repo, tmp_path / "run")
    assert tree.tree() == tree.git.empty_tree
    write_files(repo, {"a": "a"})
    now = tree.tree()
    assert [c.path for c in tree.changed(tree.git.empty_tree, now)] == ["a"]
    tree.checkout_tree(tree.git.empty_tree)
    assert not (repo / "a").exists()


ODD = [
    *("sp ace", "new\nline", 'quo"te', "back\\slash", "tab\t", "-dash", "é", "\udcff\udcfe", "*"),
    *(":(top)x", "[x]", "#x", "!x", " ", "a b/c\nd/e", "~", "$HOME", "'", "..x", "x" * 200),
]


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_odd_names(tree: Worktree, repo: Path, name: str) -> None:
    write_files(repo, {name: "1"})
    first = tree.tree()
    assert changes(tree) == {name: "A"}
    write_files(repo, {name: "22"})
    assert [(c.path, c.status) for c in tree.changed(first, tree.tree())] == [(name, "M")]
    tree.restore(first, [name])
    assert tree.tree() == first
    tree.restore(base(tree), [name])
    assert tree.tree() == base(tree)


# --- files that become something else -------------------------------------------------------


def file_to_folder(repo: Path) -> None:
    (repo / "a.txt").unlink()
    write_files(repo, {"a.txt/inside": "x"})


def folder_to_file(repo: Path) -> None:
    shutil.rmtree(repo / "src")
    write_files(repo, {"src": "x"})


def file_to_link(repo: Path) -> None:
    (repo / "a.txt").unlink()
    (repo / "a.txt").symlink_to("/etc/passwd")


def folder_to_link(repo: Path) -> None:
    (repo / "src").rename(repo.parent / "outside")
    (repo / "src").symlink_to("../outside")


def folder_to_changed_link(repo: Path) -> None:
    folder_to_link(repo)
    write_files(repo.parent / "outside", {"b.py": "changed outside"})


def file_to_fifo(repo: Path) -> None:
    (repo / "a.txt").unlink()
    os.mkfifo(repo / "a.txt")


def file_to_socket(repo: Path) -> None:
    (repo / "a.txt").unlink()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(repo / "a.txt"))


def new_fifo_and_link_to_nowhere(repo: Path) -> None:
    os.mkfifo(repo / "pipe")
    (repo / "loop").symlink_to("loop")


SWITCHES: dict[Callable[[Path], None], dict[str, str]] = {
    file_to_folder: {"a.txt": "D", "a.txt/inside": "A"},
    folder_to_file: {"src": "A", "src/b.py": "D", "src/deep/c.py": "D"},
    file_to_link: {"a.txt": "T"},
    folder_to_link: {"src": "A", "src/b.py": "D", "src/deep/c.py": "D"},
    folder_to_changed_link: {"src": "A", "src/b.py": "D", "src/deep/c.py": "D"},
    file_to_fifo: {"a.txt": "D"},
    file_to_socket: {"a.txt": "D"},
    new_fifo_and_link_to_nowhere: {"loop": "A"},
}


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.__name__)
@pytest.mark.parametrize("back", ["restore", "checkout"])
def test_switches_are_seen_and_put_back(
    tree: Worktree, repo: Path, switch: Callable[[Path], None], back: str
) -> None:
    switch(repo)
    expected = SWITCHES[switch]
    assert changes(tree) == expected
    outside = repo.parent / "outside"
    before = (outside / "b.py").read_text() if outside.exists() else None
    if back == "restore":
        tree.restore(base(tree), list(expected))
    else:
        tree.checkout_tree(base(tree))
    assert tree.tree() == base(tree)
    assert (repo / "src" / "b.py").read_text() == "b\n"
    if before is not None:
        assert (outside / "b.py").read_text() == before
        assert not (repo / "src").is_symlink()


def test_restore_does_not_delete_through_a_link(tree: Worktree, repo: Path) -> None:
    outside = repo.parent / "outside"
    write_files(outside, {"victim": "precious"})
    (repo / "link").symlink_to("../outside")
    tree.restore(base(tree), ["link/victim"])
    assert (outside / "victim").read_text() == "precious"
    tree.restore(base(tree), ["link"])
    assert not (repo / "link").is_symlink()
    assert (outside / "victim").read_text() == "precious"


def test_restore_removes_what_is_new_with_its_empty_folders(tree: Worktree, repo: Path) -> None:
    write_files(repo, {"new/deep/x": "x", "new2/x": "x", "new2/y": "y"})
    tree.restore(base(tree), ["new/deep/x", "new2/x", "never/there"])
    assert not (repo / "new").exists()
    assert (repo / "new2" / "y").exists()


def test_restore_of_a_folder_that_base_has_leaves_it(tree: Worktree, repo: Path) -> None:
    tree.restore(base(tree), ["src"])
    assert (repo / "src" / "b.py").exists()


def test_restore_brings_back_content_mode_and_type(tree: Worktree, repo: Path) -> None:
    (repo / "run.sh").write_text("#!/bin/sh\n")
    (repo / "run.sh").chmod(0o755)
    (repo / "link").symlink_to("a.txt")
    before = tree.tree()
    (repo / "run.sh").chmod(0o644)
    (repo / "link").unlink()
    shutil.rmtree(repo / "src")
    tree.restore(before, ["run.sh", "link", "src/deep/c.py", "src/b.py"])
    assert tree.tree() == before
    assert os.access(repo / "run.sh", os.X_OK)


def test_checkout_tree_keeps_ignored_files_and_removes_the_rest(tree: Worktree, repo: Path) -> None:
    write_files(repo, {"y.log": "y", "build/z": "z", "new": "n", "a.txt": "A"})
    later = tree.tree()
    tree.checkout_tree(base(tree))
    assert (repo / "y.log").exists()
    assert (repo / "build" / "z").exists()
    assert not (repo / "new").exists()
    assert tree.tree() == base(tree)
    tree.checkout_tree(later)
    assert (repo / "new").read_text() == "n"
    assert tree.tree() == later


def test_checkout_tree_takes_the_place_of_an_ignored_folder(tree: Worktree, repo: Path) -> None:
    write_files(repo, {"build/z": "z"})
    blob = tree.git.text("hash-object", "-w", "--stdin", stdin=b"file")
    wanted = tree.git.text("mktree", "-z", stdin=f"100644 blob {blob}\tbuild\0".encode())
    tree.checkout_tree(wanted)
    assert (repo / "build").read_text() == "file"


# --- left out -------------------------------------------------------------------------------


def test_left_out_paths_are_as_in_base(tree: Worktree, repo: Path) -> None:
    write_files(repo, {"a.txt": "secret", "new": "secret", "other": "o"})
    without = tree.tree(leave_out=["a.txt", "new", "absent"])
    assert [c.path for c in tree.changed(base(tree), without)] == ["other"]
    assert set(changes(tree)) == {"a.txt", "new", "other"}


def test_a_left_out_file_that_is_a_folder_now(tree: Worktree, repo: Path) -> None:
    file_to_folder(repo)
    assert tree.tree(leave_out=["a.txt"]) == base(tree)


def test_byproducts_are_left_out_until_they_change(tree: Worktree, repo: Path) -> None:
    before = tree.tree()
    write_files(repo, {"cov.xml": "1", "a.txt": "written by a check"})
    for change in tree.changed(before, tree.tree()):
        assert change.new_blob is not None
        tree.byproducts[change.path] = change.new_blob
    assert tree.tree() == before
    write_files(repo, {"cov.xml": "edited by the agent"})
    assert changes(tree) == {"cov.xml": "A"}
    (repo / "cov.xml").unlink()
    assert tree.tree() == before


def test_files_of_a_followed_commit_are_tracked(tree: Worktree, repo: Path) -> None:
    write_files(repo, {"forced.log": "f", "other.log": "o"})
    git(repo, "add", "-f", "forced.log")
    git(repo, "commit", "-q", "-m", "agent")
    tree.git.run("fetch", "-q", str(repo), "HEAD")
    assert changes(tree) == {}
    tree.follow("FETCH_HEAD")
    assert changes(tree) == {"forced.log": "A"}
    (repo / "forced.log").unlink()
    assert changes(tree) == {}


def test_nested_repositories_are_left_out_and_named(tree: Worktree, repo: Path) -> None:
    make_repo(repo / "nested", {"n": "1"})
    make_repo(repo / "new" / "nested", {})
    write_files(repo, {"new/x": "x", "new/nested/y": "y"})
    assert changes(tree) == {"new/x": "A"}
    assert set(tree.nested) == {"nested", "new/nested"}
    tree.checkout_tree(base(tree))
    assert (repo / "nested" / "n").exists()


def test_git_init_in_a_tracked_folder_hides_nothing(tree: Worktree, repo: Path) -> None:
    git(repo / "src", "init", "-q")
    write_files(repo, {"src/b.py": "changed", "src/new.py": "new"})
    assert changes(tree) == {"src/b.py": "M", "src/new.py": "A"}


def test_submodules_stay_as_they_are_and_nothing_runs_in_them(tmp_path: Path) -> None:
    canary = Canary(tmp_path / "canary")
    library = make_repo(tmp_path / "library", {"l": "1"})
    repo = make_repo(tmp_path / "repo", FILES)
    for name in ("lib", "gone", "file"):
        git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), name)
    commit_all(repo, "submodules")
    tree = measured(repo, tmp_path / "run")
    write_files(repo, {"lib/l": "changed", "lib/new": "new"})
    commit_all(repo / "lib", "by the agent")
    write_files(repo, {"lib/l": "dirty"})
    arm(repo / "lib", canary)
    shutil.rmtree(repo / "gone")
    shutil.rmtree(repo / "file")
    write_files(repo, {"file": "now a file"})
    for _ in range(2):
        assert tree.tree() == base(tree)
    tree.restore(base(tree), ["lib", "gone"])
    tree.checkout_tree(base(tree))
    assert (repo / "lib" / "l").read_text() == "dirty"
    assert canary.fired() == []


# --- traps ----------------------------------------------------------------------------------


def test_a_change_in_the_same_second_and_of_the_same_size_is_seen(
    tree: Worktree, repo: Path
) -> None:
    seen = set()
    for number in range(10, 30):
        write_files(repo, {"a.txt": str(number)})
        seen.add(tree.tree())
    assert len(seen) == 20


def test_bits_of_the_users_index_hide_nothing(tree: Worktree, repo: Path) -> None:
    git(repo, "update-index", "--assume-unchanged", "a.txt")
    git(repo, "update-index", "--skip-worktree", "src/b.py")
    write_files(repo, {"a.txt": "A", "src/b.py": "B"})
    assert set(changes(tree)) == {"a.txt", "src/b.py"}


def test_attributes_of_the_agent_do_not_change_what_is_stored(tree: Worktree, repo: Path) -> None:
    """With ``ident`` git would store ``$Id$``, and the tests would have seen something else."""
    write_files(repo, {".gitattributes": "* ident text eol=crlf\n", "a.txt": "$Id: evil $\r\n"})
    assert tree.git.run("show", f"{tree.tree()}:a.txt") == b"$Id: evil $\r\n"
    tree.restore(base(tree), ["a.txt"])
    assert (repo / "a.txt").read_bytes() == b"a\n"


def test_attributes_of_base_do(tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "repo", {".gitattributes": "*.bat text eol=crlf\n", "sub/x.bat": "a\r\nb\r\n"}
    )
    tree = measured(repo, tmp_path / "run")
    assert tree.git.show(tree.base, "sub/x.bat") == b"a\nb\n"
    assert tree.tree() == base(tree)
    (repo / "sub" / "x.bat").unlink()
    tree.restore(base(tree), ["sub/x.bat"])
    assert (repo / "sub" / "x.bat").read_bytes() == b"a\r\nb\r\n"


def test_a_lock_of_a_killed_measurement_is_no_obstacle(tree: Worktree, repo: Path) -> None:
    write_files(repo, {"a.txt": "A"})
    Path(f"{tree.index}.lock").touch()
    assert changes(tree) == {"a.txt": "M"}


def test_a_lock_of_the_users_index_is_no_obstacle(tree: Worktree, repo: Path) -> None:
    write_files(repo, {"a.txt": "A", ".git/index.lock": ""})
    assert changes(tree) == {"a.txt": "M"}


def test_the_checkouts_git_may_be_gone(tree: Worktree, repo: Path) -> None:
    shutil.rmtree(repo / ".git")
    write_files(repo, {"a.txt": "A"})
    assert changes(tree) == {"a.txt": "M"}


def test_files_that_come_and_go_meanwhile(tree: Worktree, repo: Path) -> None:
    """A process that keeps switching files: every tree is one that was there, or a clear error."""
    program = (
        "import os, shutil, sys\n"
        "os.chdir(sys.argv[1])\n"
        "while True:\n"
        "    for n in range(20):\n"
        "        open(f'v{n}', 'w').write(str(n))\n"
        "    for n in range(20):\n"
        "        os.unlink(f'v{n}'); os.mkdir(f'v{n}'); open(f'v{n}/x', 'w').close()\n"
        "    for n in range(20):\n"
        "        shutil.rmtree(f'v{n}')\n"
    )
    noise = subprocess.Popen([sys.executable, "-c", program, str(repo)])
    try:
        for _ in range(15):
            try:
                assert {path.partition("/")[0][0] for path in changes(tree)} <= {"v"}
            except GitError as error:
                assert "git" in str(error)
    finally:
        noise.kill()
        noise.wait()
    for left in repo.glob("v*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    assert tree.tree() == base(tree)


@pytest.mark.parametrize(
    "name", [".env", "!a", "#b", "c ", "d  ", "*", "[e]", "f?", "g\nh", "i\\", "dir/j", "caf\udce9"]
)
def test_a_hidden_file_is_not_measured(tree: Worktree, repo: Path, name: str) -> None:
    for path in (name, "other", "dir/other"):
        target = repo / path
        target.parent.mkdir(exist_ok=True)
        target.write_text("1")
    assert set(changes(tree)) == {name, "other", "dir/other"}
    tree.hide([name])
    assert set(changes(tree)) == {"other", "dir/other"}
    (repo / name).write_text("2")
    assert set(changes(tree)) == {"other", "dir/other"}


def test_the_markers_folder_is_never_followed(tree: Worktree, repo: Path) -> None:
    write_files(repo, {".agent/.context-markers/m.md": "m", "a.log": "log"})
    git(repo, "add", "-f", "-A")
    git(repo, "commit", "-q", "-m", "markers")
    commit = git(repo, "rev-parse", "HEAD")
    tree.git.run("fetch", "-q", str(repo), commit)
    tree.follow(commit)
    assert set(changes(tree)) == {"a.log"}


def test_unreadable_files_are_named_and_the_rest_is_measured() -> None:
    """In a process of another user when the tests run as root, who can read everything."""
    program = """
import encodings.idna, os, signal, tempfile, threading
from tests.test_worktree import *
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(12345)
    os.setuid(12345)
with tempfile.TemporaryDirectory() as name:
    top = Path(name)
    repo = make_repo(top / "repo", FILES)
    tree = measured(repo, top / "run")
    assert changes(tree) == {}
    write_files(repo, {"a.txt": "changed", "b": "b", "secret/x": "x", "src/deep/c.py": "changed"})
    for path in ("a.txt", "secret", "src/deep"):
        (repo / path).chmod(0)
    found = changes(tree)
    for path in ("a.txt", "secret", "src/deep"):
        (repo / path).chmod(0o755)
assert found == {"b": "A"}, found
assert tree.unreadable == ("a.txt", "secret", "src/deep", "src/deep/c.py"), tree.unreadable
assert tree.closed == frozenset(), tree.closed
"""
    top = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=top, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
