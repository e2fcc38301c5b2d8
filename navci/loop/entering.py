"""The files the work goes on from; what else lies in the checkout is kept, never dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace

from navci.errors import InfraError
from navci.evidence.secrets import find_secrets
from navci.journal import BASELINE, OPENED, SNAPSHOT, State
from navci.loop.branch import Start, merge_moved_base
from navci.loop.run import Run
from navci.loop.standing import Standing
from navci.system.exchange import mirror_ref
from navci.system.trees import entries, transplant

FOUND = "refs/navci-found/"
"""Where a checkout is kept that a run is laid over. Not among the journals: it is never pushed."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What a run starts or goes on from: the projection, and the tree its files make."""

    state: State
    files: str


def only_checks_ran(run: Run, *, ours: bool) -> bool:
    """Was the run interrupted while no agent worked: as files were laid out, or as checks ran?

    Then whatever differs from the snapshot is navci's or a check's, and no part of the work.
    """
    return ours and run.journal.last in (OPENED, BASELINE, SNAPSHOT)


def stays(run: Run, start: Start, standing: Standing, *, ours: bool) -> bool:
    """Does the work go on with the files as they lie here? Otherwise its last snapshot is laid out.

    ``ours``: the run worked in this very checkout. Then it does on the work branch, and where its
    agent left that one: with unfinished changes, or for commits that go on from it. Elsewhere (a
    fresh clone, a person who went back to the base) the files say nothing of the work.
    """
    checkout = run.checkout
    if not start.resumes or only_checks_ran(run, ours=ours):
        return False
    if checkout.branch == start.branch:
        return ours or bool(standing.touched)
    if not ours or checkout.head is None:
        return False
    away = checkout.branch != start.base_branch
    return bool(standing.touched) or (away and run.git.is_ancestor(start.head, checkout.head))


def survey(
    run: Run, start: Start, state: State, standing: Standing, *, here: bool, ours: bool
) -> Ground:
    """What the work goes on from, before a file is touched; ``here``: from what lies here.

    ``origin`` is the base with the user's untracked files: what protected files are restored
    from, what the baseline is measured on, and what tells the user's files from the run's.
    """
    git, scratch, head = run.git, run.folders.scratch, state.head
    base = git.tree_of(start.base)
    origin = start.origin or transplant(git, base, standing.tree, standing.untracked, scratch)
    new = run.worktree.changed(base, origin)
    run.untracked = {c.path: c.new_blob for c in new if c.status == "A" and c.new_blob}
    tree = files = standing.tree
    if not here:
        if not git.is_ancestor(start.base, head):
            head = merge_moved_base(run, head, start.base)
        tree = start.tree or git.tree_of(head)
        mine = new_here(run, tree, origin, standing) if start.resumes else standing.all
        files = transplant(git, tree, standing.tree, mine, scratch)
        if only_checks_ran(run, ours=ours):
            found = entries(git, standing.tree)
            run.worktree.byproducts |= {path: found[path].blob for path in mine}
        else:
            tree = files
    if start.resumes:  # an interrupted attempt's secrets are found by the next one's scan
        leaks = find_secrets(run.checkout.top, standing.touched, lambda path: git.show(head, path))
        tree = transplant(git, tree, git.tree_of(head), leaks, scratch)
    # What an interrupted attempt left counts as a change of the next one.
    run.tree = start.before or tree
    now = run.clock.now()
    kept = git.commit_tree(origin, [start.base], "navci: the checkout", run.identity, now)
    snapshot = git.commit_tree(tree, [head, kept], "navci: run opened", run.identity, now)
    state = replace(state, origin=origin, head=head, snapshot=snapshot, tree=run.tree)
    return Ground(state, files)


def new_here(run: Run, tree: str, origin: str, standing: Standing) -> list[str]:
    """Untracked files that ``tree`` has none of that name for, and that are not the base's."""
    theirs, base = entries(run.git, tree), entries(run.git, origin)
    found = entries(run.git, standing.tree)
    return [
        path for path in standing.untracked if path not in theirs and found[path] != base.get(path)
    ]


def keep_found(run: Run, start: Start, standing: Standing, files: str) -> None:
    """Before ``files`` are laid out and the work branch is set: keep what no ref would hold.

    Commits that only HEAD or the work branch has, and files that are in no commit. Raises
    :class:`InfraError`.
    """
    git, checkout = run.git, run.checkout
    work = f"refs/heads/{start.branch}"
    heads = [head for head in (checkout.head, git.read_ref(work)) if head]
    # HEAD of navci's own git is the very commit that is asked about.
    others = (f"--exclude={work}", "--exclude=refs/navci*", "--exclude=HEAD", "--all")
    orphans = git.text("rev-list", "--max-count=1", *heads, "--not", start.head, *others)
    kept = {files, *(git.tree_of(head) for head in heads)}
    if not orphans and standing.tree in kept:
        return
    ref = FOUND + run.task.id
    before = git.read_ref(ref)
    parents = list(dict.fromkeys([*heads, *([before] if before else [])]))
    message = "navci: the checkout as it was found"
    commit = git.commit_tree(standing.tree, parents, message, run.identity, run.clock.now())
    git.update_ref(ref, commit, before)
    try:
        mirror_ref(git, checkout, ref, commit)
    except InfraError as error:
        raise InfraError(f"what the checkout holds cannot be kept at {ref}: {error}") from error
    if standing.tree not in kept:
        run.note(f"files of the checkout that the run does not go on from are kept at {ref}")
