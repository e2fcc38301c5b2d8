"""The embedded agent: does what a YAML file says, so that demos, tests and attacks are data.

::

    iterations:
      - - read: src/primes.py
        - patch: {path: src/primes.py, find: "n > 1", replace: "n > 2"}
        - say: "I fixed the bound."
        - signal: {type: exit, success: true, reason: "tests pass"}
    after: repeat      # beyond the list: repeat the last one, cycle, or be idle
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Literal

import yaml

from navci.agents import playbook_turn
from navci.agents.command import program_error
from navci.agents.playbook_events import Events, for_people
from navci.agents.playbook_shape import Step, check_step
from navci.agents.protocol import AgentOptions, TurnRequest
from navci.errors import ConfigError
from navci.model import AgentError, AgentErrorKind, Turn
from navci.system.files import write_atomic
from navci.system.process import CannotStart, run

OUTPUT_LIMIT = 64 << 20
IDLE_TEXT = "nothing left to do"


_AFTER = ("repeat", "cycle", "idle")


class Playbook:
    """A checked playbook. Raises :class:`ConfigError` with every problem of ``text`` at once."""

    def __init__(self, text: str, name: str) -> None:
        problems: list[str] = []
        self.iterations: list[list[Step]] = []
        self.after: Literal["repeat", "cycle", "idle"] = "repeat"
        try:
            document = yaml.safe_load(text)
        except (yaml.YAMLError, ValueError, RecursionError) as problem:
            raise ConfigError(f"{name}: not valid YAML{_what_is_wrong(problem)}") from None
        if not isinstance(document, dict):
            raise ConfigError(f"{name}: a playbook is a mapping with `iterations` and `after`")
        for key in document.keys() - {"iterations", "after"}:
            problems.append(f"{name}: unknown key `{key}`; allowed: iterations, after")
        if (after := document.get("after", "repeat")) in _AFTER:
            self.after = after
        else:
            problems.append(f"{name}: after: `{after}` is not one of {', '.join(_AFTER)}")
        iterations = document.get("iterations")
        if not isinstance(iterations, list) or not iterations:
            problems.append(f"{name}: `iterations` must be a list of at least one list of steps")
            iterations = []
        for number, steps in enumerate(iterations, start=1):
            where = f"{name}: iteration {number}"
            if not isinstance(steps, list):
                problems.append(f"{where} is not a list of steps; it starts like `- - read: a.py`")
                continue
            self.iterations.append([])
            for place, step in enumerate(steps, start=1):
                checked = check_step(step, f"{where}, step {place}")
                if isinstance(checked, list):
                    problems += checked
                else:
                    self.iterations[-1].append(checked)
        if problems:
            raise ConfigError(*problems)

    def steps(self, iteration: int) -> list[Step]:
        """What to do in ``iteration``, which counts from 1."""
        at = iteration - 1
        if at < len(self.iterations):
            return self.iterations[at]
        match self.after:
            case "repeat":
                return self.iterations[-1]
            case "cycle":
                return self.iterations[at % len(self.iterations)]
            case "idle":
                return [{"say": IDLE_TEXT}]


def _what_is_wrong(problem: Exception) -> str:
    """Where YAML stumbled and over what, in a sentence."""
    mark = getattr(problem, "problem_mark", None)
    said = getattr(problem, "problem", None) or re.sub(r' in "<[^"]*>",', " at", str(problem))
    where = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
    return f"{where}: {' '.join(str(said).split())[:300]}"


class PlaybookAgent:
    """``agent: playbook``. The turn is a real process, under the same rules as any agent's."""

    name = "playbook"

    def __init__(self, options: AgentOptions) -> None:
        text = options.playbook_text
        file = str(options.playbook or "playbook")
        if text is None:
            text = _text_of(options.playbook)
        self.playbook = Playbook(text, file)
        self._file = file

    def check(self) -> str | None:
        """Only ``run`` steps need anything."""
        if shutil.which("bash"):
            return None
        return "the playbook agent runs its commands with bash, which was not found: install bash"

    def run_turn(self, request: TurnRequest) -> Turn:
        """See :class:`navci.agents.protocol.Agent`."""
        transcript = request.folder / "agent.out"
        steps = request.folder / "playbook-steps.json"
        wanted = self.playbook.steps(request.iteration)
        write_atomic(steps, json.dumps(wanted))
        try:
            finished = run(
                [sys.executable, "-I", "-S", playbook_turn.__file__],
                cwd=request.cwd,
                env=request.env,
                output=transcript,
                errors=request.folder / "agent.err",
                stdin=steps,
                deadline=request.deadline,
                max_output=OUTPUT_LIMIT,
                on_line=for_people(request.on_line) if request.on_line else None,
                stop=request.stop,
            )
        except CannotStart as problem:
            error = AgentError(AgentErrorKind.CANNOT_START, str(problem))
            return Turn(final_text="", exit_code=None, seconds=0.0, error=error)
        events = Events(transcript)
        return Turn(
            final_text="\n\n".join(events.said),
            exit_code=finished.exit_code,
            seconds=finished.seconds,
            files_read=tuple(events.files_read),
            commands=tuple(events.commands),
            usage=events.usage,
            error=events.error
            or program_error(f"{self._file} (iteration {request.iteration})", finished),
            timed_out=finished.timed_out,
            interrupted=finished.interrupted,
            transcript=transcript,
            notes=finished.notes,
        )


def _text_of(path: Path | None) -> str:
    if path is None:
        raise ConfigError("playbook: the agent `playbook` needs a file; say `playbook: <path>`")
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such playbook; correct `playbook`") from None
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{path}: the playbook cannot be read: {problem}") from None
