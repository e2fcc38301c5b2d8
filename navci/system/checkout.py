"""The user's checkout: finding it, and making navci's own git directory from it.

Everything needed from the checkout's ``.git`` is read here, once, before any agent turn. From then
on that directory is the agent's to break: ``exchange`` moves commits between the two and ``repair``
puts it together again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from navci.errors import ConfigError, GitError, InfraError
from navci.system.git import Git, Identity
from navci.system.gitcall import call, environment, failed, write_config

_SAVED = ("HEAD", "config", "config.worktree", "commondir", "gitdir", "info/exclude")
_FILE_RULES: Mapping[str, frozenset[str]] = {
    "core.filemode": frozenset({"true", "false"}),
    "core.symlinks": frozenset({"true", "false"}),
    "core.ignorecase": frozenset({"true", "false"}),
    "core.precomposeunicode": frozenset({"true", "false"}),
    "core.autocrlf": frozenset({"true", "false", "input"}),
    "core.eol": frozenset({"lf", "crlf", "native"}),
}
"""How files look on this disk: without these every file of such a checkout would seem changed."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What is needed to put the checkout's ``.git`` together again.

    ``link`` is where a ``.git`` that is a link leads, ``git_file`` the content of one that is a
    file (linked worktree, submodule); ``own`` and ``common`` are the small files of the two
    directories (the same one but for a worktree).
    """

    link: str | None
    git_file: bytes | None
    own: Mapping[str, bytes] = field(repr=False)
    common: Mapping[str, bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout as it was found, before any agent turn.

    ``head`` is ``None`` without a commit, ``branch`` (short name) when HEAD is detached.
    ``remote_url`` is where a push would go: of ``origin``, else of the only remote. ``transport``
    holds the settings by which the user's git authenticates there; ``rules`` how files look here.
    """

    top: Path
    git_dir: Path
    common_dir: Path
    head: str | None
    branch: str | None
    linked: bool
    shallow: bool
    remote_url: str | None
    identity: Identity | None
    saved: Saved
    rules: Mapping[str, str] = field(default_factory=dict)
    transport: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def find_checkout(start: Path) -> Checkout:
    """The checkout that ``start`` lies in: the first folder upwards with a ``.git``.

    Not ``git rev-parse --show-toplevel``, which ``core.worktree`` could send anywhere. Raises
    :class:`ConfigError` when there is none, or none that git can read.
    """
    top, git_dir = _locate(start)
    common_dir = _common_dir(git_dir)
    head = _ask(git_dir, top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    branch = _ask(git_dir, top, "symbolic-ref", "--quiet", "HEAD")
    config = _user_config(git_dir, top)
    if config.get("core.sparsecheckout", "").lower() == "true":
        raise ConfigError(
            f"{top} is a sparse checkout: files that are not there would look deleted; "
            "run `git sparse-checkout disable` first"
        )
    name, email = config.get("user.name"), config.get("user.email")
    git_file = top / ".git"
    link = str(git_file.readlink()) if git_file.is_symlink() else None
    own, common = _small_files(git_dir), _small_files(common_dir)
    shallow = common_dir / "shallow"
    return Checkout(
        top=top,
        git_dir=git_dir,
        common_dir=common_dir,
        head=head,
        branch=branch.removeprefix("refs/heads/") if branch else None,
        linked=git_dir != common_dir,
        shallow=shallow.is_file() and shallow.stat().st_size > 0,
        remote_url=_remote_url(git_dir, top, config),
        identity=Identity(name, email) if name and email else None,
        saved=Saved(link, git_file.read_bytes() if git_file.is_file() else None, own, common),
        rules={key: config[key] for key, fit in _FILE_RULES.items() if config.get(key) in fit},
        transport=_transport(config, _user_config(None, top)),
    )


def adopt(checkout: Checkout, run_dir: Path) -> Git:
    """Make navci's own git directory ``run_dir/git`` with all objects and refs of the checkout.

    A clone without hard links: through one an agent could rewrite what base holds, and with it what
    navci puts back. Its configuration is ours alone, its HEAD the checkout's commit, detached.
    Raises :class:`GitError`.
    """
    home = run_dir / "githome"
    write_config(home)
    git = Git(run_dir / "git", checkout.top, home)
    source = str(checkout.common_dir)
    options = ("--mirror", "--no-hardlinks", "-q", "--template=", "--upload-pack=git-upload-pack")
    clone = ("clone", *options, "--", source, str(git.git_dir))
    if call(clone, env=environment(home), cwd=run_dir).exit_code:
        shutil.rmtree(git.git_dir, ignore_errors=True)
        _fetch_all(git, source, run_dir)
    lines = ["[core]", "\tbare = false"]
    for key, value in checkout.rules.items():
        lines.append(f"\t{key.removeprefix('core.')} = {value}")
    git.answer("config", "--remove-section", "remote.origin")
    try:
        with (git.git_dir / "config").open("a", encoding="utf-8") as config:
            config.write("\n".join(lines) + "\n")
    except OSError as error:
        raise InfraError(f"{git.git_dir} cannot be written: {error.strerror}") from error
    if checkout.head is not None:
        if git.rev(checkout.head) is None:
            # The detached HEAD of a worktree whose objects did not come along.
            args = ("fetch", "--quiet", "--no-tags", "--upload-pack=git-upload-pack")
            git.run(*args, "--update-shallow", "--", str(checkout.git_dir), "HEAD")
        git.run("update-ref", "--no-deref", "HEAD", checkout.head)
    return git


def transport_env(checkout: Checkout) -> dict[str, str]:
    """What a fetch from or a push to ``remote_url`` needs beside our own environment.

    The user's credentials: ``HOME``, credential helpers, extra headers, the ssh command, as they
    were before any agent turn (needs git 2.31; an older git ignores all but ``HOME``).
    """
    env = {name: os.environ[name] for name in ("HOME", "GIT_SSH_COMMAND") if name in os.environ}
    env["GIT_CONFIG_COUNT"] = str(len(checkout.transport))
    for number, (key, value) in enumerate(checkout.transport):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    return env


# --- reading the checkout's .git ------------------------------------------------------------


def resolve_git_file(git_file: Path) -> Path | None:
    """The directory that a ``.git`` names: itself, where its link leads, or what the file says."""
    if git_file.is_dir():
        return git_file.resolve()
    try:
        text = git_file.read_bytes() if git_file.is_file() else b""
    except OSError:
        return None
    if not text.startswith(b"gitdir:"):
        return None
    named = Path(os.fsdecode(text.removeprefix(b"gitdir:").strip()))
    target = (git_file.parent / named).resolve()
    return target if target.is_dir() else None


def _locate(start: Path) -> tuple[Path, Path]:
    start = start.resolve()
    for folder in (start, *start.parents):
        git_file = folder / ".git"
        if os.path.lexists(git_file):
            git_dir = resolve_git_file(git_file)
            if git_dir is None:
                raise ConfigError(
                    f"{git_file} names no git directory; mend it, or clone the repository anew"
                )
            return folder, git_dir
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            raise ConfigError(
                f"{folder} is a bare repository, without files to work on; "
                f"clone it (`git clone {folder}`) and start navci in the clone"
            )
    raise ConfigError(
        f"not a git repository: {start}; run `git init` there and commit your files, "
        "or start navci inside a repository"
    )


def _common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return (git_dir / os.fsdecode(pointer.read_bytes().strip())).resolve()


def _small_files(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in _SAVED if (folder / name).is_file()}


def _ask(git_dir: Path, top: Path, *args: str) -> str | None:
    """What git says of the checkout; ``None`` for exit 1, the quiet "there is none"."""
    places = (f"--git-dir={git_dir}", f"--work-tree={top}")
    answer = call((*places, *args), env=environment(None), cwd=top)
    if answer.exit_code not in (0, 1):
        said = failed(args, answer)
        raise ConfigError(f"the repository in {top} cannot be read; {said}")
    return os.fsdecode(answer.out.rstrip(b"\n")) or None


def _user_env() -> dict[str, str]:
    """The user's own view of configuration; nothing that points to another repository."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG")
    }


def _user_config(git_dir: Path | None, top: Path) -> dict[str, str]:
    """The configuration as the user's git sees it; without ``git_dir``, outside any repository."""
    args = (f"--git-dir={git_dir or os.devnull}", "config", "-z", "--list")
    answer = call(args, env=_user_env(), cwd=top if git_dir else Path("/"))
    if answer.exit_code:
        said = failed(args, answer)
        raise ConfigError(f"the git configuration cannot be read ({git_dir or 'global'}): {said}")
    entries = (os.fsdecode(entry).partition("\n") for entry in answer.out.split(b"\0") if entry)
    return {key: value if separator else "true" for key, separator, value in entries}


def _remote_url(git_dir: Path, top: Path, config: Mapping[str, str]) -> str | None:
    names = {
        key.removeprefix("remote.").removesuffix(".url")
        for key in config
        if key.startswith("remote.") and key.endswith(".url")
    }
    name = "origin" if "origin" in names else names.pop() if len(names) == 1 else None
    if name is None:
        return None
    args = (f"--git-dir={git_dir}", "remote", "get-url", "--push", "--", name)
    answer = call(args, env=_user_env(), cwd=top)
    return os.fsdecode(answer.out.rstrip(b"\n")) if answer.exit_code == 0 else None


def _transport(
    config: Mapping[str, str], outside: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Settings that name programs count only from outside the repository: an agent may write it."""
    trusted = ("http.", "credential.", "core.sshcommand")
    chosen = {key: value for key, value in outside.items() if key.startswith(trusted)}
    for key, value in config.items():
        if key.startswith("http.") and key.endswith(".extraheader"):
            chosen[key] = value
    return tuple(sorted(chosen.items()))


def _fetch_all(git: Git, source: str, run_dir: Path) -> None:
    """What a clone refuses to do by itself: links inside the object store, odd shallow files."""
    init: Sequence[str] = ("init", "--quiet", "--bare", "--template=", "--", str(git.git_dir))
    answer = call(init, env=environment(git.home), cwd=run_dir)
    if answer.exit_code:
        raise failed(init, answer)
    refs = ("+refs/*:refs/*", "+HEAD:refs/navci-agent/HEAD")
    args = ("fetch", "--quiet", "--no-tags", "--upload-pack=git-upload-pack", "--update-shallow")
    try:
        git.run(*args, "--", source, *refs)
    except GitError:
        git.run(*args, "--", source, refs[0])  # no commit yet: HEAD leads nowhere
