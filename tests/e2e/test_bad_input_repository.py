"""Repositories of every kind: refused in clear words, or worked in.

A refused start leaves the checkout as it was, byte for byte.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.navci_run import (
    PROGRAM,
    environment,
    markers_in,
    place_of,
    read_marker,
    run_navci,
)
from tests.support.repos import commit_all, git, make_repo, write_files
from tests.support.small_task import (
    BRANCH,
    FILES,
    FIX,
    RUN,
    SIGNAL,
    UNTESTED,
    assert_complete,
    assert_refused,
    bash,
    committed,
    picture,
    small_repo,
)

pytestmark = pytest.mark.e2e


# --- no place to work in --------------------------------------------------------------------


def make_file_that_points_nowhere(path: Path) -> None:
    path.mkdir()
    (path / ".git").write_text("gitdir: ../gone/.git/worktrees/wt\n")


def make_garbage(path: Path) -> None:
    path.mkdir()
    (path / ".git").write_text("garbage\n")


def make_empty_git(path: Path) -> None:
    (path / ".git").mkdir(parents=True)


def make_bare(path: Path) -> None:
    git(path.parent, "init", "-q", "--bare", str(path))


def make_unborn(path: Path) -> None:
    make_repo(path, {})
    (path / "file.txt").write_text("not committed\n")


@pytest.mark.parametrize(
    ("make", "sentences"),
    [
        (Path.mkdir, ("not a git repository: ", "git init")),
        (make_bare, ("is a bare repository, without files to work on", "git clone ")),
        (make_file_that_points_nowhere, ("/.git names no git directory; mend it",)),
        (make_garbage, ("/.git names no git directory; mend it",)),
        (make_empty_git, ("the repository in ", "cannot be read")),
        (make_unborn, ("has no commit yet", "git add -A && git commit")),
    ],
    ids=["no-repository", "bare", "pointing-nowhere", "garbage", "empty-git", "no-commit"],
)
def test_a_place_without_a_commit_to_start_from(
    tmp_path: Path, make: object, sentences: tuple[str, ...]
) -> None:
    repo = tmp_path / "place"
    assert callable(make)
    make(repo)
    before = picture(repo)
    result = run_navci(repo, *RUN)
    assert_refused(result, repo, *sentences)
    assert picture(repo) == before


def test_the_top_is_found_from_a_folder_below(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"deep/er/file": ""})
    assert_complete(run_navci(repo, *RUN, cwd=repo / "deep" / "er"))
    assert committed(repo)["answer.txt"] == "42"


# --- where HEAD and .git are ----------------------------------------------------------------


def test_a_detached_head_is_the_base(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    bash(repo, "git commit -q --allow-empty -m later; git checkout -q --detach HEAD~")
    base = git(repo, "rev-parse", "HEAD")
    result = run_navci(repo, *RUN)
    assert_complete(result)
    assert git(repo, "symbolic-ref", "--short", "HEAD") == BRANCH
    assert git(repo, "rev-parse", "HEAD~") == base
    assert result.marker is not None
    assert (result.marker["base"], result.marker["base_branch"]) == (base, None)


def test_a_linked_worktree_leaves_the_others_alone(tmp_path: Path) -> None:
    main = small_repo(tmp_path / "main")
    linked = tmp_path / "linked"
    git(main, "worktree", "add", "-q", "-b", "side", str(linked))
    (main / "answer.txt").write_text("40\n")  # unfinished there, and no matter here
    before = picture(main)
    pointer = (linked / ".git").read_text()
    result = run_navci(linked, *RUN)
    assert_complete(result)
    assert (linked / ".git").read_text() == pointer
    assert git(linked, "status", "--short", "--branch") == f"## {BRANCH}"
    assert markers_in(linked)
    after = picture(main)
    refs = "for-each-ref --format=%(refname) %(objectname) refs/heads refs/stash"
    assert str(after.pop(refs)).splitlines()[1].startswith(f"refs/heads/{BRANCH} ")
    before.pop(refs)
    assert after == before


def test_a_submodule_checkout(tmp_path: Path) -> None:
    origin = small_repo(tmp_path / "origin")
    over = make_repo(tmp_path / "over", {"readme": "over\n"})
    allow = ("-c", "protocol.file.allow=always")
    git(over, *allow, "submodule", "--quiet", "add", str(origin), "sub")
    commit_all(over, "with a submodule")
    sub = over / "sub"
    result = run_navci(sub, *RUN)
    assert_complete(result)
    assert committed(sub)["answer.txt"] == "42"
    assert git(sub, "symbolic-ref", "--short", "HEAD") == BRANCH
    assert git(over, "diff", "--name-only") == "sub"
    assert git(over, "symbolic-ref", "--short", "HEAD") == "main"


def test_submodules_of_the_repository_are_left_alone(tmp_path: Path) -> None:
    origin = make_repo(tmp_path / "origin", {"lib.py": "1\n"})
    repo = small_repo(tmp_path / "repo", {"fix.sh": f"echo 2 > sub/lib.py; {FIX}"})
    allow = ("-c", "protocol.file.allow=always")
    git(repo, *allow, "submodule", "--quiet", "add", str(origin), "sub")
    commit_all(repo, "with a submodule")
    pinned = git(repo, "ls-tree", "HEAD", "sub")
    result = run_navci(repo, *RUN)
    assert result.exit_code == 10, result.said
    assert json.loads(result.outputs["gaps"]) == ["guard:sub"]
    assert git(repo, "ls-tree", "HEAD", "sub") == pinned
    assert (repo / "sub" / "lib.py").read_text() == "2\n"
    assert git(repo / "sub", "symbolic-ref", "--short", "HEAD") == "main"


@pytest.mark.parametrize(
    "options",
    [
        ("--depth", "1"),
        ("--filter", "blob:none"),
        ("--filter", "tree:0"),
        ("--shared",),
        ("--single-branch", "--no-tags"),
    ],
    ids=lambda options: "-".join(options).strip("-"),
)
def test_clones_of_every_kind(tmp_path: Path, options: tuple[str, ...]) -> None:
    origin = small_repo(tmp_path / "origin")
    git(origin, "config", "uploadpack.allowFilter", "true")
    for number in range(3):
        write_files(origin, {"answer.txt": f"{number}\n", "folder/other.txt": f"{number}\n"})
        commit_all(origin, f"commit {number}")
    repo = tmp_path / "repo"
    source = str(origin) if "--shared" in options else f"file://{origin}"
    git(tmp_path, "clone", "-q", *options, source, str(repo))
    shallow = git(repo, "rev-parse", "--is-shallow-repository")
    assert_complete(run_navci(repo, *RUN))
    assert git(repo, "log", "--format=%s").splitlines()[1] == "commit 2"
    assert git(repo, "rev-parse", "--is-shallow-repository") == shallow
    assert git(repo, "status", "--short") == ""
    git(repo, "fsck", "--no-dangling", "--strict")


def test_a_repository_with_sha256_ids(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "--object-format=sha256", "-b", "main")
    write_files(repo, FILES)
    commit_all(repo, "start")
    result = run_navci(repo, *RUN)
    assert_complete(result)
    assert committed(repo)["answer.txt"] == "42"
    assert len(result.outputs["commit"]) == 64


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_checkout_of_another_user(tmp_path: Path) -> None:
    """As in a container job: git's own commands refuse such a repository by themselves."""
    repo = small_repo(tmp_path / "repo")
    for path in (repo, *repo.rglob("*")):
        os.chown(path, 1234, 1234)
    assert_complete(run_navci(repo, *RUN))


def test_variables_of_git_do_not_lead_elsewhere(tmp_path: Path) -> None:
    """git sets them for its hooks and aliases."""
    repo, other = small_repo(tmp_path / "repo"), small_repo(tmp_path / "other")
    before = picture(other)
    names = {"GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index", "GIT_OBJECT_DIRECTORY": ".git"}
    env = {name: str(other / path) for name, path in names.items()}
    more = {"GIT_WORK_TREE": str(other), "GIT_NAMESPACE": "x", "GIT_CEILING_DIRECTORIES": "/"}
    assert_complete(run_navci(repo, *RUN, env=env | more))
    assert picture(other) == before
    assert git(repo, "status", "--short") == ""


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    gone = tmp_path / "gone"
    line = f"mkdir '{gone}'; cd '{gone}'; rmdir '{gone}'; exec '{PROGRAM}' \"$@\""
    done = subprocess.run(
        ["bash", "-c", line, "bash", *RUN],
        env=environment(place_of(repo)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 2
    assert f"not a git repository: {gone}" in done.stdout


def test_a_branch_that_another_worktree_stands_on(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "-q", "-b", "work", str(linked))
    before, there = picture(repo), picture(linked)
    result = run_navci(repo, *RUN, "--branch", "work")
    assert_refused(result, repo, f"the branch `work` is checked out in {linked}; start navci there")
    assert (picture(repo), picture(linked)) == (before, there)
    result = run_navci(linked, *RUN, "--branch", "main")
    assert_refused(result, linked, f"the branch `main` is checked out in {repo}; start navci there")
    shutil.rmtree(linked)
    assert_complete(run_navci(repo, *RUN, "--branch", "work"))


@pytest.mark.parametrize("name", ["RUNNER_TEMP", "TMPDIR"])
def test_temporary_files_are_never_in_the_repository(tmp_path: Path, name: str) -> None:
    repo = small_repo(tmp_path / "repo")
    (repo / "tmp").mkdir()
    env = {"RUNNER_TEMP": None, name: str(repo / "tmp")}
    result = run_navci(repo, *RUN, env=env)
    assert_complete(result)
    assert git(repo, "status", "--short") == ""
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("run folder "))
    run = Path(line.removeprefix("run folder "))
    assert not run.is_relative_to(repo)
    shutil.rmtree(run)


# --- names ----------------------------------------------------------------------------------

ODD = os.fsdecode(b"sp ace\nline \xff\xfe 'q' \"d\" $x ; \xc3\xa9")


def test_a_path_with_every_odd_character(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / ODD / ODD)
    result = run_navci(repo, *RUN)
    assert_complete(result)
    assert committed(repo)["answer.txt"] == "42"
    assert git(repo, "status", "--short", "--branch") == f"## {BRANCH}"
    (marker,) = markers_in(repo)
    assert read_marker(marker)["kind"] == "complete"


def test_files_with_odd_names(tmp_path: Path) -> None:
    odd, new = f"{ODD}.txt", f"folder {ODD}/-new\t{ODD}.md"
    repo = small_repo(tmp_path / "repo", {odd: "1\n", f"{ODD}/deleted": "1\n", ":(top)x": "1\n"})
    quoted = {"ODD": odd, "NEW": new, "GONE": f"{ODD}/deleted"}
    fix = f'echo 2 > "$ODD"; mkdir -p "${{NEW%/*}}"; echo n > "$NEW"; rm "$GONE"; {FIX}'
    write_files(repo, {"fix.sh": fix})
    commit_all(repo, "fix")
    git(repo, "config", "core.quotePath", "false")
    result = run_navci(repo, *RUN, "--agent-env", " ".join(quoted), env=quoted)
    assert_complete(result)
    files = committed(repo)
    assert (files[odd], files[new], files[":(top)x"]) == ("2", "n", "1")
    assert f"{ODD}/deleted" not in files
    assert git(repo, "status", "--short") == ""
    assert result.marker is not None
    shown = result.marker["files_changed"]
    assert len(shown) == 4
    assert all("\n" not in name and "\\xff" in name for name in shown if name != "answer.txt")


# --- repositories inside, attributes --------------------------------------------------------


def test_a_nested_repository_is_named_and_left_alone(tmp_path: Path) -> None:
    fix = f"git init -q made; echo 1 > made/file; echo 2 > inner/file; {FIX}"
    repo = small_repo(tmp_path / "repo", {"fix.sh": fix})
    inner = make_repo(repo / "inner", {"file": "1\n"})
    result = run_navci(repo, *RUN)
    # The one that the agent made is no part of the work: what rests on it is broken in a clone.
    assert result.exit_code == 10, result.said
    assert json.loads(result.outputs["gaps"]) == ["guard:made"]
    for name in ("inner", "made"):
        sentence = f"{name} is a git repository of its own inside this one"
        assert sentence in result.said
        assert sentence in result.summary
    assert committed(repo).keys() == {"answer.txt", "fix.sh"}
    assert (inner / "file").read_text() == "2\n"
    assert git(inner, "log", "--format=%s") == "start"


@pytest.mark.parametrize("required", ["true", "false"])
def test_filters_are_never_run(tmp_path: Path, required: str) -> None:
    """As of git-lfs, set up in the repository or missing: files are taken as they lie there."""
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 3\n"
    files: dict[str, str | bytes] = {
        ".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n*.txt filter=missing\n",
        "big.bin": pointer,
        "fix.sh": f"printf 'new\\r\\n' > new.bin; {FIX}",
    }
    repo = small_repo(tmp_path / "repo", files)
    fired = tmp_path / "fired"
    for name in ("clean", "smudge", "process"):
        git(repo, "config", f"filter.lfs.{name}", f"touch '{fired}'; cat")
        git(repo, "config", f"filter.missing.{name}", "/no/such/program")
    git(repo, "config", "filter.lfs.required", required)
    git(repo, "config", "filter.missing.required", required)
    assert_complete(run_navci(repo, *RUN))
    assert not fired.exists()
    git(repo, "config", "--remove-section", "filter.missing")
    assert (repo / "big.bin").read_bytes() == pointer
    assert committed(repo)["new.bin"] == "new\r"
    assert committed(repo)["answer.txt"] == "42"


def test_content_of_git_lfs_in_the_checkout_is_explained(tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 3\n"
    repo = small_repo(tmp_path / "repo", {".gitattributes": "*.bin filter=lfs\n", "b.bin": pointer})
    (repo / "b.bin").write_bytes(b"the content itself")
    before = picture(repo)
    result = run_navci(repo, *RUN)
    assert_refused(result, repo, "b.bin is kept in Git LFS", "lfs: false")
    assert picture(repo) == before


@pytest.mark.parametrize("how", ["attributes", "autocrlf"])
def test_line_ends_are_converted_as_the_checkout_does(tmp_path: Path, how: str) -> None:
    files = {".gitattributes": "*.txt text eol=crlf\n"} if how == "attributes" else {}
    repo = small_repo(
        tmp_path / "repo",
        {"other.txt": "one\ntwo\n", "fix.sh": f"printf '42\\r\\n' > answer.txt; {SIGNAL}"} | files,
    )
    if how == "autocrlf":
        git(repo, "config", "core.autocrlf", "true")
    for name in ("answer.txt", "other.txt"):
        (repo / name).unlink()
    git(repo, "checkout", "--", "answer.txt", "other.txt")
    assert (repo / "other.txt").read_bytes() == b"one\r\ntwo\r\n"
    result = run_navci(repo, *UNTESTED, "--test-command", "grep -q ^42 answer.txt")
    assert_complete(result)
    assert result.marker is not None
    assert result.marker["files_changed"] == ["answer.txt"]
    assert (repo / "other.txt").read_bytes() == b"one\r\ntwo\r\n"
    assert git(repo, "cat-file", "blob", "HEAD:answer.txt") == "42"
    assert git(repo, "status", "--short") == ""
