"""The fake GitHub with one repository, and navci connected to it; waits pass at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from navci.tickets.github import GitHub
from tests.fake_github import FakeGitHub
from tests.fake_github.state import Repository
from tests.support.waiting_clock import WaitingClock

BOT = "github-actions[bot]"
TOKEN = "ghs_good"


@dataclass
class Hub:
    """``octo/demo``; there is a commit on ``main`` as soon as there is a branch."""

    fake: FakeGitHub
    repo: Repository
    clock: WaitingClock = field(default_factory=WaitingClock)
    said: list[str] = field(default_factory=list)

    @classmethod
    @contextmanager
    def start(cls, folder: Path, prefix: str = "") -> Iterator[Hub]:
        with FakeGitHub(folder, prefix=prefix) as fake:
            repo = fake.repository("octo/demo")
            fake.token(TOKEN, login=BOT, can={"issues", "contents", "pull-requests", "metadata"})
            yield cls(fake, repo)

    def github(
        self, *, token: str = TOKEN, deadline: float = 600.0, timeout: float = 5.0
    ) -> GitHub:
        """A new process's connection."""
        environment = {"GITHUB_REPOSITORY": "octo/demo", "GITHUB_API_URL": self.fake.api_url}
        return GitHub.connect(
            environment,
            token=token,
            say=self.said.append,
            deadline=deadline,
            timeout=timeout,
            clock=self.clock,
        )

    def branch(self, name: str) -> None:
        """A branch with a commit that ``main`` does not have, as if pushed."""
        git = self.repo.git
        main = git.branch("main") or self.repo.commit("main", {"README.md": "hello\n"})
        git.set_ref(f"refs/heads/{name}", main)
        self.repo.commit(name, {"change.txt": name})

    def count(self) -> int:
        """Requests so far."""
        return len(self.fake.requests)

    def asked(self) -> list[str]:
        """Them, without what all of them begin with."""
        return [
            f"{seen.method} {seen.path.partition('/repos/octo/demo')[2] or seen.path}"
            for seen in self.fake.requests
        ]
