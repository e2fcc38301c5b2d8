"""One request on its way to an endpoint: who asks, what for, and what they may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.fake_github.contract import template_pattern
from tests.fake_github.people import Token, at_least
from tests.fake_github.records import Issue, Pull
from tests.fake_github.shapes import Shapes
from tests.fake_github.state import Repository
from tests.fake_github.words import Refusal, not_found

if TYPE_CHECKING:
    from tests.fake_github.server import FakeGitHub

REDIRECTS = (
    "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"
)


@dataclass
class Answer:
    """``body``: what becomes JSON; None is an empty body."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Call:
    """A parsed request; ``of``: what the path's parameters hold."""

    hub: FakeGitHub
    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    token: Token | None
    of: Mapping[str, str] = field(default_factory=dict)

    @property
    def shapes(self) -> Shapes:
        return self.hub.shapes

    @property
    def login(self) -> str:
        """Who asks; only after an access check that needs someone."""
        assert self.token is not None
        return self.token.login

    @property
    def repo(self) -> Repository:
        """The repository that the path names; a former name redirects."""
        full_name = f"{self.of['owner']}/{self.of['repo']}"
        repo = self.hub.find(full_name)
        if repo is None:
            raise not_found()
        if repo.full_name.lower() != full_name.lower():
            rest = self.path.split("/", 4)[4:]
            # Recorded: what reads is sent on with 301, what writes with 307.
            status = 301 if self.method == "GET" else 307
            raise self.moved("/".join([f"/repositories/{repo.id}", *rest]), status)
        return repo

    def moved(self, path: str, status: int) -> Refusal:
        """A redirect to ``path``."""
        url = self.shapes.api + path + (f"?{urlencode(self.query)}" if self.query else "")
        refusal = Refusal(status, "Moved Permanently", docs=REDIRECTS, url=url)
        refusal.headers["Location"] = url
        return refusal

    def role(self, repo: Repository, login: str | None = None) -> str:
        """What ``login`` (the caller) is in ``repo``; everybody reads what is public."""
        given = repo.role(self.login if login is None else login)
        return given or ("none" if repo.private else "read")

    def reading(self, *permissions: str) -> Repository:
        """The repository, when the caller may read such things of it."""
        repo = self.repo
        if self.token is None:
            if repo.private:
                raise not_found()
        elif repo.private:
            if not self.token.is_bot and self.role(repo) == "none":
                raise not_found()
            if not self.token.reads(*permissions):
                raise self.token.refused()
        return repo

    def writing(self, *permissions: str, least: str = "write") -> Repository:
        """The repository, when the caller may write such things; ``least``: a person's role."""
        repo = self.repo
        if self.token is None:
            raise not_found() if repo.private else Refusal(401, "Requires authentication")
        if not self.token.is_bot:
            role = self.role(repo)
            if role == "none":
                raise not_found()
            if not at_least(role, least):
                raise Refusal(403, "Must have admin rights to Repository.")
        if not self.token.writes(*permissions):
            raise self.token.refused()
        if repo.archived:
            raise Refusal(403, "Repository was archived so is read-only.")
        return repo

    def may_push(self, repo: Repository) -> bool:
        assert self.token is not None
        return self.token.is_bot or at_least(self.role(repo), "write")

    def issue(self, repo: Repository) -> Issue:
        """The issue that the path names: gone, moved, or here."""
        issue = repo.issues.get(int(self.of["issue_number"]))
        if issue is None:
            raise not_found()
        if issue.deleted:
            raise Refusal(410, "This issue was deleted")
        if issue.moved_to is not None:
            # Only the issue itself redirects, not what lies under it.
            if self.path.count("/") > 5:
                raise not_found()
            to, number = issue.moved_to
            raise self.moved(f"/repositories/{to.id}/issues/{number}", 301)
        if not repo.has_issues and not issue.is_pull:
            raise Refusal(410, "Issues has been disabled in this repository.")
        return issue

    def pull(self, repo: Repository) -> Pull:
        pull = repo.pulls.get(int(self.of["pull_number"]))
        if pull is None:
            raise not_found()
        repo.sync(pull)
        return pull

    def paged(self, repo: Repository, items: Sequence[Any], shape: Callable[[Any], Any]) -> Answer:
        """A page of ``items`` with GitHub's Link header, which names the repository by number."""
        size = min(int(self.query.get("per_page", "30")) or 30, 100)
        page = max(int(self.query.get("page", "1")), 1)
        last = max(-(-len(items) // size), 1)
        place = "/".join([f"/repositories/{repo.id}", *self.path.split("/", 4)[4:]])

        def link(relation: str, number: int) -> str:
            query = urlencode({**self.query, "page": str(number)})
            return f'<{self.shapes.api}{place}?{query}>; rel="{relation}"'

        links = [link("prev", min(page - 1, last))] if page > 1 else []
        if page < last:
            links += [link("next", page + 1), link("last", last)]
        if page > 1:
            links.append(link("first", 1))
        chosen = [shape(item) for item in items[(page - 1) * size : page * size]]
        return Answer(200, chosen, {"Link": ", ".join(links)} if links else {})


Endpoint = Callable[[Call], Answer]
ENDPOINTS: list[tuple[str, str, Endpoint]] = []


def endpoint(method: str, template: str) -> Callable[[Endpoint], Endpoint]:
    """Register a function for one operation, its path spelled as in GitHub's description."""

    def register(function: Endpoint) -> Endpoint:
        ENDPOINTS.append((method, template, function))
        return function

    return register


class Router:
    """Finds the endpoint of a path."""

    def __init__(self) -> None:
        self._known = [
            (method, template_pattern(template), function)
            for method, template, function in ENDPOINTS
        ]

    def carry_out(self, call: Call) -> Answer:
        for method, pattern, function in self._known:
            found = pattern.fullmatch(call.path)
            if method == call.method and found:
                call.of = found.groupdict()
                return function(call)
        raise not_found()
