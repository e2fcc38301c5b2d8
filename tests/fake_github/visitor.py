"""PyGithub lazily against the fake, as a test of the fake itself uses it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from github import Auth, Github, GithubException
from github.Repository import Repository as Client

from tests.fake_github import FakeGitHub, Repository

GOOD = "good"
EDITS = """
query ($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) {
      lastEditedAt
      editor { login }
      userContentEdits(first: 2) { totalCount nodes { editedAt editor { login } } }
    }
  }
}
"""


class Raw(NamedTuple):
    """An answer as it came."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass
class World:
    """The fake, its one repository, and PyGithub lazily against it."""

    hub: FakeGitHub
    repo: Repository

    def github(self, token: str = GOOD) -> Github:
        return Github(
            base_url=self.hub.api_url,
            auth=Auth.Token(token),
            lazy=True,
            per_page=100,
            retry=None,
            timeout=5,
            seconds_between_requests=0,
            seconds_between_writes=0,
        )

    def client(self, token: str = GOOD) -> Client:
        return self.github(token).get_repo("octo/demo")

    def ask(self, method: str, path: str, token: str = GOOD, body: Any = None) -> Any:
        """One request past PyGithub's classes; its JSON, to which PyGithub may add a ``url``."""
        _, data = self.github(token).requester.requestJsonAndCheck(method, path, input=body)
        return data

    def raw(self, method: str, path: str, token: str = "", body: bytes = b"") -> Raw:
        """One request past PyGithub; ``path`` is below the API's address, or a whole address."""
        headers = {"Authorization": f"token {token}"} if token else {}
        connection = HTTPConnection(self.hub.server_url.removeprefix("http://"), timeout=5)
        with closing(connection):
            place = path if path.startswith("http") else self.hub.api_url + path
            connection.request(method, place, body or None, headers)
            answer = connection.getresponse()
            return Raw(answer.status, dict(answer.headers), answer.read())

    def edits(self, number: int, token: str = GOOD) -> dict[str, Any]:
        variables = {"owner": "octo", "name": "demo", "number": number}
        _, data = self.github(token).requester.graphql_query(EDITS, variables)
        issue: dict[str, Any] = data["data"]["repository"]["issue"]
        return issue


@contextmanager
def a_world(folder: Path, prefix: str = "") -> Iterator[World]:
    with FakeGitHub(folder, prefix=prefix) as hub:
        repo = hub.repository("octo/demo")
        hub.token(GOOD)
        start = repo.commit("main", {"README.md": "hello\n"})
        repo.git.set_ref("refs/heads/navci/issue-1", start)
        repo.commit("navci/issue-1", {"new.py": "print()\n"})
        yield World(hub, repo)


def refused(call: Callable[[], object], status: int, words: str) -> None:
    with pytest.raises(GithubException) as caught:
        call()
    assert caught.value.status == status
    assert words in json.dumps(caught.value.data)
