"""The secret scan of what an iteration changed, before it is committed (DESIGN §3 step 6).

The name rules are those of Navigator's completion protocol; the content rules are the published
forms of common credentials. A finding never repeats the secret.
"""

from __future__ import annotations

import mmap
import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_MAX_TEXT = 64 << 20
_MAX_BINARY = 4 << 20
_EXAMPLES = frozenset({"example", "sample", "template", "dist"})
_DATA = frozenset(
    (
        *("", ".txt", ".json", ".yaml", ".yml", ".ini", ".cfg", ".conf"),
        *(".env", ".key", ".pem", ".properties"),
    )
)
_TELLING = frozenset({"secret", "secrets", "password", "passwords", "passwd", "token", "tokens"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_KNOWN = re.compile(
    r"credentials\.json|secrets\.ya?ml|.*_key\.pem|.*\.(?:p12|pfx)|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?"
)
_PLACEHOLDER = re.compile(
    rb"example|placeholder|dummy|fake|sample|your|xxxx|changeme|redacted|abcdef|0000|12345",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Form:
    """A credential's published form. ``anchor`` is looked for first, which is far faster."""

    what: str
    anchor: bytes
    pattern: re.Pattern[bytes]


def _form(what: str, anchor: str, rest: str) -> _Form:
    start = rf"(?<![A-Za-z0-9_]){re.escape(anchor)}{rest}"
    return _Form(what, anchor.encode(), re.compile(start.encode()))


_FORMS = (
    # A header alone is code that handles keys; key material follows within a few lines.
    _Form(
        "a private key",
        b"PRIVATE KEY",
        re.compile(
            rb"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
            rb"[\s\S]{0,200}?[A-Za-z0-9+/]{60,256}"
        ),
    ),
    _form("an AWS access key", "AKIA", r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    *(_form("a GitHub token", f"gh{kind}_", r"[A-Za-z0-9]{36,255}") for kind in "pousr"),
    _form("a GitHub token", "github_pat_", r"[A-Za-z0-9]{22}_[A-Za-z0-9]{40,80}"),
    _form("an Anthropic key", "sk-ant-", r"[a-z]{3,8}\d{2}-[A-Za-z0-9_-]{40,256}"),
    _form("an OpenAI key", "sk-proj-", r"[A-Za-z0-9_-]{40,256}"),
    *(_form("a Slack token", f"xox{kind}-", r"\d{6,}-[A-Za-z0-9-]{20,256}") for kind in "bap"),
    _form("a Google API key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _form("an npm token", "npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _form("a GitLab token", "glpat-", r"[A-Za-z0-9_-]{20,64}"),
)


def find_secrets(
    top: Path, paths: Sequence[str], read_old: Callable[[str], bytes | None]
) -> dict[str, str]:
    """Path → why, for those of ``paths`` (changed in this iteration, under ``top``) that look so.

    ``read_old`` gives a file's content at base, ``None`` when it was not there: what base already
    had is no finding. Only regular files are read; text over 64 MiB is read that far, binary
    over 4 MiB not at all. A file that cannot be read is a finding, as it cannot be vouched for.
    """
    found: dict[str, str] = {}
    for path in paths:
        try:
            why = examine(top / path, path, read_old)
        except OSError as error:
            why = f"it could not be read for the secret scan: {error.strerror}"
        if why:
            found[path] = why
    return found


def examine(file: Path, path: str, read_old: Callable[[str], bytes | None]) -> str | None:
    """Why ``file``, called ``path`` in the repository, looks like a secret. Raises `OSError`."""
    try:
        kind = file.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None  # deleted
    name = path.rpartition("/")[2]
    telling = f"`{name}` is a name for secrets; list it in .gitignore or rename it"
    if stat.S_ISLNK(kind):
        return telling if _named(name) and read_old(path) is None else None
    if not stat.S_ISREG(kind):
        return None
    with file.open("rb") as stream:
        head = stream.read(8192)
        if not head:
            return None
        # A program (`bin/rotate-token`) is no data, whatever it is called.
        if _named(name) and not head.startswith(b"#!") and read_old(path) is None:
            return telling
        size = os.fstat(stream.fileno()).st_size
        if b"\0" in head and size > _MAX_BINARY:
            return None
        length = min(size, _MAX_TEXT)
        with closing(mmap.mmap(stream.fileno(), length, access=mmap.ACCESS_READ)) as data:
            return _content(data, path, read_old)


def _content(data: mmap.mmap, path: str, read_old: Callable[[str], bytes | None]) -> str | None:
    old: bytes | None = None
    for form, begin, text in _matches(data):
        if old is None:
            old = read_old(path) or b""
        if text not in old:
            line = data[:begin].count(b"\n") + 1
            return f"line {line} holds what looks like {form.what}"
    return None


def _matches(data: mmap.mmap) -> Iterator[tuple[_Form, int, bytes]]:
    for form in _FORMS:
        if data.find(form.anchor) < 0:
            continue
        for match in form.pattern.finditer(data):
            if _looks_real(match[0]):
                yield form, match.start(), match[0]


def _looks_real(match: bytes) -> bool:
    """Not a placeholder: enough different characters, and none of the words people put there."""
    secret = match.rpartition(b"-----")[2] if match.startswith(b"-----") else match
    return len(set(secret)) >= 12 and (
        match.startswith(b"-----") or not _PLACEHOLDER.search(secret)
    )


def _named(name: str) -> bool:
    """Is this the name of a file that holds secrets? Never for source code."""
    lower = name.lower()
    words = {word.lower() for word in _WORD.findall(name)}
    if words & _EXAMPLES:
        return False
    if lower == ".env" or lower.startswith(".env.") or _KNOWN.fullmatch(lower):
        return True
    return PurePosixPath(lower).suffix in _DATA and bool(words & _TELLING)
