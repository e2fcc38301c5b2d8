"""Real processes in tests: each marked with a token, so that what is left over can be found."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil

from navci.system.process import TOKEN, Finished, run, scrubbed_env

REPOSITORY = Path(__file__).parents[2]

ANYBODY = ("setpriv", "--bounding-set=-all") if os.geteuid() == 0 else ("env",)
"""The start of a command line that permissions mean something to, also where tests run as root."""

DAEMON = (
    "import os, signal, sys, time\n"
    "for n in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid() if os.getpid() != os.getsid(0) else None\n"
    "time.sleep(60)\n"
)
"""A Python program that is gone at once and leaves a daemon: two forks, deaf, its pipes open."""


def can(*command: str) -> bool:
    """Is there such a program here, and may we use it to start another?"""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0


def tagged(token: str) -> list[int]:
    """The pids of living processes that carry ``token``."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(TOKEN) == token and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def wait_until(true: Callable[[], object], seconds: float = 5.0) -> bool:
    """Whether ``true()`` came true within ``seconds``."""
    give_up = time.monotonic() + seconds
    while not true():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


class Steps:
    """Runs bash lines in a folder, and knows what they left behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = uuid.uuid4().hex
        self.env = scrubbed_env() | {TOKEN: self.token}
        self.output = folder / "out.txt"

    def __call__(self, line: str, **options: Any) -> Finished:
        return self.start(["bash", "-c", line], **options)

    def start(self, argv: list[str], **options: Any) -> Finished:
        given: dict[str, Any] = {"cwd": self.folder, "env": self.env, "output": self.output}
        return run(argv, **(given | {"deadline": 8.0, "grace": 0.3} | options))

    def left(self) -> list[int]:
        """What is left of everything that was started here."""
        return tagged(self.token)

    def python(self, program: str) -> str:
        """A file with this program, and the shell words that start it."""
        file = self.folder / f"program-{uuid.uuid4().hex[:6]}.py"
        file.write_text(program)
        return f"{sys.executable} {file}"


@contextlib.contextmanager
def stepping(folder: Path) -> Iterator[Steps]:
    """:class:`Steps`, and nothing left afterwards, also when the test fails."""
    steps = Steps(folder)
    try:
        yield steps
    finally:
        for pid in steps.left():
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
