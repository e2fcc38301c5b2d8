"""What every agent is to navci: something that can be asked, and that takes one turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from navci.model import Turn
from navci.system.environment import scrubbed_env
from navci.system.process import TOKEN, StopFlag


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """What the settings say about the agent.

    ``command`` is a line like a shell's, ``args`` come after it. ``playbook`` is a path for
    messages; ``playbook_text`` its content from the base commit. Without a text the file is read
    once, when the agent is made: the agent must not be able to change its own playbook.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    playbook: Path | None = None
    playbook_text: str | None = None


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn: the prompt (also in ``prompt_file``), where and with what to work.

    ``folder`` is where the turn's transcripts go, ``deadline`` its length in seconds. ``on_line``
    gets lines for people as they come.
    """

    prompt: str
    prompt_file: Path
    cwd: Path
    env: Mapping[str, str]
    folder: Path
    iteration: int
    deadline: float
    stop: StopFlag | None = None
    on_line: Callable[[str], object] | None = None


class Agent(Protocol):
    """A coding agent. Making one raises :class:`navci.errors.ConfigError` for unusable options."""

    @property
    def name(self) -> str:
        """What the registry calls it."""
        ...

    def check(self) -> str | None:
        """``None`` when it can start; otherwise what is missing and what to do about it."""
        ...

    def run_turn(self, request: TurnRequest) -> Turn:
        """Let it work. Nothing the agent does raises: whatever went wrong is ``Turn.error``."""
        ...


def agent_env(
    names: Iterable[str],
    *,
    home: Path,
    tmp: Path,
    task: str,
    token: str,
    source: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment of an agent (DESIGN §5): base set, ``names``, and what makes it navci's.

    ``home`` and ``tmp`` are made when missing; ``HOME`` or ``TMPDIR`` among ``names`` keeps the
    real one. Raises :class:`navci.errors.ConfigError` for names nobody gets.
    """
    env = scrubbed_env(names, source)
    for name, folder in (("HOME", home), ("TMPDIR", tmp)):
        if name not in env:
            folder.mkdir(parents=True, exist_ok=True)
            env[name] = str(folder)
    return env | {"PILOT_EXECUTOR": "1", "NAVCI_LOOP_ACTIVE": task, TOKEN: token}
