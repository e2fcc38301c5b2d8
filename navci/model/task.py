"""What to do, and what must become true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class CloseIssue(StrEnum):
    """What closes the issue: navci itself, the merge of the pull request, or nobody but people."""

    WHEN_COMPLETE = "when-complete"
    WHEN_MERGED = "when-merged"
    NEVER = "never"


class PullRequest(StrEnum):
    """The pull request that a run with work opens."""

    DRAFT = "draft"
    READY = "ready"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class GitHubRules:
    """What happens on GitHub. Label names are compared without case."""

    close_issue: CloseIssue = CloseIssue.WHEN_COMPLETE
    pull_request: PullRequest = PullRequest.DRAFT
    label: str = "loop-mode"
    label_running: str = "loop-running"
    label_complete: str = "loop-complete"
    label_aborted: str = "loop-aborted"
    label_declined: str = "loop-declined"
    label_awaiting: str = "loop-awaiting"
    refuse_labels: tuple[str, ...] = ("security",)
    priority_labels: tuple[str, ...] = ()
    allow_bots: tuple[str, ...] = ()
    max_per_night: int = 20
    max_parallel: int = 4


class BindingKind(StrEnum):
    """What an acceptance item is bound to; the value is the word that stands before ``=``.

    ``test``: tests by a selector; ``check``: a required check; ``id``: tests that carry this id.
    """

    TEST = "test"
    CHECK = "check"
    ID = "id"


@dataclass(frozen=True, slots=True)
class Binding:
    """Evidence that an acceptance item asks for; all bindings of an item have to hold."""

    kind: BindingKind
    value: str


@dataclass(frozen=True, slots=True)
class AcceptanceItem:
    """A Markdown task-list line of the task; ``id`` is stable under re-wrapping and reordering.

    ``text`` is without the tags of its line, which are ``bindings``; ``times`` is how often an
    equal item stands in the task.
    """

    id: str
    text: str
    bindings: tuple[Binding, ...] = ()
    times: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """What to do. ``id`` is ``issue-7``, ``TASK-12`` or ``text-<8 hex of its SHA-256>``.

    ``source`` is the task document's path relative to the repository, where there is one.
    ``loop_mode`` is what the document says for itself; ``None`` when it says nothing.
    """

    id: str
    title: str
    body: str
    items: tuple[AcceptanceItem, ...] = ()
    source: str | None = None
    loop_mode: bool | None = None
    closed: bool = False
    has_ticket: bool = False


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """A required check: a bash line, globs of the JUnit reports it writes, a limit in seconds.

    ``may_write``: globs of tracked files the check is allowed to change.
    """

    id: str
    command: str
    junit: tuple[str, ...] = ()
    timeout: float = 3600.0
    may_write: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contract:
    """What must become true: acceptance items and required checks. ``hash`` is its SHA-256.

    ``bindings`` maps an item's id to what it is bound to, by its own line or by the config.
    ``strict``: an item without any evidence is missing, not just unverified. ``notes`` are for
    people.
    """

    hash: str
    items: tuple[AcceptanceItem, ...]
    checks: tuple[CheckSpec, ...]
    bindings: Mapping[str, tuple[Binding, ...]] = field(default_factory=dict)
    strict: bool = False
    notes: tuple[str, ...] = ()
