"""``navci init``: workflows and settings for somebody's repository, shown, then written."""

from __future__ import annotations

import difflib
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from navci import settings
from navci.agents import REGISTRY
from navci.errors import ConfigError, InfraError
from navci.setup.guess import Tests, guess_tests
from navci.setup.init_files import (
    Agent,
    Plan,
    choose_agent,
    config_text,
    cron_of,
    known_agents,
    workflow,
)
from navci.setup.project import ProjectFiles
from navci.setup.release import find_pin
from navci.system.checkout import Checkout, find_checkout
from navci.system.files import write_atomic
from navci.system.gitcall import Answer, call, environment, failed, write_config

WORKFLOWS = {name: f".github/workflows/{name}.yml" for name in ("loop-mode", "nightly")}

_SCHEME = re.compile(r"^(?:[a-z+]+://)?(?:[^@/]*@)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says. Empty text is not said, and found out."""

    agent: str = ""
    agent_command: str = ""
    agent_env: str = ""
    test_command: str = ""
    junit: str = ""
    setup_command: str = ""
    max_iterations: int = 8
    ref: str = ""


@dataclass(frozen=True, slots=True)
class Planned:
    """One file, relative to the top: ``old`` as it is there (``None``: it is not), ``new``."""

    path: str
    old: str | None
    new: str

    @property
    def differs(self) -> bool:
        """Whether there is anything to do."""
        return self.old != self.new

    def diff(self) -> str:
        """What would change, as a unified diff."""
        return "".join(
            difflib.unified_diff(
                (self.old or "").splitlines(keepends=True),
                self.new.splitlines(keepends=True),
                f"a/{self.path}" if self.old is not None else "/dev/null",
                f"b/{self.path}",
            )
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    """The files below ``top``, what they were made from (``found``), and what to know of them."""

    top: Path
    files: tuple[Planned, ...]
    found: tuple[str, ...]
    notes: tuple[str, ...]
    agent: Agent
    label: str


def propose(directory: Path, asked: Asked) -> Proposal:
    """What to write for the project in ``directory``; nothing is written yet.

    Raises :class:`ConfigError` where that is no git repository, or a file that is there already
    cannot be used.
    """
    checkout = find_checkout(directory)
    folder = directory.resolve().relative_to(checkout.top.resolve()).as_posix()
    with tempfile.TemporaryDirectory(prefix="navci-init-") as home:
        repository = _Repository(checkout, Path(home))
        files = repository.files_in(folder)
        tests = guess_tests(files)
        plan, about_pin = _plan(checkout, folder, files, tests, asked)
        there = {path: _read(checkout.top, path) for path in (plan.config, *WORKFLOWS.values())}
        config = config_text(plan, there[plan.config])
        chosen = settings.load(
            {}, config, in_actions=True, config_path=plan.config, known_agents=tuple(REGISTRY)
        )
        label = chosen.github.label
        texts = {path: workflow(name, plan, label) for name, path in WORKFLOWS.items()}
        texts = {plan.config: config, **texts}
        ignored = [path for path in texts if repository.ignores(path)]
    agent = plan.agent.command.partition(" ")[0] or plan.agent.name
    pinned = any(there[path] != texts[path] for path in WORKFLOWS.values())
    notes = (
        *(() if asked.test_command else tests.notes),
        *chosen.notes,
        about_pin if pinned else "",
        *(
            f"git ignores {path}: add it with `git add --force`, a run reads what is committed"
            for path in ignored
        ),
    )
    return Proposal(
        checkout.top,
        tuple(Planned(path, there[path], text) for path, text in texts.items()),
        (*tests.found, f"agent {agent}: {plan.agent.because}"),
        tuple(note for note in notes if note),
        plan.agent,
        label,
    )


def _plan(
    checkout: Checkout, folder: str, files: ProjectFiles, tests: Tests, asked: Asked
) -> tuple[Plan, str]:
    """What was said, over what was found out; and a note on the commit of navci."""
    on_path = {name: shutil.which(name) for name in known_agents()}
    agent = choose_agent(files, asked.agent, asked.agent_command, asked.agent_env, on_path)
    pin, about_pin = find_pin(asked.ref)
    own_tests = bool(asked.test_command)
    plan = Plan(
        agent=agent,
        test_command=asked.test_command or tests.command,
        junit=tuple(asked.junit.replace(",", " ").split()) or (() if own_tests else tests.junit),
        checks={} if own_tests else tests.checks,
        setup_command=asked.setup_command or tests.setup,
        prepare=tuple(line for line in (*tests.prepare, agent.prepare) if line),
        python=tests.python,
        node=tests.node,
        folder=folder,
        pin=pin,
        cron=cron_of(_identity(checkout)),
        max_iterations=asked.max_iterations,
        config=settings.CONFIG_PATH if folder == "." else f"{folder}/{settings.CONFIG_PATH}",
    )
    return plan, about_pin


def write(proposal: Proposal, *, force: bool) -> tuple[list[str], list[str]]:
    """Write the files; those written, and those that are there, differ, and were left as they are.

    Raises :class:`InfraError` when the disk does not take one.
    """
    written, left = [], []
    for file in proposal.files:
        if file.old is not None and file.differs and not force:
            left.append(file.path)
        elif file.differs:
            try:
                write_atomic(proposal.top / file.path, file.new)
            except OSError as error:
                raise InfraError(f"{file.path} cannot be written: {error.strerror}") from error
            written.append(file.path)
    return written, left


def _identity(checkout: Checkout) -> str:
    """The repository's address without scheme, user and ``.git``: the same for all its clones."""
    if not checkout.remote_url:
        return checkout.top.name
    bare = _SCHEME.sub("", checkout.remote_url).removesuffix("/").removesuffix(".git")
    return bare.replace(":", "/").casefold()


def _read(top: Path, path: str) -> str | None:
    """A file that is there. Raises :class:`ConfigError` for one that is not ours to replace."""
    file = top / path
    if not file.resolve().is_relative_to(top.resolve()):
        raise ConfigError(f"{path} leads out of the repository; remove the link first")
    try:
        return file.read_text("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is there, and not UTF-8; move it away first") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror}); move it away first") from None


class _Repository:
    """Questions to git about the user's files, with the repository's own ignore rules."""

    def __init__(self, checkout: Checkout, home: Path) -> None:
        self._checkout, self._home = checkout, home
        write_config(home)

    def files_in(self, folder: str) -> ProjectFiles:
        """Tracked files and those that would be added, below ``folder``."""
        args = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        answer = self._git(*args)
        if answer.exit_code:
            raise failed(args, answer)
        names = answer.out.decode("utf-8", "replace").split("\0")
        inside = "" if folder == "." else f"{folder}/"
        return ProjectFiles(
            self._checkout.top / folder,
            frozenset(
                name.removeprefix(inside) for name in names if name and name.startswith(inside)
            ),
            lambda name: self.ignores(inside + name),
        )

    def ignores(self, path: str) -> bool:
        """Whether an untracked ``path`` is left out; a folder ends in a slash."""
        return self._git("check-ignore", "--quiet", "--", path).exit_code == 0

    def _git(self, *args: str) -> Answer:
        places = (f"--git-dir={self._checkout.git_dir}", f"--work-tree={self._checkout.top}")
        top = self._checkout.top
        variables = environment(self._home)
        del variables["GIT_LITERAL_PATHSPECS"]  # check-ignore refuses to run with it
        return call((*places, *args), env=variables, cwd=top)
