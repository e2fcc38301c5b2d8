"""What a turn did to the work tree: void, scan, snapshot, commit (DESIGN §3.2, steps 5 to 9)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from navci.errors import InfraError
from navci.evidence.guards import protected
from navci.evidence.secrets import find_secrets
from navci.journal import SNAPSHOT
from navci.loop.history import acceptable, keepable
from navci.loop.run import Run
from navci.loop.strangers import find_strangers, name_nested
from navci.system.exchange import AgentCommits, fetch_commits, publish
from navci.system.files import special_files, write_atomic
from navci.system.gitcall import is_about_the_disk
from navci.system.neutral import one_line, show_path
from navci.system.repair import broken, rebuild
from navci.system.trees import transplant

_CONFLICT = re.compile(rb"^<<<<<<< .*?^=======\r?$.*?^>>>>>>> ", re.MULTILINE | re.DOTALL)
_LARGE = 4 << 20
_READ_BY_GIT = frozenset({".gitattributes", ".gitignore", ".gitmodules", ".mailmap"})


@dataclass(frozen=True, slots=True)
class Work:
    """The work tree after a turn.

    ``tree`` is what is verified and committed, ``changed`` the files of this iteration. ``guards``
    maps what must not be (a protected file, a secret, a conflict, a broken ``.git``, what is in no
    commit) to why,
    ``originals`` what the original-tests run found wanting to what it saw.
    """

    tree: str
    changed: tuple[str, ...] = ()
    guards: Mapping[str, str] = field(default_factory=dict)
    snapshot: str | None = None
    agent_head: str | None = None
    originals: Mapping[str, str] = field(default_factory=dict)


def gather(run: Run, folder: Path) -> Work:
    """Fetch the agent's commits, void what it may not touch, scan for secrets, take a snapshot.

    Raises :class:`InfraError` when the tree itself cannot be measured: nothing can be kept then.
    """
    guards: dict[str, str] = {}
    run.turns += 1
    run.bytecode.distrust()
    run.measured("special files", lambda: remove_special(run), None)
    commits = fetch_agent_commits(run, guards)
    if commits.head:
        # An agent may commit a file that base ignores; it is tracked then, and its work.
        run.worktree.follow(commits.head)
    tree = run.worktree.tree()
    name_nested(run)
    voided = run.measured(
        "protected files", lambda: void_protected(run, tree, folder, guards), None
    )
    if voided is None:
        guards["protected files"] = "protected files could not be compared with base"
    elif voided:
        tree = run.worktree.tree()
    changed = paths_changed(run, run.tree, tree)
    found = run.measured(
        "secrets", lambda: scan_secrets(run, changed), dict.fromkeys(changed, "not scanned")
    )
    guards |= found
    run.leave_out = frozenset(found)
    # What is left out keeps the state the branch has, so that no commit deletes it either.
    tree = transplant(
        run.git, tree, run.git.tree_of(run.state.head), run.leave_out, run.folders.scratch
    )
    unscanned = {"merge": "conflict markers could not be looked for"}
    guards |= find_unreadable(run)
    guards |= run.measured(
        "what is in no commit",
        lambda: find_strangers(run, tree),
        {"repositories": "repositories and links inside this one could not be looked at"},
    )
    guards |= run.measured("conflicts", lambda: find_conflicts(run, tree), unscanned)
    work = Work(tree, changed, guards, agent_head=commits.head)
    return replace(work, snapshot=take_snapshot(run, work, commits))


def remove_special(run: Run) -> None:
    """Take away pipes and devices in place of the files that git reads: it would wait for ever."""
    for path in special_files(run.checkout.top, _READ_BY_GIT):
        path.unlink()
        where = path.relative_to(run.checkout.top)
        run.note(f"{show_path(str(where))} was no file (a pipe or a device) and was removed")


def fetch_agent_commits(run: Run, guards: dict[str, str]) -> AgentCommits:
    """The commits the agent made, into navci's own git directory; a broken ``.git`` is rebuilt.

    Looked at before anything is read from or written to it: it may by now be another repository's.
    """
    wrong = run.measured("the checkout's .git", lambda: broken(run.git, run.checkout), None)
    commits = None if wrong else fetch(run)
    wrong = commits.problem if commits else wrong
    if wrong:
        guards[".git"] = f"the checkout's .git was broken ({wrong}); it was rebuilt"
        run.note(guards[".git"])
        run.measured("the rebuilt .git", lambda: rebuild(run.git, run.checkout), None)
        if commits is None or not commits.heads:
            commits = fetch(run)
    return commits or AgentCommits(None)


def fetch(run: Run) -> AgentCommits:
    """What the checkout's ``.git`` holds that navci has not seen; nothing when that fails."""
    return run.measured(
        "the agent's commits",
        lambda: fetch_commits(run.git, run.checkout, run.known_heads),
        AgentCommits(None),
    )


def void_protected(run: Run, tree: str, folder: Path, guards: dict[str, str]) -> bool:
    """Put protected files back as they were; what the agent made of them is kept as a diff."""
    touched = protected(
        (change.path for change in run.worktree.changed(run.state.origin, tree)),
        run.settings.protect,
    )
    if not touched:
        return False
    diff = run.git.run("diff", "--no-color", "--no-ext-diff", "--no-textconv", run.state.origin,
                       tree, "--", *touched)  # fmt: skip
    write_atomic(folder / "voided.diff", diff)
    run.worktree.restore(run.state.origin, touched)
    for path in touched:
        guards[path] = f"{show_path(path)} is protected; the agent's change was undone"
    return True


def scan_secrets(run: Run, changed: tuple[str, ...]) -> dict[str, str]:
    """Changed files that look like secrets: they stay in the tree, and out of every commit."""
    base = run.state.base
    found = find_secrets(run.checkout.top, changed, lambda path: run.git.show(base, path))
    return {
        path: f"{show_path(path)} is kept out of every commit: {why}; remove it or ignore it"
        for path, why in found.items()
    }


def find_unreadable(run: Run) -> dict[str, str]:
    """What nobody can vouch for: files and folders that could be read when the run opened."""
    found = {}
    for path in run.worktree.unreadable:
        why = f"{show_path(path)} cannot be read, and counts as unchanged; make it readable"
        if path in (run.worktree.closed or ()):
            run.note(why)
        else:
            found[path] = why
    return found


def find_conflicts(run: Run, tree: str) -> dict[str, str]:
    """Files with a whole set of conflict markers that base does not have."""
    found = {}
    base_tree = run.git.tree_of(run.state.base)
    for change in run.worktree.changed(base_tree, tree):
        path = run.checkout.top / change.path
        if change.status == "D" or path.is_symlink() or not path.is_file():
            continue
        if path.stat().st_size > _LARGE or not _CONFLICT.search(path.read_bytes()):
            continue
        before = run.git.show(run.state.base, change.path)
        if before is None or not _CONFLICT.search(before):
            found[change.path] = f"{show_path(change.path)} holds conflict markers; resolve them"
    return found


def paths_changed(run: Run, old: str, new: str) -> tuple[str, ...]:
    """Paths that differ between two trees, sorted."""
    return tuple(sorted(change.path for change in run.worktree.changed(old, new)))


def take_snapshot(run: Run, work: Work, commits: AgentCommits) -> str:
    """A commit of the whole tree; its parents are the branch's head and every head of the agent's.

    From the journal's next append on it is reachable, and with it what the agent committed.
    """
    made = [head for head in (commits.head, *commits.others) if head]
    parents = [run.state.head, *keepable(run, work.tree, made)]
    run.known_heads = {**run.known_heads, **commits.heads}
    message = f"navci: snapshot of {run.task.id}"
    return run.git.commit_tree(work.tree, parents, message, run.identity, run.clock.now())


def keep_snapshot(run: Run, work: Work) -> None:
    """From now on the turn's work is reachable, and told from what checks leave (DESIGN §3.2.7)."""
    state = replace(run.state, snapshot=work.snapshot)
    run.journal.append(SNAPSHOT, state, snapshot=work.snapshot)


def commit_work(run: Run, tree: str, subject: str, agent_head: str | None = None) -> str:
    """:func:`add_commit`, and the checkout put on it."""
    head = add_commit(run, tree, subject, agent_head)
    show_work(run)
    return head


def add_commit(run: Run, tree: str, subject: str, agent_head: str | None = None) -> str:
    """Commit what the run changed; the work branch's new head.

    The agent's own commits are taken over when they go on from the branch's head and hold nothing
    that must not be there; otherwise one commit holds their outcome, and they stay in the snapshot.
    """
    head = run.state.head
    if agent_head and agent_head != head and acceptable(run, tree, agent_head):
        head = agent_head
    differing = run.worktree.changed(run.git.tree_of(head), tree)
    mine = [
        change.path
        for change in differing
        if run.untracked.get(change.path) != change.new_blob or change.status == "D"
    ]
    wanted = transplant(run.git, run.git.tree_of(head), tree, mine, run.folders.scratch)
    if wanted != run.git.tree_of(head):
        message = f"{subject} ({run.task.id})"
        head = run.git.commit_tree(wanted, [head], message, run.identity, run.clock.now())
    run.journal.state = replace(run.state, head=head)
    return head


def show_work(run: Run) -> None:
    """Put the checkout on the work branch. One that resists is rebuilt, then left as it is.

    The work does not depend on it: it is in navci's own git directory, and in the journal. Raises
    :class:`InfraError` for a full disk: there is no going on there.
    """
    try:
        enter_checkout(run)
    except InfraError as error:
        if is_about_the_disk(error):
            raise
        run.note(f"the checkout could not be put on {run.state.branch}: {error}")


def enter_checkout(run: Run) -> None:
    """Put the checkout on the work branch; a ``.git`` that a step broke is rebuilt for it.

    Raises :class:`InfraError` when that does not help.
    """
    args = (run.git, run.checkout, run.state.branch, run.state.head, run.worktree.index)
    run.found = None
    try:
        publish(*args)
    except InfraError as error:
        if is_about_the_disk(error):
            raise
        rebuild(run.git, run.checkout)
        publish(*args)
        run.note(f"the checkout's .git was broken and was rebuilt: {error}")


def subject_of(run: Run, number: int, tree: str) -> str:
    """The commit's subject: ``type(scope): description``, a line people can read in a log.

    Which checks are red it says only where they ran on this very ``tree``.
    """
    measured = run.checks if run.verified_tree == tree else ()
    red = [check.check for check in measured if not check.passed]
    state = f", {', '.join(red[:3])} red" if red else ""
    return f"feat(navci): {one_line(run.task.title, 60)}, iteration {number}{state}"
