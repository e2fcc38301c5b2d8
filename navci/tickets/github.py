"""One repository on GitHub: its issues, what is said there, who may do what, its pull requests.

Every method raises :class:`TrackerError` with a sentence: what could not be done, why, what to do.
Requests are sent again by the rules of :mod:`navci.tickets.retry`; what must be made once is made
once even when the answer was lost. The numbers of requests are those without faults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from pydantic import TypeAdapter

from navci.errors import ConfigError, TrackerError
from navci.system.clock import SYSTEM_CLOCK, Clock
from navci.tickets.github_answers import (
    EDITS,
    LEVELS,
    Closed,
    CloseReason,
    Edit,
    EditsAnswer,
    EventAnswer,
    Happened,
    Issue,
    IssueAnswer,
    LabelAnswer,
    Permission,
    Pull,
    PullAnswer,
    label_names,
)
from navci.tickets.github_comments import Comments
from navci.tickets.retry import Patience

if TYPE_CHECKING:  # heavy
    from github.Repository import Repository

    from navci.tickets.github_line import Line

API = "https://api.github.com"
TIMEOUT = 20.0
"""Seconds GitHub may be silent; it gives a request up itself after 10."""

_COLOUR = "5319e7"
_LABELS = TypeAdapter(tuple[LabelAnswer | str, ...])
_REPOSITORY = re.compile(r"[A-Za-z0-9_-]+/(?!\.\.?$)[A-Za-z0-9_.-]+")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\[bot\])?")
_TOKEN = re.compile(r"[!-~]+")


class GitHub:
    """The repository ``name`` (``owner/name``)."""

    def __init__(self, line: Line, repository: Repository, name: str) -> None:
        self.name = name
        self._line = line
        self._repository = repository
        self._comments: dict[int, Comments] = {}
        self._permissions: dict[str, Permission] = {}

    @classmethod
    def connect(
        cls,
        environment: Mapping[str, str],
        *,
        token: str | None = None,
        say: Callable[[str], None] | None = None,
        deadline: float = 600.0,
        timeout: float = TIMEOUT,
        clock: Clock = SYSTEM_CLOCK,
        stopped: Callable[[], bool] = lambda: False,
    ) -> GitHub:
        """The repository that ``GITHUB_REPOSITORY`` names, at ``GITHUB_API_URL``. No request yet.

        ``say`` gets a line at most once a minute while GitHub keeps navci waiting, which is
        ``deadline`` seconds at most for one spell of trouble, and ends when ``stopped`` says so.
        Raises :class:`ConfigError`.
        """
        name = environment.get("GITHUB_REPOSITORY", "")
        url = (environment.get("GITHUB_API_URL") or API).rstrip("/")
        secret = (token or environment.get("NAVCI_GITHUB_TOKEN", "")).strip()
        problems = list(_problems(name, url, secret))
        if problems:
            raise ConfigError(*problems)
        # Everything that a request needs is loaded here, before an agent could change a file of it.
        from github.Repository import Repository

        from navci.tickets.github_line import Line

        patience = Patience(deadline, clock=clock, say=say or (lambda _: None), stopped=stopped)
        line = Line(url, secret, patience, clock, timeout)
        return cls(line, Repository(line, url=f"/repos/{name}"), name)

    # --- reading ----------------------------------------------------------------------------

    def issue(self, number: int) -> Issue:
        """The issue as it is now; a pull request is one too. 1 request."""
        with self._errand(f"read {self._at(number)}", "issues: read"):
            answer = self._repository.get_issue(number).raw_data
            return IssueAnswer.model_validate(answer).issue()

    def timeline(self, number: int) -> tuple[Happened, ...]:
        """What happened to the issue, oldest first. 1 request a 100 events."""
        with self._errand(f"read the timeline of {self._at(number)}", "issues: read"):
            rows = self._line.rows(f"/repos/{self.name}/issues/{number}/timeline")
            return tuple(EventAnswer.model_validate(row).happened() for row in rows)

    def edits(self, number: int) -> tuple[Edit, ...]:
        """The changes of the issue's body, newest first; 100 at most. 1 request, by GraphQL."""
        owner, _, name = self.name.partition("/")
        with self._errand(f"read the edits of {self._at(number)}", "issues: read"):
            answer = self._line.query(EDITS, owner=owner, name=name, number=number)
            return EditsAnswer.model_validate(answer).edits()

    def edited(self, number: int) -> Edit | None:
        """The last change of the issue's body. 1 request."""
        return next(iter(self.edits(number)), None)

    def permission(self, login: str) -> Permission:
        """What ``login`` may do in the repository; asked once for each. 1 request."""
        if not _LOGIN.fullmatch(login):
            return Permission.NONE  # nobody can have that name
        key = login.casefold()
        if key not in self._permissions:
            self._permissions[key] = self._permission(login)
        return self._permissions[key]

    def _permission(self, login: str) -> Permission:
        try:
            with self._errand(f"ask what {login} may do in {self.name}", "contents: read"):
                word = self._repository.get_collaborator_permission(login)
        except TrackerError as error:
            if error.status == 404 and "is not a user" in error.said:
                return Permission.NONE  # an app, or an account that is gone
            raise
        return LEVELS.get(word, Permission.NONE)

    def labelled(self, label: str) -> Iterator[Issue]:
        """Every open issue with ``label``, oldest first, no pull requests. 1 request a 100."""
        # A comma separates labels there; such a label can only be looked for here.
        only = {} if "," in label else {"labels": label}
        with self._errand(f"list the issues of {self.name} labelled {label}", "issues: read"):
            rows = self._line.rows(
                f"/repos/{self.name}/issues", state="open", sort="created", direction="asc", **only
            )
            answers = [IssueAnswer.model_validate(row).issue() for row in rows]
        # An issue may be on two pages when others were closed meanwhile.
        found = {issue.number: issue for issue in answers}
        return (each for each in found.values() if each.has_label(label) and not each.is_pull)

    # --- saying -----------------------------------------------------------------------------

    def sticky(self, number: int, key: str, body: str) -> str:
        """Edit the issue's one comment ``key``, or make it. Its address.

        The comment is found by the hidden line it begins with, and only among those of bots and
        of people who belong to the repository. 1 request, and once 1 a 100 comments before it.
        """
        return self._comments_of(number).sticky(key, body)

    def say(self, number: int, key: str, body: str) -> str:
        """A new comment, but one for each ``key`` for ever. Its address. Requests as above."""
        return self._comments_of(number).say(key, body)

    def _comments_of(self, number: int) -> Comments:
        if number not in self._comments:
            issue = self._repository.get_issue(number)
            self._comments[number] = Comments(self._line, issue, self.name, self._at(number))
        return self._comments[number]

    # --- changing ---------------------------------------------------------------------------

    def labels(self, number: int, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Put labels on and take others off; those that are missing are made.

        1 request for all that are added, 1 for each that is there and removed.
        """
        added = list(add)
        kept = {name.casefold() for name in added}
        has: set[str] | None = None
        if added:
            has = self._add_labels(number, added)
            missing = [name for name in added if name.casefold() not in has]
            if missing:
                for name in missing:
                    self._make_label(name)
                has = self._add_labels(number, added)
        for name in remove:
            if name.casefold() not in kept and (has is None or name.casefold() in has):
                self._remove_label(number, name)

    def _add_labels(self, number: int, names: list[str]) -> set[str]:
        """All the issue has now, whatever their case."""
        with self._errand(f"label {self._at(number)}", "issues: write"):
            _, answer = self._line.requestJsonAndCheck(
                "POST", f"/repos/{self.name}/issues/{number}/labels", input={"labels": names}
            )
            labels = _LABELS.validate_python(answer)
        return {name.casefold() for name in label_names(labels)}

    def _make_label(self, name: str) -> None:
        try:
            with self._errand(f"make the label {name} in {self.name}", "issues: write"):
                self._repository.create_label(name, _COLOUR)
        except TrackerError as error:
            if error.status != 422 or "already_exists" not in error.said:
                raise

    def _remove_label(self, number: int, name: str) -> None:
        if name in (".", ".."):  # would be a step in the address
            raise TrackerError("refused", f"the label {name} can only be taken off by hand")
        try:
            with self._errand(f"take the label {name} off {self._at(number)}", "issues: write"):
                # Not PyGithub's own: it leaves the slash in a label's name as it is.
                path = f"/repos/{self.name}/issues/{number}/labels/{quote(name, safe='')}"
                self._line.requestJsonAndCheck("DELETE", path)
        except TrackerError as error:
            if error.status != 404 or "label" not in error.said.lower():
                raise

    def close(self, number: int, reason: CloseReason) -> Closed:
        """Close the issue; GitHub's answer must say that it is closed. 1 request."""
        with self._errand(f"close {self._at(number)}", "issues: write"):
            issue = self._repository.get_issue(number)
            issue.edit(state="closed", state_reason=reason)
            if issue.state != "closed":
                raise TrackerError(
                    "refused",
                    f"could not close {self._at(number)}: GitHub took the request and says it is "
                    f"still {issue.state}; close it by hand",
                )
            return Closed(number, issue.state_reason, issue.html_url)

    def pull(self, head: str, base: str, title: str, body: str, *, draft: bool) -> Pull:
        """The open pull request of branch ``head`` into ``base``: opened, or its text renewed.

        One that is there stays a draft, or ready, as it is. Where a repository knows no drafts a
        ready one is opened. 2 requests.
        """
        with self._errand(f"look for pull requests of {head}", "pull-requests: read"):
            found = self._find_pull(head, base)
        if found is None:
            try:
                return self._open_pull(head, base, title, body, draft=draft)
            except TrackerError as error:
                said = error.said.lower() if error.status == 422 else ""
                if draft and "draft" in said:
                    return self._open_pull(head, base, title, body, draft=False)
                if "already exists" not in said:
                    raise
                with self._errand(f"look for pull requests of {head}", "pull-requests: read"):
                    found = self._find_pull(head, base)
                if found is None:
                    raise
        with self._errand(f"edit {self._at(found.number)}", "pull-requests: write"):
            self._repository.get_pull(found.number).edit(title=title, body=body)
        return found.pull(opened=False)

    def _open_pull(self, head: str, base: str, title: str, body: str, *, draft: bool) -> Pull:
        def send() -> PullAnswer:
            made = self._repository.create_pull(base, head, title=title, body=body, draft=draft)
            return PullAnswer.model_validate(made.raw_data)

        with self._errand(f"open a pull request for {head}", "pull-requests: write"):
            return self._line.once(send, lambda: self._find_pull(head, base)).pull(opened=True)

    def _find_pull(self, head: str, base: str) -> PullAnswer | None:
        owner = self.name.partition("/")[0]
        rows = self._line.rows(
            f"/repos/{self.name}/pulls", state="open", head=f"{owner}:{head}", base=base
        )
        answers = (PullAnswer.model_validate(row) for row in rows)
        # GitHub leaves out a filter that it does not understand.
        return next((answer for answer in answers if answer.head.ref == head), None)

    def _errand(self, doing: str, needs: str) -> AbstractContextManager[None]:
        return self._line.errand(doing, self.name, needs)

    def _at(self, number: int) -> str:
        return f"{self.name}#{number}"


def _problems(name: str, url: str, token: str) -> Iterator[str]:
    """What is wrong with the environment."""
    if not _REPOSITORY.fullmatch(name):
        yield (
            f"GITHUB_REPOSITORY is {name!r}; it must name the repository, for example octo/demo"
            if name
            else "GITHUB_REPOSITORY is not set; it must name the repository, for example octo/demo"
        )
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and parts.hostname and not parts.username
        fine = fine and (parts.port or True) and not parts.query and not parts.fragment
    except ValueError:
        fine = False
    if not fine:
        yield (
            f"GITHUB_API_URL is {url!r}; it must be an address like https://api.github.com or "
            "https://github.example.com/api/v3"
        )
    if not token:
        yield "there is no token for GitHub; give `github-token`, or set NAVCI_GITHUB_TOKEN"
    elif not _TOKEN.fullmatch(token):
        yield "the token for GitHub has characters that no token has; see NAVCI_GITHUB_TOKEN"
