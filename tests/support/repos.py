"""Real git repositories for tests: fixed identity and dates, no user or system configuration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_DATE = "2026-01-02T03:04:05+00:00"


def clean_env(**more: str) -> dict[str, str]:
    """The environment these repositories are made in: no ``GIT_*``, no user or system config."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return env | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "Ada Tester",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada Tester",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "GIT_AUTHOR_DATE": _DATE,
        "GIT_COMMITTER_DATE": _DATE,
        "LC_ALL": "C",
        **more,
    }


def git(path: Path, *args: str, check: bool = True, stdin: bytes | None = None) -> str:
    """Run git in ``path`` as a user would; its output without the last newline."""
    done = subprocess.run(
        ["git", *args], cwd=path, env=clean_env(), input=stdin, capture_output=True, check=False
    )
    if check and done.returncode:
        said = done.stderr.decode(errors="replace")
        raise AssertionError(f"git {' '.join(args)}: exit {done.returncode}: {said}")
    return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")


def write_files(path: Path, files: Mapping[str, str | bytes]) -> None:
    """Write ``files`` (relative name -> content) below ``path``, making folders as needed."""
    for name, content in files.items():
        target = path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)


def commit_all(path: Path, message: str) -> str:
    """Commit everything that git does not ignore; the commit's id."""
    git(path, "add", "-A")
    git(path, "commit", "-q", "--allow-empty", "-m", message)
    return git(path, "rev-parse", "HEAD")


def make_repo(path: Path, files: Mapping[str, str | bytes], message: str = "start") -> Path:
    """A repository at ``path``, branch ``main``, with one commit of ``files`` (none: no commit)."""
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q", "--template=", ".")
    git(path, "symbolic-ref", "HEAD", "refs/heads/main")
    git(path, "config", "gc.auto", "0")
    write_files(path, files)
    if files:
        commit_all(path, message)
    return path
