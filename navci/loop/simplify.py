"""The simplify turn: once per green tree with code changes, undone when red (DESIGN §6)."""

from __future__ import annotations

from pathlib import Path

from navci.loop.observe import is_document
from navci.loop.run import Run
from navci.loop.turn import take_turn
from navci.loop.verify import verify
from navci.loop.work import Work, gather, keep_snapshot, paths_changed
from navci.model import CheckResult
from navci.prompt import build_simplify_prompt


def simplify(
    run: Run, number: int, work: Work, checks: tuple[CheckResult, ...], folder: Path
) -> tuple[Work, tuple[CheckResult, ...]]:
    """The work after the extra turn, or as it was; the note says which, for people."""
    due = why_not(run, work, checks)
    if due:
        run.simplify_note = due
        return work, checks
    paths = paths_changed(run, run.git.tree_of(run.state.base), work.tree)
    prompt = build_simplify_prompt(paths, base=run.state.base, protect=run.settings.protect)
    own = folder / "simplify"
    own.mkdir()
    verified = (run.checks, run.verified_tree, run.tests_exit)
    before, run.tree = run.tree, work.tree
    try:
        turn = take_turn(run, number, own, prompt)
        simpler = gather(run, own)
        # Reachable from now on, whatever becomes of it.
        keep_snapshot(run, simpler)
        results = verify(run, simpler.tree, own) if turn.error is None else ()
    except Exception:  # what nobody verified does not stay
        run.worktree.restore(work.tree, paths_changed(run, work.tree, run.worktree.tree()))
        keep_snapshot(run, work)
        run.checks, run.verified_tree, run.tests_exit = verified
        raise
    finally:
        run.tree = before
    if turn.error is None and all(r.passed for r in results) and not simpler.guards:
        run.simplified_tree, run.simplify_note = simpler.tree, "simplified and still green"
        return simpler, results
    run.worktree.restore(work.tree, paths_changed(run, work.tree, simpler.tree))
    keep_snapshot(run, work)
    run.checks, run.verified_tree, run.tests_exit = verified
    run.simplified_tree = None
    run.simplify_note = "the simplified code was red and was undone"
    if turn.error is not None:
        run.simplify_note = f"the simplify turn failed: {turn.error.message}"
    run.note(run.simplify_note)
    return work, checks


def why_not(run: Run, work: Work, checks: tuple[CheckResult, ...]) -> str:
    """Why there is no simplify turn now; empty when it is due."""
    if not run.settings.simplify:
        return "simplification is not enabled"
    if run.simplified_tree == work.tree:
        return "this tree is simplified already"
    if run.simplified_tree is not None and work.tree == run.tree:
        return "nothing changed since"
    if not checks or not all(check.passed for check in checks) or work.guards:
        return "waiting for green checks"
    if run.stop.requested or run.seconds_left <= 0:
        return "no time for it"
    if not code_changed_in(run, work):
        return "no code changes"
    return ""


def code_changed_in(run: Run, work: Work) -> bool:
    """Whether ``work``, not committed yet, changes more than documents."""
    paths = paths_changed(run, run.git.tree_of(run.state.base), work.tree)
    mine = [path for path in paths if path not in run.untracked]
    return any(not is_document(run, path) for path in mine)
