"""The work tree as git trees: what is there, what changed, and putting things back.

All through navci's own git directory and an index of its own that lives as long as the run, so
that a measurement costs about as much as ``git status``. Nested repositories are never entered:
git would run what their configuration says.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal, cast

from navci.errors import GitError, InfraError
from navci.evidence.ignores import (
    attributes_file,
    exactly,
    exclude_file,
    is_marker,
    left_by_tools,
)
from navci.evidence.index import GITLINK, contents, entries_of, indexed, joined, put
from navci.system.files import write_atomic
from navci.system.git import Git
from navci.system.gitcall import failed

_ATTEMPTS = 3
_CLOSED = re.compile(
    r"^(?:warning: could not open directory '(.*)/'|(.*)): Permission denied$", re.MULTILINE
)

Status = Literal["A", "M", "D", "T"]


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs between two trees: added, modified, deleted, or of another type.

    A blob is ``None`` where the path does not exist; modes are git's (``100644``, ``120000`` …).
    """

    path: str
    status: Status
    old_blob: str | None
    new_blob: str | None
    old_mode: str = ""
    new_mode: str = ""


class Worktree:
    """Measures the work tree of ``git`` against commits.

    ``base`` is the commit (or tree) whose ``.gitignore`` and ``.gitattributes`` files count and
    whose files are tracked, ``ignore`` more globs to ignore, relative to the top. ``byproducts``
    maps paths to the blobs that checks wrote there: such a file counts as not written while its
    content is that.
    After :meth:`tree`, ``nested`` names the repositories it left out, and ``unreadable`` the files
    and folders it took as they were before; those of the first measurement are in ``closed``.
    """

    def __init__(
        self,
        git: Git,
        base: str,
        run_dir: Path,
        byproducts: Mapping[str, str] | None = None,
        ignore: Sequence[str] = (),
    ) -> None:
        self.git = git
        self.base = base
        self.base_tree = git.tree_of(base)
        self.index = run_dir / "index"
        self.byproducts = dict(byproducts or {})
        self.nested: tuple[str, ...] = ()
        self.unreadable: tuple[str, ...] = ()
        self.closed: frozenset[str] | None = None
        self._scratch = run_dir / "index.scratch"
        self._excludes = run_dir / "excludes"
        entries = entries_of(git, base)
        self._base_entries = entries
        self._gitlinks = frozenset(p for p, (mode, _) in entries.items() if mode == GITLINK)
        self._also_tracked: frozenset[str] = frozenset()
        write_atomic(self._excludes, exclude_file(contents(git, entries, ".gitignore"), ignore))
        attributes = attributes_file(contents(git, entries, ".gitattributes"))
        write_atomic(git.git_dir / "info" / "attributes", attributes)
        for old in (self.index, Path(f"{self.index}.lock")):
            old.unlink(missing_ok=True)
        self._git("read-tree", base)
        git.answer("update-index", "-q", "--refresh", index=self.index)

    # --- measuring --------------------------------------------------------------------------

    def tree(self, leave_out: Collection[str] = ()) -> str:
        """The tree of tracked and unignored files as they are now.

        A path of ``leave_out``, or an unchanged byproduct, is in it as it is in base. Raises
        :class:`GitError` when the files change faster than they can be read.
        """
        for attempt in range(_ATTEMPTS):
            try:
                self._measure()
                break
            except GitError:
                if attempt == _ATTEMPTS - 1:
                    raise
        as_in_base = set(leave_out)
        if self.byproducts:
            now = indexed(self.git, self.index, self.byproducts)
            as_in_base.update(
                path for path, blob in self.byproducts.items() if now.get(path, ("", ""))[1] == blob
            )
        everything = self.git.text("write-tree", index=self.index)
        if not as_in_base:
            return everything
        absent = ("0", "0" * len(self.base_tree))
        shutil.copyfile(self.index, self._scratch)
        base = {path: self._base_entries.get(path, absent) for path in as_in_base}
        put(self.git, self._scratch, base)
        return self.git.text("write-tree", index=self._scratch)

    def hide(self, paths: Collection[str]) -> None:
        """Ignore untracked ``paths`` from now on, as if a rule of base said so."""
        with self._excludes.open("ab") as rules:
            rules.write(b"".join(exactly(path) + b"\n" for path in paths))
        self._git("update-index", "-z", "--force-remove", "--stdin", stdin=joined(paths))

    def follow(self, commit: str) -> None:
        """Take the files of ``commit`` for tracked too: an agent may commit an ignored file.

        What tools leave behind stays untracked unless base has it: checks write it anew.
        """
        committed = self.tracked(commit) - self._gitlinks
        self._also_tracked = frozenset(
            path
            for path in committed
            if not is_marker(path) and (path in self._base_entries or not left_by_tools(path))
        )
        for path in self._also_tracked:  # what an agent commits is its work, whoever wrote it
            self.byproducts.pop(path, None)

    def tracked(self, commit: str) -> frozenset[str]:
        """Every path of ``commit`` (or of a tree)."""
        return frozenset(entries_of(self.git, commit))

    def changed(self, old_tree: str, new_tree: str) -> tuple[Change, ...]:
        """What differs from ``old_tree`` to ``new_tree``, in git's order (a rename is two)."""
        options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff")
        out = self.git.run("diff-tree", *options, old_tree, new_tree)
        fields = os.fsdecode(out).split("\0")[:-1]
        changes = []
        for what, path in zip(fields[::2], fields[1::2], strict=True):
            old_mode, new_mode, old, new, status = what.removeprefix(":").split(" ")
            changes.append(
                Change(
                    path,
                    cast("Status", status),
                    old if old.strip("0") else None,
                    new if new.strip("0") else None,
                    old_mode,
                    new_mode,
                )
            )
        return tuple(changes)

    # --- putting back -----------------------------------------------------------------------

    def restore(self, tree: str, paths: Collection[str]) -> None:
        """Put ``paths`` back as they are in ``tree``; what is not in it is removed.

        Whatever stands in the way goes: a folder where a file was, a link where a folder was. No
        link is followed, so nothing outside the work tree is touched.
        """
        entries = entries_of(self.git, tree, paths)
        folders = {str(folder) for path in entries for folder in PurePosixPath(path).parents}
        wanted = {
            path: entries[path] for path in paths if path in entries and entries[path][0] != GITLINK
        }
        with _saying("cannot be put back"):
            for path in sorted(set(paths) - entries.keys() - folders):
                self._remove(path)
        if not wanted:
            return
        self._scratch.unlink(missing_ok=True)
        put(self.git, self._scratch, wanted)
        options = ("-q", "-f", "-z", "--stdin")
        self.git.run("checkout-index", *options, stdin=joined(wanted), index=self._scratch)

    def checkout_tree(self, tree: str) -> None:
        """Make the work tree equal ``tree``; ignored files stay where nothing needs their place."""
        self.tree()
        self._git("read-tree", "--reset", "-u", tree)

    def _remove(self, path: str) -> None:
        target = self.git.work_tree / path
        if not _inside_real_folders(self.git.work_tree, path):
            return
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(target.lstat().st_mode):
                shutil.rmtree(target)
            else:
                target.unlink()
        for folder in target.parents:
            if folder == self.git.work_tree:
                break
            try:
                folder.rmdir()
            except OSError:
                break

    # --- the index --------------------------------------------------------------------------

    def _measure(self) -> None:
        """Bring the index up to date with the work tree."""
        Path(f"{self.index}.lock").unlink(missing_ok=True)  # only a killed git of ours leaves one
        # Every tracked file whose stat data differs, and the names of untracked ones; the first
        # includes files only touched, whose stat data `update-index` then brings up to date.
        differing = ("diff-files", "-z", "--name-only", "--ignore-submodules=all")
        dirty, closed = self._list(*differing)
        other, more = self._list("ls-files", "-z", "-o", f"--exclude-from={self._excludes}")
        paths = dict.fromkeys(os.fsdecode(dirty + other).split("\0")[:-1])
        paths |= dict.fromkeys(self._also_tracked)
        found: dict[str, list[str]] = {"there": [], "gone": [], "unreadable": [], "nested": []}
        for path in paths:
            if path not in self._gitlinks:
                found[_state(self.git.work_tree, path)].append(path)
        self.nested = tuple(path.removesuffix("/") for path in found["nested"])
        self.unreadable = tuple(sorted({*found["unreadable"], *closed, *more}))
        if self.closed is None:
            self.closed = frozenset(self.unreadable)
        if found["gone"]:
            self._git(
                "update-index", "-z", "--force-remove", "--stdin", stdin=joined(found["gone"])
            )
        if found["there"]:
            options = ("--add", "--replace", "--remove", "--stdin")
            self._git("update-index", "-z", *options, stdin=joined(found["there"]))

    def _list(self, *args: str) -> tuple[bytes, list[str]]:
        """What git lists, and what it complains of: it goes on where it may not look."""
        answer = self.git.answer(*args, index=self.index)
        if answer.exit_code:
            raise failed(args, answer)
        return answer.out, [folder or path for folder, path in _CLOSED.findall(answer.err)]

    def _git(self, *args: str, stdin: bytes | None = None) -> bytes:
        return self.git.run(*args, stdin=stdin, index=self.index)


def _inside_real_folders(top: Path, path: str) -> bool:
    """Is every folder on the way to ``path`` a folder, and no link?"""
    folder = top
    for name in path.split("/")[:-1]:
        folder = folder / name
        try:
            if not stat.S_ISDIR(folder.lstat().st_mode):
                return False
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def _state(top: Path, path: str) -> str:
    """What git listed, as it is now: there, gone, unreadable, or a nested repository."""
    if path.endswith("/"):
        return "nested"
    try:
        if not _inside_real_folders(top, path):
            return "gone"
        mode = (top / path).lstat().st_mode
        if stat.S_ISLNK(mode):
            return "there"
        if not stat.S_ISREG(mode):
            return "gone"  # a folder, pipe or socket: git has no such thing
        return "there" if os.access(top / path, os.R_OK) else "unreadable"
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except OSError:
        return "unreadable"


@contextlib.contextmanager
def _saying(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InfraError(f"{error.filename} {what}: {error.strerror}") from error
