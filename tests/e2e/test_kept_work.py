"""Work that a kill, an undone turn or a trick could lose or publish; what could make navci wait."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.bash_agent import FILES, HONEST, Agent
from tests.support.navci_run import is_reachable, place_of, run_navci, start_navci
from tests.support.processes import wait_until
from tests.support.repos import git, make_repo

pytestmark = pytest.mark.e2e

SECRET = "ghp_" + "Zk3bQ9wLr7TnXy2VdC5mHs8JfPa4GuEo6iK1"
RUN = ("run", "--task", "Write 42", "--no-push", "--max-iterations", "3")


def agent_of(repo: Path, program: Path) -> tuple[str, ...]:
    return (*RUN, "--agent", "command", "--agent-command", f"bash {program}",
            "--test-command", "grep -qx 42 answer.txt")  # fmt: skip


def killed_in_the_first_turn(agent: Agent) -> None:
    """Run it until the first turn says that it is there, and kill navci."""
    there = place_of(agent.repo) / "there"
    started = start_navci(agent.repo, *agent_of(agent.repo, agent.program))
    assert wait_until(there.exists, 30), started.said
    started.kill()


def test_commits_of_a_killed_turn_that_were_rewritten_since(tmp_path: Path) -> None:
    first = """
        echo first > work.txt; git add work.txt; git commit -qm first
        echo second > work.txt; git commit -qam second
        touch "$PLACE/there"; sleep 30
    """
    agent = Agent(make_repo(tmp_path / "repo", FILES), [first, HONEST])
    killed_in_the_first_turn(agent)
    result = run_navci(agent.repo, *agent_of(agent.repo, agent.program))
    assert result.exit_code == 0, result.said
    assert is_reachable(agent.repo, "first\n")
    assert is_reachable(agent.repo, "second\n")


def test_a_secret_on_a_branch_of_a_killed_turn_is_not_published(tmp_path: Path) -> None:
    first = f"""
        git checkout -q -b side
        echo {SECRET} > tok.txt; git add tok.txt; git commit -qm oops
        git rm -q tok.txt; git commit -qm remove; git checkout -q -
        touch "$PLACE/there"; sleep 30
    """
    merge = f"git merge -q side -m merged; {HONEST}"
    agent = Agent(make_repo(tmp_path / "repo", FILES), [first, merge])
    killed_in_the_first_turn(agent)
    result = run_navci(agent.repo, *agent_of(agent.repo, agent.program))
    assert result.exit_code == 0, result.said
    assert "stays out of branch and journal" in result.said
    task = result.outputs["branch"].removeprefix("navci/")
    kept = git(agent.repo, "log", "-p", f"navci/{task}", f"refs/navci/{task}/journal")
    assert SECRET not in kept


def test_the_work_of_an_undone_simplify_turn(tmp_path: Path) -> None:
    simpler = """
        echo 40 > answer.txt; echo notes > simpler.txt
        git add -A; git commit -qm simpler; echo simpler
    """
    config = json.dumps({"simplification": {"enabled": True}})
    repo = make_repo(tmp_path / "repo", {**FILES, ".agent/.nav-config.json": config})
    agent = Agent(repo, [f"{HONEST}; echo x >> src/app.py", simpler, HONEST])
    result = run_navci(repo, *agent_of(repo, agent.program))
    assert result.exit_code == 0, result.said
    assert "was red and was undone" in result.said
    assert is_reachable(repo, "notes\n")


def test_what_a_check_wrote_and_the_agent_committed_is_work(tmp_path: Path) -> None:
    commit = f"echo generated > gen.txt; git add gen.txt; git commit -qm gen; {HONEST}"
    agent = Agent(make_repo(tmp_path / "repo", FILES), [commit])
    test = "grep -qx 42 answer.txt && test -e gen.txt; r=$?; echo generated > gen.txt; exit $r"
    args = (*agent_of(agent.repo, agent.program)[:-1], test)
    result = run_navci(agent.repo, *args)
    assert result.exit_code == 0, result.said
    assert git(agent.repo, "show", f"{result.outputs['branch']}:gen.txt") == "generated"


@pytest.mark.parametrize(
    "trick",
    [
        'for f in .agent/.context-markers/*.json; do rm "$f"; mkfifo "$f"; done',
        "rm -f .gitattributes; mkfifo .gitattributes",
        "mkdir -p sub; mkfifo sub/.gitattributes; echo x > sub/new.txt",
    ],
    ids=["marker", "attributes", "attributes-below"],
)
def test_a_pipe_in_place_of_a_file_makes_nobody_wait(trick: str, tmp_path: Path) -> None:
    agent = Agent(make_repo(tmp_path / "repo", FILES), [f"{trick}; {HONEST}"])
    started = start_navci(agent.repo, *agent_of(agent.repo, agent.program))
    result = started.wait(40)
    assert result.exit_code == 0, result.said
    assert result.kind == "complete"


def test_navcis_own_git_directory_does_not_give_the_token_away(tmp_path: Path) -> None:
    """An agent finds the run's git directory and has it call a program of its own on a push."""
    repo = make_repo(tmp_path / "repo", FILES)
    git(repo, "remote", "add", "origin", "http://127.0.0.1:9/x.git")
    thief, loot = tmp_path / "thief.sh", tmp_path / "loot"
    thief.write_text(f"#!/bin/sh\nenv >> {loot}\nexit 1\n")
    thief.chmod(0o755)
    steal = f"""
        own=$(dirname "$(dirname "$HOME")")/git
        git --git-dir="$own" config protocol.ext.allow always
        git --git-dir="$own" config 'url.ext::{thief} .insteadOf' 'http://127.0.0.1:9/'
        echo tried > "$PLACE/tried"
    """
    agent = Agent(repo, [f"{steal}\n{HONEST}"])
    args = [word for word in agent_of(repo, agent.program) if word != "--no-push"]
    env = {"NAVCI_GITHUB_TOKEN": "ghs_secret", "GITHUB_SERVER_URL": "http://127.0.0.1:9"}
    result = run_navci(repo, *args, env=env)
    assert result.exit_code == 0, result.said
    assert (place_of(repo) / "tried").exists()
    assert "the branch was not pushed" in result.said
    assert not loot.exists()
