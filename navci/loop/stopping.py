"""`/navci stop`: a ref on the remote that the trigger job leaves for the run (DESIGN §9)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from navci.errors import InfraError
from navci.loop.push import push
from navci.loop.run import Run
from navci.queue.journals import STOPS
from navci.system.remote import remote_env

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
    """Whether the ref is there. Raises :class:`InfraError` when the remote does not say."""
    ref = f"{STOPS}{run.task.id}"
    answer = run.git.answer(
        *("ls-remote", "--quiet", "--upload-pack=git-upload-pack", "--"),
        *(run.checkout.remote_url or "", ref),
        env=remote_env(run.checkout, run.request.environment),
        timeout=_BRIEF,
    )
    if answer.exit_code:
        raise InfraError(answer.err.strip() or f"git ls-remote exited {answer.exit_code}")
    return ref in os.fsdecode(answer.out).split()


def forget(run: Run, there: bool) -> None:
    """Take the ref away: the next run must not stop at once. Raises :class:`InfraError`."""
    if there:
        push(run, f":{STOPS}{run.task.id}")
