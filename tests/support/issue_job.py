"""A job on the fake GitHub: a repository with an issue, a clone of it, and what a runner gives."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fake_github import FakeGitHub, payloads
from tests.fake_github.state import Repository
from tests.support.navci_run import Result, run_navci, write_playbook

BOT = "github-actions[bot]"
TOKEN = "ghs_good"
TEST = "grep -qx 42 answer.txt"
RIGHT = {"write": {"path": "answer.txt", "text": "42\n"}}
WRONG = {"write": {"path": "answer.txt", "text": "41\n"}}
DONE = {"signal": {"type": "exit", "success": True, "reason": "the answer is there"}}


@dataclass
class IssueJob:
    """``octo/demo`` with issue ``number``; every job has a clone of its own."""

    fake: FakeGitHub
    repo: Repository
    number: int
    folder: Path
    jobs: int = 0

    @classmethod
    @contextmanager
    def start(
        cls,
        folder: Path,
        *,
        body: str = "Put 42 into `answer.txt`.",
        files: Mapping[str, str] | None = None,
    ) -> Iterator[IssueJob]:
        with FakeGitHub(folder / "github") as fake:
            repo = fake.repository("octo/demo")
            fake.token(TOKEN, login=BOT, can={"issues", "contents", "pull-requests", "metadata"})
            repo.commit("main", {"README.md": "# demo\n", **(files or {})})
            repo.permissions |= {"mona": "write", "eve": "read"}
            issue = repo.add_issue("Write the answer", body, author="eve", labels=["bug"])
            repo.label(issue.number, "loop-mode", by="mona")
            yield cls(fake, repo, issue.number, folder)

    def clone(self) -> Path:
        """What actions/checkout leaves without its credentials."""
        self.jobs += 1
        top = self.folder / f"job-{self.jobs}" / "demo"
        url = f"{self.fake.server_url}/octo/demo.git"
        for args in (["clone", "-q", str(self.repo.bare), str(top)],
                     ["-C", str(top), "remote", "set-url", "origin", url]):  # fmt: skip
            subprocess.run(["git", *args], check=True)
        return top

    def environment(self, event: str = "issues", payload: Mapping[str, Any] | None = None,
                    **more: str) -> dict[str, str | None]:  # fmt: skip
        """What the runner gives; the event is the labelling by mona."""
        if payload is None:
            payload = payloads.labeled(
                self.fake, self.repo, self.number, "loop-mode", sender="mona"
            )
        path = self.folder / f"event-{self.jobs}.json"
        path.write_text(json.dumps(payload))
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REPOSITORY": "octo/demo",
            "GITHUB_API_URL": self.fake.api_url,
            "GITHUB_GRAPHQL_URL": self.fake.graphql_url,
            "GITHUB_SERVER_URL": self.fake.server_url,
            "GITHUB_RUN_ID": str(1000 + self.jobs),
            "GITHUB_RUN_ATTEMPT": "1",
            "GITHUB_REF_NAME": "main",
            "NAVCI_GITHUB_TOKEN": TOKEN,
            "NO_PROXY": "127.0.0.1,localhost",
            **more,
        }

    def run(self, *turns: Sequence[object], args: Sequence[str] = (), **more: Any) -> Result:
        """One job: a fresh clone, and navci in it with the playbook agent."""
        top = self.clone()
        book = write_playbook(top, *turns)
        return run_navci(
            top, "run", "--agent", "playbook", "--playbook", str(book), "--test-command", TEST,
            "--max-iterations", "3", *args, env=self.environment(**more),
        )  # fmt: skip
