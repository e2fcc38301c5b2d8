"""What no run may start on: unfinished work, wrong bases and branches, read-only files.

A refused start leaves the checkout as it was, byte for byte.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.navci_run import (
    PROGRAM,
    environment,
    is_reachable,
    place_of,
    read_marker,
    read_outputs,
    run_folders,
    run_navci,
)
from tests.support.repos import git, write_files
from tests.support.small_task import (
    BRANCH,
    FIX,
    ID,
    RUN,
    TEST,
    UNTESTED,
    assert_complete,
    assert_refused,
    bash,
    committed,
    picture,
    small_repo,
)

pytestmark = pytest.mark.e2e


# --- work that is not committed -------------------------------------------------------------

_TWO_BRANCHES = """
git checkout -qb other; echo 1 > answer.txt; git commit -qam other
git checkout -q main; echo 2 > answer.txt; git commit -qam main
"""
_WORKFLOW = "mkdir -p .github/workflows; echo a > .github/workflows/ci.yml"


@dataclass(frozen=True)
class Unfinished:
    """What a person left half done, and what navci says to it."""

    name: str
    line: str
    says: str
    args: tuple[str, ...] = ()


DIRTY = "uncommitted changes in tracked files: "
ALLOW = ("--allow-dirty",)
UNFINISHED = [
    Unfinished("changed", "echo 40 > answer.txt", f"{DIRTY}answer.txt; commit or stash them"),
    Unfinished("staged", "echo 40 > answer.txt; git add .", f"{DIRTY}answer.txt"),
    Unfinished("deleted", "rm answer.txt", f"{DIRTY}answer.txt"),
    Unfinished("staged-deleted", "git rm -q answer.txt", f"{DIRTY}answer.txt"),
    Unfinished("untracked-by-index", "git rm -q --cached answer.txt", f"{DIRTY}answer.txt"),
    Unfinished("staged-new", "echo n > new.txt; git add new.txt", f"{DIRTY}new.txt"),
    Unfinished("intended", "echo n > new.txt; git add -N new.txt", f"{DIRTY}new.txt"),
    Unfinished("mode", "chmod +x answer.txt", f"{DIRTY}answer.txt"),
    Unfinished("type", "rm answer.txt; ln -s fix.sh answer.txt", f"{DIRTY}answer.txt"),
    Unfinished(
        "in-index-only",
        "echo 40 > answer.txt; git add .; echo 41 > answer.txt",
        f"{DIRTY}answer.txt",
    ),
    Unfinished("many", "git rm -q --cached -r .", f"{DIRTY}a.txt, answer.txt, b.txt, c.txt, d.txt"),
    Unfinished("many-more", "git rm -q --cached -r .", "d.txt and 1 more; commit or stash"),
    Unfinished(
        "in-index-only-allowed",
        "echo 40 > answer.txt; git add .; echo 41 > answer.txt",
        "what is staged of answer.txt differs from the files",
        ALLOW,
    ),
    Unfinished(
        "kept-but-staged-to-go",
        "git rm -q --cached answer.txt",
        "what is staged of answer.txt differs from the files",
        ALLOW,
    ),
    Unfinished(
        "protected",
        f"{_WORKFLOW}; git add .",
        ".github/workflows/ci.yml is protected: a run takes no uncommitted change of it along",
        ALLOW,
    ),
    Unfinished(
        "merge",
        f"{_TWO_BRANCHES} git merge other || true",
        "in the middle of a merge; end it first, with `git merge --continue`",
        ALLOW,
    ),
    Unfinished(
        "merge-without-a-change",
        f"{_TWO_BRANCHES} git merge -q --no-commit -s ours other",
        "in the middle of a merge",
    ),
    Unfinished("rebase", f"{_TWO_BRANCHES} git rebase -q other || true", "the middle of a rebase"),
    Unfinished(
        "cherry-pick", f"{_TWO_BRANCHES} git cherry-pick other || true", "middle of a cherry-pick"
    ),
    Unfinished("revert", f"{_TWO_BRANCHES} git revert HEAD~ || true", "in the middle of a revert"),
    Unfinished(
        "bisection",
        f"{_TWO_BRANCHES} git bisect start HEAD HEAD~",
        "in the middle of a bisection; end it first, with `git bisect reset`",
    ),
    Unfinished(
        "conflict",
        f"{_TWO_BRANCHES} echo 3 > answer.txt; git stash -q; git reset -q --hard other; "
        "git stash pop || true",
        "unresolved conflicts in answer.txt",
        ALLOW,
    ),
]


@pytest.mark.parametrize("case", UNFINISHED, ids=lambda case: case.name)
def test_unfinished_work_is_refused_and_left_alone(tmp_path: Path, case: Unfinished) -> None:
    more = {f"{name}.txt": name for name in "abcd"} if case.name.startswith("many") else {}
    repo = small_repo(tmp_path / "repo", more)
    bash(repo, case.line)
    before = picture(repo)
    own = sorted(path.name for path in (repo / ".git").iterdir())
    result = run_navci(repo, *RUN, *case.args)
    assert_refused(result, repo, case.says)
    assert picture(repo) == before
    assert sorted(path.name for path in (repo / ".git").iterdir()) == own


def test_allowed_changes_are_the_runs_first_commit(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"old.txt": "old\n", "gone.txt": "gone\n", "b.txt": "b\n"})
    bash(repo, "echo 40 > answer.txt; rm gone.txt; git mv old.txt moved.txt; git mv b.txt c.txt")
    bash(repo, "echo new > new.txt; git add new.txt; echo mine > mine.txt; chmod +x c.txt")
    bash(repo, "git add c.txt; echo later > later.txt; git add -N later.txt")
    result = run_navci(repo, *RUN, "--allow-dirty")
    assert_complete(result)
    start, first, last = git(repo, "log", "--reverse", "--format=%H").split()
    assert git(repo, "log", "-1", "--format=%s", first) == (
        f"chore(navci): changes of the checkout as the run began ({ID})"
    )
    assert committed(repo, start)["answer.txt"] == "41"
    names = {"answer.txt", "moved.txt", "c.txt", "new.txt", "later.txt", "fix.sh"}
    assert committed(repo, first).keys() == names
    assert committed(repo, first)["answer.txt"] == "40"
    assert git(repo, "ls-tree", first, "c.txt").startswith("100755")
    assert committed(repo, last)["answer.txt"] == "42"
    assert git(repo, "status", "--short") == "?? mine.txt"
    assert (repo / "mine.txt").read_text() == "mine\n"


def test_allowed_changes_stay_where_they_are_when_the_start_is_refused(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    bash(repo, "echo 40 > answer.txt; echo new > new.txt; git add .; echo mine > mine.txt")
    before = picture(repo)
    result = run_navci(repo, *UNTESTED, "--allow-dirty", "--test-command", "no-such-program-here")
    assert_refused(result, repo, "the check `tests` cannot start")
    assert picture(repo) == before


def test_untracked_files_are_the_users(tmp_path: Path) -> None:
    """They need no permission, are there for the agent to read, and are never committed."""
    repo = small_repo(tmp_path / "repo", {"fix.sh": f"cp mine.txt copy.txt; {FIX}"})
    write_files(repo, {"mine.txt": "mine\n", "folder/too.txt": "mine, too\n"})
    assert_complete(run_navci(repo, *RUN))
    assert committed(repo).keys() == {"answer.txt", "fix.sh", "copy.txt"}
    assert git(repo, "status", "--short") == "?? folder/\n?? mine.txt"


# --- base and branch ------------------------------------------------------------------------


def test_a_base_that_names_nothing(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    before = picture(repo)
    result = run_navci(repo, *RUN, "--base", "develop")
    assert_refused(
        result, repo, "--base: `develop` is no branch, tag or commit", "`fetch-depth: 0`"
    )
    assert picture(repo) == before


def with_another_branch(path: Path) -> Path:
    """On ``main``; ``release`` has a file more and one less."""
    repo = small_repo(path, {"only-main.txt": "main\n"})
    line = "git rm -q only-main.txt; echo r > only-release.txt; git add .; git commit -qm release"
    bash(repo, f"git checkout -qb release; {line}; git checkout -q main")
    (repo / "mine.txt").write_text("mine\n")
    return repo


def test_another_base(tmp_path: Path) -> None:
    repo = with_another_branch(tmp_path / "repo")
    result = run_navci(repo, *RUN, "--base", "release")
    assert_complete(result)
    assert git(repo, "rev-parse", "HEAD~") == git(repo, "rev-parse", "release")
    assert committed(repo).keys() == {"answer.txt", "fix.sh", "only-release.txt"}
    assert git(repo, "status", "--short") == "?? mine.txt"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("--test-command", "echo x >> answer.txt; echo b > by-product"), 2),
        (("--setup-command", "echo x >> answer.txt; echo m > made; exit 3"), 2),
        (("--agent-command", "/no/such/agent"), 18),
    ],
    ids=["check", "setup", "agent"],
)
def test_an_end_before_the_branch_is_entered_gives_the_checkout_back(
    tmp_path: Path, args: tuple[str, ...], code: int
) -> None:
    repo = with_another_branch(tmp_path / "repo")
    before = picture(repo)
    result = run_navci(repo, *RUN, "--base", "release", *args)
    assert result.exit_code == code
    shutil.rmtree(repo / ".agent", ignore_errors=True)  # a marker, where there is one
    assert picture(repo) == before


def test_an_untracked_file_is_never_overwritten(tmp_path: Path) -> None:
    repo = with_another_branch(tmp_path / "repo")
    (repo / "only-release.txt").write_text("mine\n")
    before = picture(repo)
    result = run_navci(repo, *RUN, "--base", "release")
    assert_refused(result, repo, "the work starts from", "overwrite the untracked only-release.txt")
    assert picture(repo) == before


def test_a_branch_with_foreign_work_is_left_alone(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    bash(repo, "git checkout -q --orphan work; git commit -qm foreign; git checkout -q main")
    before = picture(repo)
    result = run_navci(repo, *RUN, "--branch", "work")
    assert_refused(
        result,
        repo,
        "the branch `work` exists and does not come from",
        "another name with --branch",
    )
    assert picture(repo) == before


def test_a_branch_in_the_way_of_the_name(tmp_path: Path) -> None:
    """git keeps ``navci`` as a file where ``navci/…`` needs a folder."""
    repo = small_repo(tmp_path / "repo")
    git(repo, "branch", "navci")
    before = picture(repo)
    result = run_navci(repo, *RUN)
    assert_refused(result, repo, "the branch `navci` stands in the way", "--branch")
    assert picture(repo) == before


# --- nothing is left behind -----------------------------------------------------------------


def test_a_dry_run_leaves_nothing_behind(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"fix.sh": "touch ../started"})
    before = picture(repo)
    result = run_navci(repo, *RUN, "--dry-run", "--setup-command", "touch ../started")
    assert_refused(
        result,
        repo,
        "dry run: everything but the checks was tried, nothing was started",
        f"branch {BRANCH}",
        "Using defaults: max_iterations=2",
        end="skipped",
        code=19,
    )
    assert picture(repo) == before
    assert git(repo, "for-each-ref", "refs/navci") == ""
    assert not (tmp_path / "started").exists()


def test_a_dry_run_finds_what_would_stop_the_run(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, *RUN, "--dry-run", "--agent-command", "/no/such/agent --headless")
    assert_refused(
        result,
        repo,
        "the agent cannot start: the agent's program `/no/such/agent` was not found",
        end="infra_error",
        code=18,
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_read_only_checkout(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    place, mount = place_of(repo), tmp_path / "mount"
    mount.mkdir()
    output = place / "output"
    line = (
        f"mount -t tmpfs tmpfs '{mount}' && cp -a '{repo}/.' '{mount}' && cd '{mount}' && "
        f"mount -o remount,ro '{mount}' && exec '{PROGRAM}' \"$@\""
    )
    env = environment(place) | {
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(place / "summary"),
    }
    done = subprocess.run(
        ["unshare", "-m", "bash", "-c", line, "bash", *RUN],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    if "unshare" in done.stdout:
        pytest.skip(f"no mounts here: {done.stdout}")
    assert done.returncode == 18, done.stdout
    sentence = f"the checkout cannot be written: {mount}: its file system is mounted read-only"
    assert sentence in done.stdout
    outputs = read_outputs(output)
    assert (outputs["outcome"], outputs["complete"]) == ("infra_error", "false")
    marker = Path(outputs["marker"])
    assert marker.is_relative_to(run_folders(repo)[0] / "artifact")
    assert read_marker(marker)["kind"] == "loop-aborted"
    assert sentence in read_marker(marker)["reason"]
    assert sentence.partition(":")[0] in (place / "summary").read_text()


def test_what_an_agent_wrote_is_reachable_when_the_test_never_passes(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"fix.sh": "echo precious > found.txt; echo done"})
    result = run_navci(repo, *UNTESTED, "--test-command", TEST, "--max-iterations", "1")
    assert (result.exit_code, result.kind) == (10, "loop-aborted")
    assert is_reachable(repo, "precious\n")
