"""What is in the checkout and in no commit: green here, broken in a clone (DESIGN §5, Trust).

Repositories inside the repository, submodules, links that lead out of it, the programs of a virtual
environment. As they were before the first turn they are the user's own; anything else is a guard.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from navci.errors import InfraError
from navci.evidence.index import GITLINK, entries_of, joined
from navci.loop.run import Around, Run
from navci.system.git import Git
from navci.system.gitcall import call, environment
from navci.system.neutral import show_path

_AROUND = "around.json"
_KEPT: TypeAdapter[Around] = TypeAdapter(Around)
_SHOWN = 20
_COMPILED = ("__pycache__/", "*.pyc", ".pytest_cache/")
"""What agents leave by trying things out; checks read none of it."""


def look_around(run: Run) -> None:
    """Remember what the checkout has beside its commits, as it was before the first turn in it."""
    place = run.state.place
    kept = run.measured("what the journal says of the checkout", lambda: read_around(run), None)
    if kept is None or kept.place != place:
        nothing = Around(place)
        kept = run.measured("what is in no commit", lambda: measure(run, place), nothing)
        run.journal.attach(_AROUND, kept)
    run.around = kept


def read_around(run: Run) -> Around | None:
    """What an earlier process of the run saw."""
    kept = run.journal.attached(_AROUND)
    try:
        return None if kept is None else _KEPT.validate_python(kept)
    except ValidationError as error:
        run.log(f"the journal's {_AROUND} cannot be read and is made again: {error}")
        return None


def measure(run: Run, place: str) -> Around:
    """Everything as it is now."""
    run.worktree.tree()
    modules = {path: files_of(run, path) for path, _ in submodules(run)}
    return Around(place, frozenset(run.worktree.nested), modules, dict(programs(run)))


def find_strangers(run: Run, tree: str) -> dict[str, str]:
    """By path, what the work must not rest on: what it is, and what to do."""
    found = dict(links_out(run, tree))
    for path in run.worktree.nested:
        if path not in run.around.nested:
            found[path] = (
                f"{_nested(path)}, so what rests on them is broken in every clone; remove its "
                "`.git`, or the folder"
            )
    for path, commit in submodules(run):
        now = files_of(run, path)
        if now != run.around.submodules.get(path) and now != recorded_tree(run, path, commit):
            shown = show_path(path)
            found[path] = (
                f"{shown} is a submodule, and its files are not those of the commit recorded for "
                "it; changes there are not part of the work; put it back with `git submodule "
                f"update --force {shown}`, and remove what was added"
            )
    now_there = dict(programs(run))
    for path, before in run.around.programs.items():
        if now_there.get(path, "") != before:
            found[path] = (
                f"{show_path(path)} runs the checks, is part of no commit, and is not as it was; "
                "put it back"
            )
    return found


def name_nested(run: Run) -> None:
    """Say which repositories inside the repository are not part of the work."""
    for path in run.worktree.nested[:_SHOWN]:
        if path in run.around.nested:
            run.note(_nested(path))


def _nested(path: str) -> str:
    return (
        f"{show_path(path)} is a git repository of its own inside this one; its files are not "
        "part of the work"
    )


def links_out(run: Run, tree: str) -> Iterator[tuple[str, str]]:
    """Links that base does not have, and that lead to something outside of the checkout."""
    top = run.checkout.top.resolve()
    for change in run.worktree.changed(run.git.tree_of(run.state.base), tree):
        if change.new_mode != "120000":
            continue
        target = Path(os.path.realpath(run.checkout.top / change.path))
        if target.is_relative_to(top) or target == Path(os.devnull) or not target.exists():
            continue
        why = (
            f"{show_path(change.path)} is a link to {show_path(str(target))}, which is outside "
            "of the checkout and part of no commit; put the file itself there, or remove the link"
        )
        yield change.path, why


def submodules(run: Run) -> list[tuple[str, str]]:
    """Path and recorded commit of each submodule of base."""
    entries = entries_of(run.git, run.state.base)
    return [(path, blob) for path, (mode, blob) in entries.items() if mode == GITLINK]


def files_of(run: Run, path: str) -> str:
    """The tree of a submodule's unignored files. Neither its configuration nor its hooks are read.

    One that is not checked out is an empty tree.
    """
    place = run.checkout.top / path
    try:
        if not stat.S_ISDIR(place.lstat().st_mode):
            return "no folder"
    except (FileNotFoundError, NotADirectoryError):
        return run.git.empty_tree
    index = run.folders.scratch / "submodule.index"
    index.unlink(missing_ok=True)
    git = Git(run.git.git_dir, place, run.git.home)
    leave = [f"--exclude={glob}" for glob in _COMPILED]
    listed = git.run(
        "ls-files", "-o", "-z", "--exclude-per-directory=.gitignore", *leave, index=index
    )
    paths = [one for one in os.fsdecode(listed).split("\0")[:-1] if not one.endswith("/")]
    git.run("update-index", "-z", "--add", "--remove", "--stdin", stdin=joined(paths), index=index)
    return git.text("write-tree", index=index)


def recorded_tree(run: Run, path: str, commit: str) -> str | None:
    """The tree of the recorded commit, if the submodule's own repository has it.

    Whoever can write there can put anything under the commit's name, so its hash is computed here.
    """
    place = run.checkout.top / path
    objects = objects_of(place)
    if objects is None:
        return None
    env = environment(run.git.home) | {
        "GIT_DIR": str(run.git.git_dir), "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
    }  # fmt: skip
    answer = call(("cat-file", "commit", commit), env=env, cwd=run.folders.scratch)
    if answer.exit_code:
        return None
    whole = b"commit %d\0" % len(answer.out) + answer.out
    if hashlib.new("sha1" if len(commit) == 40 else "sha256", whole).hexdigest() != commit:
        return None
    return answer.out.partition(b"\n")[0].removeprefix(b"tree ").decode("ascii", "replace")


def objects_of(place: Path) -> Path | None:
    """Where the repository at ``place`` keeps its objects."""
    dot = place / ".git"
    try:
        if dot.is_file():
            text = dot.read_text("utf-8", "surrogateescape")
            dot = place / text.removeprefix("gitdir:").strip()
    except OSError as error:
        raise InfraError(f"{dot} cannot be read: {error.strerror}") from error
    objects = dot / "objects"
    return objects.resolve() if objects.is_dir() else None


def programs(run: Run) -> Iterator[tuple[str, str]]:
    """The programs of virtual environments in the checkout that checks name, and their digests.

    None with a ``setup-command``: claims are judged in a clone then, and it makes its own.
    """
    top = run.checkout.top
    if run.settings.setup_command:
        return
    for spec in run.required:
        try:
            words = shlex.split(spec.command, comments=True)
        except ValueError:
            words = spec.command.split()
        for word in words:
            path = Path(os.path.normpath(run.directory / word))
            if "/" not in word or "\0" in word or not path.is_relative_to(top):
                continue
            in_environment = (path.parent.parent / "pyvenv.cfg").is_file()
            if path.parent.name == "bin" and in_environment and path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                yield path.relative_to(top).as_posix(), digest
