"""A coding agent that is a list of bash turns, and what a test wants to know about its run."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from navci.journal import ref_of
from tests.support.navci_run import (
    Result,
    Variables,
    is_reachable,
    journal_events,
    place_of,
    run_navci,
    tasks_of,
)
from tests.support.repos import git, make_repo

FILES = {"answer.txt": "41\n", "src/app.py": "ANSWER = 41\n", ".gitignore": "*.log\n"}
WORK = "what the agent did in its first turn\n"
HONEST = "echo 42 > answer.txt; done_"
"""The turn that fixes it and says so."""

_PRELUDE = """\
PLACE={place}
turn=$(( $(cat "$PLACE/turns" 2>/dev/null || echo 0) + 1 ))
echo $turn > "$PLACE/turns"
work() {{ printf {work!r} > work.txt; }}
done_() {{
    printf '%s\\n' 'It is done.' '' '```pilot-signal' \\
        '{{"v":2,"type":"exit","success":true,"reason":"the answer is there"}}' '```'
}}
"""


@dataclass(frozen=True)
class Agent:
    """A repository and an agent for it, whose program lies out of its own reach.

    Each turn is bash: ``work`` writes work.txt, ``done_`` signals the exit, ``$PLACE`` is the
    folder beside the repository. After the last turn it is repeated.
    """

    repo: Path
    turns: Sequence[str]

    def __post_init__(self) -> None:
        prelude = _PRELUDE.format(place=place_of(self.repo), work=WORK)
        cases = [f"    {n}) turn_{n};;\n" for n in range(1, len(self.turns))]
        functions = [
            f"turn_{number}() {{\n{textwrap.dedent(turn).strip()}\n}}\n"
            for number, turn in enumerate(self.turns, start=1)
        ]
        choice = f"case $turn in\n{''.join(cases)}    *) turn_{len(self.turns)};;\nesac\n"
        self.program.write_text(prelude + "".join(functions) + choice)

    @property
    def program(self) -> Path:
        return place_of(self.repo) / "agent.sh"

    def run(
        self,
        *args: str,
        env: Variables | None = None,
        timeout: float = 60,
        through: Sequence[str] = (),
        test: str = "grep -qx 42 answer.txt",
        task: Sequence[str] = ("--task", "Write 42 into answer.txt"),
        program: str = "",
    ) -> Result:
        """One run with this agent, or with another ``program``. ``args`` come last, and win."""
        return run_navci(
            self.repo,
            "run",
            *(*task, "--no-push", "--agent", "command"),
            *("--agent-command", program or f"bash {self.program}"),
            *("--max-iterations", "4", "--test-command", test),
            *args,
            env=env,
            timeout=timeout,
            through=through,
        )

    @property
    def task(self) -> str:
        """The only task that has a journal here."""
        (task,) = tasks_of(self.repo)
        return task

    @property
    def branch(self) -> str:
        """The work branch's full name."""
        return f"refs/heads/navci/{self.task}"

    @property
    def journal(self) -> str:
        """The journal's full name."""
        return ref_of(self.task)

    def subjects(self, ref: str = "") -> list[str]:
        """Subjects of the commits of ``ref``, the work branch by default, newest first."""
        return git(self.repo, "log", "--format=%s", ref or self.branch).splitlines()

    def has(self, path: str, content: str = WORK) -> bool:
        """Is ``content`` what the work branch has at ``path``?"""
        raw = git(self.repo, "show", f"{self.branch}:{path}", check=False)
        return raw == content.removesuffix("\n")

    def keeps(self, content: str | bytes = WORK) -> bool:
        """Can this content be had from some ref?"""
        return is_reachable(self.repo, content)

    def ever_had(self, path: str, ref: str = "--all") -> bool:
        """Was ``path`` in any commit of ``ref``, or of anything?"""
        return bool(git(self.repo, "log", "--format=%h", ref, "--", path))

    def gaps(self, iteration: int = 1) -> set[str]:
        """The gaps of an iteration, as the journal has them."""
        return set(self._judged(iteration)["observation"]["gaps"]["chk"])

    def why(self, gap: str, iteration: int = 1) -> str:
        """What people and the next prompt are told about a gap."""
        return str(self._judged(iteration)["excerpts"].get(gap, ""))

    def prompt(self, number: int) -> str:
        """The prompt of one attempt."""
        found = (place_of(self.repo) / "temp").glob(f"navci-*/transcripts/*-{number:03d}/prompt.md")
        return next(found).read_text()

    def _judged(self, iteration: int) -> Any:
        events = journal_events(self.repo, self.task)
        return [event["data"] for event in events if event["kind"] == "iteration"][iteration - 1]


def an_agent(tmp_path: Path, *turns: str, files: dict[str, str] | None = None) -> Agent:
    """An agent with these turns and a repository for it."""
    return Agent(make_repo(tmp_path / "repo", FILES | (files or {})), turns or (HONEST,))


def assert_ended(result: Result, end: str, exit_code: int, kind: str | None) -> None:
    """Exit code, outputs, marker and summary all say the same."""
    assert (result.exit_code, result.outputs["outcome"]) == (exit_code, end), result.said
    assert result.outputs["complete"] == ("true" if end == "complete" else "false")
    assert result.kind == kind, result.said
    if result.marker:
        assert result.marker["outcome"] == end
        assert not result.marker["provisional"]
    assert "Traceback" not in result.said
