"""Folders of the checkout on PATH: the agent's and the checks' business, never navci's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.navci_run import run_navci, write_playbook
from tests.support.repos import commit_all, git, make_repo, write_files

pytestmark = pytest.mark.e2e

BIN = "node_modules/.bin"
DONE = {"signal": {"type": "exit", "success": True, "reason": "all is well"}}


NAMES = ("git", "bash", "ssh", "git-remote-https")


@pytest.mark.parametrize("there", ["committed", "laid by the agent"])
@pytest.mark.parametrize("before", ["{repo}/bin:", "bin:", "{link}/bin:"], ids=str)
def test_fake_programs_of_the_checkout_are_never_started(
    tmp_path: Path, before: str, there: str
) -> None:
    """With a remote and a token: a git of the checkout would be handed both.

    Committed ones are there when navci looks its programs up, laid ones when it starts them.
    """
    ran = tmp_path / "ran"
    fake = f'#!/bin/sh\n{{ echo "$0 $*"; env; }} >> {ran}\nexit 0\n'
    source = make_repo(tmp_path / "source", {"bin/README": "tools\n"})
    if there == "committed":
        write_files(source, {f"bin/{name}": fake for name in NAMES})
        for name in NAMES:
            (source / "bin" / name).chmod(0o755)
        commit_all(source, "tools of our own")
    git(tmp_path, "clone", "-q", "--bare", str(source), str(tmp_path / "origin.git"))
    repo = tmp_path / "repo"
    git(tmp_path, "clone", "-q", str(tmp_path / "origin.git"), str(repo))
    (tmp_path / "link").symlink_to(repo)
    laid = [{"write": {"path": f"bin/{one}", "text": fake, "mode": "755"}} for one in NAMES]
    other = [{"write": {"path": "answer.txt", "text": "42\n"}}]
    book = write_playbook(repo, [*(other if there == "committed" else laid), DONE])
    path = before.format(repo=repo, link=tmp_path / "link") + os.environ["PATH"]
    result = run_navci(
        repo, "run", "--task", "Do it", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "1", "--test-command", "! true",
        env={"PATH": path, "NAVCI_GITHUB_TOKEN": "ghs_secret"},
    )  # fmt: skip
    assert not ran.exists(), ran.read_text()
    assert result.outputs["outcome"] == "max_iterations", result.said
    assert "refs/navci/" in git(tmp_path / "origin.git", "for-each-ref"), "nothing was pushed"


def test_agent_and_checks_keep_their_path(tmp_path: Path) -> None:
    """A workflow that puts `node_modules/.bin` on PATH goes on working."""
    tool = '#!/bin/sh\ngrep -qx 42 answer.txt && echo "$0 says yes"\n'
    repo = make_repo(tmp_path / "repo", {f"{BIN}/look": tool})
    (repo / BIN / "look").chmod(0o755)
    git(repo, "commit", "-qam", "the tool is a program")
    steps = [{"write": {"path": "answer.txt", "text": "42\n"}}, {"run": "look > seen.txt"}]
    book = write_playbook(repo, [*steps, DONE])
    result = run_navci(
        repo, "run", "--task", "Do it", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "1", "--test-command", "look",
        env={"PATH": f"{repo}/{BIN}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert result.exit_code == 0, result.said
    assert "says yes" in git(repo, "show", f"{result.outputs['commit']}:seen.txt")
