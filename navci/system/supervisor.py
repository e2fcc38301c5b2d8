"""Starts one command and outlives everything the command starts.

A small program of its own, one for each step::

    python -I -S supervisor.py <pid of navci> <descriptor for the report> <program> <arguments…>

and the module :mod:`navci.system.process` shares its functions. It needs nothing but the standard
library's smallest modules, because its start-up time is paid for every step.

Coding agents start their tools in sessions of their own, so ending a process group is not enough.
A *child subreaper* inherits every orphan below it instead; whatever it has left when the command
is over is a stray, and is ended (prctl(2), PR_SET_CHILD_SUBREAPER).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36

KILL_LIMIT = 10.0
"""Seconds after which ending strays is given up: uninterruptible processes, fork bombs."""


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)


def adopt_orphans() -> bool:
    """Make this process the parent of every orphan below it. False where the system cannot."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def hide_memory() -> bool:
    """Keep other processes of the same user out of this one's memory, environment, descriptors."""
    return _prctl(_PR_SET_DUMPABLE, 0)


class Entry:
    """One line of the process table, as far as it matters here."""

    __slots__ = ("parent", "session", "zombie")

    def __init__(self, parent: int, session: int, zombie: bool) -> None:
        self.parent = parent
        self.session = session
        self.zombie = zombie


def _read(path: str) -> bytes:
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, 65536)
    finally:
        os.close(handle)


def process_table() -> dict[int, Entry]:
    """Every process by pid. Empty where there is no ``/proc``."""
    table: dict[int, Entry] = {}
    try:
        names = [entry.name for entry in os.scandir("/proc")]
    except OSError:
        return table
    for name in names:
        if name.isdigit():
            try:
                # The name in parentheses may itself hold spaces and parentheses (proc_pid_stat(5)).
                fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
                table[int(name)] = Entry(int(fields[1]), int(fields[3]), fields[0] in b"ZX")
            except (OSError, IndexError, ValueError):
                continue
    return table


def descendants(root: int, table: dict[int, Entry]) -> Iterator[int]:
    """The pids below ``root`` in ``table``, parents before children, zombies left out."""
    below: dict[int, list[int]] = {}
    for pid, entry in table.items():
        below.setdefault(entry.parent, []).append(pid)
    todo = [root]
    while todo:
        for pid in below.pop(todo.pop(), ()):
            todo.append(pid)
            if not table[pid].zombie:
                yield pid


def _children() -> list[int]:
    """Our direct children. Adopted ones hang on any thread, so every thread is read."""
    found: list[int] = []
    try:
        threads = [entry.name for entry in os.scandir("/proc/self/task")]
        for thread in threads:
            found += map(int, _read(f"/proc/self/task/{thread}/children").split())
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        me = os.getpid()
        return [pid for pid, entry in process_table().items() if entry.parent == me]
    return found


class Ended:
    """What ending strays did: the pids ended, those not ours to end, those that would not die."""

    def __init__(self) -> None:
        self.killed: set[int] = set()
        self.refused: set[int] = set()
        self.left: set[int] = set()


def _kill(pid: int, ended: Ended) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        ended.killed.add(pid)
    except ProcessLookupError:
        pass
    except PermissionError:
        ended.refused.add(pid)


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def end_children(
    spared: Callable[[int], bool] = lambda pid: False, *, limit: float = KILL_LIMIT
) -> Ended:
    """End everything below this process, except children that are ``spared``.

    A scan of the process table ends most of them at once. The proof follows: only direct children
    are ended and waited for, whose pids cannot be used again before that, and each one's death
    hands us its own children, until there are none.
    """
    ended = Ended()
    give_up = time.monotonic() + limit
    table = process_table()
    me = os.getpid()
    for child in [pid for pid, entry in table.items() if entry.parent == me and not spared(pid)]:
        for pid in (child, *descendants(child, table)):
            if not table[pid].zombie:
                _kill(pid, ended)
    while True:
        waiting = [pid for pid in _children() if not spared(pid) and not _reaped(pid)]
        for pid in waiting:
            _kill(pid, ended)
        waiting = [pid for pid in waiting if pid not in ended.refused]
        if not waiting and _is_proof(spared, ended):
            return ended
        if time.monotonic() > give_up:
            ended.left.update(waiting)
            return ended
        time.sleep(0.0005)


def _is_proof(spared: Callable[[int], bool], ended: Ended) -> bool:
    """Whether nobody is left: the kernel's list of children may skip one while it changes."""
    me = os.getpid()
    return all(
        spared(pid) or pid in ended.refused
        for pid, entry in process_table().items()
        if entry.parent == me
    )


def exit_code(status: int) -> int:
    """The shell's exit code of a wait status: 128 + n for signal n."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _wait_for(command: int) -> int | None:
    """The exit code of ``command``, or ``None`` when we are told to end everything first."""
    while True:
        told = signal.sigwait({signal.SIGCHLD, signal.SIGTERM})
        code = None
        try:
            while (reaped := os.waitpid(-1, os.WNOHANG))[0]:
                if reaped[0] == command:
                    code = exit_code(reaped[1])
        except ChildProcessError:
            pass
        if code is not None or told == signal.SIGTERM:
            return code


def main(arguments: list[str]) -> int:
    """Run the command; its exit code is ours. What else happened goes to the report, in lines."""
    navci, report, command = int(arguments[0]), int(arguments[1]), arguments[2:]
    os.set_inheritable(report, False)
    everything = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, everything)
    adopt_orphans()
    hide_memory()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != navci:  # it died before we asked to be told
        return 128 + signal.SIGTERM
    try:
        pid = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            setsid=True,
            setsigmask=(),
            setsigdef=everything,
        )
    except OSError as problem:
        os.write(report, b"unstarted %d\n" % (problem.errno or 0))
        return 127
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    code = _wait_for(pid)
    if not sys.platform.startswith("linux"):
        try:  # noqa: SIM105 - contextlib costs start-up time
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass
    ended = end_children()
    if code is None:
        os.write(report, b"told to end\n")
        ended.killed.discard(pid)
    os.write(report, b"ended %d\n" % len(ended.killed))
    for word, pids in ((b"refused", ended.refused), (b"left", ended.left)):
        if pids:
            os.write(report, b"%s %s\n" % (word, " ".join(map(str, sorted(pids)[:20])).encode()))
    return 128 + signal.SIGTERM if code is None else code


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
