"""Which files of a repository a shell command names: its words, nothing is run.

What a program's name alone stands for (``invoke`` reads ``tasks.py``) is here too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
SCRIPT = frozenset({"sh", "bash", "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "mk", ""})
SCRIPT_FOLDERS = frozenset({"ci", ".ci", "scripts", "script", "bin", "tools", "hack", "dev"})
RUNNERS = frozenset(
    {"pytest", "py.test", "unittest", "nose2", "nosetests", "trial", "jest", "vitest", "mocha"}
    | {"ava", "tap", "tape", "jasmine", "rspec", "phpunit", "pest", "bats", "prove", "busted"}
    | {"cucumber", "behave", "playwright", "cypress", "minitest"}
)
"""Programs that take the files they are named for tests."""

PYTHONS = re.compile(r"(?:python|pypy)[\d.]*|coverage")
MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun", "run-s", "run-p", "npm-run-all"})
READ_BY: Mapping[str, tuple[str, ...]] = {
    "invoke": ("tasks.py", "tasks/**", "invoke.y*ml"),
    "inv": ("tasks.py", "tasks/**", "invoke.y*ml"),
    "doit": ("dodo.py",),
    "fab": ("fabfile.py", "fabfile/**"),
    "gulp": ("gulpfile.*",),
    "grunt": ("Gruntfile.*",),
    "ant": ("build.xml",),
    "scons": ("SConstruct",),
    "ruff": ("ruff.toml", ".ruff.toml"),
    "mypy": ("mypy.ini", ".mypy.ini"),
    "pyright": ("pyrightconfig.json",),
    "flake8": (".flake8",),
    "pylint": (".pylintrc", "pylintrc"),
    "eslint": ("eslint.config.*", ".eslintrc*", ".eslintignore"),
    "biome": ("biome.json*",),
    "tsc": ("tsconfig*.json",),
    "golangci-lint": (".golangci.*",),
    "rubocop": (".rubocop*.yml",),
    "phpstan": ("phpstan*.neon*",),
    "pre-commit": (".pre-commit-config.yaml",),
}
"""By program: what it reads in the working directory, as globs."""

_TESTING_WORD = re.compile(r"test|check|verify|spec|(?:^|[^a-z])ci(?:$|[^a-z])|lint", re.IGNORECASE)
_TOLD = re.compile(
    r"-*(?:self-?|run-?|unit-?)?(?:tests?|testing|checks?|verify|specs?|ci|lint)(?:[:_=-].*)?",
    re.IGNORECASE,
)
_PART = re.compile(r"(?:[a-z]*tests?|checks?|checker|verify|specs?|ci|lint|qa|e2e)", re.IGNORECASE)
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


def scripts(command: str, folder: str = "") -> frozenset[str]:
    """The scripts of the repository that ``command`` goes through, from the top.

    A file counts by its name or folder (``ci/all.sh``, ``run_checks.py``), or as a shell script
    that is the whole command. Any other file may be the very thing under test.
    """
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        words = command.split()
    alone = not any(char in command for char in "|&;<>\n")
    paths = {word.removeprefix("./"): at for at, word in reversed(list(enumerate(words)))}
    found = set()
    for path, at in paths.items():
        pure = PurePosixPath(path)
        suffix = pure.suffix.removeprefix(".")
        if path.startswith(("/", "-")) or ".." in pure.parts or suffix not in SCRIPT:
            continue
        if not suffix and "/" not in words[at]:
            continue  # a program, or a subcommand
        starts = at == 0 or (at == 1 and PurePosixPath(words[0]).name in SHELLS)
        shell = suffix in SHELLS or (not suffix and at == 0)
        if (
            _TESTING_WORD.search(pure.stem)
            or {*pure.parts[:-1]} & SCRIPT_FOLDERS
            or (alone and starts and shell)
        ):
            found.add(str(PurePosixPath(folder) / pure))
    return frozenset(found)


def steers(path: str) -> bool:
    """Whether the name or a folder of ``path`` says that it is for testing."""
    *folders, name = PurePosixPath(path).with_suffix("").parts
    if {*folders} & SCRIPT_FOLDERS:
        return True
    parts = (part for word in (*folders, name) for part in re.split(r"[^A-Za-z0-9]+", word))
    return any(_PART.fullmatch(part) for part in parts if part)


def told_to_test(words: Sequence[str]) -> bool:
    """Whether a program with these arguments is told to test (``test``, ``--check``)."""
    return any(_TOLD.fullmatch(word) for word in words)


def segments(text: str) -> Iterator[list[str]]:
    """The simple commands of a shell text, as words without the assignments before them."""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if line.startswith("#"):
            continue
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()<>`")
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            words = list(lexer)
        except ValueError:
            words = line.split()
        segment: list[str] = []
        for word in [*words, ";"]:
            if word and not word.strip(";&|()<>`"):
                if segment:
                    yield segment
                segment = []
            elif segment or not _ASSIGNED.match(word):
                segment.append(word)


def values(variable: str, text: str) -> Iterator[str]:
    """What ``text`` (of a shell, or a makefile) sets ``variable`` to, split at colons."""
    pattern = rf"""(?<![\w-]){variable}\s*[:?+]?=\s*("[^"\n]*"|'[^'\n]*'|[^\s;&|]*)"""
    for found in re.finditer(pattern, text):
        # What stands before a slash in a variable or a substitution is some folder.
        plain = re.sub(
            r"\$\$?\([^()]{,200}\)|\$?\$\{[^}]{,200}\}|\$?\$\w+|`[^`]{,200}`", "\0", found[1]
        )
        yield from plain.strip("\"'").split(":")


def inside(folder: str, path: str) -> str | None:
    """``path`` as written in ``folder``, from the top; ``None`` where it leads out."""
    parts: list[str] = []
    if path.startswith("/"):
        return None
    for part in (*PurePosixPath(folder).parts, *path.split("/")):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
