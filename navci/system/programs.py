"""The programs navci itself starts by name: looked up once, never inside a checkout.

A workflow may put a folder of the checkout on PATH (`node_modules/.bin`), where an agent can lay a
`git` or a `bash` of its own: it would see the job's token, or answer for every check.
"""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

from navci.errors import ConfigError, InfraError


def outside(path: str, start: Path) -> str:
    """A PATH without what is relative, and what lies in the repository around ``start``.

    Where ``start`` lies in none, every absolute entry stays.
    """
    top = _top_of(start.resolve())
    return os.pathsep.join(
        entry
        for entry in path.split(os.pathsep)
        if Path(entry).is_absolute() and not (top and _reaches(Path(entry), top))
    )


@cache
def trusted_path() -> str:
    """PATH as navci's own programs get it: of this process's start, before any agent."""
    return outside(os.environ.get("PATH", os.defpath), Path.cwd())


@cache
def trusted_libraries() -> str:
    """The same of LD_LIBRARY_PATH: a library is loaded into git as a program is started by it."""
    return outside(os.environ.get("LD_LIBRARY_PATH", ""), Path.cwd())


@cache
def program(name: str) -> str:
    """Where ``name`` is.

    Raises :class:`InfraError` when it is nowhere, and :class:`ConfigError` when PATH leads to it
    only through the checkout.
    """
    top = _top_of(Path.cwd().resolve())
    for folder in trusted_path().split(os.pathsep):
        found = shutil.which(name, path=folder) if folder else None
        if found and not (top and _reaches(Path(found), top)):
            return found
    inside = shutil.which(name)
    if inside is None:
        raise InfraError(f"{name} was not found; install {name}, on PATH")
    raise ConfigError(
        f"PATH leads to {name} only in the checkout or by a relative folder ({inside}), where an "
        f"agent can change it; install {name} elsewhere and put that folder on PATH"
    )


def _reaches(place: Path, top: Path) -> bool:
    """Does ``place`` lie in ``top``, or a link there decide where it lies?

    Both counts: as it is written, since an agent can replace a link, and where it leads to.
    """
    written = Path(os.path.normpath(place))
    return place.resolve().is_relative_to(top) or any(
        folder.resolve().is_relative_to(top) for folder in written.parents
    )


def _top_of(start: Path) -> Path | None:
    """The work tree around ``start``."""
    for folder in (start, *start.parents):
        if os.path.lexists(folder / ".git"):
            return folder
    return None
