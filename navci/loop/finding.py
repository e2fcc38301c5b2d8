"""The task that a process is started for, and whether there is anything to do about it."""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from navci.actions.event import read_event
from navci.errors import ConfigError, InfraError, NavciError, Skipped
from navci.journal import State
from navci.loop.run import RunRequest
from navci.model import Task
from navci.system.checkout import Checkout
from navci.system.git import Git
from navci.system.gitcall import write_config
from navci.system.neutral import one_line
from navci.task import explicitly_off, from_issue, from_text
from navci.tickets.taskfile import parse_task, read_task_file


@dataclass(frozen=True, slots=True)
class Found:
    """A task, and why no run of it may start now; one under way goes on all the same.

    ``number`` is that of the task's issue; ``unread``: only its number is known so far.
    """

    task: Task
    over: NavciError | None = None
    number: int | None = None
    unread: bool = False


def find_task(request: RunRequest, checkout: Checkout) -> Found:
    """The task of the options, or of the event this job runs for."""
    given = {
        name: str(request.options[name])
        for name in ("task", "task_file", "issue")
        if request.options.get(name) not in (None, "")
    }
    if len(given) > 1:
        both = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise ConfigError(f"{both} were given together; give one of them")
    if "task" in given:
        return Found(from_text(given["task"]))
    if "task_file" in given:
        return find_document(request.directory / given["task_file"], checkout)
    event = read_event(request.environment)
    if "issue" in given and (event is None or given["issue"] != str(event.number)):
        return issue_named(given["issue"])
    if event is None:
        raise ConfigError(
            "there is no task: give --task (a text) or --task-file (a task document), "
            "or run on an `issues` event"
        )
    task = from_issue(event.number, event.title, event.body, closed=event.closed)
    return replace(unless_closed(task), number=event.number)


def issue_named(given: str) -> Found:
    """An issue of which only the number is known; GitHub is asked for the rest later."""
    if not (given.isascii() and given.isdigit() and 0 < int(given) < 10**9):
        raise ConfigError(f"--issue is `{one_line(given, 80)}`; give the issue's number")
    number = int(given)
    return Found(from_issue(number, f"Issue {number}", ""), number=number, unread=True)


def find_document(path: Path, checkout: Checkout) -> Found:
    """The task document at ``path``; one that an agent broke or deleted, as it is committed."""
    try:
        return unless_closed(read_task_file(path, checkout.top))
    except ConfigError as error:
        committed = None
        with contextlib.suppress(OSError, ValueError, NavciError):
            committed = committed_document(path, checkout)
        if committed is None:
            raise
        return Found(committed, error)


def committed_document(path: Path, checkout: Checkout) -> Task | None:
    """The task document as HEAD has it, whatever lies at ``path``."""
    source = (path.parent.resolve() / path.name).relative_to(checkout.top).as_posix()
    with tempfile.TemporaryDirectory(prefix="navci-task-") as home:
        write_config(Path(home))
        git = Git(checkout.common_dir, checkout.top, Path(home))
        data = git.show(checkout.head or "", source)
    return parse_task(data, source) if data is not None else None


def unless_closed(task: Task) -> Found:
    """``task``, to be left alone when it is closed."""
    what = f"{task.source or task.id} is closed already; reopen it to start a loop"
    return Found(task, Skipped(what) if task.closed else None)


def is_under_way(state: State) -> bool:
    """Whether the journal has a run without an end."""
    return bool(state.run) and state.end is None


def refuse_off(task: Task) -> None:
    """The task's own word that it must not be looped."""
    off = explicitly_off(task)
    if off:
        raise Skipped(f"{off}; remove it to start a loop")


def refuse_over(found: Found, state: State) -> None:
    """What is closed or gone starts no run. One under way goes on: agent or closing did that."""
    if found.over and not is_under_way(state):
        raise found.over


def as_started(git: Git, task: Task, state: State) -> Task:
    """The task of a run under way as the run started with it: its agent can edit the document."""
    if not is_under_way(state):
        return task
    known = task
    if task.source is not None:
        # Where git ignores it, what lies here counts.
        with contextlib.suppress(InfraError, ConfigError):
            data = git.show(state.origin, task.source)
            known = parse_task(data, task.source) if data is not None else task
    return replace(known if known.id == task.id else task, closed=False)
