"""What the user's git is in the middle of when a run opens: staged content, a merge, a rebase.

None of it shows in the files. A run makes its own index and clears what an agent leaves half
done, so what is the user's must be known before.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from navci.system.checkout import Checkout
from navci.system.exchange import ask_theirs
from navci.system.git import Git
from navci.system.gitcall import failed
from navci.system.trees import Entry, entries

_UNDER_WAY: Mapping[str, tuple[str, str]] = {
    "MERGE_HEAD": ("a merge", "`git merge --continue` or `git merge --abort`"),
    "rebase-merge": ("a rebase", "`git rebase --continue` or `git rebase --abort`"),
    "rebase-apply": ("a rebase or `git am`", "`git rebase --abort` or `git am --abort`"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "`git cherry-pick --continue` or `… --abort`"),
    "REVERT_HEAD": ("a revert", "`git revert --continue` or `git revert --abort`"),
    "sequencer": ("a cherry-pick or revert", "`git cherry-pick --abort` or `git revert --abort`"),
    "BISECT_LOG": ("a bisection", "`git bisect reset`"),
}


def under_way(checkout: Checkout) -> tuple[str, str] | None:
    """What git is in the middle of there, and the commands that end it; ``None`` for nothing."""
    for name, said in _UNDER_WAY.items():
        if os.path.lexists(checkout.git_dir / name):
            return said
    return None


def checked_out_elsewhere(checkout: Checkout, branch: str) -> Path | None:
    """The top of another checkout of the same repository that stands on ``branch``."""
    common = checkout.common_dir
    tops = {common: common} if common.name == ".git" else {}
    with contextlib.suppress(OSError):
        for own in (common / "worktrees").iterdir():
            tops[own] = Path(os.fsdecode((own / "gitdir").read_bytes().strip()))
    for own, git_file in tops.items():
        with contextlib.suppress(OSError):
            head = (own / "HEAD").read_bytes().strip()
            here = own.resolve() == checkout.git_dir.resolve()
            if not here and git_file.exists() and head == os.fsencode(f"ref: refs/heads/{branch}"):
                return git_file.parent
    return None


def staged(git: Git, checkout: Checkout, head: str) -> dict[str, Entry | None]:
    """The paths at which the checkout's index differs from the tree ``head``, as they are in it.

    ``None`` is a path that is staged to go. A path with a conflict is there with an empty entry.
    Lists the index and nothing else: no file is read, no filter runs. Raises :class:`GitError`.
    """
    args = ("ls-files", "-z", "--stage", "--full-name")
    answer = ask_theirs(git, checkout, *args)
    if answer.exit_code:
        raise failed(args, answer)
    index: dict[str, Entry] = {}
    for line in os.fsdecode(answer.out).split("\0")[:-1]:
        what, _, path = line.partition("\t")
        mode, blob, stage = what.split(" ")
        index[path] = Entry(mode, blob) if stage == "0" else Entry("", "")
    before = entries(git, head)
    different: dict[str, Entry | None] = {
        path: entry for path, entry in index.items() if before.get(path) != entry
    }
    return different | dict.fromkeys(before.keys() - index.keys())
