"""What ``navci init`` writes, in jobs: a pytest project, its issue labelled, everything real.

The repository, the workflows, the action and the commands are the real ones; GitHub is the fake
one on loopback, the agent a script. A clean machine verifies before the issue is closed.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fake_github import FakeGitHub, payloads
from tests.fake_github.state import Repository
from tests.support.act import ActRun, navci_at, run_act, stand_ins
from tests.support.navci_run import PROGRAM
from tests.support.repos import clean_env, commit_all, git, make_repo
from tests.support.wheelhouse import cached, pip_download, wheelhouse

pytestmark = pytest.mark.e2e

PIN = "5" * 40
TOKEN = "ghs_of_the_job"
BOT = "github-actions[bot]"
WRONG = "def is_prime(n):\n    return n > 0 and all(n % d for d in range(2, n))\n"
TEST = """\
import pytest
from primes import is_prime

@pytest.mark.parametrize(("n", "answer"), [(1, False), (2, True), (9, False), (11, True)])
def test_is_prime(n, answer):
    assert is_prime(n) is answer
"""
AGENT = """\
prompt=$(cat)
echo "I read ${#prompt} characters."
sed -i 's/n > 0/n > 1/' primes.py
printf '```pilot-signal\\n{"v": 2, "type": "exit", "success": true, "reason": "1 is none"}\\n```\\n'
"""


@dataclass
class Project:
    """A user's repository on GitHub and here."""

    folder: Path
    fake: FakeGitHub
    repo: Repository
    scratch: Path

    def work(self, event: str, payload: dict[str, Any], workflow: str) -> ActRun:
        """Let GitHub start ``workflow``."""
        artifacts = self.scratch / "artifacts"
        artifacts.mkdir(parents=True, exist_ok=True)
        home = self.scratch / "act" / "home"
        pip = home / ".config" / "pip" / "pip.conf"
        pip.parent.mkdir(parents=True, exist_ok=True)
        wheels = f"{wheelhouse()} {cached('pytest-wheels', _fetch_pytest)}"
        pip.write_text(f"[global]\nno-index = true\nfind-links = {wheels}\n", "utf-8")
        return run_act(
            self.folder,
            event,
            payload,
            workflow=self.folder / ".github" / "workflows" / workflow,
            scratch=self.scratch / "act",
            actions={**navci_at(PIN, self.scratch / "navci"), **stand_ins()},
            env={"STAND_IN_ORIGIN": str(self.repo.bare), "STAND_IN_ARTIFACTS": str(artifacts)},
            github={
                "GITHUB_REPOSITORY": self.repo.full_name,
                "GITHUB_API_URL": self.fake.api_url,
                "GITHUB_GRAPHQL_URL": self.fake.graphql_url,
                "GITHUB_SERVER_URL": self.fake.server_url,
                "NO_PROXY": "127.0.0.1",
            },
            secrets={"GITHUB_TOKEN": TOKEN},
            timeout=600,
        )


def _fetch_pytest(folder: Path) -> None:
    pip_download(folder, "pytest")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    files = {"primes.py": WRONG, "test_primes.py": TEST, ".gitignore": ".venv/\n", "bot.sh": AGENT}
    folder = make_repo(tmp_path / "primes", files)
    said = subprocess.run(
        [PROGRAM, "init", "--agent-command", "bash bot.sh", "--max-iterations", "3", "--ref", PIN],
        cwd=folder, env=clean_env(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr
    commit_all(folder, "navci")
    with FakeGitHub(tmp_path) as fake:
        repo = fake.repository("octo/primes")
        repo.permissions["mona"] = "write"
        fake.token(TOKEN, login=BOT, can={"issues", "contents", "pull-requests", "metadata"})
        git(folder, "push", "-q", str(repo.bare), "main")
        yield Project(folder, fake, repo, tmp_path / "scratch")


def labelled(project: Project) -> dict[str, Any]:
    issue = project.repo.add_issue("1 is no prime", "- [ ] 1 is none", labels=["loop-mode"])
    return payloads.labeled(project.fake, project.repo, issue.number, "loop-mode", sender="mona")


def test_from_the_label_to_the_close(project: Project) -> None:
    act = project.work("issues", labelled(project), "loop-mode.yml")
    assert act.exit_code == 0, act.log
    issue = project.repo.issues[1]
    assert (issue.state, issue.state_reason) == ("closed", "completed"), act.log
    assert "loop-complete" in issue.labels
    (pull,) = project.repo.pulls.values()
    assert pull.draft and pull.head == "navci/issue-1"
    assert "n > 1" in git(project.repo.bare, "show", "navci/issue-1:primes.py")
    assert (project.scratch / "artifacts" / "loop-complete-issue-1").is_dir()
    # The loop leaves the issue open; a clean machine verifies; then it is closed.
    assert "issue-1: closed" in act.log.partition("VERIFIED: ")[2], act.log


def test_a_night(project: Project) -> None:
    labelled(project)
    project.repo.add_issue("Not asked for")
    project.repo.add_issue("Of a stranger", "Do it.", author="eve", labels=["loop-mode"])
    act = project.work("schedule", {"schedule": "1 2 * * *"}, "nightly.yml")
    assert act.exit_code == 0, act.log
    states = {number: issue.state for number, issue in project.repo.issues.items()}
    assert states == {1: "closed", 2: "open", 3: "open", 4: "open"}, act.log  # 4: pull request
    assert "#3 is skipped: eve put loop-mode on, and has no write access here" in act.log
    digest = act.summaries[-1]
    assert "complete" in digest and "#1" in digest
    assert "#2" not in digest and "#3" not in digest


def test_a_comment_of_somebody_who_may_not(project: Project) -> None:
    """One job that says why, and none that works."""
    issue = project.repo.add_issue("1 is no prime", "It says it is.")
    payload = payloads.commented(
        project.fake, project.repo, issue.number, "/navci run", sender="eve"
    )
    act = project.work("issue_comment", payload, "loop-mode.yml")
    assert act.exit_code == 0, act.log
    assert "not run: eve wrote the comment, and has no write access here" in act.log
    assert not (project.scratch / "artifacts").exists() or not list(
        (project.scratch / "artifacts").iterdir()
    )
    assert git(project.repo.bare, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
