"""Open a run: refuse early, make navci's own git directory, continue or start (DESIGN §3)."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from navci import __version__
from navci.actions.commands import Console
from navci.actions.event import runtime_info
from navci.errors import ConfigError, InfraError, Skipped
from navci.evidence.worktree import Worktree
from navci.journal import OPENED, Journal, State, ref_of, take_lease
from navci.loop.asking import UNASKED, ask
from navci.loop.branch import Start
from navci.loop.carried import byproducts, results
from navci.loop.chosen import choose_start, find_identity, make_agent, report_globs
from navci.loop.earlier import as_seen
from navci.loop.entering import keep_found, only_checks_ran, stays, survey
from navci.loop.finding import Found, as_started, find_task, refuse_off, refuse_over
from navci.loop.finishing import finish
from navci.loop.push import fetch_journal
from navci.loop.run import Folders, Run, RunRequest
from navci.loop.standing import (
    hide_secrets,
    look,
    refuse_folder,
    refuse_in_use,
    refuse_overwriting,
    refuse_read_only,
    refuse_secrets,
    refuse_unfinished,
)
from navci.loop.ticket import Ticket
from navci.loop.transcripts import secrets_of
from navci.loop.work import add_commit
from navci.model import Contract, End, Memory, Task, Usage
from navci.settings import Settings
from navci.system.checkout import Checkout, adopt, find_checkout
from navci.system.clock import iso
from navci.system.exchange import branches_of, refs_before
from navci.system.git import Git
from navci.system.lock import FolderLock
from navci.system.neutral import show_path
from navci.system.process import end_tagged
from navci.task import build_contract

_REFS = "refs.json"


@dataclass(slots=True)
class Prepared:
    """What is known before there is a run: enough to say how it ended before it began."""

    checkout: Checkout
    found: Found
    task: Task
    folders: Folders
    lock: FolderLock

    def discard(self) -> None:
        """Leave nothing behind of a run that was refused."""
        shutil.rmtree(self.folders.top, ignore_errors=True)


def prepare(request: RunRequest) -> Prepared:
    """Refuse what can be refused without looking at the history; make the run directory.

    The lock on the checkout is the caller's to give back.

    Raises :class:`ConfigError` and :class:`Skipped`; :class:`InfraError` when there is no room.
    """
    refuse_nested(request.environment)
    checkout = find_checkout(request.directory)
    if checkout.head is None:
        raise ConfigError(
            f"the repository {checkout.top} has no commit yet; the loop needs one to start from: "
            "`git add -A && git commit -m start`"
        )
    found = find_task(request, checkout)
    refuse_off(found.task)
    folders = make_folders(found.task, request.environment, checkout.top)
    return Prepared(checkout, found, found.task, folders, FolderLock(checkout.top))


def open_run(request: RunRequest, console: Console, prepared: Prepared) -> Run:
    """A run with navci's own git directory, its journal, and its place in the checkout.

    Raises :class:`ConfigError` and :class:`Skipped` for what is refused early: nothing was spent
    then, and nothing in the checkout was touched. Raises
    :class:`navci.errors.JournalDamaged` when the task's journal cannot be trusted.
    """
    checkout, task = prepared.checkout, prepared.task
    refuse_read_only(checkout)
    git = adopt(checkout, prepared.folders.top)
    note = ""
    if checkout.remote_url and request.options.get("push") is not False:
        note = fetch_journal(git, checkout, ref_of(task.id), request.environment)
    journal = Journal(git, task.id, request.clock)
    refuse_busy(journal, request)
    refuse_shared(checkout, prepared.lock)
    refuse_over(prepared.found, journal.state)
    task = prepared.task = as_started(git, prepared.task, journal.state)
    start, chosen = choose_start(request, git, checkout, journal, task)
    prepared.found, ticket = ask(request, prepared.found, chosen, journal.state)
    if ticket is not None:
        refuse_off(prepared.found.task)
        task = prepared.task = as_started(git, prepared.found.task, journal.state)
        finish_first(request, console, prepared, git, journal, chosen, ticket)
    if journal.state.paused and not is_same_task(prepared.found.task, chosen, journal.state):
        # What a person changed while the run waited is a new task for a new run.
        journal.state = replace(journal.state, end=journal.state.paused, paused=None)
        refuse_over(prepared.found, journal.state)
        task = prepared.task = prepared.found.task
        start, chosen = choose_start(request, git, checkout, journal, task)
    run = lay_out(request, console, prepared, git, journal, start, chosen)
    run.ticket = ticket
    if prepared.found.number is not None and ticket is None:
        run.note(UNASKED)
    if note and chosen.push:
        run.note(note)
    return run


def finish_first(
    request: RunRequest,
    console: Console,
    prepared: Prepared,
    git: Git,
    journal: Journal,
    chosen: Settings,
    ticket: Ticket,
) -> None:
    """Where the last run ended complete and GitHub was not told all of it: that is done instead.

    Raises :class:`Skipped` then.
    """
    if journal.state.end is not End.COMPLETE:
        return
    done = finish(
        request, console, prepared.checkout, prepared.folders, git, journal, prepared.task,
        contract_of(prepared.task, chosen), chosen, ticket,
    )  # fmt: skip
    if done:
        raise Skipped(
            f"the last run of {prepared.task.id} ended complete; what was left of closing it was "
            f"done now: {', '.join(done)}"
        )


def is_same_task(task: Task, chosen: Settings, state: State) -> bool:
    """Whether the paused run is about what is asked for now."""
    return contract_of(task, chosen).hash == state.contract


def contract_of(task: Task, chosen: Settings) -> Contract:
    """What must become true."""
    return build_contract(
        task, chosen.checks, strict=chosen.acceptance_strict, acceptance=chosen.acceptance_map
    )


def refuse_nested(environment: Mapping[str, str]) -> None:
    """A loop inside a loop would spend twice and decide nothing."""
    outer = environment.get("NAVCI_LOOP_ACTIVE")
    if outer:
        raise Skipped(
            f"navci is already working on {outer} around this process (NAVCI_LOOP_ACTIVE); "
            "loops do not nest"
        )


def refuse_busy(journal: Journal, request: RunRequest) -> None:
    """One run per task: a second one waits until the first has ended or died."""
    lease, job = journal.state.lease, runtime_info(request.environment)
    now = request.clock.now().timestamp()
    alive = lease and lease.holder_is_alive(now, job.run_id, job.run_attempt)
    if lease and alive and journal.state.end is None:
        raise Skipped(
            f"{journal.state.task} is being worked on by process {lease.pid} on {lease.host}; "
            "wait for it to end, or end it"
        )


def refuse_shared(checkout: Checkout, lock: FolderLock) -> None:
    """One run per checkout: the work of two would be taken for each other's."""
    if lock.taken:
        raise Skipped(
            f"another navci is working in {show_path(str(checkout.top))}; wait for it to end, or "
            "give each its own clone or `git worktree`"
        )


def make_folders(task: Task, environment: Mapping[str, str], top: Path) -> Folders:
    """A new run directory under the runner's temporary folder, readable by this user only.

    Never in the repository at ``top``, where it would be part of the work.
    """
    parent = environment.get("RUNNER_TEMP") or tempfile.gettempdir()
    for place in (parent, tempfile.gettempdir(), "/tmp", "/var/tmp"):  # noqa: S108
        outside = not Path(place).resolve().is_relative_to(top.resolve())
        if outside and Path(place).is_dir() and os.access(place, os.W_OK):
            parent = place
            break
    if Path(parent).resolve().is_relative_to(top.resolve()):
        raise ConfigError(
            f"the folder for temporary files, {parent}, is inside the repository {top}; set "
            "RUNNER_TEMP to one outside"
        )
    try:
        made = tempfile.mkdtemp(prefix=f"navci-{task.id[:60]}-", dir=parent)
        folders = Folders(Path(made).resolve())
        for folder in (folders.scratch, folders.artifact):
            folder.mkdir()
    except OSError as error:
        raise InfraError(
            f"no run directory can be made in {parent}: "
            f"{error.strerror}; make room there, or set RUNNER_TEMP to another folder"
        ) from error
    return folders


def lay_out(
    request: RunRequest,
    console: Console,
    prepared: Prepared,
    git: Git,
    journal: Journal,
    start: Start,
    chosen: Settings,
) -> Run:
    """The run's state, and the work tree it works in."""
    checkout, task, folders = prepared.checkout, prepared.task, prepared.folders
    contract = contract_of(task, chosen)
    worktree = Worktree(
        git,
        start.base,
        folders.scratch,
        byproducts=byproducts(journal) if start.resumes else None,
        ignore=report_globs(chosen),
    )
    now = request.clock.monotonic()
    first = refs_first(journal, git, resumes=start.resumes)
    run = Run(
        request, chosen, task, contract, checkout, git, worktree, journal,
        make_agent(request, git, start.settings or start.base, chosen), console, folders,
        identity=find_identity(chosen, checkout),
        deadline=now + chosen.time_budget,
        opened=now,
        known_heads=branches_of(first),
        first_refs=first,
        secrets=secrets_of(chosen, request.environment),
        resumed=start.resumes,
        notes=[*chosen.notes, *start.notes, *contract.notes],
    )  # fmt: skip
    console.add_mask(run.secrets)
    # What lies in a checkout that the run worked in is its own, until it is left to a person.
    ours = start.resumes and not start.waited and journal.state.place == place_of(checkout)
    standing = hide_secrets(run, look(run, ours=ours), ours=ours)
    here = stays(run, start, standing, ours=ours)
    if start.waited or (not here and not only_checks_ran(run, ours=ours)):
        refuse_unfinished(run, standing)
    refuse_in_use(checkout, start.branch)
    if not start.resumes:
        refuse_secrets(run, standing)
        refuse_folder(run, (start.base, start.head))
        refuse_overwriting(run, standing, (start.base, start.head))
    state = begin(request, journal.state, start, contract.hash, checkout)
    if start.resumes:
        run.iterations.extend(map(as_seen, journal.judged(state.run)))
        run.checks, run.simplified_tree = results(journal), state.simplified
    run.notes.extend(journal.warnings)
    if chosen.dry_run:
        journal.state = state
        return run
    run.found = None if here else standing.tree
    ground = survey(run, start, state, standing, here=here, ours=ours)
    journal.on_append = run.mirror
    if start.resumes:
        keep_found(run, start, standing, ground.files)
    opened = {"version": __version__, "rules": chosen.rules, "contract": contract.hash}
    journal.append(OPENED, ground.state, opened, snapshot=ground.state.snapshot)
    if ground.files != standing.tree:
        worktree.checkout_tree(ground.files)
    if standing.touched and not start.resumes:
        add_commit(run, run.tree, "chore(navci): changes of the checkout as the run began")
    return run


def refs_first(journal: Journal, git: Git, *, resumes: bool) -> dict[str, str]:
    """All refs as the run began; those an interrupted attempt made since are its agent's."""
    kept = journal.attached(_REFS) if resumes else None
    if isinstance(kept, dict):
        return {str(ref): str(sha) for ref, sha in kept.items()}
    found = refs_before(git)
    journal.attach(_REFS, found)
    return found


def place_of(checkout: Checkout) -> str:
    """This very checkout: a fresh clone on another machine may have the same path."""
    return f"{socket.gethostname()}:{checkout.top}:{checkout.top.stat().st_ino}"


def begin(
    request: RunRequest, before: State, start: Start, contract: str, checkout: Checkout
) -> State:
    """The projection this process starts from: the interrupted run's, or a new run's."""
    now = request.clock.now()
    job = runtime_info(request.environment)
    lease = take_lease("", now.timestamp(), 600.0, job.run_id, job.run_attempt)
    if start.resumes:
        if before.token:
            end_tagged(before.token)
        token = before.token or secrets.token_hex(16)
        lease, place = replace(lease, token=token), place_of(checkout)
        return replace(before, token=token, lease=lease, place=place, troubles=0, paused=None)
    token = secrets.token_hex(16)
    shelved = dict(before.shelved)
    if before.contract and before.contract != contract:
        shelved[before.contract] = _lasting(before.memory)
        memory = shelved.pop(contract, Memory())
    else:
        memory = _lasting(before.memory)
    return State(
        task=before.task,
        run=secrets.token_hex(6),
        place=place_of(checkout),
        token=token,
        started=iso(now),
        base=start.base,
        base_branch=start.base_branch,
        branch=start.branch,
        head=start.head,
        contract=contract,
        attempt=before.attempt,
        memory=memory,
        spent=Usage(),
        lease=replace(lease, token=token),
        shelved=dict(list(shelved.items())[-16:]),
    )


def _lasting(memory: Memory) -> Memory:
    """What outlives a run: the contract's failures and signatures (DESIGN §1, run)."""
    return replace(memory, hashes=(), failures_since_event=0, events=0, strategies=())
