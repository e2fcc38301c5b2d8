"""The real program in a real repository: started, waited for, and everything it left read back.

Beside the repository ``<name>`` lies ``<name>.place``: HOME, the runner's temporary folder, and the
files of outputs and summaries, so that nothing of this machine reaches a run and nothing of a run
lies in the repository.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

import navci
from navci.journal import ref_of, task_of
from tests.support.processes import tagged
from tests.support.repos import git

PROGRAM = Path(sysconfig.get_path("scripts")) / "navci"
SCHEMA = Draft202012Validator(
    json.loads((Path(navci.__file__).parent / "templates" / "marker.schema.json").read_text())
)
MARKERS = ".agent/.context-markers"
_KEPT = ("PATH", "LANG", "TZ", "TERM", "TMPDIR")
_ENTRY = re.compile(r"^(?P<name>[\w-]+)<<(?P<end>\S+)\n(?P<value>.*?)\n?^(?P=end)$", re.M | re.S)

Variables = Mapping[str, str | None]
"""Changes of the environment; ``None`` takes a variable away."""


@dataclass(frozen=True)
class Result:
    """What a run left: exit code, what people read, what a job reads, and its marker.

    ``marker`` is the JSON that the outputs name, or else the repository's only one; it is checked
    against the published schema. ``marker_files`` are the JSON files in the repository.
    """

    exit_code: int
    stdout: str
    stderr: str
    outputs: dict[str, str]
    summary: str
    marker: dict[str, Any] | None
    marker_files: list[Path]

    @property
    def said(self) -> str:
        """Everything a person saw."""
        return self.stdout + self.stderr

    @property
    def kind(self) -> str | None:
        """The marker's kind."""
        return self.marker["kind"] if self.marker else None


class Started:
    """A navci that is running."""

    def __init__(
        self,
        repo: Path,
        args: tuple[str, ...],
        env: Variables | None,
        cwd: Path,
        through: Sequence[str] = (),
    ) -> None:
        self.repo = repo
        self.place = place_of(repo)
        self._number = len(list(self.place.glob("stdout-*")))
        self.output, self.summary = self._file("output"), self._file("summary")
        self.env = environment(self.place) | {
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }
        for name, value in (env or {}).items():
            self.env.pop(name, None)
            if value is not None:
                self.env[name] = value
        with self._file("stdout").open("wb") as out, self._file("stderr").open("wb") as err:
            self.process = subprocess.Popen(
                [*through, str(PROGRAM), *args],
                cwd=cwd,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def _file(self, kind: str) -> Path:
        return self.place / f"{kind}-{self._number}"

    @property
    def said(self) -> str:
        """What it said so far."""
        return self._read("stdout") + self._read("stderr")

    def send(self, number: int) -> None:
        """Send a signal to navci itself, not to its children."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """End navci as a machine that goes away does; its children find out by themselves."""
        self.process.kill()
        self.process.wait(10)

    def wait(self, timeout: float = 60) -> Result:
        """Wait for the end. A run that does not end is killed and fails the test."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise AssertionError(f"navci did not end in {timeout} s:\n{self.said}") from None
        outputs = read_outputs(self.output)
        files = markers_in(self.repo)
        named = [Path(outputs["marker"])] if outputs.get("marker") else files[:1]
        marker = read_marker(named[0]) if named and named[0].is_file() else None
        return Result(
            code,
            self._read("stdout"),
            self._read("stderr"),
            outputs,
            self.summary.read_text() if self.summary.is_file() else "",
            marker,
            files,
        )

    def _read(self, kind: str) -> str:
        return self._file(kind).read_text(errors="replace")


def start_navci(
    repo: Path, *args: str, env: Variables | None = None, cwd: Path | None = None
) -> Started:
    """Start ``navci`` with ``args`` in ``repo`` (or ``cwd``)."""
    return Started(repo, args, env, cwd or repo)


def run_navci(
    repo: Path,
    *args: str,
    env: Variables | None = None,
    timeout: float = 60,
    cwd: Path | None = None,
    through: Sequence[str] = (),
) -> Result:
    """Run ``navci`` with ``args`` in ``repo`` until it ends, ``timeout`` seconds at most.

    ``through`` is the start of a command line that ends in navci's: ``setpriv …``, ``bash -c …``.
    """
    return Started(repo, args, env, cwd or repo, through).wait(timeout)


def place_of(repo: Path) -> Path:
    """The folder beside ``repo`` for everything of a run that does not belong into it."""
    place = repo.with_name(f"{repo.name}.place")
    if not place.exists():
        (place / "home").mkdir(parents=True)
        (place / "temp").mkdir()
        config = "[user]\n\tname = Ada Tester\n\temail = ada@example.org\n"
        (place / "home" / ".gitconfig").write_text(config)
    return place


def write_playbook(repo: Path, *turns: Sequence[object], after: str = "repeat") -> Path:
    """A playbook of ``turns`` (lists of steps) beside the repository, out of any agent's sight."""
    path = place_of(repo) / "playbook.yml"
    path.write_text(yaml.safe_dump({"iterations": [list(turn) for turn in turns], "after": after}))
    return path


def environment(place: Path) -> dict[str, str]:
    """A user's environment with nothing of this machine's: no CI, no git settings, no tokens."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | {
        "PATH": f"{PROGRAM.parent}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "HOME": str(place / "home"),
        "RUNNER_TEMP": str(place / "temp"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run_folders(repo: Path) -> list[Path]:
    """The run directories in the runner's temporary folder, oldest first."""
    found = (place_of(repo) / "temp").glob("navci-*")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def read_outputs(path: Path) -> dict[str, str]:
    """A step's outputs as the runner reads them: the last write of a name wins."""
    if not path.is_file():
        return {}
    return {m["name"]: m["value"] for m in _ENTRY.finditer(path.read_text())}


def read_marker(path: Path) -> dict[str, Any]:
    """A marker's JSON, checked against the published schema."""
    marker: dict[str, Any] = json.loads(path.read_text())
    SCHEMA.validate(marker)
    return marker


def markers_in(repo: Path) -> list[Path]:
    """The markers' JSON files in the repository, also in a working directory below it."""
    return sorted(repo.glob(f"**/{MARKERS}/*.json"))


def journal_state(repo: Path, task: str) -> dict[str, Any]:
    """The journal's projection, as the user's own repository has it."""
    state: dict[str, Any] = json.loads(git(repo, "show", f"{ref_of(task)}:state.json"))
    return state


def journal_events(repo: Path, task: str) -> list[dict[str, Any]]:
    """Every event of a task's journal, oldest first, as the user's own repository has it."""
    chain = git(repo, "rev-list", "--first-parent", "--reverse", ref_of(task)).split()
    return [json.loads(git(repo, "show", f"{commit}:event.json")) for commit in chain]


def tasks_of(repo: Path) -> list[str]:
    """The tasks that have a journal in the repository."""
    refs = git(repo, "for-each-ref", "--format=%(refname)", "refs/navci/").split()
    return [task_of(ref) for ref in refs]


def is_reachable(repo: Path, content: str | bytes) -> bool:
    """Whether a file with this content can be had from some ref of the repository."""
    data = content.encode() if isinstance(content, str) else content
    blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    listing = git(repo, "rev-list", "--objects", "--all").split("\n")
    return any(line.startswith(blob) for line in listing)


def processes_left(repo: Path) -> list[int]:
    """Living processes that carry the run token of a journal in the repository."""
    tokens = {journal_state(repo, task)["token"] for task in tasks_of(repo)}
    return [pid for token in tokens if token for pid in tagged(token)]
