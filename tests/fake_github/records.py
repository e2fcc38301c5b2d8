"""The things a repository of the fake holds, as plain records."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fake_github.state import Repository


class Counter:
    """Ids as GitHub's: large, and never those of another kind of thing."""

    def __init__(self, start: int) -> None:
        self._numbers = itertools.count(start, 17)

    def __call__(self) -> int:
        return next(self._numbers)


@dataclass
class Label:
    id: int
    name: str
    color: str = "ededed"
    description: str | None = None


@dataclass
class Comment:
    id: int
    body: str
    author: str
    created_at: datetime
    updated_at: datetime
    reactions: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Happening:
    """An entry of a timeline: ``labeled``, ``closed``, ``renamed`` …"""

    id: int
    kind: str
    actor: str
    at: datetime
    details: Mapping[str, Any] = field(default_factory=dict)
    comment: Comment | None = None


@dataclass
class BodyEdit:
    """A version of a body; the first one is the creation."""

    at: datetime
    editor: str
    body: str


@dataclass
class Issue:
    """An issue, or the issue side of a pull request."""

    id: int
    number: int
    title: str
    body: str | None
    author: str
    created_at: datetime
    updated_at: datetime
    labels: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    timeline: list[Happening] = field(default_factory=list)
    versions: list[BodyEdit] = field(default_factory=list)
    reactions: list[tuple[str, str]] = field(default_factory=list)
    state: str = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: str | None = None
    locked: bool = False
    lock_reason: str | None = None
    is_pull: bool = False
    is_discussion: bool = False
    moved_to: tuple[Repository, int] | None = None
    deleted: bool = False


@dataclass
class Pull:
    """A pull request within one repository; ``issue`` holds what it shares with issues."""

    id: int
    issue: Issue
    head: str
    base: str
    head_sha: str
    base_sha: str
    draft: bool = False
    merged_at: datetime | None = None
    merged_by: str | None = None
    merge_commit: str | None = None

    @property
    def state(self) -> str:
        return self.issue.state

    @property
    def title(self) -> str:
        return self.issue.title

    @property
    def body(self) -> str | None:
        return self.issue.body
