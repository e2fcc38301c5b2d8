"""What the checks go through at second hand: the files that commands, scripts and makefiles name.

Everything is read as it was at base: an agent's edit of one file can hide no other. The walk is
bounded in depth and in count. Nothing is run.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath

from navci.evidence.command_files import (
    MANAGERS,
    PYTHONS,
    READ_BY,
    RUNNERS,
    SCRIPT,
    SHELLS,
    inside,
    scripts,
    segments,
    steers,
    told_to_test,
    values,
)
from navci.evidence.makefiles import Makefile
from navci.system.globs import match_glob

_DEPTH = 8
_COUNT = 2000
_SIZE = 1 << 18
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_ROOTS = ("", "src", "lib")
_TOKEN = re.compile(r"[\w./-]+")
_ENDINGS = tuple(f".{suffix}" for suffix in sorted(SCRIPT) if suffix)
_UNKNOWN = re.compile(r"\$\([^()]{,200}\)|\$\{[^}]{,200}\}|\$\w+")
_TAKES_FILE = frozenset(
    {"-c", "-f", "-r", "--config", "--file", "--makefile", "--require", "--import", "--loader"}
    | {"--rcfile", "--config-file", "--setup-file"}
)
_SETTLING = frozenset({"cd", "set", "export", "source", ".", "ulimit", "umask"})
_NO_TEST = frozenset({"--ignore", "--cov", "--deselect", "-p", "-k", "-m", "-s", "-t", "--rootdir"})


@dataclass(frozen=True, slots=True)
class Reached:
    """Paths from the top, there at base or not.

    ``runner``: scripts and settings; ``tests``: files that a runner is given by name; ``path``:
    folders of ``PATH``; ``searched``: folders where Python looks for modules; ``programs``: the
    names of what is called.
    """

    runner: frozenset[str] = frozenset()
    tests: frozenset[str] = frozenset()
    path: frozenset[str] = frozenset()
    searched: frozenset[str] = frozenset()
    programs: frozenset[str] = frozenset()


def reached(
    commands: Iterable[str],
    folder: str,
    files: Iterable[str],
    read: Callable[[str], str],
) -> Reached:
    """What ``commands`` go through in ``folder``; ``read`` gives the text of one of ``files``."""
    walk = _Walk(frozenset(files), read)
    for command in commands:
        walk.command(command, folder, 0)
    return Reached(
        frozenset(walk.runner),
        frozenset(walk.tests),
        frozenset(walk.path),
        frozenset(walk.searched),
        frozenset(walk.programs),
    )


class _Walk:
    def __init__(self, files: frozenset[str], read: Callable[[str], str]) -> None:
        self.files, self.read = files, read
        self.runner: set[str] = set()
        self.tests: set[str] = set()
        self.path: set[str] = set()
        self.searched: set[str] = set()
        self.programs: set[str] = set()
        self._done: set[tuple[str, ...]] = set()

    def command(self, text: str, folder: str, depth: int, script: str = "") -> None:
        """One text of a shell, run in ``folder``; ``script`` is the file it stands in."""
        if not self._first(depth, "command", text, folder):
            return
        self._variables(text, folder, script)
        here = folder
        doing = [words for words in segments(text) if words[0] not in _SETTLING]
        alone = len(doing) == 1 and not any(char in text for char in "|<>")
        for words in segments(text):
            for path in scripts(" ".join(words) + ("" if alone else ";"), here):
                self.script(path, here, depth + 1)
            for word in words:
                if any(char.isspace() for char in word):  # bash -c "…"
                    self.command(word, here, depth + 1)
            moved = words[1:2] if words[0] == "cd" else []
            here = (inside(here, moved[0]) or "") if moved else here
            self._segment(words, here, depth + 1)
        for line in text.replace("\\\n", " ").splitlines():
            for path in scripts(line, folder):
                self.script(path, folder, depth + 1)

    def script(self, path: str, folder: str, depth: int, *, module: bool = False) -> None:
        """A script, run in ``folder``; Python looks beside it unless it is a ``module``."""
        self.runner.add(path)
        if not self._first(depth, "script", path, folder):
            return
        text = self._text(path)
        pure = PurePosixPath(path)
        if pure.name.endswith(".mk") or pure.name in _MAKEFILES:
            return
        shebang = text.partition("\n")[0] if text.startswith("#!") else ""
        if pure.suffix == ".py" or "python" in shebang:
            if path in self.files and not module:
                self.searched.add(_parent(path))
            for name in self._siblings(path, text):
                self.script(name, folder, depth + 1, module=True)
        elif pure.suffix in (".sh", ".bash") or not pure.suffix:
            self._lines(text, folder, depth, path)
        for token in dict.fromkeys(_TOKEN.findall(_UNKNOWN.sub("", text))):
            if not token.endswith(_ENDINGS):
                continue
            for root in (folder, "", _parent(path)):
                named = inside(root, token.lstrip("/"))
                shell = named is not None and named.endswith((".sh", ".bash"))
                if named in self.files and named and (shell or steers(named)):
                    self.script(named, folder, depth + 1)

    def _lines(self, text: str, folder: str, depth: int, path: str) -> None:
        here = folder
        for line in text.replace("\\\n", " ").splitlines():
            self.command(line, here, depth + 1, path)
            for words in segments(line):
                if words[0] == "cd" and len(words) > 1 and not _UNKNOWN.search(words[1]):
                    here = inside(here, words[1]) or here

    def _segment(self, words: Sequence[str], folder: str, depth: int) -> None:
        if "install" in words:
            return
        self.programs.add(PurePosixPath(words[0]).name)
        if words[0] in (".", "source") and len(words) > 1:
            for root in (folder, ""):
                path = inside(root, _UNKNOWN.sub("", words[1]).lstrip("/"))
                if path:
                    self.script(path, folder, depth)
            return
        for at, word in enumerate(words):
            name, rest = PurePosixPath(word).name, words[at + 1 :]
            if name in READ_BY:
                self.programs.add(name)
                self.runner |= set(self._matching(folder, READ_BY[name]))
            if name in ("make", "gmake"):
                self._make(rest, folder, depth)
                return
            if name in MANAGERS:
                self._package(rest, folder, depth)
                return
            if PYTHONS.fullmatch(name):
                self._taken(rest, folder, depth)
                self._python(rest, folder, depth)
                return
            if name in RUNNERS:
                self._runner(rest, folder, depth)
                return
            if name in SHELLS or name in ("node", "deno", "ruby", "php", "perl"):
                self._taken(rest, folder, depth)
            path = inside(folder, word)
            if path in self.files and told_to_test(rest):
                self.script(str(path), folder, depth)

    # --- programs ---------------------------------------------------------------------------

    def _make(self, words: Sequence[str], folder: str, depth: int) -> None:
        targets, given = [], []
        pending = iter(words)
        for word in pending:
            if word in ("-C", "--directory"):
                folder = inside(folder, next(pending, "")) or folder
            elif word.startswith(("-C", "--directory=")):
                folder = inside(folder, word.removeprefix("--directory=").removeprefix("-C")) or ""
            elif word in ("-f", "--file", "--makefile"):
                given.append(next(pending, ""))
            elif not word.startswith("-") and "=" not in word:
                targets.append(word)
        paths = [inside(folder, name) for name in given or _MAKEFILES]
        found = [path for path in paths if path and path in self.files]
        self.runner |= {path for path in paths if path}
        if not found or not self._first(depth, "make", found[0], folder, *targets):
            return
        makefile = Makefile()
        pending_files, seen = found if given else found[:1], set[str]()
        while pending_files and len(seen) < _COUNT:
            path = pending_files.pop()
            if path in seen:
                continue
            seen.add(path)
            self.runner.add(path)
            text = self._text(path)
            self._variables(text, folder, path)
            names = makefile.add(text)
            pending_files += self._matching(folder, names)
            self.runner |= {named for name in names if (named := inside(folder, name))}
        for line in makefile.commands(targets):
            self.command(line, folder, depth + 1)

    def _package(self, words: Sequence[str], folder: str, depth: int) -> None:
        for at, word in enumerate(words[:-1]):
            if word in ("--prefix", "--cwd", "-C", "--dir"):
                folder = inside(folder, words[at + 1]) or folder
        near = f"{folder}/package.json" if folder else "package.json"
        path = near if near in self.files else "package.json"
        try:
            known = json.loads(self._text(path) or "{}").get("scripts") or {}
            lines = {str(name): str(line) for name, line in known.items()}
        except (ValueError, AttributeError, RecursionError):
            return
        asked = [*words, *(["test"] if {*words} & {"t", "tst"} else [])]
        for name in lines:
            bare = name.removeprefix("pre").removeprefix("post")
            if any(match_glob(what, word) for word in asked for what in (name, bare) if word):
                self.command(lines[name], folder, depth + 1)

    def _python(self, words: Sequence[str], folder: str, depth: int) -> None:
        for at, word in enumerate(words):
            rest = words[at + 1 :]
            if word == "-c":
                return
            if word == "-m" and rest:
                if rest[0] in RUNNERS:
                    self._runner(rest[1:], folder, depth)
                    return
                if PYTHONS.fullmatch(rest[0]):
                    self._python(rest[1:], folder, depth)
                    return
                self.programs.add(rest[0])
                self.runner |= set(self._matching(folder, READ_BY.get(rest[0], ())))
                self._module(rest[0], rest[1:], folder, depth)
                return
            if not word.startswith("-") and word.endswith(".py"):
                path = inside(folder, word)
                if path and told_to_test(rest):
                    self.script(path, folder, depth)
                return

    def _module(self, name: str, rest: Sequence[str], folder: str, depth: int) -> None:
        """``python -m name``: one of the repository that is for testing, or in place of a tool."""
        candidates = list(module_files(name, (folder, "")))
        there = [path for path in candidates if path in self.files]
        if not there or steers(name.replace(".", "/")) or told_to_test(rest):
            for path in candidates:
                self.script(path, folder, depth, module=True)

    def _runner(self, words: Sequence[str], folder: str, depth: int) -> None:
        self._taken(words, folder, depth)
        if any("doctest" in word for word in words):
            return
        for before, word in zip(("", *words), words, strict=False):
            if before == "-p":
                for path in module_files(word, (folder, "")):
                    self.script(path, folder, depth, module=True)
            if word.startswith("-") or before in _NO_TEST or before in _TAKES_FILE:
                continue
            plain = word.partition("::")[0]
            dotted = plain if re.fullmatch(r"\w+(\.\w+)*", plain) else ""
            names = (plain, *(f"{part}.py" for part in _leading(dotted)))
            for name in names:
                named = inside(folder, name)
                if named in self.files:
                    self.tests.add(str(named))
                    break

    def _taken(self, words: Sequence[str], folder: str, depth: int) -> None:
        """Files given to an option that takes settings or code."""
        for before, word in pairwise(words):
            path = inside(folder, word) if before in _TAKES_FILE else None
            if path in self.files:
                self.script(str(path), folder, depth)
        for word in words:
            option, is_given, value = word.partition("=")
            path = inside(folder, value) if is_given and option in _TAKES_FILE else None
            if path in self.files:
                self.script(str(path), folder, depth)

    # --- words ------------------------------------------------------------------------------

    def _variables(self, text: str, folder: str, script: str) -> None:
        for variable, found in (("PATH", self.path), ("PYTHONPATH", self.searched)):
            for value in values(variable, text):
                if value.strip("\0") == "" and value:
                    continue  # `$PATH`: what it was
                for root in {folder, "", _parent(script)} if "\0" in value else {folder}:
                    written = value.replace("\0", "").lstrip("/") if "\0" in value else value
                    place = inside(root, written)
                    if place is not None:
                        found.add(place)
        for variable in ("BASH_ENV", "ENV", "PYTHONSTARTUP"):
            for value in values(variable, text):
                path = inside(folder, value.replace("\0", "").lstrip("/"))
                if path in self.files:
                    self.runner.add(str(path))

    def _siblings(self, path: str, text: str) -> Iterator[str]:
        """What a Python script imports of its own folder, where that is one for testing."""
        folder = _parent(path)
        if not folder or not steers(path):
            return
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        names = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                names |= {module, *(f"{module}.{alias.name}".strip(".") for alias in node.names)}
        places = (folder, *(str(parent) for parent in PurePosixPath(folder).parents))
        for name in names - {""}:
            for file in module_files(name, places, roots=("",)):
                if file in self.files and steers(file):
                    yield file

    def _matching(self, folder: str, globs: Iterable[str]) -> list[str]:
        wanted = [found for glob in globs if (found := inside(folder, glob))]
        return [path for path in sorted(self.files) if any(match_glob(path, g) for g in wanted)]

    def _text(self, path: str) -> str:
        return self.read(path)[:_SIZE] if path in self.files else ""

    def _first(self, depth: int, *what: str) -> bool:
        if depth > _DEPTH or what in self._done or len(self._done) >= _COUNT:
            return False
        self._done.add(what)
        return True


def module_files(name: str, folders: Iterable[str], roots: Sequence[str] = _ROOTS) -> Iterator[str]:
    """Where the Python module ``name`` may lie, from the top."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return
    for folder in dict.fromkeys(folders):
        for root in roots:
            place = PurePosixPath(folder, root, *parts)
            yield from (f"{place}.py", f"{place}/__init__.py", f"{place}/__main__.py")


def _leading(dotted: str) -> Iterator[str]:
    """``a/b/c``, ``a/b``, ``a`` for ``a.b.c``."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        if parts[0]:
            yield "/".join(parts[:end])


def _parent(path: str) -> str:
    folder = str(PurePosixPath(path).parent)
    return "" if folder == "." else folder
