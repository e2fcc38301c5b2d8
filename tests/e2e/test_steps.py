"""The scripts of ``action.yml``, run by bash as the runner does, where ``act`` cannot look.

``act`` kills a cancelled step at once; GitHub's runner sends SIGINT to the shell's pid, SIGTERM
after 7.5 s and kills after 2.5 s more.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

import pytest
import yaml

from tests.support.act import TOP, copy_of_this_repository
from tests.support.repos import git, make_repo
from tests.support.wheelhouse import wheelhouse

pytestmark = pytest.mark.e2e

BASH = ("/bin/bash", "--noprofile", "--norc", "-eo", "pipefail")
ACTION = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
PATH = f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"


def script(step: str, folder: Path) -> Path:
    """The script of a step, written to a file as the runner does."""
    text = next(s["run"] for s in ACTION["runs"]["steps"] if s.get("id") == step)
    file = folder / f"{step}.sh"
    file.write_text(text, "utf-8")
    return file


def run_step(step: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*BASH, script(step, folder)],
        cwd=folder,
        env={"PATH": PATH, "HOME": str(folder), "GITHUB_OUTPUT": str(folder / "output"), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


def outputs(file: Path) -> dict[str, str]:
    """What a ``GITHUB_OUTPUT`` file says, in both of its forms; the last write of a name wins."""
    found = {}
    lines = iter(file.read_text("utf-8").splitlines())
    for line in lines:
        name, delimited, delimiter = line.partition("<<")
        if delimited and "=" not in name:
            found[name] = "\n".join(takewhile(delimiter.__ne__, lines))
        elif line:
            name, _, found[name] = line.partition("=")
    return found


def digests(folder: Path) -> Mapping[str, str]:
    files = (p for p in sorted(folder.rglob("*")) if p.is_file())
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """navci as the action installs it, without a network; the action's folder stays as it was."""
    folder = tmp_path_factory.mktemp("install")
    action = copy_of_this_repository(folder / "action")
    before = digests(action)
    found = run_step("python", folder)
    assert found.returncode == 0, found.stdout
    installed = run_step(
        "install",
        folder,
        NAVCI_PYTHON=outputs(folder / "output")["python"],
        RUNNER_TEMP=str(folder),
        GITHUB_ACTION_PATH=str(action),
        PIP_NO_INDEX="1",
        PIP_FIND_LINKS=str(wheelhouse()),
    )
    assert installed.returncode == 0, installed.stdout
    assert digests(action) == before
    return Path(outputs(folder / "output")["venv"])


def test_without_a_python_the_error_names_the_step_to_add(tmp_path: Path) -> None:
    old = tmp_path / "bin" / "python3"
    old.parent.mkdir()
    old.write_text("#!/bin/bash\nexit 1\n")
    old.chmod(0o755)
    done = run_step("python", tmp_path, PATH=str(old.parent))
    assert done.returncode == 1
    assert "no Python 3.11 or newer" in done.stdout
    assert "actions/setup-python" in done.stdout


def test_a_command_of_a_later_version_is_refused(tmp_path: Path) -> None:
    done = run_step("run", tmp_path, NAVCI_COMMAND="dream", NAVCI_VENV="/nowhere")
    assert done.returncode == 2
    assert "it knows: run" in done.stdout


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_the_runners_signal_ends_the_run_and_keeps_the_work(
    venv: Path, tmp_path: Path, sent: signal.Signals
) -> None:
    repository = make_repo(tmp_path / "work tree", {"answer.txt": "41\n"})
    playbook = tmp_path / "playbook.yml"
    started = tmp_path / "started"
    steps = [{"write": {"path": "answer.txt", "text": "42\n"}}, {"run": f"touch '{started}'"}]
    playbook.write_text(yaml.safe_dump({"iterations": [[*steps, {"sleep": "60s"}]]}))
    (tmp_path / "temp").mkdir()

    env = {
        "PATH": PATH,
        "HOME": str(tmp_path),
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": "workflow_dispatch",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "NAVCI_VENV": str(venv),
        "NAVCI_COMMAND": "run",
        "NAVCI_RUN_TASK": "Put the right answer into answer.txt",
        "NAVCI_RUN_AGENT": "playbook",
        "NAVCI_RUN_PLAYBOOK": str(playbook),
        "NAVCI_RUN_TEST_COMMAND": "grep -q 42 answer.txt",
        "NAVCI_RUN_MAX_ITERATIONS": "3",
    }
    log = tmp_path / "log"
    with log.open("wb") as stream:
        step = subprocess.Popen(
            [*BASH, script("run", tmp_path)],
            cwd=repository,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        patience = time.monotonic() + 60
        while not started.exists() and step.poll() is None and time.monotonic() < patience:
            time.sleep(0.05)
        assert started.exists(), log.read_text("utf-8")
        os.kill(step.pid, sent)
        signalled = time.monotonic()
        assert step.wait(30) == 130, log.read_text("utf-8")
    finally:
        step.kill()
        step.wait()
    assert time.monotonic() - signalled < 7.5, "the runner would have sent its next signal"

    said = outputs(tmp_path / "output")
    assert said["outcome"] == "user_aborted"
    assert said["complete"] == "false"
    marker = Path(said["marker"])
    assert json.loads(marker.read_text("utf-8"))["outcome"] == "user_aborted"
    assert "user-aborted" in marker.name
    assert git(repository, "show", f"{said['commit']}:answer.txt") == "42"
