"""What the user's git is in the middle of, read without running anything of the repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from navci.errors import GitError
from navci.system.checkout import Checkout, adopt, find_checkout
from navci.system.git import Git
from navci.system.staging import checked_out_elsewhere, staged, under_way
from tests.support.attack import Canary, arm
from tests.support.repos import clean_env, git, make_repo

FILES = {"a": "1\n", "b": "1\n", "gone": "1\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", FILES)


def opened(repo: Path) -> tuple[Git, Checkout, str]:
    checkout = find_checkout(repo)
    run = repo.parent / "run"
    run.mkdir()
    ours = adopt(checkout, run)
    return ours, checkout, ours.tree_of(checkout.head or "")


def bash(repo: Path, line: str) -> None:
    subprocess.run(["bash", "-euc", line], cwd=repo, env=clean_env(), check=True)


def test_nothing_is_staged_in_a_fresh_checkout(repo: Path) -> None:
    bash(repo, "echo 2 > a; rm b; echo n > new")
    assert staged(*opened(repo)) == {}


def test_every_kind_of_staged_change(repo: Path) -> None:
    bash(repo, "echo 2 > a; git add a; git rm -q --cached b; git mv gone moved; chmod +x moved")
    bash(repo, "git add moved; echo n > $'odd\\n\\xff'; git add .; git rm -q --cached b")
    found = staged(*opened(repo))
    one, two, new = (git(repo, "hash-object", "--stdin", stdin=x) for x in (b"1\n", b"2\n", b"n\n"))
    assert found == {
        "a": ("100644", two),
        "b": None,
        "gone": None,
        "moved": ("100755", one),
        "odd\n\udcff": ("100644", new),
    }


def test_a_conflict_has_an_empty_entry(repo: Path) -> None:
    bash(repo, "git checkout -qb other; echo 2 > a; git commit -qam o; git checkout -q main")
    bash(repo, "echo 3 > a; git commit -qam m; git merge -q other >/dev/null || true")
    assert staged(*opened(repo)) == {"a": ("", "")}


def test_a_split_index_is_read(repo: Path) -> None:
    bash(repo, "git update-index --split-index; echo 2 > a; git add a")
    assert staged(*opened(repo)).keys() == {"a"}


def test_a_damaged_index_is_an_error(repo: Path) -> None:
    (repo / ".git" / "index").write_bytes(b"damaged" * 100)
    with pytest.raises(GitError, match="ls-files"):
        staged(*opened(repo))


def test_no_program_of_the_repository_runs(repo: Path, tmp_path: Path) -> None:
    canary = Canary(tmp_path / "canary")
    ours, checkout, head = opened(repo)
    bash(repo, "echo 2 > a; git add a")
    arm(repo, canary)
    canary.notes.unlink(missing_ok=True)
    assert staged(ours, checkout, head).keys() == {"a"}
    assert under_way(checkout) is None
    assert canary.fired() == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("true", None),
        ("git merge -q other >/dev/null || true", "a merge"),
        ("git merge -q --no-commit -s ours other", "a merge"),
        ("git rebase -q other 2>/dev/null >&2 || true", "a rebase"),
        ("git rebase -q --apply other 2>/dev/null >&2 || true", "a rebase or `git am`"),
        ("git cherry-pick other 2>/dev/null >&2 || true", "a cherry-pick"),
        ("git revert --no-edit HEAD~ 2>/dev/null >&2 || true", "a revert"),
        ("git bisect start HEAD HEAD~ >/dev/null", "a bisection"),
    ],
)
def test_what_is_under_way(repo: Path, line: str, what: str | None) -> None:
    bash(repo, "git checkout -qb other; echo 2 > a; git commit -qam o; git checkout -q main")
    bash(repo, "echo 3 > a; git commit -qam m; echo 4 > a; git commit -qam n")
    bash(repo, line)
    found = under_way(find_checkout(repo))
    assert (found and found[0]) == what


def test_another_checkout_on_a_branch(repo: Path, tmp_path: Path) -> None:
    linked, gone = tmp_path / "linked", tmp_path / "gone"
    git(repo, "worktree", "add", "-q", "-b", "work", str(linked))
    git(repo, "worktree", "add", "-q", "-b", "lost", str(gone))
    bash(tmp_path, "rm -r gone")
    here, there = find_checkout(repo), find_checkout(linked)
    assert checked_out_elsewhere(here, "work") == linked
    assert checked_out_elsewhere(there, "main") == repo
    for checkout, branch in ((here, "main"), (there, "work"), (here, "lost"), (here, "other")):
        assert checked_out_elsewhere(checkout, branch) is None
