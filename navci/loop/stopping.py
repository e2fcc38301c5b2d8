"""`/navci stop`: a ref on the remote that the trigger job leaves for the run (DESIGN §9)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from navci.errors import InfraError
from navci.loop.push import push
from navci.loop.run import Run
from navci.queue.journals import STOPS
from navci.system.checkout import transport_env
from navci.system.gitcall import call, environment, write_config
from navci.system.remote import advertises, token_for

SECONDS = 60.0
ASKED = "/navci stop"
_BRIEF = 20.0


@contextmanager
def listening(run: Run) -> Iterator[None]:
    """Look for the ref once a minute, as long as this lasts; then take it away."""
    if run.ticket is None or not run.pushes:
        yield
        return
    # Who asked for this run did so after whoever asked for a stop.
    run.attempt("an earlier /navci stop could not be taken back", lambda: forget(run, looked(run)))
    over = Event()
    watch = Thread(target=_watch, args=(run, over), name="navci-stop", daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join(_BRIEF)
        if run.stop.requested == ASKED:
            run.attempt("the /navci stop could not be taken back", lambda: forget(run, True))


def _watch(run: Run, over: Event) -> None:
    while not over.wait(SECONDS):
        try:
            if looked(run):
                run.stop.request(ASKED)
                return
        except InfraError as error:
            run.log(f"the remote was not asked whether to stop: {error}")


def looked(run: Run) -> bool:
    """Whether the ref is there. Raises :class:`InfraError` when the remote does not say.

    This goes on while the agent works, which can read the environment of a git of ours: with the
    job's token the remote is asked from within this process, whose memory nobody reads.
    """
    ref, url = f"{STOPS}{run.task.id}", run.checkout.remote_url or ""
    token = token_for(run.checkout, run.request.environment)
    if token:
        return advertises(url, token, ref, _BRIEF)
    with tempfile.TemporaryDirectory(prefix="navci-stop-") as made:
        write_config(Path(made))
        answer = call(
            ("ls-remote", "--quiet", "--upload-pack=git-upload-pack", "--", url, ref),
            env=environment(Path(made)) | transport_env(run.checkout),
            cwd=Path(made),
            timeout=_BRIEF,
        )
    if answer.exit_code:
        raise InfraError(answer.err.strip() or f"git ls-remote exited {answer.exit_code}")
    return ref in os.fsdecode(answer.out).split()


def forget(run: Run, there: bool) -> None:
    """Take the ref away: the next run must not stop at once. Raises :class:`InfraError`."""
    if there:
        push(run, f":{STOPS}{run.task.id}")
