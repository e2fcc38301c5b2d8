"""What navci needs, looked at one by one: each found or not, and what to do."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from navci import __version__, agents, settings
from navci.actions.event import read_event, runtime_info
from navci.errors import ConfigError, NavciError
from navci.system.checkout import find_checkout
from navci.system.gitcall import call, environment

OLDEST_GIT = (2, 25)
KNOWN_CLIS = ("claude", "codex", "gemini", "opencode", "aider", "mini")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. ``ok`` is ``None`` where it is good to know and nothing is wrong."""

    what: str
    ok: bool | None
    said: str


def examine(directory: Path, env: Mapping[str, str]) -> list[Finding]:
    """Everything a run needs; a check that itself fails is a finding, never an error."""
    looks: list[tuple[str, Callable[[], Finding]]] = [
        ("python", look_at_python),
        ("git", look_at_git),
        ("repository", lambda: look_at_repository(directory)),
        ("settings", lambda: look_at_settings(directory, env)),
        ("agents", look_at_agents),
        ("event", lambda: look_at_event(env)),
        ("bash", lambda: look_for("bash", "checks run with it; install it")),
    ]
    found = []
    for what, look in looks:
        try:
            found.append(look())
        except (NavciError, OSError) as error:
            found.append(Finding(what, False, str(error)))
    return found


def look_at_python() -> Finding:
    """The interpreter navci runs on."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Finding("python", True, f"{version}, navci {__version__} ({sys.executable})")


def look_at_git() -> Finding:
    """The git program and whether it is new enough."""
    answer = call(("--version",), env=environment(None), cwd=Path("/"))
    words = answer.out.decode().split()
    version = words[2] if len(words) > 2 else "?"
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    oldest = ".".join(str(part) for part in OLDEST_GIT)
    if numbers < OLDEST_GIT:
        return Finding("git", False, f"{version}; install git {oldest} or newer")
    return Finding("git", True, version)


def look_at_repository(directory: Path) -> Finding:
    """The repository a run here would work in."""
    checkout = find_checkout(directory)
    if checkout.head is None:
        return Finding("repository", False, f"{checkout.top} has no commit; make one first")
    where = checkout.branch or "detached HEAD"
    return Finding("repository", True, f"{checkout.top} at {checkout.head[:12]} ({where})")


def look_at_settings(directory: Path, env: Mapping[str, str]) -> Finding:
    """The config in the checkout; a run reads the committed one."""
    path = find_checkout(directory).top / settings.CONFIG_PATH
    if not path.is_file():
        return Finding("settings", None, f"no {settings.CONFIG_PATH}; the defaults are used")
    # What only a run's options can say is filled in, so that the file alone is judged.
    stand_in: dict[str, object] = {"agent": "command", "agent_command": "true", "max_iterations": 5}
    try:
        chosen = settings.load(
            stand_in,
            path.read_text(encoding="utf-8"),
            in_actions=runtime_info(env).in_actions,
            known_agents=tuple(agents.REGISTRY),
        )
    except ConfigError as error:
        return Finding("settings", False, "; ".join(error.problems))
    except UnicodeDecodeError:
        return Finding("settings", False, f"{settings.CONFIG_PATH} is not UTF-8; save it as UTF-8")
    warnings = [note for note in chosen.notes if settings.CONFIG_PATH in note]
    said = f"{settings.CONFIG_PATH} is valid"
    return Finding("settings", True, "; ".join([said, *warnings]))


def look_at_agents() -> Finding:
    """The agents navci drives, and the known agent programs on PATH."""
    there = [name for name in KNOWN_CLIS if shutil.which(name)]
    built_in = ", ".join(sorted(agents.REGISTRY))
    if there:
        return Finding("agents", True, f"{built_in}; found on PATH: {', '.join(there)}")
    said = "no agent program found on PATH; `--agent command` drives any program, the demo none"
    return Finding("agents", None, f"{built_in}; {said}")


def look_at_event(env: Mapping[str, str]) -> Finding:
    """The event a job runs for."""
    info = runtime_info(env)
    if not info.in_actions:
        return Finding("event", None, "not a GitHub Actions job; give --task or --task-file")
    event = read_event(env)
    if event is None:
        said = f"`{info.event_name}` carries no issue; give `task` or `task-file`"
        return Finding("event", None, said)
    return Finding("event", True, f"`{event.name}` about issue {event.number}")


def look_for(program: str, why: str) -> Finding:
    """Whether a program is on PATH."""
    found = shutil.which(program)
    return Finding(program, found is not None, found or f"not found; {why}")
