"""The one way to call git: navci's own git directory laid over the user's work tree.

The checkout's ``.git`` belongs to the agent. Whatever navci decides on is read and written through
a git directory of navci's own, so that no configuration, hook, filter, replace ref or fsmonitor of
the checkout is ever looked at (DESIGN §7). Text is bytes at heart: names come and go with
``surrogateescape``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from navci.errors import InfraError
from navci.system.gitcall import TIMEOUT, Answer, call, environment, failed

_STALE_LOCK = 2.0
_LOCK_PATIENCE = 6.0
_LOCKED = re.compile(r"Unable to create '(.+\.lock)': File exists")


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a commit is by."""

    name: str
    email: str


class Git:
    """navci's own git directory laid over the user's work tree.

    ``home`` holds the one configuration file all its commands see. Every method raises
    :class:`GitError` when git fails, and :class:`InfraError` when git or the folder is missing.
    """

    def __init__(self, git_dir: Path, work_tree: Path, home: Path) -> None:
        self.git_dir = git_dir
        self.work_tree = work_tree
        self.home = home

    def answer(
        self,
        *args: str,
        stdin: bytes | IO[bytes] | None = None,
        stdout: IO[bytes] | None = None,
        env: Mapping[str, str] | None = None,
        index: Path | None = None,
        timeout: float = TIMEOUT,
    ) -> Answer:
        """Run git on our directory; ``index`` stands in for its index, ``env`` is added."""
        variables = environment(self.home) | (dict(env) if env else {})
        if index is not None:
            variables["GIT_INDEX_FILE"] = str(index)
        places = (f"--git-dir={self.git_dir}", f"--work-tree={self.work_tree}")
        return call(
            (*places, *args),
            env=variables,
            cwd=self.work_tree,
            stdin=stdin,
            stdout=stdout,
            timeout=timeout,
        )

    def run(
        self,
        *args: str,
        stdin: bytes | IO[bytes] | None = None,
        stdout: IO[bytes] | None = None,
        env: Mapping[str, str] | None = None,
        index: Path | None = None,
        timeout: float = TIMEOUT,
    ) -> bytes:
        """Its output; raises :class:`GitError` unless it exits 0."""
        answer = self.answer(
            *args, stdin=stdin, stdout=stdout, env=env, index=index, timeout=timeout
        )
        if answer.exit_code:
            raise failed(args, answer)
        return answer.out

    def text(self, *args: str, stdin: bytes | None = None, index: Path | None = None) -> str:
        """Its output as text, without the last newline."""
        raw = self.run(*args, stdin=stdin, index=index)
        return raw.decode("utf-8", "surrogateescape").removesuffix("\n")

    def ok(self, *args: str) -> bool:
        """Does it exit 0?"""
        return self.answer(*args).exit_code == 0

    # --- objects ----------------------------------------------------------------------------

    @property
    def empty_tree(self) -> str:
        """The tree without a file: what a repository without a commit is measured against."""
        return self.text("hash-object", "-w", "-t", "tree", "--stdin", stdin=b"")

    def rev(self, name: str) -> str | None:
        """The commit that ``name`` stands for, if our directory has it."""
        if name.startswith("-"):
            return None
        answer = self.answer("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return answer.out.decode().strip() if answer.exit_code == 0 else None

    def tree_of(self, commit: str) -> str:
        """The tree of ``commit``."""
        return self.text("rev-parse", "--verify", f"{commit}^{{tree}}")

    def is_ancestor(self, old: str, new: str) -> bool:
        """Is ``old`` reachable from ``new`` (or the same commit)?"""
        args = ("merge-base", "--is-ancestor", old, new)
        answer = self.answer(*args)
        if answer.exit_code not in (0, 1):
            raise failed(args, answer)
        return answer.exit_code == 0

    def show(self, commit: str, path: str) -> bytes | None:
        """The content of the file ``path`` at ``commit``; ``None`` when there is no such file."""
        args = ("cat-file", "blob", f"{commit}:{path}")
        answer = self.answer(*args)
        if answer.exit_code == 0:
            return answer.out
        listed = self.run("ls-tree", "-z", "--full-tree", commit, "--", path)
        if listed.partition(b"\t")[0].split(b" ")[1:2] == [b"blob"]:
            raise failed(args, answer)
        return None

    def commit_tree(
        self, tree: str, parents: Sequence[str], message: str, who: Identity, when: datetime
    ) -> str:
        """A commit of ``tree``; no hook, no signature, and no ref moves."""
        date = f"@{int(when.timestamp())} +0000"
        env = {
            "GIT_AUTHOR_NAME": who.name,
            "GIT_AUTHOR_EMAIL": who.email,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_NAME": who.name,
            "GIT_COMMITTER_EMAIL": who.email,
            "GIT_COMMITTER_DATE": date,
        }
        options = [word for parent in parents for word in ("-p", parent)]
        text = message.replace("\0", "\ufffd").encode("utf-8", "replace")
        out = self.run("commit-tree", tree, *options, "-F", "-", stdin=text, env=env)
        return out.decode().strip()

    # --- refs -------------------------------------------------------------------------------

    def read_ref(self, ref: str) -> str | None:
        """What the full name ``ref`` points to; ``None`` when it does not exist."""
        answer = self.answer("rev-parse", "--verify", "--quiet", ref)
        return answer.out.decode().strip() if answer.exit_code == 0 else None

    def update_ref(self, ref: str, new: str, old: str | None) -> bool:
        """Compare-and-swap: move ``ref`` from ``old`` (``None``: it must not exist) to ``new``.

        ``False`` means that it stood elsewhere. A killed git can leave its lock behind, or can
        have moved the ref before it died: so the ref is read again after every failure, and a lock
        that no living ``update-ref`` would hold this long is removed.
        """
        args = ("update-ref", ref, new, old or "0" * len(new))
        give_up = time.monotonic() + _LOCK_PATIENCE
        while True:
            answer = self.answer(*args)
            now = new if answer.exit_code == 0 else self.read_ref(ref)
            if now == new:
                return True
            if now != old:
                return False
            locked = _LOCKED.search(answer.err)
            if locked is None or time.monotonic() > give_up:
                raise failed(args, answer)
            remove_stale_lock(Path(locked[1]), self.git_dir)
            time.sleep(0.02)

    def delete_ref(self, ref: str) -> None:
        """Remove ``ref``, wherever it points."""
        self.run("update-ref", "-d", ref)


def remove_stale_lock(lock: Path, git_dir: Path, age: float = _STALE_LOCK) -> None:
    """Remove a lock of ``git_dir`` that is older than ``age`` seconds."""
    try:
        if lock.is_relative_to(git_dir) and time.time() - lock.stat().st_mtime > age:
            lock.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise InfraError(f"the lock {lock} cannot be removed: {error.strerror}") from error
