"""The one way to run a program: under a deadline, its output bounded, nothing left behind."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from navci.errors import InfraError
from navci.system import supervisor
from navci.system.capture import Capture
from navci.system.environment import scrubbed_env
from navci.system.stop import StopFlag
from navci.system.strays import STARTING, SUPERVISORS, TOKEN, end_adopted, end_tagged
from navci.system.watch import Watch

__all__ = [
    "TOKEN",
    "CannotStart",
    "Finished",
    "StopFlag",
    "end_tagged",
    "protect_self",
    "run",
    "scrubbed_env",
]

_LINUX = sys.platform.startswith("linux")
_ELSEWHERE = ["on this system what a step leaves behind is found by its environment only"]
"""Said once."""


class CannotStart(InfraError):
    """A program that is missing or not executable, or a folder that is gone. Nothing was run."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended.

    ``exit_code`` is the shell's (128 + n for signal n). ``tail`` is the end of its output as text,
    ``errors_tail`` that of its standard error where it was kept apart. ``bytes`` counts all output,
    also what ``truncated`` says is not in the file; ``silent`` says there was none. ``strays``
    counts processes that were still there afterwards and were ended. ``notes`` are for people.
    """

    exit_code: int
    timed_out: bool
    interrupted: bool
    silent: bool
    seconds: float
    tail: str
    bytes: int
    strays: int
    truncated: bool
    notes: tuple[str, ...]
    errors_tail: str = ""


def protect_self() -> None:
    """Keep agents out of navci's memory and environment, and inherit what they leave behind."""
    supervisor.hide_memory()
    supervisor.adopt_orphans()


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    output: Path,
    errors: Path | None = None,
    stdin: Path | None = None,
    deadline: float,
    grace: float = 5.0,
    tail_bytes: int = 64 * 1024,
    max_output: int = 1 << 30,
    on_line: Callable[[str], object] | None = None,
    stop: StopFlag | None = None,
) -> Finished:
    """Run ``argv`` to its end, or for ``deadline`` seconds, and end everything it started.

    Standard output goes to ``output``, standard error to ``errors`` or with it; each file holds at
    most ``max_output`` bytes, what exceeds that is counted and dropped. ``on_line`` gets the lines
    of both as they come, until it returns ``False``. Standard input is the file ``stdin``, or
    empty. At the deadline, or when ``stop`` is requested, every process gets SIGTERM, and SIGKILL
    ``grace`` seconds later.

    Call it from a thread that outlives the step: the kernel ends the supervisor with the thread.

    Raises :class:`CannotStart`.
    """
    started = time.monotonic()
    if stop is not None and stop.requested is not None:
        return Finished(
            130, False, True, True, 0.0, "", 0, 0, False, (f"not started: {stop.requested}",)
        )
    supervisor.adopt_orphans()
    with STARTING:
        me = os.getpid()
        others = {
            pid for pid, entry in supervisor.process_table().items() if entry.parent == me
        } - SUPERVISORS
        process, report = _start(argv, cwd, env, stdin, apart=errors is not None)
        SUPERVISORS.add(process.pid)
    out = Capture(output, limit=max_output, tail=tail_bytes, on_line=on_line)
    streams = {process.stdout: out}
    err = None
    if errors is not None:
        err = Capture(errors, limit=max_output, tail=tail_bytes, on_line=on_line)
        streams[process.stderr] = err
    watch = Watch(process, streams, report, started + deadline, grace, stop)
    try:
        watch.until_over()
    finally:
        watch.end_now()
        watch.drain()
        said = _Report(bytes(watch.said))
        strays = supervisor.Ended()
        if not said.complete or process.returncode is None or process.returncode < 0:
            strays = end_adopted(others)
        SUPERVISORS.discard(process.pid)
        if not _LINUX and TOKEN in env:
            end_tagged(env[TOKEN])
        watch.close()
        for capture in (out, *filter(None, [err])):
            capture.close()
        seconds = time.monotonic() - started
    if said.cannot_start is not None and process.returncode == 127:
        raise CannotStart(_why_not(argv[0], said.cannot_start))
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    notes = [*watch.notes, *said.notes, *out.notes, *(err.notes if err else ())]
    if not said.complete and watch.ending is None:
        notes.insert(0, "the step killed its own supervisor; its exit code is not known")
    elif said.told and watch.ending is None:
        notes.insert(0, "the step told its own supervisor to end; its exit code is not known")
    killed = said.ended + len(strays.killed)
    if killed and watch.ending is None:
        notes.append(_strays_note(killed))
    for word, pids in (("belongs to another user", strays.refused), ("would not die", strays.left)):
        notes += [f"process {pid} {word} and is still running" for pid in sorted(pids)[:5]]
    if not _LINUX and _ELSEWHERE:
        notes.append(_ELSEWHERE.pop())
    return Finished(
        exit_code=code if code >= 0 else 128 - code,
        timed_out=watch.ending == "timed out",
        interrupted=watch.ending == "stopped",
        silent=out.size + (err.size if err else 0) == 0,
        seconds=seconds,
        tail=out.tail(),
        bytes=out.size + (err.size if err else 0),
        strays=killed,
        truncated=out.truncated or (err is not None and err.truncated),
        notes=tuple(notes),
        errors_tail=err.tail() if err else "",
    )


def _strays_note(count: int) -> str:
    if count == 1:
        return "1 process was still running afterwards and was ended"
    return f"{count} processes were still running afterwards and were ended"


def _start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], stdin: Path | None, *, apart: bool
) -> tuple[subprocess.Popen[bytes], int]:
    """The supervisor, started, and the descriptor its report comes from."""
    if not cwd.is_dir():
        raise CannotStart(f"cannot start `{argv[0]}`: the folder {cwd} does not exist")
    report, report_end = os.pipe()
    try:
        with contextlib.ExitStack() as stack:
            source: int | IO[bytes] = subprocess.DEVNULL
            if stdin is not None:
                source = stack.enter_context(stdin.open("rb"))
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    supervisor.__file__,
                    str(os.getpid()),
                    str(report_end),
                    *argv,
                ],
                cwd=cwd,
                env=dict(env),
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if apart else subprocess.STDOUT,
                bufsize=0,
                pass_fds=(report_end,),
                start_new_session=True,
            )
    except (OSError, ValueError) as problem:
        os.close(report)
        raise CannotStart(f"cannot start `{argv[0]}`: {problem}") from problem
    finally:
        os.close(report_end)
    return process, report


def _why_not(program: str, number: int) -> str:
    start = f"cannot start `{program}`: "
    match number:
        case errno.ENOENT:
            return start + "not found; install it, correct the name, or give its full path"
        case errno.EACCES:
            return start + f"not executable; `chmod +x {shlex.quote(program)}` or start it by name"
        case errno.ENOEXEC:
            return start + "no program; a script needs a first line like `#!/usr/bin/env bash`"
        case errno.E2BIG:
            return start + "its arguments and environment are too long; use stdin or a file"
        case _:
            return start + os.strerror(number)


class _Report:
    """What the supervisor said, line by line; ``complete`` when it lived to say it."""

    def __init__(self, raw: bytes) -> None:
        self.cannot_start: int | None = None
        self.ended = 0
        self.complete = self.told = False
        self.notes: list[str] = []
        for line in raw.decode("ascii", "replace").splitlines():
            word, _, rest = line.partition(" ")
            match word:
                case "unstarted" if rest.isdigit():
                    self.cannot_start = int(rest)
                case "ended" if rest.isdigit():
                    self.ended, self.complete = int(rest), True
                case "told":
                    self.told = True
                case "refused":
                    self.notes.append(f"processes of another user are still running: {rest}")
                case "left":
                    self.notes.append(f"processes would not die and are still running: {rest}")
