"""Runs a workflow with ``act`` on this machine, without Docker, a network or its variables.

``act`` empties the summary file before each step and drops it after the job, so the summary is
read from its JSON log; outputs are read back by a last step of the workflow under test.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOP = Path(__file__).parents[2]
STAND_INS = TOP / "tests" / "e2e" / "stand_ins"
ACT = Path(sysconfig.get_path("scripts")) / "act"
# The action and what it is made of, as a user's workflow gets it from the repository.
SHIPPED = ("action.yml", "navci", ".github", "pyproject.toml", "README.md", "LICENSE")


@dataclass(frozen=True)
class ActRun:
    """How a run of ``act`` ended. ``summaries``: every state of the job summary, in order."""

    exit_code: int
    log: str
    summaries: tuple[str, ...]


def copy_of_this_repository(folder: Path) -> Path:
    """What a checkout of this repository holds, without ignored files, as ``folder``."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *SHIPPED],
        cwd=TOP,
        check=True,
        capture_output=True,
    ).stdout.decode()
    for name in filter(None, listed.split("\0")):
        if (TOP / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / name, target)
    return folder


def run_act(
    repository: Path,
    event: str,
    payload: Mapping[str, Any],
    *,
    workflow: Path,
    scratch: Path,
    actions: Mapping[str, Path],
    env: Mapping[str, str],
    github: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    timeout: float = 300,
) -> ActRun:
    """Run ``workflow`` of ``repository`` as ``event`` with ``payload`` starts it.

    ``actions`` maps ``owner/name@<40 hex>`` to a folder; any other action would need a network
    and fails the job. ``env`` is all that steps see of this process, besides PATH and a HOME;
    ``github`` are variables of the runner's own to set otherwise.
    """
    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    event_file = scratch / "event.json"
    event_file.write_text(json.dumps(payload), "utf-8")
    argv = [
        str(ACT),
        event,
        *("--workflows", str(workflow)),
        *("--eventpath", str(event_file)),
        *("--action-cache-path", str(scratch / "cache")),
        *("-P", "ubuntu-latest=-self-hosted"),
        *("--json", "--no-cache-server", "--pull=false", "--no-skip-checkout"),
        *(f"--local-repository={name}={folder}" for name, folder in actions.items()),
        *(f"--env={name}={value}" for name, value in (github or {}).items()),
        *(f"--secret={name}={value}" for name, value in (secrets or {}).items()),
    ]
    python = Path(sys.base_prefix) / "bin"
    done = subprocess.run(
        argv,
        cwd=repository,
        env={"PATH": f"{python}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=timeout,
    )
    return _read(done.returncode, done.stdout.decode("utf-8", "replace"))


def _read(exit_code: int, output: str) -> ActRun:
    """The run from ``act``'s JSON lines: what steps printed and ``act`` said, and the summaries."""
    log, summaries = [], []
    for line in output.splitlines():
        entry = json.loads(line) if line.startswith("{") else {"msg": line}
        if entry.get("command") == "summary":
            summaries.append(entry["content"])
        log.append(entry.get("msg", "").removesuffix("\n"))
    return ActRun(exit_code, "\n".join(log), tuple(summaries))


def uses(name: str) -> str:
    """The ``owner/name@<sha>`` under which this repository pins an action."""
    for file in (TOP / "action.yml", *(TOP / ".github" / "workflows").glob("*.yml")):
        for line in file.read_text("utf-8").splitlines():
            if f"uses: {name}@" in line:
                return line.split("uses: ")[1].split(" #")[0]
    raise AssertionError(f"{name} is used neither in action.yml nor in a workflow")


def stand_ins() -> dict[str, Path]:
    """The stand-ins of GitHub's own actions, under the commits that this repository pins."""
    return {uses(f"actions/{folder.name}"): folder for folder in STAND_INS.iterdir()}


def navci_at(pin: str, folder: Path) -> dict[str, Path]:
    """This repository as ``navci/navci@<pin>``, its ``$/`` written out: ``act`` does not know it.

    GitHub takes it for the same: the repository and commit that the file came from.
    """
    copy_of_this_repository(folder)
    for file in (folder / ".github" / "workflows").glob("*.yml"):
        text = file.read_text("utf-8")
        written_out = re.sub(r"uses: \$/(\S+)", rf"uses: navci/navci/\1@{pin}", text)
        file.write_text(written_out, "utf-8")
    return {f"navci/navci@{pin}": folder}
