"""Reading and writing lists of files as git has them: of a tree, and of an index of our own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from io import BytesIO
from pathlib import Path

from navci.system.git import Git

GITLINK = "160000"
"""The mode of a submodule: a commit of another repository."""

Entry = tuple[str, str]
"""Mode and blob."""

_FEW = 100


def entries_of(git: Git, tree: str, paths: Collection[str] = ()) -> dict[str, Entry]:
    """The files of a commit or tree (of ``paths``, if any are given, and below them)."""
    named = ("--", *paths) if 0 < len(paths) < _FEW else ()
    entries = {}
    out = git.run("ls-tree", "-r", "-z", "--full-tree", tree, *named)
    for line in os.fsdecode(out).split("\0")[:-1]:
        what, _, path = line.partition("\t")
        mode, _kind, blob = what.split(" ")
        entries[path] = (mode, blob)
    return entries


def indexed(git: Git, index: Path, paths: Collection[str]) -> dict[str, Entry]:
    """What ``index`` holds of ``paths`` (and maybe of others)."""
    named = ("--", *paths) if len(paths) < _FEW else ()
    entries = {}
    for line in os.fsdecode(git.run("ls-files", "-z", "-s", *named, index=index)).split("\0")[:-1]:
        what, _, path = line.partition("\t")
        mode, blob, _stage = what.split(" ")
        entries[path] = (mode, blob)
    return entries


def put(git: Git, index: Path, entries: Mapping[str, Entry]) -> None:
    """Put ``entries`` into ``index``, over whatever is in their place; mode ``0`` removes."""
    # Removals first, so that none takes away what was just put below it.
    ordered = sorted(entries.items(), key=lambda item: item[1][0] != "0")
    lines = [f"{mode} {blob}\t{path}" for path, (mode, blob) in ordered]
    git.run("update-index", "-z", "--replace", "--index-info", stdin=joined(lines), index=index)


def contents(git: Git, entries: Mapping[str, Entry], name: str) -> dict[str, bytes]:
    """The content of every file called ``name``; links are none (git follows none either)."""
    found = {
        path: blob
        for path, (mode, blob) in entries.items()
        if path.rpartition("/")[2] == name and mode.startswith("100")
    }
    asked = "".join(f"{blob}\n" for blob in found.values()).encode()
    answer = BytesIO(git.run("cat-file", "--batch", stdin=asked))
    read = {}
    for path in found:
        size = int(answer.readline().split(b" ")[2])
        read[path] = answer.read(size + 1)[:-1]
    return read


def joined(lines: Iterable[str]) -> bytes:
    """``lines`` as git reads them with ``-z``."""
    return os.fsencode("".join(f"{line}\0" for line in lines))
