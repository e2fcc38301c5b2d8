"""The files of somebody's project, and what is guessed from them."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from navci.system.globs import match_glob

LARGEST = 1024 * 1024
"""Bytes; a longer file is no manifest that a person wrote."""

_REPORT_FOLDERS = ("build", "reports", "junit-reports")


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """The files below ``folder`` that git tracks or would add; names are relative to it.

    ``ignored`` says whether git's ignore rules leave a path out.
    """

    folder: Path
    names: frozenset[str]
    ignored: Callable[[str], bool] = lambda _: False

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def text(self, name: str) -> str:
        """What is in a file; empty when it is not there, or is nothing a person would write."""
        path = self.folder / name
        if name not in self.names or path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
        return raw.decode("utf-8", "replace") if len(raw) <= LARGEST else ""

    def toml(self, name: str) -> dict[str, Any]:
        """A TOML file as data; empty when it cannot be read as that."""
        try:
            return tomllib.loads(self.text(name))
        except tomllib.TOMLDecodeError:
            return {}

    def matching(self, *globs: str) -> Iterator[str]:
        """The names that one of ``globs`` means, sorted."""
        return (n for n in sorted(self.names) if any(match_glob(n, glob) for glob in globs))

    def report(self, kind: str) -> str:
        """Where the JUnit report of a kind can go: into a folder that no file is in the way of."""
        folder = next((one for one in _REPORT_FOLDERS if one not in self.names), "junit-out")
        return f"{folder}/junit-{kind}.xml"


@dataclass(frozen=True, slots=True)
class Guess:
    """What one kind of project is tested with. ``because`` is what was seen.

    ``setup`` makes a fresh clone ready, ``prepare`` a fresh machine; ``python`` and ``node`` are
    versions where the project asks for one. ``notes`` are sentences for its owner.
    """

    kind: str
    because: str
    command: str
    junit: tuple[str, ...] = ()
    setup: str = ""
    prepare: str = ""
    python: str = ""
    node: str = ""
    notes: tuple[str, ...] = field(default=())


def table(data: object, *path: str) -> dict[str, Any]:
    """A table inside ``data``; empty when something else, or nothing, is there."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}
