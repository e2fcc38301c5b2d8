"""What stands in the checkout when a run opens, and what of it a run must not start on."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from navci.errors import ConfigError, InfraError
from navci.evidence.guards import protected
from navci.evidence.secrets import find_secrets
from navci.loop.run import Run
from navci.system.checkout import Checkout
from navci.system.neutral import show_path
from navci.system.staging import checked_out_elsewhere, staged, under_way
from navci.system.trees import entries

_SHOWN = 5
_LFS = b"version https://git-lfs.github.com/spec/v1\n"


@dataclass(frozen=True, slots=True)
class Standing:
    """The files of the checkout as a git tree, and how they differ from its commit.

    ``untracked`` are new files that git was not told of, ``touched`` all other changes, staged ones
    included. ``staged_only`` are those of them whose staged content no file has, ``conflicts``
    those that git could not merge. ``under_way`` is what git is in the middle of, and what ends it.
    """

    tree: str
    untracked: tuple[str, ...]
    touched: tuple[str, ...]
    staged_only: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    under_way: tuple[str, str] | None = None

    @property
    def all(self) -> tuple[str, ...]:
        """Every path that differs."""
        return (*self.untracked, *self.touched)


def look(run: Run, *, ours: bool) -> Standing:
    """Measure the checkout. ``ours``: an interrupted run worked here, so what git has half done
    is its agent's.
    """
    head = run.git.tree_of(run.checkout.head or run.state.base)
    tree = run.worktree.tree()
    changes = run.worktree.changed(head, tree)
    index = {} if ours else staged(run.git, run.checkout, head)
    files = entries(run.git, tree) if index else {}
    nothing = run.git.text("hash-object", "-t", "blob", "--stdin", stdin=b"") if index else ""
    untracked = tuple(c.path for c in changes if c.status == "A" and c.path not in index)
    touched = dict.fromkeys(c.path for c in changes if c.status != "A") | dict.fromkeys(index)
    return Standing(
        tree,
        untracked,
        tuple(sorted(touched)),
        tuple(
            path
            for path, entry in sorted(index.items())
            # `git add --intent-to-add` stages an empty file: nothing that could be lost.
            if entry != files.get(path) and not (entry and entry.blob in ("", nothing))
        ),
        tuple(path for path, entry in sorted(index.items()) if entry and not entry.blob),
        None if ours else under_way(run.checkout),
    )


def hide_secrets(run: Run, standing: Standing, *, ours: bool) -> Standing:
    """Leave untracked files that look like secrets out of everything: the journal is pushed.

    Credentials that an earlier step of the job put into the checkout are such files.
    """
    found = find_secrets(run.checkout.top, standing.untracked, lambda _: None)
    if not found:
        return standing
    run.worktree.hide(found)
    for path, why in found.items():
        run.note(f"{show_path(path)} is left out of everything navci keeps: {why}")
    return look(run, ours=ours)


def refuse_secrets(run: Run, standing: Standing) -> None:
    """The run's first commit must not publish one. Raises :class:`ConfigError`."""
    base = run.checkout.head or run.state.base
    found = find_secrets(run.checkout.top, standing.touched, lambda path: run.git.show(base, path))
    if found:
        raise ConfigError(
            *(
                f"{show_path(path)}: {why}; --allow-dirty would commit it: take it out or stash it"
                for path, why in found.items()
            )
        )


def refuse_read_only(checkout: Checkout) -> None:
    """Everything a run does ends in files of the checkout: ask before anything is spent."""
    for folder in (checkout.top, checkout.git_dir, checkout.common_dir):
        if not os.access(folder, os.W_OK | os.X_OK):
            read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
            why = "its file system is mounted read-only" if read_only else "permission denied"
            raise InfraError(
                f"the checkout cannot be written: {show_path(str(folder))}: {why}; make it "
                "writable for this user, or start navci in a clone that is"
            )


def refuse_unfinished(run: Run, standing: Standing) -> None:
    """A fresh run can neither tell a person's unfinished work from the agent's, nor lose it."""
    if standing.under_way:
        what, ends = standing.under_way
        raise ConfigError(f"the checkout is in the middle of {what}; end it first, with {ends}")
    if standing.conflicts:
        raise ConfigError(
            f"the checkout has unresolved conflicts in {named(standing.conflicts)}; resolve and "
            "commit them first"
        )
    for path in standing.touched[:_SHOWN]:
        if (run.git.show(run.checkout.head or "", path) or b"").startswith(_LFS):
            raise ConfigError(
                f"{show_path(path)} is kept in Git LFS, and the checkout holds its content: navci "
                "works on pointers only; check out without it (`lfs: false`, or "
                "`GIT_LFS_SKIP_SMUDGE=1 git lfs uninstall --local`)"
            )
    if standing.touched and not run.settings.allow_dirty:
        raise ConfigError(
            f"the checkout has uncommitted changes in tracked files: {named(standing.touched)}; "
            "commit or stash them, or give --allow-dirty to make them the run's first commit"
        )
    if standing.staged_only:
        raise ConfigError(
            f"what is staged of {named(standing.staged_only)} differs from the files, and the "
            "first commit could only hold one of the two: `git add` the files, or commit first"
        )
    shielded = protected(standing.touched, run.settings.protect)
    if shielded:
        raise ConfigError(
            f"{named(shielded)} is protected: a run takes no uncommitted change of it along; "
            "commit it first"
        )


def refuse_in_use(checkout: Checkout, branch: str) -> None:
    """A branch is in one checkout only, as with ``git switch``: the other would seem changed."""
    other = checked_out_elsewhere(checkout, branch)
    if other:
        raise ConfigError(
            f"the branch `{branch}` is checked out in {show_path(str(other))}; start navci there, "
            "or leave the branch there first (`git switch --detach`)"
        )


def refuse_folder(run: Run, commits: Iterable[str]) -> None:
    """The working directory must be a folder of the repository: there, or in one of ``commits``."""
    folder, top = run.settings.working_directory, run.checkout.top
    place = top / folder
    if folder == ".":
        return
    if (place / ".git").exists():
        raise ConfigError(
            f"the working directory `{show_path(folder)}` is a repository of its own; start navci "
            "inside it"
        )
    if place.is_dir() and place.resolve() != top.resolve() / folder:
        raise ConfigError(
            f"the working directory `{show_path(folder)}` is reached through a symbolic link, "
            f"which leads to {show_path(str(place.resolve()))}; name the folder itself"
        )
    kinds = (run.git.answer("cat-file", "-t", f"{one}:{folder}").out for one in commits)
    if not place.is_dir() and b"tree\n" not in kinds:
        raise ConfigError(
            f"the working directory `{show_path(folder)}` is no folder of the repository; correct "
            "the path, which starts at the repository's top"
        )


def refuse_overwriting(run: Run, standing: Standing, commits: Iterable[str]) -> None:
    """An untracked file where the run's own files must lie: as ``git switch``, leave it alone."""
    if not standing.untracked:
        return
    files = entries(run.git, standing.tree)
    for commit in commits:
        theirs = entries(run.git, run.git.tree_of(commit))
        over = tuple(p for p in standing.untracked if theirs.get(p, files[p]) != files[p])
        if over:
            raise ConfigError(
                f"the work starts from {commit[:12]}, which would overwrite the untracked "
                f"{named(over)}; move or delete it, or commit it"
            )


def leave(run: Run) -> None:
    """Give the checkout back as it was found, where the run ends before it entered its branch."""
    if run.found is None:
        return
    if not run.resumed:
        run.worktree.byproducts.clear()  # what checks wrote since goes, too
    if run.worktree.tree() != run.found:
        run.worktree.checkout_tree(run.found)


def named(paths: tuple[str, ...]) -> str:
    """Some of ``paths`` for a sentence, and how many there are beyond them."""
    shown = ", ".join(show_path(path) for path in paths[:_SHOWN])
    return f"{shown} and {len(paths) - _SHOWN} more" if paths[_SHOWN:] else shown
