"""A repository on the fake GitHub with journals of earlier runs; navci's jobs in clones of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from navci.journal import ATTEMPT, ENDED, OPENED, PAUSED, Journal, Lease, State, ref_of
from navci.model import ENDS, End, Memory
from navci.system.clock import Clock
from navci.system.git import Git
from navci.system.gitcall import write_config
from tests.fake_github import FakeGitHub
from tests.fake_github.state import Repository
from tests.support.navci_run import Result, run_navci
from tests.support.repos import git

BOT = "github-actions[bot]"
TOKEN = "ghs_good"
PEOPLE = {"mona": "write", "ada": "admin", "eve": "read", "tria": "triage"}


@dataclass
class At(Clock):
    """A clock that stands still."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment


@dataclass
class Place:
    """``octo/demo``: mona writes, ada is admin, eve reads, tria triages."""

    fake: FakeGitHub
    repo: Repository
    folder: Path
    jobs: int = 0

    @classmethod
    @contextmanager
    def start(
        cls, folder: Path, settings: Mapping[str, object] | None = None, prefix: str = ""
    ) -> Iterator[Place]:
        with FakeGitHub(folder / "github", prefix=prefix) as fake:
            repo = fake.repository("octo/demo")
            fake.token(TOKEN, login=BOT, can={"issues", "contents", "pull-requests", "metadata"})
            config = json.dumps({"github": dict(settings or {})})
            repo.commit("main", {"README.md": "# demo\n", ".agent/.nav-config.json": config})
            repo.permissions |= PEOPLE
            yield cls(fake, repo, folder)

    # What was there before

    def ago(self, **back: float) -> datetime:
        return self.fake.now() - timedelta(**back)

    def issue(
        self, title: str = "Do it", body: str | None = "Please.", *, by: str = "mona",
        author: str = "eve", labels: tuple[str, ...] = (), label: str = "loop-mode",
        at: datetime | None = None,
    ) -> int:  # fmt: skip
        """An issue of eve's that somebody labelled, a day ago if nothing else is said."""
        when = at or self.ago(days=1)
        number = self.repo.add_issue(title, body, author, at=when - timedelta(hours=1)).number
        for name in labels:
            self.repo.label(number, name, by="ada", at=when)
        if label:
            self.repo.label(number, label, by=by, at=when)
        return number

    def journal(
        self, task: str | int, at: datetime, *, end: End | None = None, alive: bool = False,
        contract: str = "", verify_failures: int = 0, **state: Any,
    ) -> State:  # fmt: skip
        """A run of the task that was last heard of ``at``; ``alive``: for the hour after it."""
        name = f"issue-{task}" if isinstance(task, int) else task
        home = self.folder / "journal-home"
        write_config(home)
        journal = Journal(Git(self.repo.bare, self.folder, home), name, At(at))
        until = at.timestamp() + (3600 if alive else 60)
        begun = replace(
            journal.state, run="c0ffee", token="t", started="x", contract=contract, end=None,
            paused=None, memory=Memory(verify_failures=verify_failures), reason="",
            lease=Lease("runner-9", "1", 7, 0.0, "t", until), **state,
        )  # fmt: skip
        journal.append(OPENED, begun)
        journal.append(ATTEMPT, begun)
        if end is not None and ENDS[end].resumable:
            journal.append(PAUSED, replace(begun, paused=end, lease=None, pauses=1, reason="why"))
        elif end is not None:
            journal.append(ENDED, replace(begun, end=end, lease=None, reason="why"))
        return journal.state

    def state(self, number: int) -> dict[str, Any]:
        """The journal's last projection on the remote."""
        said: dict[str, Any] = json.loads(
            git(self.repo.bare, "show", f"{ref_of(f'issue-{number}')}:state.json")
        )
        return said

    def refs(self, below: str) -> list[str]:
        """The refs of the remote."""
        return git(self.repo.bare, "for-each-ref", "--format=%(refname)", below).split()

    def swap(self, number: int, off: str, on: str, at: datetime, by: str = BOT) -> None:
        """What navci does with labels when a run begins or ends."""
        self.repo.label(number, on, by=by, at=at)
        self.repo.unlabel(number, off, by=by, at=at)

    # Jobs

    def clone(self) -> Path:
        self.jobs += 1
        top = self.folder / f"job-{self.jobs}" / "demo"
        url = f"{self.fake.server_url}/octo/demo.git"
        for args in (["clone", "-q", "--depth=1", f"file://{self.repo.bare}", str(top)],
                     ["-C", str(top), "remote", "set-url", "origin", url]):  # fmt: skip
            subprocess.run(["git", *args], check=True)
        return top

    def environment(self, event: str, payload: object = None, **more: str) -> dict[str, str | None]:
        """What the runner gives."""
        path = self.folder / f"event-{self.jobs}.json"
        path.write_text(payload if isinstance(payload, str) else json.dumps(payload or {}))
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event,
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REPOSITORY": "octo/demo",
            "GITHUB_API_URL": self.fake.api_url,
            "GITHUB_SERVER_URL": self.fake.server_url,
            "GITHUB_RUN_ID": str(1000 + self.jobs),
            "GITHUB_RUN_ATTEMPT": "1",
            "NAVCI_GITHUB_TOKEN": TOKEN,
            "NO_PROXY": "127.0.0.1,localhost",
            **more,
        }

    def run(
        self, *args: str, event: str = "schedule", payload: object = None, timeout: float = 120,
        **more: str,
    ) -> Result:  # fmt: skip
        """One job: a fresh clone, and ``navci`` with ``args`` in it."""
        top = self.clone()
        return run_navci(top, *args, env=self.environment(event, payload, **more), timeout=timeout)

    def night(self, *args: str, **more: Any) -> tuple[list[int], dict[int, str], Result]:
        """``navci queue``: the matrix, why others were skipped, and the rest."""
        result = self.run("queue", "--json", *args, **more)
        assert result.exit_code == 0, result.said
        told = json.loads(result.stdout)
        matrix = json.loads(result.outputs["matrix"])
        taken = [entry["issue"] for entry in matrix["include"]]
        assert result.outputs["count"] == str(len(taken))
        assert taken == [row["issue"] for row in told["taken"]]
        return taken, {row["issue"]: row["refusal"] for row in told["skipped"]}, result


def commands_in(log: str) -> list[str]:
    """The workflow commands that the runner would find in a log, by name."""
    found = re.findall(r"^\s*::([\w-]+)", log, re.MULTILINE)
    return found + re.findall(r"##\[([\w-]+)", log)
