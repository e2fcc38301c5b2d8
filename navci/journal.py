"""The journal of a task: an append-only record in git from which any process can resume.

One ref per task, ``refs/navci/<task-id>/journal``; each append is one commit whose tree holds the
event (``event.json``), the projection after it (``state.json``) and what is attached; its second
parent is a snapshot of the work (DESIGN §7). ``git log`` of that ref is the ledger.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast

import psutil
from pydantic import TypeAdapter, ValidationError

from navci.errors import GitError, InfraError, JournalDamaged
from navci.judge import JUDGE_VERSION, judge
from navci.model import End, Judgement, Memory, Observation, Rules, Usage
from navci.system.canonical import canonical, plain
from navci.system.clock import Clock, iso
from navci.system.git import Git, Identity

SCHEMA = 1
REFS = "refs/navci/"
_JOURNAL = "/journal"
AUTHOR = Identity("navci", "navci@users.noreply.github.com")
CREATED, OPENED, BASELINE, ATTEMPT = "created", "run_opened", "baseline", "attempt"
SNAPSHOT, JUDGED, NOT_JUDGED = "snapshot", "iteration", "attempt_not_judged"
CLOSING, PAUSED, ENDED = "closing", "run_paused", "run_ended"


def ref_of(task_id: str) -> str:
    """The ref a task's journal lives under.

    Not ``refs/navci/<task>`` itself: git takes plain ``navci/<task>`` for that before it thinks of
    the branch, and ``git merge navci/<task>`` would merge the journal, whose trees hold no work.
    """
    return f"{REFS}{task_id}{_JOURNAL}"


def task_of(ref: str) -> str:
    """The task whose journal lives under ``ref``."""
    return ref.removeprefix(REFS).removesuffix(_JOURNAL)


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds the task, until when (Unix time in seconds).

    Dead at once when the process is gone on the same host and boot, or a later attempt of the
    same GitHub run (``job``, ``job_attempt``) asks: GitHub ended the earlier one.
    """

    host: str
    boot: str
    pid: int
    started: float
    token: str
    until: float
    job: str = ""
    job_attempt: int = 0

    def holder_is_alive(self, now: float, job: str = "", job_attempt: int = 0) -> bool:
        """Whether the holder may still be working, as one looks who is ``job`` at ``now``."""
        if job and job == self.job and job_attempt > self.job_attempt:
            return False
        if (self.host, self.boot) != (socket.gethostname(), _boot_id()):
            return now < self.until
        try:
            return abs(psutil.Process(self.pid).create_time() - self.started) < 1.0
        except psutil.Error:
            return False


def take_lease(
    token: str, now: float, seconds: float, job: str = "", job_attempt: int = 0
) -> Lease:
    """This process's lease on a task, for ``seconds`` from ``now`` (Unix time)."""
    started, host = psutil.Process().create_time(), socket.gethostname()
    until = now + seconds
    return Lease(host, _boot_id(), os.getpid(), started, token, until, job, job_attempt)


def _boot_id() -> str:
    return str(int(psutil.boot_time()))


@dataclass(frozen=True, slots=True)
class State:
    """The projection after an event: everything a process needs to go on.

    ``base`` is the commit the work starts from, ``origin`` the tree of the checkout when the run
    opened (untracked files included), ``head`` the work branch's last commit, ``snapshot`` the
    last snapshot, ``tree`` what the next iteration's changes are measured against, ``simplified``
    what was simplified last. ``iteration`` is the last judged one. ``place`` is the checkout it
    works in; ``deciding`` the end that closing works on, ``closing`` its steps already done.
    ``shelved`` keeps other contracts' memories, so that returning to one does not refill its
    failure budget. ``paused`` is the resumable end that the run waits at for a process that goes
    on with it; ``pauses`` counts them. ``pull_request`` is its address.
    """

    task: str
    schema: int = SCHEMA
    run: str = ""
    token: str = ""
    started: str = ""
    base: str = ""
    base_branch: str | None = None
    origin: str = ""
    branch: str = ""
    head: str = ""
    snapshot: str | None = None
    tree: str = ""
    contract: str = ""
    iteration: int = 0
    attempt: int = 0
    troubles: int = 0
    simplified: str | None = None
    memory: Memory = field(default_factory=Memory)
    spent: Usage = field(default_factory=Usage)
    lease: Lease | None = None
    place: str = ""
    deciding: End | None = None
    closing: tuple[str, ...] = ()
    end: End | None = None
    reason: str = ""
    paused: End | None = None
    pauses: int = 0
    pull_request: str = ""
    shelved: Mapping[str, Memory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """One append. ``data`` is the event's own record; ``commit`` where it is kept."""

    seq: int
    kind: str
    run: str
    at: str
    nonce: str
    data: Mapping[str, object]
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """The record of a judged iteration: enough to judge it again and compare."""

    judge_version: int
    rules: Rules
    before: Memory
    observation: Observation
    judgement: Judgement
    commit: str | None
    excerpts: Mapping[str, str]
    notes: tuple[str, ...]
    summary: str
    agent_seconds: float


_STATE: TypeAdapter[State] = TypeAdapter(State)
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_JUDGED: TypeAdapter[Judged] = TypeAdapter(Judged)


class Journal:
    """The journal of one task in navci's own git directory; ``last`` is the last event's kind."""

    def __init__(self, git: Git, task_id: str, clock: Clock) -> None:
        self.git = git
        self.ref = ref_of(task_id)
        self.warnings: list[str] = []
        self.on_append: Callable[[], None] = lambda: None
        self._clock = clock
        self._attached: dict[str, str] = {}
        self._known: dict[str, bytes] = {}
        self.last = ""
        self.tip, self._seq, self.state = self._read_tip(task_id)
        self._held = self.state.head

    def _read_tip(self, task_id: str) -> tuple[str | None, int, State]:
        tip = self.git.read_ref(self.ref)
        if tip is None:
            return None, 0, State(task_id)
        chain = self.git.text("rev-list", "--first-parent", "--max-count=3", tip).split()
        problems = []
        for commit in chain:
            try:
                event, state = self._read(commit)
            except JournalDamaged as damaged:
                problems.append(str(damaged))
                continue
            if state.task != task_id:
                raise JournalDamaged(f"{self.ref} holds the journal of {state.task}, not {task_id}")
            if problems:
                self.warnings.append(f"{problems[0]}; going on from the append before it")
            self._attached, self.last = self._attachments(commit), event.kind
            # Appends go on after the damaged tip, so that nothing of the ledger is dropped.
            return tip, event.seq + len(problems), state
        raise JournalDamaged(
            f"{self.ref}: {problems[0]}; nothing before it is readable either. "
            f"Look at `git log {self.ref}`; rename the ref to start this task afresh"
        )

    def _read(self, commit: str) -> tuple[Event, State]:
        try:
            event, state = (self.git.show(commit, name) for name in ("event.json", "state.json"))
        except GitError as error:
            raise JournalDamaged(f"append {commit[:12]} cannot be read: {error}") from error
        if event is None or state is None:
            raise JournalDamaged(f"append {commit[:12]} has no event.json or no state.json")
        try:
            # Not `validate_json`: it refuses the lone surrogates of names that are not UTF-8.
            read = _EVENT.validate_python(json.loads(event))
            return replace(read, commit=commit), _STATE.validate_python(json.loads(state))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise JournalDamaged(f"append {commit[:12]}: {where}: {first['msg']}") from error
        except (ValueError, RecursionError) as error:
            raise JournalDamaged(f"append {commit[:12]} is not JSON: {error}") from error

    def _attachments(self, commit: str) -> dict[str, str]:
        listing = self.git.text("ls-tree", commit)
        entries = (line.split(None, 3) for line in listing.splitlines())
        return {e[3]: e[2] for e in entries if e[3] not in ("event.json", "state.json")}

    def attach(self, name: str, value: object) -> None:
        """Keep ``value`` under ``name`` in this and all later appends; git stores it once."""
        data = canonical(value)
        if self._known.get(name) != data:
            self._attached[name], self._known[name] = self._blob(data), data

    def attach_text(self, name: str, text: str) -> None:
        """The same for a text that people read where it lies; it is not :meth:`attached`."""
        data = text.encode("utf-8", "backslashreplace")
        if self._known.get(name) != data:
            self._attached[name], self._known[name] = self._blob(data), data

    def attached(self, name: str) -> object:
        """The value attached under ``name``, as JSON types; ``None`` when it cannot be had."""
        blob = self._attached.get(name)
        if blob is None:
            return None
        try:
            return json.loads(self.git.run("cat-file", "blob", blob))
        except (InfraError, ValueError, RecursionError) as error:
            self.warnings.append(f"the journal's {name} is unreadable and is made again: {error}")
            return None

    def append(
        self, kind: str, state: State, data: object = None, snapshot: str | None = None
    ) -> None:
        """Append one event; ``state`` is the projection after it.

        Raises :class:`InfraError` when the ref moved under us or git cannot write.
        """
        if self.tip is None and kind != CREATED:
            # A root without parents, so that every later second parent is a snapshot.
            self.append(CREATED, State(state.task))
        now = self._clock.now()
        record = cast("dict[str, object]", plain(data) if data is not None else {})
        event = Event(self._seq + 1, kind, state.run, iso(now), secrets.token_hex(8), record)
        commit = self._commit(event, state, snapshot, now)
        if not self.git.update_ref(self.ref, commit, self.tip):
            raise InfraError(
                f"{self.ref} was moved by another process; is a second navci working on "
                f"{state.task}? Wait for it to end, then run again"
            )
        self.tip, self._seq, self.state, self.last = commit, event.seq, state, event.kind
        self._held = state.head
        self.on_append()

    def _commit(self, event: Event, state: State, snapshot: str | None, now: datetime) -> str:
        blobs = {
            **self._attached,
            "event.json": self._blob(canonical(event)),
            "state.json": self._blob(canonical(state)),
        }
        listing = "".join(f"100644 blob {sha}\t{name}\n" for name, sha in sorted(blobs.items()))
        tree = self.git.text("mktree", stdin=listing.encode())
        # What the state goes on from must come along wherever the journal goes.
        head = state.head if state.head != self._held else None
        parents = list(dict.fromkeys(one for one in (self.tip, snapshot, head) if one))
        subject = f"{event.kind} {state.task} #{event.seq}"
        if event.kind in (ATTEMPT, SNAPSHOT, JUDGED, NOT_JUDGED):
            subject += f" iteration {state.iteration + (event.kind != JUDGED)}"
        if state.end is not None and event.kind == ENDED:
            subject += f" {state.end}"
        return self.git.commit_tree(tree, parents, subject, AUTHOR, now)

    def _blob(self, data: bytes) -> str:
        return self.git.text("hash-object", "-w", "--stdin", stdin=data)

    def events(self, run: str | None = None) -> Iterator[Event]:
        """All events in order, or those of one run.

        Raises :class:`JournalDamaged` where a record is unreadable, out of order, or holds a
        judgement that the judge of the same version does not repeat.
        """
        if self.tip is None:
            return
        expected = 0
        for commit in self.git.text("rev-list", "--first-parent", "--reverse", self.tip).split():
            try:
                event, _ = self._read(commit)
            except JournalDamaged as damaged:
                self.warnings.append(str(damaged))
                expected += 1
                continue
            expected += 1
            if event.seq != expected:
                raise JournalDamaged(
                    f"append {commit[:12]} is number {event.seq}, expected {expected}"
                )
            if run is None or event.run == run:
                self._recheck(event)
                yield event

    def judged(self, run: str) -> list[Judged]:
        """The judged iterations of one run, in order.

        Raises :class:`JournalDamaged` as :meth:`events` does, and when the projection says
        something else than the last of them: it is read without judging again.
        """
        known = len(self.warnings)
        records = [judged_record(event) for event in self.events(run) if event.kind == JUDGED]
        last, state = records[-1] if records else None, self.state
        if state.run != run:
            return records
        if state.deciding is End.COMPLETE and (
            last is None or last.judgement.end is not End.COMPLETE
        ):
            raise JournalDamaged(
                f"{self.ref} decides that {run} is complete, which no judgement says"
            )
        if last and len(self.warnings) == known:
            said = (last.observation.iteration, canonical(last.judgement.memory))
            if said != (state.iteration, canonical(state.memory)):
                raise JournalDamaged(
                    f"{self.ref}: the projection does not follow from iteration {said[0]}, the "
                    "last one that was judged"
                )
        return records

    def _recheck(self, event: Event) -> None:
        if event.kind != JUDGED:
            return
        record = judged_record(event)
        if record.judge_version != JUDGE_VERSION:
            self.warnings.append(
                f"append {event.commit[:12]} was judged by version {record.judge_version}; "
                f"taken as it is (this is version {JUDGE_VERSION})"
            )
            return
        again = judge(record.before, record.observation, record.rules)
        if canonical(again) != canonical(record.judgement):
            raise JournalDamaged(
                f"append {event.commit[:12]} (iteration {record.observation.iteration}) holds a "
                "judgement that its own evidence does not give: it was altered"
            )


def judged_record(event: Event) -> Judged:
    """The typed record of a judged iteration. Raises :class:`JournalDamaged` when it is not one."""
    try:
        return _JUDGED.validate_python(event.data)
    except ValidationError as error:
        raise JournalDamaged(f"append {event.commit[:12]}: {error.errors()[0]['msg']}") from error
