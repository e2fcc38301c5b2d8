"""The programs navci itself starts by name: looked up once, never inside a checkout.

A workflow may put a folder of the checkout on PATH (`node_modules/.bin`), where an agent can lay a
`git` or a `bash` of its own: it would see the job's token, or answer for every check.
"""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

from navci.errors import InfraError


def outside(path: str, start: Path) -> str:
    """A PATH without what is relative, and what lies in the repository around ``start``."""
    top = _top_of(start.resolve())
    kept = []
    for entry in path.split(os.pathsep):
        place = Path(entry)
        if entry and place.is_absolute() and not place.resolve().is_relative_to(top):
            kept.append(entry)
    return os.pathsep.join(kept)


@cache
def trusted_path() -> str:
    """PATH as navci's own programs get it: of this process's start, before any agent."""
    return outside(os.environ.get("PATH", os.defpath), Path.cwd())


@cache
def program(name: str) -> str:
    """Where ``name`` is. Raises :class:`InfraError` when it is nowhere, or only in the checkout."""
    found = shutil.which(name, path=trusted_path())
    if found is None:
        inside = shutil.which(name)
        where = f" but in the checkout ({inside}), where an agent can change it" if inside else ""
        raise InfraError(f"{name} was not found{where}; install {name}, on PATH")
    return found


def _top_of(start: Path) -> Path:
    """The work tree around ``start``, or ``start`` itself."""
    for folder in (start, *start.parents):
        if os.path.lexists(folder / ".git"):
            return folder
    return start
