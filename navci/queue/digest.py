"""The morning's digest: what became of every issue of the night, from the markers of its jobs.

A job that was killed leaves its provisional marker; of one that never began, or lost its artifact,
the journal tells, where there is one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from navci.errors import ConfigError
from navci.marker import read_marker
from navci.marker_schema import Marker
from navci.model import ENDS, End
from navci.queue.decide import Past
from navci.report.prose import prose
from navci.system.neutral import code_span, show_path, table_cell
from navci.system.templates import render

_BYTES = 16 << 20
_FILES = 4096
_ROWS = 300
_ISSUE = re.compile(r"issue-([1-9]\d{0,8})")
_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d{1,5})?/[A-Za-z0-9._/-]+")


@dataclass(frozen=True, slots=True)
class Told:
    """What became of one task. ``end`` is ``None`` for a run without an end, or without a trace.

    ``person`` says what a person has to do, if anything; ``later``: it goes on by itself.
    """

    task: str
    title: str = ""
    end: End | None = None
    died: bool = False
    iterations: int = 0
    cost_usd: float | None = None
    tokens: int | None = None
    reason: str = ""
    person: str = ""
    later: bool = False
    pull_request: str = ""

    @property
    def complete(self) -> bool:
        """Whether the evidence and the agent both said done."""
        return self.end is End.COMPLETE and not self.died


@dataclass(frozen=True, slots=True)
class Digest:
    """A night. ``notes``: files that were no markers, and the like."""

    tasks: tuple[Told, ...]
    notes: tuple[str, ...] = ()

    @property
    def cost_usd(self) -> float | None:
        """What the agents say they spent, of those that say it."""
        known = [one.cost_usd for one in self.tasks if one.cost_usd is not None]
        return sum(known) if known else None

    @property
    def tokens(self) -> int | None:
        """The same in tokens."""
        known = [one.tokens for one in self.tasks if one.tokens is not None]
        return sum(known) if known else None


class _Entry(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    issue: int


class _Matrix(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    include: tuple[_Entry, ...] = ()


def tasks_of_matrix(text: str) -> list[str]:
    """The tasks of a queue's ``matrix`` output. Raises :class:`ConfigError` when it is none."""
    if not text.strip():
        return []
    try:
        found = _Matrix.model_validate(json.loads(text))
    except (ValidationError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"--matrix is not the output `matrix` of `navci queue`, but {text[:60]!r}"
        ) from error
    return [f"issue-{entry.issue}" for entry in found.include]


def digest(
    folders: Iterable[Path], wanted: Iterable[str], past: Callable[[str], Past] | None = None
) -> Digest:
    """The markers below ``folders``, and what is known of those ``wanted`` that left none.

    Raises :class:`ConfigError` for a folder that is not there.
    """
    notes: list[str] = []
    found: dict[str, Marker] = {}
    for folder in folders:
        for path in _json_files(folder, notes):
            marker = _marker(path, notes)
            if marker is not None:
                found[marker.task] = max(found.get(marker.task, marker), marker, key=_latest)
    tasks = list(dict.fromkeys([*wanted, *sorted(found, key=_by_number)]))
    return Digest(
        tuple(
            told_by_marker(found[task])
            if task in found
            else told_by_journal(task, past(task) if past else Past())
            for task in tasks
        ),
        tuple(notes),
    )


def told_by_marker(marker: Marker) -> Told:
    """One marker."""
    return Told(
        task=marker.task,
        title=marker.title,
        end=None if marker.provisional else marker.outcome,
        died=marker.provisional,
        iterations=marker.iterations.used,
        cost_usd=marker.cost_usd,
        tokens=marker.tokens,
        reason="the job ended before the run did" if marker.provisional else marker.reason,
        person="" if marker.provisional else _person(marker.outcome),
        later=marker.provisional or _goes_on(marker.outcome),
        pull_request=marker.pull_request_url,
    )


def told_by_journal(task: str, past: Past) -> Told:
    """A task without a marker: its journal, where that knows something."""
    state = past.state
    if state is None or not state.run:
        why = f"its journal cannot be read: {past.problem}" if past.problem else "no trace of it"
        return Told(
            task,
            died=True,
            reason=f"{why}; its job did not begin, or was lost: look at the job's log",
            person="Look at the log of its job.",
        )
    end = state.end or state.paused
    return Told(
        task=task,
        end=end,
        died=end is None,
        iterations=state.iteration,
        cost_usd=state.spent.cost_usd,
        tokens=state.spent.tokens,
        reason=state.reason if end else "the job ended before the run did, and left no marker",
        person=_person(end) if end else "",
        later=end is None or _goes_on(end),
        pull_request=state.pull_request,
    )


def _person(end: End) -> str:
    return "" if _goes_on(end) else ENDS[end].next_step


def _goes_on(end: End) -> bool:
    """Whether the next night goes on with it, and nobody has to do anything."""
    return ENDS[end].resumable and end is not End.AWAITING_APPROVAL


# --- files ----------------------------------------------------------------------------------


def _json_files(folder: Path, notes: list[str]) -> Iterator[Path]:
    """Artifacts as they were unpacked; links are not followed."""
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {show_path(str(folder))} with artifacts in it")
    seen = 0
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = Path(place) / name
            if not name.endswith(".json") or path.is_symlink():
                continue
            seen += 1
            if seen > _FILES:
                notes.append(f"no more than {_FILES} files are read; the others were left out")
                return
            yield path


def _marker(path: Path, notes: list[str]) -> Marker | None:
    shown = show_path(str(Path(*path.parts[-2:])))
    try:
        if not path.is_file():
            raise ConfigError(f"{shown} is no file")
        if path.stat().st_size > _BYTES:
            raise ConfigError(f"{shown} is too large for a marker")
        if b'"navci.marker"' not in path.read_bytes():
            return None  # another file of an artifact
        return read_marker(path)
    except OSError as error:
        notes.append(f"{shown} cannot be read: {error.strerror}")
    except ConfigError as error:
        notes.append(str(error).replace(str(path), shown))
    return None


def _latest(marker: Marker) -> tuple[str, bool]:
    """The later run; of one run the marker that is its last word."""
    return marker.run.updated, not marker.provisional


def _by_number(task: str) -> tuple[int, str]:
    number = _ISSUE.fullmatch(task)
    return int(number[1]) if number else 1 << 30, task


# --- for people -----------------------------------------------------------------------------


def markdown(found: Digest) -> str:
    """The digest as Markdown: a table, the sum, and what needs a person."""
    tasks = found.tasks[:_ROWS]
    return render(
        "digest.md.j2",
        total=len(found.tasks),
        more=len(found.tasks) - len(tasks),
        complete=sum(one.complete for one in found.tasks),
        cost=_cost(found.cost_usd, found.tokens) or "not known",
        rows=[
            (
                _name(one.task),
                table_cell(one.title, 100),
                f"{_mark(one)} {_outcome(one)}",
                str(one.iterations),
                _cost(one.cost_usd, one.tokens) or "-",
                _link(one.pull_request),
            )
            for one in tasks
        ],
        people=[
            (_name(one.task), one.end, prose(one.reason, 400), one.person)
            for one in tasks
            if one.person
        ],
        later=[(_name(one.task), prose(one.reason, 300)) for one in tasks if one.later],
        notes=[prose(note, 400) for note in found.notes[:50]],
    )


def record(found: Digest) -> dict[str, object]:
    """The digest as JSON types."""
    return {
        "tasks": [
            {
                "task": one.task,
                "title": one.title,
                "outcome": one.end.value if one.end else None,
                "complete": one.complete,
                "died": one.died,
                "iterations": one.iterations,
                "cost_usd": one.cost_usd,
                "tokens": one.tokens,
                "reason": one.reason,
                "person": one.person,
                "later": one.later,
                "pull_request_url": one.pull_request,
            }
            for one in found.tasks
        ],
        "complete": sum(one.complete for one in found.tasks),
        "cost_usd": found.cost_usd,
        "tokens": found.tokens,
        "notes": list(found.notes),
    }


def _outcome(one: Told) -> str:
    return one.end.value if one.end and not one.died else "died" if one.died else "under way"


def _mark(one: Told) -> str:
    if one.complete:
        return "✅"
    return "⏳" if one.later or one.end is End.AWAITING_APPROVAL else "❌"


def _name(task: str) -> str:
    """An issue's number, which GitHub makes a link of; any other task as code."""
    number = _ISSUE.fullmatch(task)
    return f"#{number[1]}" if number else code_span(task, 100).replace("|", "\\|")


def _cost(usd: float | None, tokens: int | None) -> str:
    parts: Mapping[str, bool] = {
        f"${usd or 0:.2f}": usd is not None,
        f"{tokens or 0:,} tokens": tokens is not None,
    }
    return ", ".join(part for part, known in parts.items() if known)


def _link(url: str) -> str:
    if not url:
        return "-"
    if not _URL.fullmatch(url):
        return table_cell(url, 100)
    return f"[#{url.rpartition('/')[2]}]({url})"
