"""Processes that outlive what started them, found and ended."""

from __future__ import annotations

import contextlib
import os
import threading
import time

import psutil

from navci.system import supervisor

TOKEN = "NAVCI_RUN_TOKEN"  # noqa: S105 - a name, not a secret
"""The variable that marks every process of a run."""

STARTING = threading.Lock()
"""Held while a supervisor starts: it must be known before anyone looks for strays."""

SUPERVISORS: set[int] = set()
"""The supervisors at work, by pid."""


def end_adopted(others: set[int]) -> supervisor.Ended:
    """End what came to us because its supervisor was killed.

    Never one of ``others``, which were here before, nor one of our own session: a supervisor's
    descendants can only be in sessions made after it, so what shares ours is navci's own.
    """
    own = os.getsid(0)

    def spared(child: int) -> bool:
        if child in others or child in SUPERVISORS:
            return True
        try:
            return os.getsid(child) == own
        except OSError:
            return False

    with STARTING:
        return supervisor.end_children(spared)


def end_tagged(token: str) -> int:
    """End every process that carries ``NAVCI_RUN_TOKEN=token``, and all below it.

    For what an earlier navci left behind when it was killed. Returns the number ended. Processes
    of other users, and this one's own ancestors, are left alone.
    """
    if not token:
        return 0
    spared = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
    ended: set[int] = set()
    give_up = time.monotonic() + 5.0
    while True:
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.environ().get(TOKEN) == token:
                    found += [process, *process.children(recursive=True)]
        found = [process for process in found if process.pid not in spared]
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
                ended.add(process.pid)
        if not found or time.monotonic() > give_up:
            return len(ended)
        psutil.wait_procs(found, timeout=0.5)
