"""Putting the checkout's ``.git`` together again when an agent deleted or broke it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from navci.errors import GitError, InfraError
from navci.system.checkout import Checkout, resolve_git_file
from navci.system.exchange import KEPT, REF_FORMAT, ask_theirs, is_complete, parse_refs
from navci.system.git import Git

_BROUGHT_BACK = ("modules", "lfs", "worktrees")
"""What only the checkout has: submodules, large files, the user's other worktrees. No hooks."""

_BROKEN_REF = re.compile(r"ignoring broken ref (\S+)")


def broken(git: Git, checkout: Checkout) -> str | None:
    """What is wrong with the checkout's ``.git``, as half a sentence; ``None`` when it is usable.

    Usable: of the kind it was, read by git, and holding every file of the commit it started from.
    """
    entry = checkout.top / ".git"
    if not os.path.lexists(entry):
        return "`.git` is gone"
    try:
        if entry.is_symlink() != (checkout.saved.link is not None):
            return "`.git` was replaced by something else"
        if resolve_git_file(entry) != checkout.git_dir:
            return "`.git` was replaced and names another directory"
        for name in ("objects", "refs"):
            if not (checkout.common_dir / name).is_dir():
                return f"`{name}` is gone from `.git`"
        for odd in _pipes(checkout):
            return f"`{odd.name}` in `.git` is a pipe, socket or device"
    except OSError as error:
        return f"`.git` cannot be read: {error.strerror}"
    for ask in (("symbolic-ref", "--quiet", "HEAD"), ("for-each-ref", "--count=1")):
        answer = ask_theirs(git, checkout, *ask)
        if answer.exit_code not in (0, 1):
            said = answer.err.strip().splitlines() or ["no reason given"]
            return f"git cannot read `.git` ({said[-1]})"
    damaged = _damaged_refs(git, checkout)
    if damaged:
        return f"`{damaged[0]}` in `.git` is damaged"
    store = checkout.common_dir / "objects"
    if checkout.head is not None and not is_complete(git, checkout.head, store):
        return "files of the commit the run started from are missing in `.git`"
    return None


def rebuild(git: Git, checkout: Checkout) -> Path | None:
    """Make the checkout's ``.git`` usable again; where the broken one was moved, if it was.

    As little as helps: first its configuration, pointers and damaged refs are written as they
    were, then its HEAD; else a new one is made from navci's, with all objects and refs and nothing
    that an agent configured. So it is at once when nothing seems ``broken`` to those who know
    that something is. ``publish`` comes next: it sets branch and index. Raises :class:`GitError`
    or :class:`InfraError`.
    """
    known = broken(git, checkout) is not None
    aside = Path(tempfile.mkdtemp(prefix="broken-git-", dir=git.git_dir.parent))
    try:
        _restore_entry(checkout, aside)
        for pipe in tuple(_pipes(checkout)):
            pipe.unlink()
        usable = all((checkout.common_dir / name).is_dir() for name in ("objects", "refs"))
        if known and usable:
            for also_head in (False, True):
                _restore_files(checkout, also_head=also_head)
                _restore_refs(git, checkout)
                if broken(git, checkout) is None:
                    return aside if any(aside.iterdir()) else None
        _replace(git, checkout, aside)
    except OSError as error:
        raise InfraError(f"`.git` cannot be rebuilt: {error.filename}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            aside.rmdir()
    still = broken(git, checkout)
    if still is not None:
        raise GitError("rebuild", 1, f"{still}; what was left of it is kept in {aside}")
    return aside if aside.exists() else None


def _pipes(checkout: Checkout) -> Iterator[Path]:
    """What would block git, or never end, where it expects one of its small files."""
    folders = [checkout.git_dir, checkout.common_dir, checkout.common_dir / "info"]
    folders += [checkout.common_dir / "objects" / name for name in ("info", "pack")]
    folders += [Path(top) for top, _, _ in os.walk(checkout.common_dir / "refs")]
    for folder in dict.fromkeys(folders):
        found = sorted(folder.iterdir()) if folder.is_dir() else []
        for path in found:
            with contextlib.suppress(FileNotFoundError):  # a link that leads nowhere
                mode = path.stat().st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    yield path


def _restore_entry(checkout: Checkout, aside: Path) -> None:
    """Make ``.git`` of the work tree name the directory it named."""
    entry, saved = checkout.top / ".git", checkout.saved
    if os.path.lexists(entry) and (
        entry.is_symlink() != (saved.link is not None)
        or resolve_git_file(entry) != checkout.git_dir
    ):
        shutil.move(entry, aside / "entry")
    if os.path.lexists(entry):
        return
    if saved.link is not None:
        entry.symlink_to(saved.link)
    elif saved.git_file is not None:
        entry.write_bytes(saved.git_file)


def _restore_files(checkout: Checkout, *, also_head: bool) -> None:
    places = ((checkout.common_dir, checkout.saved.common), (checkout.git_dir, checkout.saved.own))
    for folder, files in places:
        for name, content in files.items():
            if name == "HEAD" and not also_head:
                continue
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            target.unlink(missing_ok=True)
            target.write_bytes(content)


def _damaged_refs(git: Git, checkout: Checkout) -> list[str]:
    """Refs that git cannot read in the checkout, and navci has."""
    said = ask_theirs(git, checkout, "for-each-ref", f"--format={REF_FORMAT}").err
    return [ref for ref in _BROKEN_REF.findall(said) if git.read_ref(ref) is not None]


def _restore_refs(git: Git, checkout: Checkout) -> None:
    for ref in _damaged_refs(git, checkout):
        (checkout.common_dir / ref).unlink(missing_ok=True)
        ask_theirs(git, checkout, "update-ref", "--no-deref", ref, git.read_ref(ref) or "")


def _replace(git: Git, checkout: Checkout, aside: Path) -> None:
    """Put a new directory in place of the common one; the old one goes to ``aside``."""
    common = checkout.common_dir
    common.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=".git-", dir=common.parent))
    try:
        shutil.copytree(git.git_dir / "objects", fresh / "objects")
        for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
            (fresh / name).mkdir(parents=True, exist_ok=True)
        refs = parse_refs(git.run("for-each-ref", f"--format={REF_FORMAT}"))
        lines = [f"{sha} {ref}\n" for ref, sha in sorted(refs.items()) if not ref.startswith(KEPT)]
        (fresh / "packed-refs").write_bytes(os.fsencode("".join(lines)))
        if (git.git_dir / "shallow").is_file():
            shutil.copyfile(git.git_dir / "shallow", fresh / "shallow")
        (fresh / "HEAD").write_bytes(b"ref: refs/heads/main\n")
        fresh.chmod(0o755)
        if os.path.lexists(common):
            shutil.move(common, aside / "git")
        fresh.rename(common)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    for name in _BROUGHT_BACK:
        kept = aside / "git" / name
        if kept.is_dir() and not kept.is_symlink():
            shutil.move(kept, common / name)
    _restore_files(checkout, also_head=True)
