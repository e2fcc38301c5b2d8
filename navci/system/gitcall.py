"""How a git command is started: its configuration, its environment, and what became of it."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from navci.errors import GitError, InfraError
from navci.system.programs import program, trusted_libraries, trusted_path

TIMEOUT = 600.0
"""Seconds after which a git command is ended; on a healthy disk none of ours takes minutes."""

_PASSED_ON = re.compile(
    r"TMPDIR|USER|LOGNAME|(https?|no|all|ftp)_proxy|SSL_CERT_(FILE|DIR)"
    r"|CURL_CA_BUNDLE|SSH_AUTH_SOCK",
    re.IGNORECASE,
)
_DISK = tuple(os.strerror(code) for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS))
_REASONS = (*_DISK, *(os.strerror(code) for code in (errno.EACCES, errno.EPERM, errno.EIO)))

_CONFIG = """\
# navci's own git configuration: the only one its git commands see.
[safe]
\tdirectory = *
[core]
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tuntrackedCache = false
\tsplitIndex = false
\tpreloadIndex = true
\tquotePath = false
\tlogAllRefUpdates = false
\tsafecrlf = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[advice]
\tdetachedHead = false
[protocol]
\tallow = never
[protocol "file"]
\tallow = always
[protocol "https"]
\tallow = always
[protocol "http"]
\tallow = always
[protocol "ssh"]
\tallow = always
[protocol "git"]
\tallow = always
[commit]
\tgpgSign = false
[fetch]
\tfsckObjects = false
[submodule]
\trecurse = false
"""


PUSH_CONFIG = "push.gitconfig"
"""The same, but with the hooks of a remote on this disk: they are its owner's rules."""


def write_config(home: Path) -> None:
    """Make ``home`` the home folder of our git commands.

    Git before 2.32 knows no ``GIT_CONFIG_GLOBAL``; to it, this file is the user's ``~/.gitconfig``.
    """
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitconfig").write_text(_CONFIG, encoding="utf-8")
    hooks = "\thooksPath = /dev/null\n"
    (home / PUSH_CONFIG).write_text(_CONFIG.replace(hooks, ""), encoding="utf-8")


def environment(home: Path | None) -> dict[str, str]:
    """What our git commands see: nothing of ``GIT_*``, no secret, our configuration alone.

    Other processes of the user can read a git process's environment; so it holds only named
    variables. Without ``home`` there is no configuration at all.
    """
    env = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    if libraries := trusted_libraries():
        env["LD_LIBRARY_PATH"] = libraries
    folder = str(home) if home else os.devnull
    return env | {
        "PATH": trusted_path(),
        "HOME": folder,
        "XDG_CONFIG_HOME": folder,
        "GIT_CONFIG_GLOBAL": str(home / ".gitconfig") if home else os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


@dataclass(frozen=True, slots=True)
class Answer:
    """What a git command gave."""

    exit_code: int
    out: bytes
    err: str


def call(
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes | IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    timeout: float = TIMEOUT,
) -> Answer:
    """Run ``git`` with ``args``; never raises for what git itself answers.

    The command gets a session of its own, so that Ctrl-C ends navci between two git commands and
    never inside one. Raises :class:`InfraError` when git cannot be started, and
    :class:`ConfigError` when it is only in the checkout.
    """
    try:
        done = subprocess.run(
            [program("git"), *args],
            env=dict(env),
            cwd=cwd,
            input=stdin if isinstance(stdin, bytes) else None,
            stdin=(stdin or subprocess.DEVNULL) if not isinstance(stdin, bytes) else None,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(124, b"", f"no answer within {timeout:.0f} s")
    except FileNotFoundError as error:
        if not cwd.is_dir():
            raise InfraError(f"the folder {cwd} is gone; git has nothing to work on") from error
        raise InfraError("git was not found; install git 2.25 or newer, on PATH") from error
    except OSError as error:
        raise InfraError(f"git cannot be started in {cwd}: {error.strerror}") from error
    return Answer(done.returncode, done.stdout or b"", done.stderr.decode("utf-8", "replace"))


def failed(args: Sequence[str], answer: Answer) -> GitError:
    """The error for ``answer``; a reason the system gave (full disk, read-only) is said last."""
    said = answer.err.strip()
    lines = said.splitlines()
    reason = next((line for line in lines if any(why in line for why in _REASONS)), None)
    if reason and lines[-1] != reason:
        said = f"{said}\n{reason}"
    command = next((word for word in args if not word.startswith("-")), "")
    return GitError(command, answer.exit_code, said)


def is_about_the_disk(error: InfraError) -> bool:
    """Was there no room to write, rather than something wrong with the repository?"""
    return any(reason in str(error) for reason in _DISK)
