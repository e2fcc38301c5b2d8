"""What navci needs, looked at one by one: each found or not, and what to do."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from navci import __version__, agents, settings
from navci.actions.event import read_event, runtime_info
from navci.errors import ConfigError, NavciError
from navci.settings_file import read_json
from navci.setup.read_back import reader
from navci.system.checkout import find_checkout
from navci.system.gitcall import call, environment
from navci.system.programs import program

OLDEST_GIT = (2, 25)
KNOWN_CLIS = ("claude", "codex", "gemini", "opencode", "aider", "mini")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. ``ok`` is ``None`` where it is good to know and nothing stops a run.

    With ``warning`` a run would go on, but not as somebody may think.
    """

    what: str
    ok: bool | None
    said: str
    warning: bool = False


def examine(directory: Path, env: Mapping[str, str]) -> list[Finding]:
    """Everything a run needs; a check that itself fails is a finding, never an error."""
    looks: list[tuple[str, Callable[[], Finding]]] = [
        ("python", look_at_python),
        ("git", look_at_git),
        ("repository", lambda: look_at_repository(directory)),
        ("settings", lambda: look_at_settings(directory, env)),
        ("agents", look_at_agents),
        ("event", lambda: look_at_event(env)),
        ("bash", look_at_bash),
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
    """The settings a run here would read, which are the committed ones, and what differs here."""
    checkout, where = find_checkout(directory), settings.CONFIG_PATH
    file = checkout.top / where
    here = file.read_bytes() if file.is_file() else None
    with tempfile.TemporaryDirectory(prefix="navci-doctor-") as home:
        git = reader(checkout, Path(home))
        committed = git.show(checkout.head, where) if checkout.head else None
    in_actions = runtime_info(env).in_actions
    if committed is None and here is None:
        return Finding("settings", None, f"no {where}; the defaults are used")
    if committed is None:
        said = f"{where} is not committed, so a run does not use it: commit it first"
        lines = [said, *as_it_is_here(here, in_actions)]
        return Finding("settings", None, "\n".join(lines), warning=True)
    refused, warnings = judge_settings(committed, in_actions)
    refused = [f"as it is committed: {problem}" for problem in refused]
    # Lines end as the checkout's git wants it.
    if here is None or here.replace(b"\r\n", b"\n") != committed.replace(b"\r\n", b"\n"):
        refused += [
            f"{where} {'differs' if here is not None else 'is deleted'} here, and the committed "
            "one counts: commit or undo that, as no run starts on uncommitted changes",
            *as_it_is_here(here, in_actions),
        ]
    if refused:
        return Finding("settings", False, "\n".join([*refused, *warnings]))
    said = f"{where} as it is committed, which is what a run reads, is valid"
    ok = None if warnings else True
    return Finding("settings", ok, "\n".join([said, *warnings]), warning=bool(warnings))


def as_it_is_here(content: bytes | None, in_actions: bool) -> list[str]:
    """What would have to be mended before the file in the checkout is committed."""
    refused, warnings = judge_settings(content or b"{}", in_actions)
    return [f"once committed: {problem}" for problem in (*refused, *warnings)]


def judge_settings(content: bytes, in_actions: bool) -> tuple[list[str], list[str]]:
    """What a run would refuse in the settings file's ``content``, and what it would warn of."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return [f"{settings.CONFIG_PATH} is not UTF-8; save it as UTF-8"], []
    try:
        chosen = settings.load(
            stand_ins(text), text, in_actions=in_actions, known_agents=tuple(agents.REGISTRY)
        )
    except ConfigError as error:
        return list(error.problems), []
    return [], list(chosen.notes)


def stand_ins(text: str) -> dict[str, object]:
    """What a run's options may still say, where the file does not: so that it alone is judged."""
    try:
        file, _ = read_json(text, settings.CONFIG_PATH)
    except ConfigError:
        file = {}
    blocks = {name: file.get(name) for name in ("navci", "loop_mode")}
    own, loop = (block if isinstance(block, dict) else {} for block in blocks.values())
    options: dict[str, object] = {} if own.get("agent") else {"agent": "command"}
    needed = {"command": "agent_command", "playbook": "playbook"}.get(own.get("agent") or "command")
    if needed and needed not in own:
        options[needed] = "true"
    if "max_iterations" not in loop:
        options["max_iterations"] = 5
    return options


def look_at_agents() -> Finding:
    """The agents navci drives, and the known agent programs on PATH."""
    there = [name for name in KNOWN_CLIS if shutil.which(name)]
    built_in = ", ".join(sorted(agents.REGISTRY))
    if there:
        return Finding("agents", True, f"{built_in}; found on PATH: {', '.join(there)}")
    said = "no other found on PATH; `--agent command` drives any program, `navci demo` needs none"
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


def look_at_bash() -> Finding:
    """The shell that every check runs in."""
    return Finding("bash", True, program("bash"))
