"""Which files are a check's reports: matching its globs, in the repository, made by this run."""

from __future__ import annotations

import glob as globbing
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from navci.errors import ConfigError
from navci.system.globs import segments
from navci.system.neutral import one_line, show_path

_SHOWN = 5


@dataclass(slots=True)
class Found:
    """What the globs match. Paths are relative to the repository, sorted.

    ``files`` are all that is no folder: also symbolic links and FIFOs. ``links`` are symbolic links
    to folders on the way of a glob, which is not followed; ``closed`` folders that cannot be read.
    """

    files: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)


class ReportGlobs:
    """The globs of one check, relative to its working directory ``cwd`` in the repository ``repo``.

    Raises :class:`~navci.errors.ConfigError` for a glob that is absolute or leaves the repository.
    """

    def __init__(self, globs: Sequence[str], cwd: Path, repo: Path) -> None:
        self._repo = repo
        inside = os.path.relpath(cwd.absolute(), repo.absolute())
        start = [] if inside == "." else inside.split("/")
        if start[:1] == [".."]:
            raise ConfigError(f"the working directory {cwd} is not inside the repository {repo}")
        self._patterns = [
            _pattern(glob, [globbing.escape(part) for part in start]) for glob in globs
        ]

    def find(self) -> Found:
        """Everything that matches now; ``.git`` and folders behind symbolic links are not read."""
        found = Found()
        files: set[str] = set()
        for pattern in self._patterns:
            files.update(self._walk(pattern, found))
        found.files = sorted(files)
        found.links.sort()
        found.closed.sort()
        return found

    def _walk(self, pattern: tuple[str, ...], found: Found) -> Iterator[str]:
        todo: list[tuple[str, frozenset[int]]] = [("", _open(pattern, frozenset({0})))]
        while todo:
            folder, states = todo.pop()
            try:
                entries = list(os.scandir(self._repo / folder))
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                found.closed.append(folder)
                continue
            for entry in entries:
                if entry.name == ".git":
                    continue
                reached = _step(pattern, states, entry.name)
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if reached - {len(pattern)}:
                        todo.append((path, reached))
                elif len(pattern) in reached:
                    yield path
                elif reached and entry.is_symlink() and _is_folder(entry.path):
                    found.links.append(path)


def named_files(names: Sequence[str], cwd: Path) -> list[Path]:
    """The files a person names, relative to ``cwd``, in that order and each once.

    A name is a file, a folder (every ``*.xml`` below it) or a glob, with ``/`` or ``\\``. Raises
    :class:`~navci.errors.ConfigError` with every name that no file goes by.
    """
    found: dict[Path, None] = {}
    problems = []
    for name in names:
        if not name:
            problems.append("an empty name; name a report, a folder of reports, or a glob")
            continue
        path = cwd / name
        if not os.path.lexists(path):
            path = cwd / name.replace("\\", "/")
        is_folder = _is_folder(str(path))
        if not is_folder and os.path.lexists(path):
            found[path] = None
            continue
        folder, glob = (path, "**/*.xml") if is_folder else _split(name.replace("\\", "/"), cwd)
        matches = ReportGlobs([glob], folder, folder).find() if glob else Found()
        found |= dict.fromkeys(folder / file for file in matches.files)
        if matches.closed:
            problems.append(_closed(folder / matches.closed[0]))
        elif not matches.files:
            problems.append(_nothing(name, glob, matches.links, is_folder=is_folder))
    if problems:
        raise ConfigError(*problems)
    return list(found)


def clear(found: Found, repo: Path, tracked: frozenset[str]) -> str | None:
    """Delete what an earlier run left; the problem, if any.

    Files that git tracks are the repository's, never a report, and stay.
    """
    stuck = []
    for path in found.files:
        if path not in tracked:
            try:
                (repo / path).unlink()
            except FileNotFoundError:
                continue
            except OSError as error:
                stuck.append(f"{show_path(path)} ({error.strerror})")
    if not stuck:
        return None
    rest = f" and {len(stuck) - _SHOWN} more" if len(stuck) > _SHOWN else ""
    return (
        f"reports of an earlier run cannot be deleted: {', '.join(stuck[:_SHOWN])}{rest}; "
        "delete them, or let the check write somewhere else"
    )


def fresh(before: Found, after: Found, tracked: frozenset[str]) -> list[str]:
    """The reports of this run: not tracked, and not from where :func:`clear` could not look."""
    hidden = tuple(f"{folder}/" for folder in before.closed)
    return [path for path in after.files if path not in tracked and not path.startswith(hidden)]


def _split(name: str, cwd: Path) -> tuple[Path, str]:
    """The folder where a glob begins, and the glob from there; no glob when nothing is wild."""
    parts = name.split("/")
    wild = [n for n, part in enumerate(parts) if globbing.has_magic(part)]
    if not wild:
        return cwd, ""
    return cwd / "/".join([*parts[: wild[0]], ""]), "/".join(parts[wild[0] :])


def _closed(folder: Path) -> str:
    shown = show_path(str(folder), 200)
    return (
        f"the folder `{shown}` cannot be read, and may hold reports; give the user who runs navci "
        "the right to, or name the reports"
    )


def _nothing(name: str, glob: str, links: Sequence[str], *, is_folder: bool) -> str:
    shown = show_path(name, 200)
    what = f"the folder `{shown}` has no *.xml" if is_folder else f"no file matches `{shown}`"
    if links:
        link = show_path(links[0], 200)
        return f"{what}: `{link}` is a symbolic link to a folder and not followed; name that folder"
    if name == "-":
        return "`-`: a report is not read from standard input; save it as a file and name that"
    if not glob:
        return f"`{shown}` does not exist; name a report, a folder of reports, or a glob"
    return f"{what}; look whether the tests wrote their report somewhere else"


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir can raise


def _pattern(glob: str, start: list[str]) -> tuple[str, ...]:
    shown = one_line(glob, 100)
    glob = glob.replace("\\", "/")
    if glob.startswith("/") or glob[1:2] == ":":
        raise ConfigError(
            f"junit: `{shown}` is an absolute path; write it relative to the working directory"
        )
    parts = list(start)
    for part in segments(glob):
        if part != "..":
            parts.append(part)
        elif not parts:
            raise ConfigError(f"junit: `{shown}` is outside the repository; reports must be in it")
        elif len(parts) > len(start) and globbing.has_magic(parts[-1]):
            raise ConfigError(f"junit: `{shown}` has `..` after a wildcard; write the path itself")
        else:
            parts.pop()
    if len(parts) == len(start) and parts == start:
        raise ConfigError(f"junit: `{shown}` names no file; write a glob like `build/*.xml`")
    return tuple(parts)


def _open(pattern: tuple[str, ...], states: frozenset[int]) -> frozenset[int]:
    """The states reachable without reading a part: ``**`` may stand for no folder at all."""
    found = set(states)
    for state in states:
        while state < len(pattern) and pattern[state] == "**":
            state += 1
            found.add(state)
    return frozenset(found)


def _step(pattern: tuple[str, ...], states: frozenset[int], name: str) -> frozenset[int]:
    reached = set()
    for state in states:
        if state < len(pattern):
            if pattern[state] == "**":
                reached.add(state)
            elif fnmatchcase(name, pattern[state]):
                reached.add(state + 1)
    return _open(pattern, frozenset(reached))
