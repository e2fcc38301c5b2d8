"""What navci starts by name is never a program of the checkout."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from navci.system.programs import outside
from tests.support.navci_run import run_navci, write_playbook
from tests.support.repos import make_repo


def test_a_path_without_the_checkout(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"node_modules/.bin/x": "", "src/y": ""})
    (tmp_path / "link").symlink_to(repo / "node_modules")
    given = f"{repo}/node_modules/.bin:/usr/bin:bin::.:{tmp_path}/link/.bin:{tmp_path}/other"
    assert outside(given, repo / "src") == f"/usr/bin:{tmp_path}/other"


@pytest.mark.e2e
def test_a_git_and_a_bash_of_the_checkout_are_not_started(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    fake = f'#!/bin/sh\n{{ echo "$0 $*"; env; }} >> {ran}\nexit 0\n'
    repo = make_repo(tmp_path / "repo", {"bin/README": "tools\n"})
    write = [
        {"write": {"path": f"bin/{name}", "text": fake, "mode": "755"}} for name in ("git", "bash")
    ]
    done = {"signal": {"type": "exit", "success": True, "reason": "all is well"}}
    book = write_playbook(repo, [*write, done])
    result = run_navci(
        repo, "run", "--task", "Do it", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "1", "--test-command", "! true",
        env={"PATH": f"{repo}/bin:{os.environ['PATH']}", "NAVCI_GITHUB_TOKEN": "ghs_secret"},
    )  # fmt: skip
    assert result.outputs["outcome"] == "max_iterations", result.said
    assert not ran.exists()
