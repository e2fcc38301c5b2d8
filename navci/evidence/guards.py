"""Which changed paths an agent may not touch (DESIGN §3 step 5, §5 Trust)."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from navci.system.globs import match_glob, segments


def protected(paths: Iterable[str], globs: Iterable[str]) -> tuple[str, ...]:
    """Those of ``paths`` that ``globs`` protect, in order; each becomes a ``guard:<path>`` gap.

    As in a gitignore file, a glob that names a folder names everything below it. A file (or a
    symbolic link) put in the place of a folder that leads to protected files counts as well:
    it would hide them all.
    """
    wanted = tuple(globs)
    return tuple(path for path in paths if any(_covers(glob, path) for glob in wanted))


def _covers(glob: str, path: str) -> bool:
    parts = path.split("/")
    above = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
    return any(match_glob(candidate, glob) for candidate in above) or _shadows(parts, glob)


def _shadows(parts: list[str], glob: str) -> bool:
    """Does the file at ``parts`` stand where ``glob`` needs a folder, named before any ``**``?"""
    wanted = segments(glob)
    fixed = wanted[: wanted.index("**")] if "**" in wanted else wanted[:-1]
    return len(parts) <= len(fixed) and all(map(fnmatchcase, parts, fixed))
