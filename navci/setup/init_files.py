"""The files that ``navci init`` writes, as text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from importlib import resources
from typing import Any

from navci import agents
from navci.errors import ConfigError
from navci.settings_file import read_json
from navci.settings_shape import BLOCKS
from navci.setup.project import ProjectFiles
from navci.system.templates import render

WORKFLOWS = "navci/navci/.github/workflows"
HANDED_ON = (
    "ANTHROPIC_API_KEY",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "CODEX_API_KEY",
    "GEMINI_API_KEY",
    "AGENT_API_KEY",
)
"""The secrets that the reusable workflows hand on to an agent."""

_SECONDS = re.compile(r"duration")


@dataclass(frozen=True, slots=True)
class Agent:
    """Who works, and what a machine needs for that."""

    name: str
    command: str
    env: tuple[str, ...]
    prepare: str
    because: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written down. ``folder`` is the working directory, ``pin`` what is called."""

    agent: Agent
    test_command: str
    junit: tuple[str, ...]
    checks: Mapping[str, dict[str, object]]
    setup_command: str
    prepare: tuple[str, ...]
    python: str
    node: str
    folder: str
    pin: str
    cron: str
    max_iterations: int
    config: str


def known_agents() -> dict[str, dict[str, Any]]:
    """The agents whose command line navci can write down."""
    text = resources.files("navci").joinpath("templates", "init", "agents.json").read_text("utf-8")
    known: dict[str, dict[str, Any]] = json.loads(text)
    return known


def choose_agent(
    files: ProjectFiles, asked: str, command: str, env: str, on_path: Mapping[str, str | None]
) -> Agent:
    """The agent that was asked for; else the one the repository or this machine is set up for.

    Raises :class:`ConfigError` for one that nobody knows, and for a key that no workflow hands on.
    """
    known = known_agents()
    names = tuple(re.split(r"[\s,]+", env.strip())) if env.strip() else ()
    foreign = [name for name in names if name not in HANDED_ON]
    if foreign:
        raise ConfigError(
            f"--agent-env: the workflows hand on {', '.join(HANDED_ON)}, not {', '.join(foreign)}; "
            "take AGENT_API_KEY for any other agent, or use the action in a workflow of your own"
        )
    if command:
        return Agent("command", command, names or ("AGENT_API_KEY",), "", "as you said")
    if asked and asked not in known:
        raise ConfigError(
            f"--agent: how `{asked}` is started is not known here; known: {', '.join(known)}, or "
            "give its command line with --agent-command"
        )
    name, because = asked, "as you said"
    if not name:
        name, because = _found_agent(files, known, on_path)
    entry = known[name]
    built_in = name in agents.REGISTRY
    return Agent(
        name if built_in else "command",
        "" if built_in else str(entry["command"]),
        names or (str(entry["env"]),),
        str(entry["prepare"]),
        because,
    )


def _found_agent(
    files: ProjectFiles, known: Mapping[str, Any], on_path: Mapping[str, str | None]
) -> tuple[str, str]:
    for name, entry in known.items():
        for sign in files.matching(*entry["signs"]):
            return name, f"{sign} is there"
    for name in known:
        if on_path.get(name):
            return name, "it is installed here"
    first = next(iter(known))
    return first, "nothing names one; --agent or --agent-command says another"


def cron_of(repository: str) -> str:
    """When the night begins (UTC): at an odd minute, always the same for a repository."""
    number = int.from_bytes(hashlib.sha256(repository.encode()).digest()[:4])
    return f"{number % 30 * 2 + 1} {number // 30 % 5} * * *"


def config_text(plan: Plan, there: str | None) -> str:
    """The settings file with every default spelled out; what is ``there`` already stays.

    Raises :class:`ConfigError` when what is there cannot be read.
    """
    wanted: dict[str, Any] = {
        name: {key: _plain(field) for key, field in block.model_fields.items()}
        for name, block in BLOCKS.items()
    }
    wanted["loop_mode"] |= {
        "max_iterations": plan.max_iterations,
        # In a job it is on anyway, and `false` would be overruled with a warning each time.
        "never_pause_on_stagnation": True,
    }
    wanted["navci"] |= {
        "agent": plan.agent.name,
        "agent_command": plan.agent.command,
        "agent_env": list(plan.agent.env),
        "test_command": plan.test_command,
        "junit": list(plan.junit),
        "checks": dict(plan.checks),
        "setup_command": plan.setup_command,
    }
    if there is not None:
        old, _ = read_json(there, plan.config)
        for name, block in old.items():
            if isinstance(block, dict) and isinstance(wanted.get(name), dict):
                wanted[name] |= block
            else:
                wanted[name] = block
    return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"


def _plain(field: Any) -> object:
    """A default as it is written in JSON."""
    value = field.default
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float) and _SECONDS.search(str(field.description)):
        return f"{value / 60:g}m"
    return value


def workflow(name: str, plan: Plan, label: str) -> str:
    """The caller ``name``, ``loop-mode`` or ``nightly``."""
    return render(
        f"init/{name}.yml.j2",
        workflows=WORKFLOWS,
        label=label,
        config=plan.config,
        pin=plan.pin,
        cron=plan.cron,
        folder=plan.folder,
        python=plan.python,
        node=plan.node,
        prepare=plan.prepare,
        secrets=plan.agent.env,
    )
