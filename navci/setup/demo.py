"""The demo: a small real repository with a failing pytest suite, and a playbook that mends it."""

from __future__ import annotations

import sys
import tempfile
from importlib import resources
from pathlib import Path

from navci.errors import ConfigError, InfraError
from navci.system.files import write_atomic
from navci.system.gitcall import call, environment, failed, write_config

_AUTHOR = ("-c", "user.name=navci demo", "-c", "user.email=demo@navci.invalid")
_TASK = ".agent/tasks/TASK-1.md"


def make_demo(parent: Path | None = None) -> Path:
    """A new repository with one commit, in a temporary folder.

    Raises :class:`ConfigError` when pytest is not there to run its suite, :class:`InfraError`
    when the folder or the commit cannot be made.
    """
    try:
        import pytest  # noqa: F401
    except ImportError:
        raise ConfigError(
            "the demo runs a real pytest suite, and pytest is missing; install it: "
            'pip install "navci[demo]"'
        ) from None
    try:
        top = Path(tempfile.mkdtemp(prefix="navci-demo-", dir=parent)).resolve()
        files = resources.files("navci").joinpath("templates", "demo")
        for source in files.iterdir():
            name = source.name.removesuffix(".txt").replace("__", "/")
            write_atomic(top / name, source.read_bytes())
    except OSError as error:
        raise InfraError(f"the demo repository cannot be made: {error.strerror}") from error
    with tempfile.TemporaryDirectory(prefix="navci-demo-git-") as home:
        write_config(Path(home))
        for args in (
            ("init", "-q", "-b", "main"),
            ("add", "-A"),
            (*_AUTHOR, "commit", "-qm", "start"),
        ):
            answer = call(args, env=environment(Path(home)), cwd=top)
            if answer.exit_code:
                raise failed(args, answer)
    return top


def demo_options() -> dict[str, object]:
    """What the demo's ``navci run`` is given; the rest stands in the repository's config."""
    return {
        "task_file": _TASK,
        "agent": "playbook",
        "playbook": "playbook.yml",
        "test_command": f'"{sys.executable}" -m pytest -q --junitxml=build/junit.xml',
        "junit": "build/*.xml",
        "push": False,
    }
