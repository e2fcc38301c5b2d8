"""What the agent committed: may the branch take it over, may the journal hold it?"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from navci.evidence.guards import protected
from navci.evidence.ignores import is_marker
from navci.evidence.secrets import examine
from navci.loop.run import Run
from navci.system.exchange import present
from navci.system.files import write_atomic
from navci.system.neutral import show_path
from navci.system.trees import entries

_GITLINK = "160000"
_SCANNED = 1000
"""Versions of files that are looked at one by one; a history of more is not vouched for."""


class Version(NamedTuple):
    """A file as one of the agent's commits has it: path, octal mode, object id."""

    path: str
    mode: str
    blob: str


def versions(run: Run, new: str) -> set[Version]:
    """Everything the agent's commits up to ``new`` wrote, also what a later one took back.

    What was in the repository before (a branch of the user's, merged in) is not the agent's.
    """
    options = ("-z", "-m", "--raw", "--no-abbrev", "--format=", "--no-renames", "--no-ext-diff")
    before = present(run.git, {run.state.head, *run.first_refs.values()})
    lines = "".join(f"^{commit}\n" for commit in before)
    out = run.git.run("log", *options, "--stdin", stdin=f"{new}\n{lines}".encode())
    told = iter(field for field in os.fsdecode(out).split("\0") if field.strip("\n"))
    found = set()
    for what in told:
        _, mode, _, blob, _ = what.lstrip("\n:").split(" ")
        found.add(Version(next(told), mode, blob))
    return found


def acceptable(run: Run, tree: str, agent_head: str) -> bool:
    """May the agent's commits become the branch's? Each of them is looked at, not only the last.

    ``tree`` is what they led to, scanned already.
    """
    git = run.git
    if git.rev(agent_head) is None or not git.is_ancestor(run.state.head, agent_head):
        return False
    written = versions(run, agent_head)
    touched = {version.path for version in written}
    return not (
        protected(touched, run.settings.protect)
        or touched & run.leave_out
        or touched & set(run.untracked)
        or any(map(is_marker, touched))
        or any(version.mode == _GITLINK for version in written)
        or leak(run, tree, written)
    )


def keepable(run: Run, tree: str, heads: Iterable[str]) -> list[str]:
    """Those of the agent's ``heads`` that go on from here and may be in the journal.

    The journal is pushed: a commit that holds a secret stays where the agent made it.
    """
    kept: list[str] = []
    for head in dict.fromkeys(heads):
        if head in kept or run.git.is_ancestor(head, run.state.head):
            continue
        why = leak(run, tree, versions(run, head))
        if why:
            run.note(f"the agent's commit {head[:12]} stays out of branch and journal: {why}")
        else:
            kept.append(head)
    return kept


def leak(run: Run, tree: str, written: set[Version]) -> str | None:
    """The first secret in ``written``, as ``path: why``. What ``tree`` holds was scanned before."""
    clean = {(path, entry.blob) for path, entry in entries(run.git, tree).items()}
    rest = sorted(
        version
        for version in written
        if version.blob.strip("0")
        and version.mode != _GITLINK
        and (version.path, version.blob) not in clean
    )
    if len(rest) > _SCANNED:
        return f"{len(rest)} versions of files in it, too many to look for secrets"
    place, base = run.folders.scratch / "version", run.state.base
    for path, _, blob in rest:
        write_atomic(place, run.git.run("cat-file", "blob", blob))
        why = examine(place, path, lambda path: run.git.show(base, path))
        if why:
            return f"{show_path(path)}: {why}"
    return None
