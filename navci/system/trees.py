"""Git trees made from other git trees, without touching any work tree."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from navci.system.git import Git


class Entry(NamedTuple):
    """One file of a tree: octal mode and object id."""

    mode: str
    blob: str


def entries(git: Git, tree: str) -> dict[str, Entry]:
    """Every file of ``tree`` by its path from the repository's top (non-UTF-8 bytes escaped)."""
    listing = git.run("ls-tree", "-r", "-z", "--full-tree", tree)
    found = {}
    for record in listing.split(b"\0"):
        if record:
            what, path = record.split(b"\t", 1)
            mode, _, blob = what.decode().split()
            found[os.fsdecode(path)] = Entry(mode, blob)
    return found


def transplant(git: Git, onto: str, source: str, paths: Collection[str], scratch: Path) -> str:
    """The tree ``onto`` with ``paths`` as they are in ``source``; absent there means removed.

    ``scratch`` is a folder for a temporary index.
    """
    if not paths:
        return onto
    have = entries(git, source)
    return put(git, onto, {path: have.get(path) for path in paths}, scratch)


def put(git: Git, onto: str, files: Mapping[str, Entry | None], scratch: Path) -> str:
    """The tree ``onto`` with ``files`` put in; ``None`` removes a path."""
    index = scratch / f"index-{os.getpid()}-put"
    index.unlink(missing_ok=True)
    try:
        git.run("read-tree", onto, index=index)
        git.run(
            "update-index",
            "-z",
            "--replace",
            "--index-info",
            index=index,
            stdin=_info(files, len(onto)),
        )
        return git.text("write-tree", index=index)
    finally:
        index.unlink(missing_ok=True)


def _info(files: Mapping[str, Entry | None], id_length: int) -> bytes:
    # Removals first: a file may stand where a folder's files stood before, or the reverse.
    gone: Iterable[bytes] = (
        b"0 " + b"0" * id_length + b"\t" + os.fsencode(path) + b"\0"
        for path, entry in files.items()
        if entry is None
    )
    there = (
        f"{entry.mode} {entry.blob}\t".encode() + os.fsencode(path) + b"\0"
        for path, entry in files.items()
        if entry is not None
    )
    return b"".join([*gone, *there])
