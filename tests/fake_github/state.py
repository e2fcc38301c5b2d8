"""What the fake remembers: repositories and what people do in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.fake_github.git import BareRepository
from tests.fake_github.people import Account
from tests.fake_github.records import (
    BodyEdit,
    Comment,
    Counter,
    Happening,
    Issue,
    Label,
    Pull,
)

Clock = Callable[[], datetime]


class Repository:
    """A repository; its methods do what a person does in a browser, and say so in the timeline."""

    def __init__(
        self, full_name: str, *, number: int, private: bool, folder: Path, clock: Clock
    ) -> None:
        self.owner, self.name = full_name.split("/")
        self.id = number
        self.private = private
        self.default_branch = "main"
        self.created_at = clock()
        self.git = BareRepository(folder, self.default_branch)
        self.permissions: dict[str, str] = {}
        self.labels: dict[str, Label] = {}
        self.issues: dict[int, Issue] = {}
        self.pulls: dict[int, Pull] = {}
        self.dispatches: list[Mapping[str, Any]] = []
        self.protected: set[str] = set()
        self.former_names: set[str] = set()
        self.has_issues = True
        self.archived = False
        self.owner_is_organization = True
        self.actions_may_open_pulls = True
        self.drafts_supported = True
        self._clock = clock
        self._ids = {
            kind: Counter(start + number % 1000)
            for kind, start in (
                ("issue", 2_846_213_377),
                ("pull", 2_193_884_501),
                ("comment", 3_120_448_219),
                ("event", 18_230_117_043),
                ("label", 8_291_735_410),
            )
        }

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def bare(self) -> Path:
        """The bare repository: what tests push to."""
        return self.git.path

    @property
    def owner_account(self) -> Account:
        return Account(self.owner, "Organization" if self.owner_is_organization else "User")

    def commit(
        self, branch: str, files: Mapping[str, str | bytes], message: str = "a change"
    ) -> str:
        """Commit ``files`` on ``branch`` of the bare repository; the commit's id."""
        return self.git.commit(branch, files, message)

    def role(self, login: str) -> str | None:
        """The role given to ``login``, None when none was given."""
        known = {name.lower(): role for name, role in self.permissions.items()}
        return known.get(login.lower())

    def rename(self, full_name: str) -> None:
        """Rename or transfer the repository: the old name redirects from now on."""
        self.former_names.add(self.full_name.lower())
        self.owner, self.name = full_name.split("/")

    # Issues

    def add_issue(
        self,
        title: str = "a title",
        body: str | None = None,
        author: str = "mona",
        labels: Iterable[str] = (),
        *,
        at: datetime | None = None,
    ) -> Issue:
        """Open an issue as ``author``, who also adds the labels."""
        return self._open(title, body, author, labels, at or self._clock(), is_pull=False)

    def _open(
        self,
        title: str,
        body: str | None,
        author: str,
        labels: Iterable[str],
        now: datetime,
        *,
        is_pull: bool,
    ) -> Issue:
        number = len(self.issues) + 1
        issue = Issue(self._ids["issue"](), number, title, body, author, now, now, is_pull=is_pull)
        issue.versions.append(BodyEdit(now, author, body or ""))
        self.issues[number] = issue
        for name in labels:
            self.label(number, name, by=author, at=now)
        return issue

    def _happened(
        self, issue: Issue, kind: str, actor: str, at: datetime | None, **details: Any
    ) -> datetime:
        now = at or self._clock()
        issue.timeline.append(Happening(self._ids["event"](), kind, actor, now, details))
        issue.updated_at = max(issue.updated_at, now)
        return now

    def known_label(self, name: str) -> Label | None:
        return self.labels.get(name.lower())

    def add_label(self, name: str, color: str = "ededed", description: str | None = None) -> Label:
        """The repository's label of that name, made when it is missing."""
        made = Label(self._ids["label"](), name, color, description)
        return self.labels.setdefault(name.lower(), made)

    def rename_label(self, label: Label, name: str) -> None:
        del self.labels[label.name.lower()]
        for issue in self.issues.values():
            issue.labels = [name if known == label.name else known for known in issue.labels]
        label.name = name
        self.labels[name.lower()] = label

    def remove_label(self, label: Label) -> None:
        """Delete a label of the repository: every issue loses it."""
        del self.labels[label.name.lower()]
        for issue in self.issues.values():
            issue.labels = [name for name in issue.labels if name != label.name]

    def label(self, number: int, name: str, *, by: str, at: datetime | None = None) -> None:
        """Put a label on an issue; nothing happens when it is already there."""
        issue, label = self.issues[number], self.add_label(name)
        if label.name not in issue.labels:
            issue.labels.append(label.name)
            self._happened(
                issue, "labeled", by, at, label={"name": label.name, "color": label.color}
            )

    def unlabel(self, number: int, name: str, *, by: str, at: datetime | None = None) -> bool:
        """Take a label off an issue; whether it was there."""
        issue, label = self.issues[number], self.known_label(name)
        if label is None or label.name not in issue.labels:
            return False
        issue.labels.remove(label.name)
        self._happened(issue, "unlabeled", by, at, label={"name": label.name, "color": label.color})
        return True

    def edit(
        self,
        number: int,
        *,
        by: str,
        title: str | None = None,
        body: str | None = None,
        at: datetime | None = None,
    ) -> None:
        """Change title or body: a rename is in the timeline, an edited body only in its history."""
        issue = self.issues[number]
        now = at or self._clock()
        if title is not None and title != issue.title:
            self._happened(issue, "renamed", by, now, rename={"from": issue.title, "to": title})
            issue.title = title
        if body is not None and body != (issue.body or ""):
            issue.versions.append(BodyEdit(now, by, body))
            issue.body = body
            issue.updated_at = max(issue.updated_at, now)

    def comment(self, number: int, body: str, *, by: str, at: datetime | None = None) -> Comment:
        """Write a comment."""
        issue, now = self.issues[number], at or self._clock()
        comment = Comment(self._ids["comment"](), body, by, now, now)
        issue.comments.append(comment)
        issue.timeline.append(Happening(comment.id, "commented", by, now, comment=comment))
        issue.updated_at = max(issue.updated_at, now)
        return comment

    def find_comment(self, identity: int) -> tuple[Issue, Comment] | None:
        for issue in self.issues.values():
            for comment in issue.comments:
                if comment.id == identity:
                    return issue, comment
        return None

    def remove_comment(self, comment: Comment) -> None:
        for issue in self.issues.values():
            if comment in issue.comments:
                issue.comments.remove(comment)
                issue.timeline = [entry for entry in issue.timeline if entry.comment is not comment]

    def close(
        self, number: int, *, by: str, reason: str = "completed", at: datetime | None = None
    ) -> None:
        """Close an issue, or say another reason for one that is closed."""
        issue = self.issues[number]
        if issue.state == "open":
            now = self._happened(issue, "closed", by, at, state_reason=reason)
            issue.state, issue.closed_at, issue.closed_by = "closed", now, by
        issue.state_reason = None if issue.is_pull else reason

    def reopen(self, number: int, *, by: str, at: datetime | None = None) -> None:
        issue = self.issues[number]
        if issue.state == "closed":
            self._happened(issue, "reopened", by, at)
            issue.state, issue.closed_at, issue.closed_by = "open", None, None
            issue.state_reason = None if issue.is_pull else "reopened"

    def lock(self, number: int, *, by: str, reason: str | None = None) -> None:
        """Lock the conversation: only people with write access may comment."""
        issue = self.issues[number]
        issue.locked, issue.lock_reason = True, reason
        self._happened(issue, "locked", by, None, lock_reason=reason)

    def convert_to_discussion(self, number: int, *, by: str) -> None:
        """The issue stays, closed and locked; the timeline alone says why."""
        issue = self.issues[number]
        self._happened(issue, "converted_to_discussion", by, None)
        self.close(number, by=by)
        issue.locked = issue.is_discussion = True

    def delete_issue(self, number: int) -> None:
        """Delete an issue: 410 from now on."""
        self.issues[number].deleted = True

    def transfer(self, number: int, to: Repository, *, by: str) -> Issue:
        """Move an issue to another repository: the old address redirects."""
        issue = self.issues[number]
        moved = to.add_issue(issue.title, issue.body, issue.author)
        for comment in issue.comments:
            to.comment(moved.number, comment.body, by=comment.author, at=comment.created_at)
        to._happened(moved, "transferred", by, None)
        issue.moved_to = (to, moved.number)
        return moved

    def listed(self) -> Iterator[Issue]:
        """Issues and pull requests that still live here."""
        for issue in self.issues.values():
            if not issue.deleted and issue.moved_to is None:
                yield issue

    # Pull requests

    def add_pull(
        self,
        head: str,
        base: str = "main",
        title: str = "a change",
        body: str | None = None,
        *,
        by: str = "mona",
        draft: bool = False,
    ) -> Pull:
        """Open a pull request between two branches that exist."""
        head_sha, base_sha = self.git.branch(head), self.git.branch(base)
        assert head_sha and base_sha, f"no branch {base if head_sha else head}"
        issue = self._open(title, body, by, (), self._clock(), is_pull=True)
        pull = Pull(self._ids["pull"](), issue, head, base, head_sha, base_sha, draft)
        self.pulls[issue.number] = pull
        return pull

    def sync(self, pull: Pull) -> None:
        """Let an open pull request follow its branches; what they lost, it keeps."""
        if pull.state == "open":
            pull.head_sha = self.git.branch(pull.head) or pull.head_sha
            pull.base_sha = self.git.branch(pull.base) or pull.base_sha

    def merge(self, number: int, *, by: str) -> str:
        """Merge a pull request for real; the merge commit."""
        pull = self.pulls[number]
        self.sync(pull)
        message = f"Merge pull request #{number} from {self.owner}/{pull.head}\n\n{pull.title}"
        pull.merge_commit = self.git.merge(pull.base, pull.head_sha, message)
        pull.merged_at = self._happened(pull.issue, "merged", by, None)
        pull.merged_by = by
        self.close(number, by=by)
        return pull.merge_commit
