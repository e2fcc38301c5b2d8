"""What a run is told: its settings, its agent, whose name is on its commits."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from navci import agents, settings
from navci.actions.event import runtime_info
from navci.errors import ConfigError
from navci.journal import Journal
from navci.loop.branch import Start, find_start
from navci.loop.run import RunRequest
from navci.model import Task
from navci.settings import Settings
from navci.system.checkout import Checkout
from navci.system.git import Git, Identity

CONFIG = ".agent/.nav-config.json"
BOT = Identity("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com")
NAVCI = Identity("navci", "navci@users.noreply.github.com")


def choose_start(
    request: RunRequest, git: Git, checkout: Checkout, journal: Journal, task: Task
) -> tuple[Start, Settings]:
    """Where the work starts, and the settings of that commit.

    The branch's name may stand in the config and the config is read from the base commit, which
    depends on the branch: so the default name is tried first, and the answer once more.
    """
    base = str(request.options.get("base") or "")
    branch = str(request.options.get("branch") or f"navci/{task.id}")
    start = find_start(git, checkout, journal.state, branch, base)
    chosen = read_settings(request, git, start.settings or start.base)
    named = chosen.branch or f"navci/{task.id}"
    if (named, chosen.base) != (branch, base):
        start = find_start(git, checkout, journal.state, named, chosen.base)
        chosen = read_settings(request, git, start.settings or start.base)
    return start, chosen


def read_settings(request: RunRequest, git: Git, base: str) -> Settings:
    """The settings of ``base``: what the agent writes into the checkout never counts."""
    where = config_place(request.options)
    committed = git.show(base, where)
    if committed is None and request.options.get("config"):
        raise ConfigError(
            f"--config: there is no file `{where}` in {base[:12]}, where the work starts; correct "
            "the path, or commit the file"
        )
    try:
        text = committed.decode("utf-8") if committed is not None else None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"`{where}` is not UTF-8 at byte {error.start}; save it as UTF-8"
        ) from None
    chosen = settings.load(
        request.options,
        text,
        in_actions=runtime_info(request.environment).in_actions,
        config_path=where,
        known_agents=tuple(agents.REGISTRY),
    )
    in_checkout = git.work_tree / where
    with contextlib.suppress(OSError):  # what cannot be read does not count either
        # Git may have checked it out with other line ends.
        if in_checkout.is_file() and in_checkout.read_bytes().splitlines() != (
            None if committed is None else committed.splitlines()
        ):
            note = (
                f"`{where}` is not committed, so its settings do not count; commit it first"
                if committed is None
                else f"`{where}` in the checkout differs from the committed one, which counts"
            )
            chosen = replace(chosen, notes=(*chosen.notes, note))
    return chosen


def config_place(options: Mapping[str, object]) -> str:
    """Where the settings stand, from the repository's top: in the working directory.

    Raises :class:`ConfigError` for a path that leaves it. A wrong working directory is left to
    :func:`navci.settings.load`, which says so along with everything else.
    """
    path = PurePosixPath(str(options.get("config") or CONFIG))
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ConfigError(
            f"--config: `{path}` is no file inside the working directory; give a relative path "
            "without `..`"
        )
    folder = PurePosixPath(str(options.get("working_directory") or ""))
    wrong = folder.is_absolute() or ".." in folder.parts
    return (path if wrong else folder / path).as_posix()


def make_agent(request: RunRequest, git: Git, base: str, chosen: Settings) -> agents.Agent:
    """The agent of the settings. A playbook is read once, now, before anything can edit it."""
    text = None
    if chosen.playbook:
        text = read_playbook(request, git, base, chosen.playbook)
    return agents.REGISTRY[chosen.agent](
        agents.AgentOptions(
            command=chosen.agent_command,
            args=chosen.agent_args,
            playbook=Path(chosen.playbook) if chosen.playbook else None,
            playbook_text=text,
        )
    )


def read_playbook(request: RunRequest, git: Git, base: str, path: str) -> str:
    """The playbook's text, from the base commit when it is committed there, else from disk."""
    file = request.directory / path
    try:
        inside = file.resolve().relative_to(git.work_tree.resolve()).as_posix()
    except ValueError:
        inside = ""
    committed = git.show(base, inside) if inside else None
    try:
        return (committed if committed is not None else file.read_bytes()).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"--playbook: cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"--playbook: {path} is not UTF-8 at byte {error.start}") from error


def report_globs(chosen: Settings) -> tuple[str, ...]:
    """Ignore patterns for the reports that checks write: evidence, not work."""
    folder = chosen.working_directory.strip("/")
    prefix = f"/{folder}/" if folder not in ("", ".") else "/"
    return tuple(prefix + glob.removeprefix("./") for spec in chosen.checks for glob in spec.junit)


def find_identity(chosen: Settings, checkout: Checkout) -> Identity:
    """Whose name is on the commits: the settings', the bot's in Actions, else the user's."""
    found = BOT if chosen.in_actions else (checkout.identity or NAVCI)
    return Identity(chosen.commit_name or found.name, chosen.commit_email or found.email)
