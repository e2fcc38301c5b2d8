"""The ignore and conversion rules of one commit, each as a single file for git.

git reads ``.gitignore`` and ``.gitattributes`` from the work tree, where an agent can change them:
to hide a file, or to have git store something else than the tests saw (``ident``,
``working-tree-encoding``). So navci takes those of the base commit and re-roots their patterns into
one list. There the last match wins, as in git: folders nearer the file come later. Everything is
bytes, as git has it (gitignore(5), gitattributes(5)).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from navci.system.globs import match_glob

MARKERS = ".agent/.context-markers"
"""Where markers are written, in whatever folder a run works in, or what an agent put in its place;
never measured, never committed, whatever any rule says."""


BUILT_IN = (
    "/.agent/.marker-log",
    "__pycache__/",
    "*.py[co]",
    ".pytest_cache/",
    ".mypy_cache/",
    ".ruff_cache/",
    ".hypothesis/",
    "node_modules/",
    ".DS_Store",
)
"""What tools leave behind, ignored unless a rule of the repository says otherwise."""

_AS_WRITTEN = b"""\
[attr]binary -diff -merge -text
* !text !eol !crlf !filter !ident !working-tree-encoding !merge !diff
"""
_GLOB = re.compile(rb"[][*?\\]")
_WORD = re.compile(rb'"((?:[^"\\]|\\(?:[abfnrtv"\\]|[0-3][0-7]{2}))*)"|[^ \t\r\n]+')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPED = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_UNSAFE = re.compile(rb'[\x00-\x1f"\\\x7f]')


def is_marker(path: str) -> bool:
    """Whether ``path`` is a marker, or lies where markers are written."""
    return f"/{MARKERS}/" in f"/{path}/"


def left_by_tools(path: str) -> bool:
    """Whether ``path`` is what tools leave behind, whoever committed it (:data:`BUILT_IN`)."""
    return any(
        match_glob(path, f"**/{pattern}{'**' if pattern.endswith('/') else ''}")
        for pattern in BUILT_IN
        if not pattern.startswith("/")
    )


def exclude_file(gitignores: Mapping[str, bytes], globs: Sequence[str] = ()) -> bytes:
    """The content of git's exclude file.

    ``gitignores`` maps the path of each ``.gitignore`` to its content. ``globs`` are relative to
    the top folder (``build/*.xml``), and win over the rules of the repository.
    """
    lines = [pattern.encode() for pattern in BUILT_IN]
    for folder, content in _from_the_top(gitignores):
        lines.extend(_ignores(folder, content))
    lines.extend(b"/" + os.fsencode(glob.removeprefix("./").lstrip("/")) for glob in globs)
    lines.append(b"**/" + MARKERS.encode())
    return b"\n".join(lines) + b"\n"


def exactly(path: str) -> bytes:
    """The pattern that ignores the file ``path``, relative to the top, and hardly another one."""
    pattern = b"/" + _literal(os.fsencode(path))
    bare = pattern.rstrip(b" ")
    return bare + b"\\ " * (len(pattern) - len(bare))


def attributes_file(gitattributes: Mapping[str, bytes]) -> bytes:
    """The content of ``info/attributes``, which wins over every ``.gitattributes`` lying about."""
    lines = [_AS_WRITTEN]
    for folder, content in _from_the_top(gitattributes):
        lines.extend(line + b"\n" for line in _attributes(folder, content))
    return b"".join(lines)


def _from_the_top(files: Mapping[str, bytes]) -> Iterator[tuple[bytes, bytes]]:
    for path in sorted(files, key=lambda path: (path.count("/"), path)):
        yield os.fsencode(path.rpartition("/")[0]), files[path].removeprefix(b"\xef\xbb\xbf")


def _ignores(folder: bytes, content: bytes) -> Iterator[bytes]:
    """The patterns of the ``.gitignore`` in ``folder`` (empty: the top), as seen from the top."""
    for raw in content.split(b"\n"):
        if raw.startswith(b"#"):
            continue
        line = raw.removesuffix(b"\r")
        pattern = _without_trailing_spaces(line)
        body = pattern.removeprefix(b"!")
        if body.strip(b"/"):
            yield pattern[: len(pattern) - len(body)] + _rooted(folder, body)


def _attributes(folder: bytes, content: bytes) -> Iterator[bytes]:
    for raw in content.split(b"\n"):
        line = raw.strip(b" \t\r")
        word = _WORD.match(line)
        if word is None or line.startswith((b"#", b"!")):
            continue
        if word[0].startswith(b"[attr]"):
            if not folder:
                yield line
            continue
        body = word[0] if word[1] is None else _ESCAPE.sub(_unescape, word[1])
        if body.strip(b"/") and not body.startswith(b"!"):
            rooted = _UNSAFE.sub(lambda found: b"\\%03o" % found[0][0], _rooted(folder, body))
            yield b'"' + rooted + b'"' + line[word.end() :]


def _rooted(folder: bytes, pattern: bytes) -> bytes:
    """``pattern`` of a rule file in ``folder``, as a pattern of one at the top."""
    if not folder:
        return pattern
    if b"/" in pattern.removesuffix(b"/"):
        return b"/" + _literal(folder) + b"/" + pattern.removeprefix(b"/")
    return b"/" + _literal(folder) + b"/**/" + pattern


def _literal(folder: bytes) -> bytes:
    """``folder`` as a pattern that matches only itself (a newline has no spelling: any byte)."""
    return _GLOB.sub(lambda found: b"\\" + found[0], folder).replace(b"\n", b"?")


def _without_trailing_spaces(line: bytes) -> bytes:
    """As git trims: spaces at the end, but not one after a backslash."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 else bare


def _unescape(found: re.Match[bytes]) -> bytes:
    what = found[1]
    return bytes([int(what, 8) if len(what) == 3 else _ESCAPED.get(what[0], what[0])])
