"""Moving commits between navci's git directory and the checkout's, which the agent can break.

Objects travel as packs that navci's own git makes and checks: with the one object store as its
own, the other only to read from (``GIT_OBJECT_DIRECTORY``, ``GIT_ALTERNATE_OBJECT_DIRECTORIES``).
So the checkout's configuration is read only where its refs are listed and set, by commands that
run nothing then (facts: hooks and fsmonitor off, no object looked at, no upload-pack).
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from navci.errors import GitError, InfraError
from navci.system.checkout import Checkout
from navci.system.git import Git
from navci.system.gitcall import Answer, call, environment, failed, is_about_the_disk

KEPT = "refs/navci-agent/"
"""Where every commit that an agent had as HEAD or branch head stays reachable, by its id."""

_PATIENCE = 60.0
"""Seconds for a command on the checkout's ``.git``: a pipe in place of a file blocks for ever."""

_FEW = 200
_LEFT_OVER = (
    *("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE", "SQUASH_MSG", "CHERRY_PICK_HEAD"),
    *("REVERT_HEAD", "REBASE_HEAD", "rebase-merge", "rebase-apply", "sequencer"),
    *("BISECT_LOG", "BISECT_START", "BISECT_NAMES", "BISECT_TERMS", "BISECT_EXPECTED_REV"),
)


@dataclass(frozen=True, slots=True)
class AgentCommits:
    """What the agent committed: all of it is in navci's git directory now.

    ``head`` is the checkout's HEAD (``None``: no commit yet, or a ``problem``); ``others`` are
    other branch heads that moved, and the stash; ``heads`` maps every one of them (full name) to
    its commit, to be passed as ``known`` next time. ``problem`` says what could not be fetched.
    """

    head: str | None
    others: tuple[str, ...] = ()
    problem: str | None = None
    heads: Mapping[str, str] = field(default_factory=dict)


def refs_before(git: Git) -> dict[str, str]:
    """Every ref but navci's own, and HEAD, as they were when the checkout was adopted."""
    refs = parse_refs(git.run("for-each-ref", f"--format={REF_FORMAT}"))
    head = git.read_ref("HEAD")
    found = {ref: sha for ref, sha in refs.items() if not ref.startswith("refs/navci")}
    return found | ({"HEAD": head} if head else {})


def branches_of(refs: Mapping[str, str]) -> dict[str, str]:
    """The branches among ``refs``: the first ``known``."""
    return {ref: sha for ref, sha in refs.items() if ref.startswith("refs/heads/")}


def fetch_commits(git: Git, checkout: Checkout, known: Mapping[str, str]) -> AgentCommits:
    """Fetch HEAD, all branches and the stash; a broken ``.git`` is a ``problem``, no error.

    One damaged branch keeps none of the others back. Raises :class:`InfraError` when it is
    navci's own side that fails, like a full disk.
    """
    try:
        heads = _their_refs(git, checkout, "refs/heads/", "refs/stash")
        head = _their_head(git, checkout)
    except GitError as error:
        return AgentCommits(None, problem=f"its refs cannot be read: {error}")
    ids = {*heads.values(), *([head] if head else [])}
    tips = _tips(git)
    lost = _take(git, checkout, ids - tips, tips)
    problem = None
    if lost:
        names = sorted(ref for ref, sha in heads.items() if sha in lost) or ["HEAD"]
        problem = f"files of {', '.join(names[:5])} are missing in it"
        heads = {ref: sha for ref, sha in heads.items() if sha not in lost}
        head = None if head in lost else head
    before = set(known.values())
    moved = {sha for ref, sha in heads.items() if known.get(ref) != sha and sha not in before}
    return AgentCommits(head, tuple(sorted(moved - {head})), problem, heads)


def _take(git: Git, checkout: Checkout, wanted: set[str], had: set[str]) -> set[str]:
    """Take over the commits ``wanted``; those that could not be read in full are returned."""
    if not wanted:
        return set()
    try:
        _send(git, wanted, had, source=checkout.common_dir / "objects")
        _must_be_complete(git, wanted, had)
    except GitError as error:
        if is_about_the_disk(error):
            raise
        if len(wanted) == 1:
            return wanted
        return set().union(*(_take(git, checkout, {one}, had) for one in sorted(wanted)))
    news = "".join(f"update {KEPT}{commit} {commit}\n" for commit in sorted(wanted))
    git.run("update-ref", "--stdin", stdin=news.encode())
    return set()


def publish(git: Git, checkout: Checkout, branch: str, commit: str, index: Path) -> None:
    """Make the checkout stand on ``branch`` at ``commit``, with an index that knows its files.

    ``index`` is the one :class:`~navci.evidence.worktree.Worktree` keeps: its stat data make the
    next ``git status`` there quick and clean. Locks and half-done merges and rebases are cleared.
    Raises :class:`GitError` or :class:`InfraError`; then call it again after ``rebuild``.
    """
    store = checkout.common_dir / "objects"
    _clear(checkout, branch)
    _mirror_objects(git, checkout, commit)
    if not is_complete(git, commit, store):
        _send(git, {commit}, (), target=store)
    ref = f"refs/heads/{branch}"
    _set_ref(git, checkout, ref, commit)
    _set_theirs(git, checkout, "symbolic-ref", "-m", "navci", "HEAD", ref)
    _install_index(git, checkout, commit, index)


def mirror_ref(git: Git, checkout: Checkout, ref: str, commit: str) -> None:
    """Set ``ref`` in the checkout's repository too, for people to look at and runs to resume."""
    _mirror_objects(git, checkout, commit)
    _set_ref(git, checkout, ref, commit)


def _install_index(git: Git, checkout: Checkout, commit: str, index: Path) -> None:
    """Give the checkout ``index``, made to hold the files of ``commit``.

    Copied and renamed with its time: git takes an entry that is not older than its index for
    possibly changed, and an index that looks newer than it is would hide a change.
    """
    ours = checkout.git_dir / "navci-index"
    try:
        ours.unlink(missing_ok=True)
        shutil.copy2(index, ours)
        # Without `-i` a file that was put back since it was last measured would stop it.
        git.run("read-tree", "-m", "-i", commit, index=ours)
        git.answer("update-index", "-q", "--refresh", index=ours)
        ours.replace(checkout.git_dir / "index")
    except OSError as error:
        raise InfraError(f"{error.filename} cannot be written: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            ours.unlink(missing_ok=True)


# --- objects --------------------------------------------------------------------------------


def _send(
    git: Git,
    wanted: Iterable[str],
    had: Iterable[str],
    *,
    source: Path | None = None,
    target: Path | None = None,
) -> None:
    """Copy what is reachable from ``wanted``, but not from ``had``, between two object stores.

    The default on either side is navci's own. Every object is hashed again when it arrives, so
    none can come under another's name.
    """
    lines = "".join(f"{sha}\n" for sha in wanted) + "".join(f"^{sha}\n" for sha in had)
    reading = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(source)} if source else {}
    writing = {"GIT_OBJECT_DIRECTORY": str(target)} if target else {}
    with tempfile.TemporaryFile(dir=git.git_dir.parent) as pack:
        options = ("--revs", "--stdout", "-q", "--delta-base-offset")
        git.run("pack-objects", *options, stdin=lines.encode(), stdout=pack, env=reading)
        pack.seek(8)
        count = int.from_bytes(pack.read(4), "big")
        pack.seek(0)
        if not count:
            return
        unpack = ("unpack-objects", "-q") if count < _FEW else ("index-pack", "--stdin")
        git.run(*unpack, stdin=pack, env=writing)


def _mirror_objects(git: Git, checkout: Checkout, commit: str) -> None:
    theirs = set(_their_refs(git, checkout, "refs/").values())
    if commit in theirs:
        return
    _send(git, {commit}, present(git, theirs), target=checkout.common_dir / "objects")


def present(git: Git, ids: Collection[str]) -> list[str]:
    """Those of ``ids`` that navci has."""
    lines = "".join(f"{sha}\n" for sha in sorted(ids)).encode()
    out = git.run("cat-file", "--batch-check=%(objectname)", stdin=lines).decode()
    return [line for line in out.splitlines() if not line.endswith(" missing")]


def _must_be_complete(git: Git, ids: Iterable[str], tips: Iterable[str]) -> None:
    lines = "".join(f"{sha}\n" for sha in ids) + "".join(f"^{sha}\n" for sha in tips)
    git.run("rev-list", "--objects", "--quiet", "--stdin", stdin=lines.encode())


def is_complete(git: Git, commit: str, store: Path) -> bool:
    """Does ``store`` hold every file of ``commit``? Looked at with navci's configuration."""
    args = ("rev-list", "--objects", "--no-walk", "--quiet", commit)
    return git.answer(*args, env={"GIT_OBJECT_DIRECTORY": str(store)}).exit_code == 0


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


# --- refs -----------------------------------------------------------------------------------

REF_FORMAT = "%(objectname) %(refname)"


def _tips(git: Git) -> set[str]:
    head = git.read_ref("HEAD")
    return {*parse_refs(git.run("for-each-ref", f"--format={REF_FORMAT}")).values()} | (
        {head} if head else set()
    )


def parse_refs(out: bytes) -> dict[str, str]:
    lines = out.decode("utf-8", "surrogateescape").splitlines()
    return {ref: sha for sha, _, ref in (line.partition(" ") for line in lines)}


def _their_refs(git: Git, checkout: Checkout, *prefixes: str) -> dict[str, str]:
    args = ("for-each-ref", f"--format={REF_FORMAT}", *prefixes)
    answer = ask_theirs(git, checkout, *args)
    if answer.exit_code:
        raise failed(args, answer)
    return parse_refs(answer.out)


def _their_head(git: Git, checkout: Checkout) -> str | None:
    args = ("rev-parse", "--verify", "--quiet", "HEAD")
    answer = ask_theirs(git, checkout, *args)
    if answer.exit_code not in (0, 1):
        raise failed(args, answer)
    return answer.out.decode().strip() or None


def ask_theirs(git: Git, checkout: Checkout, *args: str) -> Answer:
    """Run git on the checkout's own ``.git``, only ever to list and set refs."""
    options = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
    places = (f"--git-dir={checkout.git_dir}", f"--work-tree={checkout.top}")
    who = {"GIT_COMMITTER_NAME": "navci", "GIT_COMMITTER_EMAIL": "navci@localhost"}
    env = environment(git.home) | who
    return call((*options, *places, *args), env=env, cwd=checkout.top, timeout=_PATIENCE)


def _set_ref(git: Git, checkout: Checkout, ref: str, commit: str) -> None:
    args = ("update-ref", "--no-deref", "-m", "navci", ref, commit)
    if ask_theirs(git, checkout, *args).exit_code:
        _make_room(git, checkout, ref)
        _set_theirs(git, checkout, *args)


def _make_room(git: Git, checkout: Checkout, ref: str) -> None:
    """Remove what keeps ``ref`` from being set: its lock, and refs that git cannot have beside it.

    Only refs that came after navci adopted the checkout: what was there before is the user's.
    Their commits stay reachable below ``refs/navci-aside``.
    """
    _remove(checkout.common_dir / f"{ref}.lock", checkout.common_dir / "packed-refs.lock")
    for other, sha in _their_refs(git, checkout, "refs/").items():
        if ref.startswith(f"{other}/") or other.startswith(f"{ref}/"):
            if git.read_ref(other) is not None:
                raise InfraError(f"{other} stands in the way of {ref}: git cannot have both")
            _set_theirs(git, checkout, "update-ref", f"refs/navci-aside/{sha}", sha)
            _set_theirs(git, checkout, "update-ref", "--no-deref", "-d", other)
    if (checkout.common_dir / ref).is_dir():  # no ref is left in it
        _remove(checkout.common_dir / ref)


def _set_theirs(git: Git, checkout: Checkout, *args: str) -> None:
    answer = ask_theirs(git, checkout, *args)
    if answer.exit_code:
        raise failed(args, answer)


def _clear(checkout: Checkout, branch: str) -> None:
    """Remove what a killed or unfinished command left; the agent's processes have ended by now."""
    own, common = checkout.git_dir, checkout.common_dir
    locks = [own / "index.lock", own / "HEAD.lock", common / "packed-refs.lock"]
    locks += [common / "config.lock", common / "refs" / "heads" / f"{branch}.lock"]
    if (own / "index").is_dir():
        locks.append(own / "index")
    _remove(*locks, *(own / name for name in _LEFT_OVER))


def _remove(*paths: Path) -> None:
    for path in paths:
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise InfraError(f"{error.filename} cannot be removed: {error.strerror}") from error
