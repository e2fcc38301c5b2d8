"""Read a task's journal back from the user's repository, checked as it is read."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from navci.errors import ConfigError
from navci.journal import (
    ENDED,
    JUDGED,
    PAUSED,
    REFS,
    Event,
    Journal,
    judged_record,
    ref_of,
    task_of,
)
from navci.loop.carried import matrix_of
from navci.model import ENDS, End
from navci.report.verification import verification
from navci.system.canonical import plain
from navci.system.checkout import Checkout, find_checkout
from navci.system.clock import SYSTEM_CLOCK
from navci.system.git import Git
from navci.system.gitcall import write_config
from navci.system.neutral import one_line


def tasks(directory: Path) -> list[str]:
    """The tasks that have a journal here."""
    with tempfile.TemporaryDirectory(prefix="navci-show-") as home:
        git = reader(find_checkout(directory), Path(home))
        refs = git.text("for-each-ref", "--format=%(refname)", REFS).splitlines()
    return [task_of(ref) for ref in refs]


def reader(checkout: Checkout, home: Path) -> Git:
    """The checkout's repository, read with navci's configuration; nothing is written to it."""
    write_config(home)
    return Git(checkout.common_dir, checkout.top, home)


def journal_records(directory: Path, task: str) -> Iterator[dict[str, object]]:
    """Every event as JSON types. Raises :class:`navci.errors.JournalDamaged`."""
    for event in events(directory, task):
        yield cast("dict[str, object]", plain(event))


def verification_of(directory: Path, task: str) -> str:
    """The acceptance matrix of the last judged iteration, made again from the journal.

    Raises :class:`ConfigError` where nothing was judged yet, and
    :class:`navci.errors.JournalDamaged` as :func:`events` does.
    """
    with opened(directory, task) as journal:
        last = None
        for event in journal.events():
            last = event if event.kind == JUDGED else last
        if last is None:
            raise ConfigError(f"no iteration of {task} was judged yet, so nothing is verified")
        return verification(matrix_of(journal, judged_record(last), last.run))


def events(directory: Path, task: str) -> Iterator[Event]:
    """The events of ``task``. Raises :class:`ConfigError` when it has no journal here."""
    with opened(directory, task) as journal:
        yield from journal.events()


@contextmanager
def opened(directory: Path, task: str) -> Iterator[Journal]:
    """The journal of ``task``, to read. Raises :class:`ConfigError` when there is none here."""
    with tempfile.TemporaryDirectory(prefix="navci-show-") as home:
        git = reader(find_checkout(directory), Path(home))
        if git.read_ref(ref_of(task)) is None:
            raise ConfigError(
                f"{task} has no journal in this repository; `navci show` names those that do, and "
                f"`git fetch origin 'refs/navci/*:refs/navci/*'` fetches those of the remote"
            )
        yield Journal(git, task, SYSTEM_CLOCK)


def journal_lines(directory: Path, task: str) -> Iterator[str]:
    """The journal as people read it, oldest first."""
    run = ""
    for event in events(directory, task):
        if event.run and event.run != run:
            run = event.run
            yield f"run {run}"
        yield f"  {event.at}  {event.commit[:10]}  {line_of(event)}"


def line_of(event: Event) -> str:
    """One event on one line."""
    if event.kind == JUDGED:
        record = judged_record(event)
        judged, gaps = record.judgement, len(record.observation.gaps)
        parts = [
            f"iteration {judged.iteration}: {judged.phase} {judged.progress}%",
            f"{gaps} gap{'' if gaps == 1 else 's'}",
            f"stagnation {judged.counter}",
            judged.gate.reason,
        ]
        if judged.event:
            pursued = judged.hypothesis and f"hypothesis on {judged.hypothesis.gap}"
            parts.append(f"event → {pursued or judged.strategy or judged.end}")
        return one_line(", ".join(parts))
    if event.kind in (ENDED, PAUSED):
        end = str(event.data.get("end"))
        how = "ended" if event.kind == ENDED else "paused"
        told = one_line(f"{how} {end}: {event.data.get('reason')}", 1000)
        return f"{told} → {ENDS[End(end)].next_step}" if end in list(End) else told
    detail = " ".join(
        f"{key}={value}"
        for key, value in sorted(event.data.items())
        if isinstance(value, str | int) and value != ""
    )
    return one_line(f"{event.kind} {detail}".strip())
