"""The journals of all tasks as the remote has them, fetched once; and the refs that stop runs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from navci.actions.event import runtime_info
from navci.errors import InfraError, JournalDamaged, NavciError
from navci.journal import AUTHOR, ENDED, REFS, Journal, ref_of, task_of
from navci.model import End
from navci.queue.decide import Past, past_of
from navci.system.checkout import Checkout, find_checkout
from navci.system.clock import SYSTEM_CLOCK, Clock
from navci.system.git import Git
from navci.system.gitcall import PUSH_CONFIG, call, failed, write_config
from navci.system.gitcall import environment as environment_of
from navci.system.remote import remote_env

STOPS = "refs/navci-stop/"
"""Where a task has a ref as long as its run is asked to stop."""

TIMEOUT = 120.0
_DEEPER = "3"
_MANY = 200


@dataclass(slots=True)
class Journals:
    """What was fetched: when each task's journal was last appended to, and who is to stop."""

    git: Git
    checkout: Checkout
    environment: Mapping[str, str]
    clock: Clock
    at: dict[str, datetime] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    stops: set[str] = field(default_factory=set)
    _pasts: dict[str, Past] = field(default_factory=dict)

    def past(self, task: str) -> Past:
        """What the journal of ``task`` says; an empty past when it has none."""
        if task not in self._pasts:
            self._pasts[task] = self._read(task) if task in self.ids else Past()
        return self._pasts[task]

    def _read(self, task: str) -> Past:
        at, job = self.at[task], runtime_info(self.environment)
        try:
            journal = Journal(self.git, task, self.clock)
        except JournalDamaged:
            # A damaged tip falls back to the append before it, which was not fetched yet.
            ref = ref_of(task)
            _fetch(self, (f"+{ref}:{ref}",), _DEEPER)
            try:
                journal = Journal(self.git, task, self.clock)
            except JournalDamaged as damaged:
                return Past(at=at, problem=str(damaged))
        now = self.clock.now().timestamp()
        return past_of(journal.state, at, now, job.run_id, job.run_attempt)

    # --- changing -------------------------------------------------------------------------

    def stop(self, task: str, by: str) -> None:
        """Ask the run of ``task`` to stop: it looks for this ref once a minute.

        Raises :class:`InfraError`.
        """
        git = self.git
        message = f"navci: stop {task}\n\nRun: {self._run(task)}\nAsked-by: {by}\n"
        commit = git.commit_tree(git.empty_tree, [], message, AUTHOR, self.clock.now())
        self._push(f"+{commit}:{STOPS}{task}")
        self.stops.add(task)

    def end(self, task: str, by: str) -> None:
        """End the run of ``task`` that waits, which no process works on.

        Raises :class:`InfraError`, also when a run has gone on meanwhile.
        """
        journal = Journal(self.git, task, self.clock)
        why = f"{by} wrote `/navci abort` while the run waited"
        state = replace(journal.state, end=End.USER_ABORTED, paused=None, lease=None, reason=why)
        journal.append(ENDED, state, {"end": End.USER_ABORTED, "reason": why})
        self._push(f"{journal.tip}:{journal.ref}")
        self._pasts.pop(task, None)

    def _run(self, task: str) -> str:
        state = self.past(task).state
        return state.run if state else ""

    def forget_stops(self, tasks: Iterable[str]) -> None:
        """Remove what would stop the next run of these at once. Raises :class:`InfraError`."""
        stale = sorted(self.stops.intersection(tasks))
        if stale:
            self._push(*(f":{STOPS}{task}" for task in stale))
            self.stops.difference_update(stale)

    def drop(self, tasks: Iterable[str]) -> None:
        """Delete journals on the remote, unless they went on meanwhile.

        Raises :class:`InfraError`.
        """
        chosen = list(tasks)
        for first in range(0, len(chosen), _MANY):
            some = chosen[first : first + _MANY]
            held = (f"--force-with-lease={ref_of(task)}:{self.ids[task]}" for task in some)
            self._push(*(f":{ref_of(task)}" for task in some), options=tuple(held))
        for task in chosen:
            del self.ids[task], self.at[task]

    def _push(self, *refspecs: str, options: tuple[str, ...] = ()) -> None:
        env = remote_env(self.checkout, self.environment)
        env["GIT_CONFIG_GLOBAL"] = str(self.git.home / PUSH_CONFIG)
        answer = self.git.answer(
            *("-c", "core.hooksPath=/dev/null", "push", "--porcelain", *options),
            *("--receive-pack=git-receive-pack", "--", _remote(self.checkout), *refspecs),
            env=env,
            timeout=TIMEOUT,
        )
        if answer.exit_code:
            raise InfraError(
                f"the remote did not take {refspecs[0].rpartition(':')[2]} "
                f"({_last_line(answer.err)}); the token needs `contents: write`"
            )


@contextmanager
def fetched(
    checkout: Checkout,
    environment: Mapping[str, str],
    *,
    task: str = "",
    clock: Clock = SYSTEM_CLOCK,
) -> Iterator[Journals]:
    """The journals of all tasks, or of one, in a folder that lives as long as this.

    Only the last append of each is fetched: work that journals refer to stays where it is.
    Raises :class:`InfraError` when the remote cannot be read: who knows then what is at work.
    """
    with tempfile.TemporaryDirectory(
        prefix="navci-queue-", dir=environment.get("RUNNER_TEMP") or None
    ) as folder:
        home, git_dir = Path(folder) / "home", Path(folder) / "git"
        write_config(home)
        git = Git(git_dir, Path(folder), home)
        init = ("init", "--quiet", "--bare", "--template=", "--", str(git_dir))
        made = call(init, env=environment_of(home), cwd=Path(folder))
        if made.exit_code:
            raise failed(init, made)
        journals = Journals(git, checkout, environment, clock)
        # With a star: a ref that is not there must be no error.
        names = (f"{REFS}{task}/*" if task else f"{REFS}*", f"{STOPS}{task}*")
        if _ask(journals, "ls-remote", "--quiet", "--refs", "--", _remote(checkout), *names):
            _fetch(journals, tuple(f"+{name}:{name}" for name in names), "1")
        _list(journals)
        yield journals


@contextmanager
def pasts_of(
    directory: Path, environment: Mapping[str, str]
) -> Iterator[tuple[Callable[[str], Past] | None, str]]:
    """How to look a task's journal up, for who can do without; else why that is not possible."""
    with ExitStack() as stack:
        try:
            journals = stack.enter_context(fetched(find_checkout(directory), environment))
        except NavciError as error:
            yield None, f"the journals were not looked at: {error}"
            return
        yield journals.past, ""


def _fetch(journals: Journals, refs: tuple[str, ...], depth: str) -> None:
    options = ("--quiet", "--no-tags", f"--depth={depth}")
    _ask(journals, "fetch", *options, "--", _remote(journals.checkout), *refs)


def _ask(journals: Journals, command: str, *args: str) -> bytes:
    answer = journals.git.answer(
        *(command, "--upload-pack=git-upload-pack", *args),
        env=remote_env(journals.checkout, journals.environment),
        timeout=TIMEOUT,
    )
    if answer.exit_code:
        raise InfraError(
            f"the journals cannot be fetched ({_last_line(answer.err)}); without them nobody "
            "knows which loops are at work. The token needs `contents: read`"
        )
    return answer.out


def _list(journals: Journals) -> None:
    form = "--format=%(objectname) %(committerdate:unix) %(refname)"
    for line in journals.git.text("for-each-ref", form, REFS, STOPS).splitlines():
        sha, when, ref = line.split(" ", 2)
        if ref.startswith(STOPS):
            journals.stops.add(ref.removeprefix(STOPS))
        elif ref == ref_of(task := task_of(ref)):
            journals.ids[task] = sha
            journals.at[task] = datetime.fromtimestamp(int(when or 0), UTC)


def _remote(checkout: Checkout) -> str:
    """Where journals are: the remote, or a repository that has none itself."""
    return checkout.remote_url or str(checkout.common_dir)


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else "git said nothing"
