"""Where the work starts: base, work branch, and whether an interrupted run goes on."""

from __future__ import annotations

from dataclasses import dataclass

from navci.errors import ConfigError
from navci.journal import State
from navci.loop.run import Run
from navci.system.checkout import Checkout
from navci.system.git import Git


@dataclass(frozen=True, slots=True)
class Start:
    """``base`` is what the work is measured against, ``head`` the commit it goes on from.

    ``settings`` is the commit whose settings hold. ``resumes``: an interrupted run goes on, from
    its last snapshot ``tree``; ``origin`` is its own, and ``before`` the tree that the next
    iteration's changes are measured against. ``waited``: it had paused, left to a person.
    """

    base: str
    base_branch: str | None
    branch: str
    head: str
    resumes: bool = False
    tree: str | None = None
    origin: str | None = None
    before: str | None = None
    settings: str = ""
    waited: bool = False
    notes: tuple[str, ...] = ()


def find_start(git: Git, checkout: Checkout, state: State, branch: str, base_name: str) -> Start:
    """Decide from the checkout, the work branch and the journal.

    Raises :class:`ConfigError` when ``base`` names nothing, or the branch holds someone else's
    work.
    """
    head = checkout.head
    if head is None:
        raise ConfigError(f"the repository {checkout.top} has no commit yet; make one first")
    on_branch = checkout.branch == branch
    base = find_base(git, state, head, base_name, on_branch)
    base_branch = base_name or (state.base_branch if on_branch else checkout.branch)
    if state.run and state.end is None and state.branch == branch:
        # A run that waited is taken up on purpose: with the settings as they are now.
        return resume(git, state, head, base if state.paused else state.base)
    refuse_blocked(git, branch)
    tip = git.read_ref(f"refs/heads/{branch}") or git.read_ref(f"refs/remotes/origin/{branch}")
    if tip is None or git.is_ancestor(tip, base):
        return Start(base, base_branch, branch, base)
    ours = bool(state.head) and git.rev(state.head) is not None
    if ours and git.is_ancestor(tip, state.head):
        tip = state.head
    elif not ours and not git.is_ancestor(base, tip):
        raise ConfigError(
            f"the branch `{branch}` exists and does not come from {base[:12]}, where this run "
            "starts; rename or delete it, or give another name with --branch"
        )
    elif ours and not git.is_ancestor(state.head, tip):
        raise ConfigError(
            f"the branch `{branch}` was rewritten since navci's last run (its work is kept at "
            f"{state.head[:12]}); rename it, or give another name with --branch"
        )
    last = f"; the last run ended {state.end}, this is a new one" if state.end else ""
    notes = (f"going on from the work already on `{branch}` ({tip[:12]}){last}",)
    return Start(base, base_branch, branch, tip, notes=notes)


def refuse_blocked(git: Git, branch: str) -> None:
    """A branch cannot be where git needs a folder, nor the reverse. Raises :class:`ConfigError`."""
    for other in git.text("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads").split("\n"):
        if other and (branch.startswith(f"{other}/") or other.startswith(f"{branch}/")):
            raise ConfigError(
                f"the branch `{other}` stands in the way of `{branch}`: git cannot have both; "
                "rename it, or give another name with --branch"
            )


def find_base(git: Git, state: State, head: str, name: str, on_branch: bool) -> str:
    """The base commit: as named, the journal's when the checkout is on the work branch, or HEAD."""
    if name:
        for ref in (f"refs/heads/{name}", f"refs/remotes/origin/{name}", f"refs/tags/{name}", name):
            found = git.rev(ref)
            if found:
                return found
        raise ConfigError(
            f"--base: `{name}` is no branch, tag or commit of this repository; in a job, give "
            "actions/checkout `fetch-depth: 0`"
        )
    if on_branch and state.base and git.rev(state.base):
        return state.base
    return head


def resume(git: Git, state: State, head: str, settings: str) -> Start:
    """Go on with a run that has no end event."""
    tree = git.tree_of(state.snapshot) if state.snapshot and git.rev(state.snapshot) else None
    how = f"paused ({state.paused})" if state.paused else "interrupted"
    notes = (
        f"continuing the run started {state.started}, {how} after iteration {state.iteration}",
    )
    counted = state.tree if state.tree and git.ok("cat-file", "-e", state.tree) else tree
    return Start(
        base=state.base,
        base_branch=state.base_branch,
        branch=state.branch,
        head=state.head or head,
        resumes=True,
        tree=tree,
        origin=state.origin or None,
        before=counted,
        settings=settings,
        waited=state.paused is not None,
        notes=notes,
    )


def merge_moved_base(run: Run, head: str, base: str) -> str:
    """A merge of ``base``, which moved on, into ``head``; conflicts are left to the agent.

    Files with conflicts hold markers: a guard keeps them from ever counting as done.
    """
    git = run.git
    answer = git.answer("merge-tree", "--write-tree", "-z", "--name-only", head, base)
    code = answer.exit_code
    tree, *rest = answer.out.decode("utf-8", "surrogateescape").split("\0")
    if code not in (0, 1) or not git.ok("cat-file", "-e", f"{tree.strip()}^{{tree}}"):
        run.note(f"the base moved to {base[:12]} and could not be merged; the work goes on without")
        return head
    if code == 1:
        files = rest[: rest.index("")] if "" in rest else rest
        run.note(f"the base moved on and conflicts in {len(files)} files; the agent resolves them")
    message = f"Merge {base[:12]} into {run.settings.branch or 'the work branch'}"
    return git.commit_tree(tree.strip(), [head, base], message, run.identity, run.clock.now())
