"""What GitHub answers, as navci knows it: read tolerantly where it enters, frozen from then on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

GHOST = "ghost"
"""Who wrote what a deleted account wrote: GitHub's own name for them."""

CloseReason = Literal["completed", "not_planned"]

_TRUSTED = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})


class Permission(StrEnum):
    """What a person may do in the repository, in the four words of GitHub's permission endpoint."""

    ADMIN = "admin"
    WRITE = "write"
    READ = "read"
    NONE = "none"

    @property
    def writes(self) -> bool:
        """Whether this is enough to start a run."""
        return self in (Permission.ADMIN, Permission.WRITE)


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue as it was when asked for. ``title`` and ``body``: raw, untrusted."""

    number: int
    title: str
    body: str
    labels: tuple[str, ...]
    author: str
    state: str
    state_reason: str | None
    locked: bool
    is_pull: bool
    url: str
    node_id: str

    @property
    def closed(self) -> bool:
        """Whether GitHub says that the ticket is closed."""
        return self.state == "closed"

    def has_label(self, name: str) -> bool:
        """Whether the issue has the label; GitHub's labels do not differ by case alone."""
        return name.casefold() in (label.casefold() for label in self.labels)


@dataclass(frozen=True, slots=True)
class Happened:
    """One event of an issue's timeline: ``labeled``, ``renamed``, ``closed``, ``commented``, …

    ``label`` and ``title`` (the new one) are there for the events that have them; ``at`` is missing
    for commits only. ``actor`` is ``ghost`` when the account is gone.
    """

    kind: str
    actor: str
    at: datetime | None
    label: str | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Who changed an issue's body, and when."""

    at: datetime
    editor: str


@dataclass(frozen=True, slots=True)
class Closed:
    """An issue that is closed, by what GitHub answered."""

    number: int
    reason: str | None
    url: str


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request; ``opened``: just now, not only updated."""

    number: int
    url: str
    draft: bool
    opened: bool


LEVELS = {level.value: level for level in Permission} | {
    "maintain": Permission.WRITE,
    "push": Permission.WRITE,
    "triage": Permission.READ,
    "pull": Permission.READ,
}
"""GitHub's words for what an account may do. Custom roles come as the one they build on."""


class _Tolerant(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class LabelAnswer(_Tolerant):
    """A label."""

    name: str | None = None


class _Account(_Tolerant):
    login: str
    type: str = ""


class IssueAnswer(_Tolerant):
    """An issue, alone or in a list."""

    number: int
    title: str
    body: str | None = None
    labels: tuple[LabelAnswer | str, ...] = ()
    user: _Account | None = None
    state: str
    state_reason: str | None = None
    locked: bool = False
    pull_request: Mapping[str, object] | None = None
    html_url: str
    node_id: str = ""

    def issue(self) -> Issue:
        """The snapshot."""
        return Issue(
            number=self.number,
            title=self.title,
            body=self.body or "",
            labels=label_names(self.labels),
            author=_login(self.user),
            state=self.state,
            state_reason=self.state_reason,
            locked=self.locked,
            is_pull=self.pull_request is not None,
            url=self.html_url,
            node_id=self.node_id,
        )


class _Renamed(_Tolerant):
    to: str


class EventAnswer(_Tolerant):
    """An event of a timeline. Comments and reviews name a ``user``, not an ``actor``."""

    event: str = ""
    actor: _Account | None = None
    user: _Account | None = None
    created_at: datetime | None = None
    submitted_at: datetime | None = None
    label: LabelAnswer | None = None
    rename: _Renamed | None = None

    def happened(self) -> Happened:
        """The event."""
        return Happened(
            kind=self.event,
            actor=_login(self.actor or self.user),
            at=self.created_at or self.submitted_at,
            label=self.label.name if self.label else None,
            title=self.rename.to if self.rename else None,
        )


class CommentAnswer(_Tolerant):
    """A comment."""

    id: int
    body: str | None = None
    html_url: str
    user: _Account | None = None
    author_association: str = "COLLABORATOR"

    def first_line(self) -> str:
        """Where navci's hidden line stands, if this is one of its comments."""
        return next(iter((self.body or "").splitlines()), "").strip()

    @property
    def trusted(self) -> bool:
        """Whether it can be navci's own: of a bot, or of someone who belongs to the repository.

        A stranger can write navci's hidden line too, and could change what navci put there.
        """
        bot = self.user is not None and self.user.type == "Bot"
        return bot or self.author_association in _TRUSTED


class _Head(_Tolerant):
    ref: str = ""


class PullAnswer(_Tolerant):
    """A pull request, alone or in a list."""

    number: int
    html_url: str
    draft: bool = False
    head: _Head

    def pull(self, *, opened: bool) -> Pull:
        """The pull request."""
        return Pull(self.number, self.html_url, self.draft, opened)


class _Editor(_Tolerant):
    kind: str = Field("", alias="__typename")
    login: str

    def name(self) -> str:
        """With the `[bot]` that GraphQL alone leaves off: an account may have that name."""
        return f"{self.login}[bot]" if self.kind == "Bot" else self.login


class _OneEdit(_Tolerant):
    at: datetime = Field(alias="editedAt")
    editor: _Editor | None = None


class _Edits(_Tolerant):
    total: int = Field(alias="totalCount")
    nodes: tuple[_OneEdit | None, ...] | None = None


class _Edited(_Tolerant):
    at: datetime | None = Field(None, alias="lastEditedAt")
    editor: _Editor | None = None
    from_creation: bool = Field(False, alias="includesCreatedEdit")
    edits: _Edits | None = Field(None, alias="userContentEdits")


class _EditedRepository(_Tolerant):
    issue: _Edited


class _EditedData(_Tolerant):
    repository: _EditedRepository


class EditsAnswer(_Tolerant):
    """The answer to :data:`EDITS`."""

    data: _EditedData

    def edits(self) -> tuple[Edit, ...]:
        """Newest first, without the creation; the last one even when the history lacks it."""
        issue = self.data.repository.issue
        nodes = list((issue.edits and issue.edits.nodes) or ())
        if issue.edits and issue.from_creation and len(nodes) == issue.edits.total:
            nodes.pop()
        found = {Edit(node.at, _editor(node.editor)) for node in nodes if node is not None}
        if issue.at is not None:
            found.add(Edit(issue.at, _editor(issue.editor)))
        return tuple(sorted(found, key=lambda edit: (edit.at, edit.editor), reverse=True))


EDITS = """\
query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name, followRenames: false) {
    issue(number: $number) {
      lastEditedAt
      editor { __typename login }
      includesCreatedEdit
      userContentEdits(first: 100) { totalCount nodes { editedAt editor { __typename login } } }
    }
  }
}
"""
"""All that is asked by GraphQL: when an issue's body was changed, and by whom."""


def label_names(labels: Iterable[LabelAnswer | str]) -> tuple[str, ...]:
    """GitHub's descriptions allow a label to be its name alone."""
    names = (label if isinstance(label, str) else label.name for label in labels)
    return tuple(name for name in names if name)


def _login(account: _Account | None) -> str:
    return account.login if account else GHOST


def _editor(editor: _Editor | None) -> str:
    return editor.name() if editor else GHOST
