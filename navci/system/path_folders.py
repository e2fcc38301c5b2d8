"""Folders of ``PATH`` that lie in a checkout: an agent can lay programs there."""

from __future__ import annotations

import os
from pathlib import Path


def folders_inside(path_value: str, top: Path, directory: Path | None = None) -> tuple[str, ...]:
    """The entries of ``path_value`` inside ``top``, from there ('' for ``top`` itself).

    Relative ones are as seen from ``directory``, by default ``top``.
    """
    found = (_from_top(entry, top, directory or top) for entry in path_value.split(os.pathsep))
    return tuple(dict.fromkeys(folder for folder in found if folder is not None))


def moved_inside(path_value: str, top: Path, to: Path) -> str:
    """``path_value`` with its folders inside ``top`` taken from ``to``, a clone of it.

    One that the clone does not have (a virtual environment that git ignores) stays behind it.
    """
    entries: list[str] = []
    for entry in path_value.split(os.pathsep):
        folder = _from_top(entry, top, top) if Path(entry).is_absolute() else None
        if folder is not None:
            entries.append(str(to / folder))
        if folder is None or not (to / folder).is_dir():
            entries.append(entry)
    return os.pathsep.join(entries)


def _from_top(entry: str, top: Path, directory: Path) -> str | None:
    for place in (directory / entry, (directory / entry).resolve()):
        for root in (top, top.resolve()):
            written = Path(os.path.normpath(place))
            if written.is_relative_to(root):
                folder = written.relative_to(root).as_posix()
                return "" if folder == "." else folder
    return None
