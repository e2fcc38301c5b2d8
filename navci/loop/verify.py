"""Run the checks on a tree, or let the receipts stand (DESIGN §3.2.8, §5 Checks)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from navci.errors import ConfigError, InfraError
from navci.evidence.checks import (
    CheckPlace,
    baseline_must_pass,
    output_file,
    run_check,
    to_facts,
)
from navci.journal import BASELINE
from navci.loop.flaky import settled
from navci.loop.preexisting import forgiven, tolerated
from navci.loop.red_words import said_of
from navci.loop.run import Run
from navci.loop.strangers import look_around
from navci.model import Baseline, CheckResult, CheckSpec
from navci.system.globs import match_glob
from navci.system.neutral import one_line, show_path
from navci.system.process import run as run_process
from navci.system.process import scrubbed_env
from navci.system.programs import program

_BASELINE = "baseline.json"
_SAID = "baseline-said.json"
_KEPT: TypeAdapter[Baseline] = TypeAdapter(Baseline)
_WORDS: TypeAdapter[Mapping[str, str]] = TypeAdapter(Mapping[str, str])
_NOT_FOUND = (126, 127)


def verify(run: Run, tree: str, folder: Path) -> tuple[CheckResult, ...]:
    """Results valid for ``tree``: the receipts while it is the verified tree, else a new run."""
    if tree == run.verified_tree:
        return run.checks
    # Should one fail to be measured, no older result may stand in for it.
    run.checks, run.verified_tree = (), None
    if run.required:
        run.tests_exit = 1
    results = tuple(check_once_or_twice(run, spec, tree, folder) for spec in run.required)
    if all(result.passed for result in results) and results:
        run.tests_exit = 0
    run.checks = results
    run.verified_tree = None if run.stop.requested else tree
    run.measured_at = (tree, run.turns)
    return results


def check_once_or_twice(run: Run, spec: CheckSpec, tree: str, folder: Path) -> CheckResult:
    """A result to go by: without what may stay red, and without what was red by chance."""
    red_before = tolerated(run.baseline, run.settings)

    def attempt(folder: Path) -> CheckResult:
        return forgiven(run_one(run, spec, tree, folder), red_before)

    return settled(run, attempt(folder), lambda: attempt(folder / "again"))


def run_one(
    run: Run, spec: CheckSpec, tree: str, folder: Path, state: str | None = None
) -> CheckResult:
    """One check on ``tree``. Whatever it does to the tree is undone or set apart afterwards.

    ``state`` names the files as they lie here, where that is more than ``tree`` says: no check of
    another one leaves byte code to it.
    """
    place = CheckPlace(
        cwd=run.directory,
        repo=run.checkout.top,
        env=check_environment(run) | run.bytecode.environment(state or tree),
        folder=folder,
        tracked=run.worktree.tracked(run.state.head),
    )
    with run.console.untrusted(str(output_file(spec, folder))) as show:
        return run_check(
            spec,
            place,
            contract=run.contract.hash,
            tree=tree,
            commit=run.state.head,
            clock=run.clock,
            stop=run.stop,
            on_line=show,
            changed_files=lambda: undo_changes(run, tree, spec),
            deadline=max(run.seconds_left, 30.0),
        )


def check_environment(run: Run) -> dict[str, str]:
    """Base set, ``HOME`` and ``check-env``, never ``agent-env`` (DESIGN §5).

    A check is the user's own command: without ``HOME`` neither rustup nor Go nor pyenv start.
    """
    names = ("HOME", *run.settings.check_env)
    return scrubbed_env(names, run.request.environment) | tags(run)


def tags(run: Run) -> dict[str, str]:
    """What tells a process of this run: no loop starts inside, and what is left over is found."""
    return {"NAVCI_LOOP_ACTIVE": run.task.id, "NAVCI_RUN_TOKEN": run.state.token}


def undo_changes(run: Run, tree: str, spec: CheckSpec) -> tuple[str, ...]:
    """Files of ``tree`` that the check changed, after putting them back.

    New files are by-products: neither the agent's work nor part of the tree while they stay as
    the check wrote them. The same goes for untracked files the user already had.
    """
    changes = [
        c for c in run.worktree.changed(tree, run.worktree.tree()) if c.path not in run.leave_out
    ]
    written = {c.path: c.new_blob for c in changes if c.status == "A" or c.path in run.untracked}
    run.worktree.byproducts.update({path: blob for path, blob in written.items() if blob})
    touched = [change.path for change in changes if change.path not in written]
    if touched:
        run.worktree.restore(tree, touched)
    folder = run.settings.working_directory.strip("/")
    inside = "" if folder in ("", ".") else f"{folder}/"
    return tuple(
        path
        for path in touched
        if not any(match_glob(path, inside + glob) for glob in spec.may_write)
    )


def set_up(run: Run) -> None:
    """Run ``setup-command`` once. Raises :class:`ConfigError` when it fails: nothing was spent."""
    command = run.settings.setup_command
    if not command:
        return
    before = run.worktree.tree()
    output = run.folders.transcripts / "setup.out"
    with run.console.untrusted(str(output)) as show:
        finished = run_process(
            [program("bash"), "-eo", "pipefail", "-c", command],
            cwd=run.directory,
            env=check_environment(run),
            output=output,
            deadline=max(run.seconds_left, 30.0),
            stop=run.stop,
            on_line=show,
        )
    if finished.exit_code != 0 and not finished.interrupted:
        why = "did not end in time" if finished.timed_out else f"exited {finished.exit_code}"
        last = one_line(finished.tail.rstrip().rpartition("\n")[2])
        said = f" ({last})" if last else ""
        raise ConfigError(f"setup-command `{one_line(command)}` {why}{said}; mend it or remove it")
    touched = undo_changes(run, before, CheckSpec("setup", command))
    if touched:
        shown = ", ".join(show_path(path) for path in touched[:5])
        run.note(f"setup-command changed files of the repository, which were put back: {shown}")


def take_baseline(run: Run) -> None:
    """The checks once on the base commit, or as the journal has them for it and this contract.

    Raises :class:`ConfigError` for a check that cannot start or changes tracked files: it would
    void itself every time.
    """
    look_around(run)
    if not run.required:
        return
    known = read_baseline(run)
    if known is not None:
        run.baseline, run.said_at_base = known, read_said(run)
        return
    standing = run.worktree.tree()
    on_base = standing == run.state.origin
    if not on_base:
        run.worktree.checkout_tree(run.state.origin)
    try:
        folder = run.folders.transcripts / "baseline"
        results = tuple(run_one(run, spec, run.state.origin, folder) for spec in run.required)
    finally:
        if not on_base:
            run.worktree.checkout_tree(standing)
    if run.stop.requested:
        return
    refuse_unusable(run, results)
    run.baseline = Baseline(
        run.state.base,
        run.contract.hash,
        tuple(to_facts(result) for result in results),
        {result.check: baseline_must_pass(result) for result in results},
    )
    run.said_at_base = said_of(results)
    run.journal.attach(_BASELINE, run.baseline)
    run.journal.attach(_SAID, run.said_at_base)
    run.journal.append(BASELINE, run.state, {"checks": {r.check: r.why for r in results}})
    if on_base:
        red_before = tolerated(run.baseline, run.settings)
        run.checks = tuple(forgiven(result, red_before) for result in results)
        run.verified_tree = standing
        run.measured_at = (standing, run.turns)


def forget_baseline(run: Run) -> None:
    """Have it taken again, whatever the journal holds."""
    run.baseline = None
    run.journal.attach(_BASELINE, None)


def refuse_unusable(run: Run, results: tuple[CheckResult, ...]) -> None:
    """A check nobody could ever pass is a mistake in the settings; say so before spending."""
    problems = []
    for result, spec in zip(results, run.required, strict=True):
        if result.receipt.exit_code in _NOT_FOUND:
            problems.append(
                f"the check `{spec.id}` cannot start: {result.why}; mend `{spec.command}`, or "
                "install what it needs with setup-command"
            )
        if result.changed:
            shown = ", ".join(show_path(path) for path in result.changed[:5])
            problems.append(
                f"the check `{spec.id}` changes files of the repository on the base commit: "
                f"{shown}; make it leave them alone, or list them in check_may_write"
            )
    if problems:
        raise ConfigError(*problems)


def read_baseline(run: Run) -> Baseline | None:
    """The journal's baseline when it is of this base and contract."""
    try:
        kept = run.journal.attached(_BASELINE)
        if kept is None:
            return None
        found = _KEPT.validate_python(kept)
    except (ValidationError, ValueError, InfraError) as error:
        run.log(f"the journal's baseline cannot be read and is taken again: {error}")
        return None
    same = (found.commit, found.contract) == (run.state.base, run.contract.hash)
    return found if same else None


def read_said(run: Run) -> Mapping[str, str] | None:
    """The words that belong to the journal's baseline."""
    try:
        kept = run.journal.attached(_SAID)
        return None if kept is None else _WORDS.validate_python(kept)
    except ValidationError as error:
        run.log(f"the journal's words of the baseline cannot be read: {error}")
        return None
