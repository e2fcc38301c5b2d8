"""Which files control testing: those put back as they were at base for the original-tests run.

DESIGN §5, Trust. Everything here is about paths and the text of single files; nothing is run.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from navci.evidence.runner_parts import PARTLY, same_runner
from navci.system.globs import match_glob
from navci.system.trees import Entry

Read = Callable[[str], bytes]


class Kind(StrEnum):
    """What a control file is to the tests.

    ``test``: a module of tests; ``data``: what tests read and compare with; ``support``: code of
    the tests that holds none; ``runner``: configuration and scripts; ``startup``: what an
    interpreter takes up by itself, or in place of something else.
    """

    TEST = "test"
    DATA = "data"
    SUPPORT = "support"
    RUNNER = "runner"
    STARTUP = "startup"


_CODE = (
    *("py", "pyi", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "go", "rs", "java"),
    *("kt", "scala", "groovy", "rb", "php", "cs", "c", "cc", "cpp", "h", "hpp", "ex", "exs", "sh"),
)
_TESTS = (
    *("test_*.py", "*_test.py", "tests.py", "test.py", "*_test.go", "*_test.exs", "*_test.rb"),
    *("*_spec.rb", "*Test.php", "*Test.java", "*Tests.java", "*IT.java", "*Test.kt", "*Tests.cs"),
    *(f"*.{word}.{ext}" for word in ("test", "spec", "cy") for ext in _CODE[2:10]),
)
_STARTUP = ("sitecustomize.py", "usercustomize.py", "*.pth")
_STARTUP_FOLDERS = ("sitecustomize", "usercustomize")
_RUNNER = (
    *("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml"),
    *("setup.cfg", "pyproject.toml", ".coveragerc", "noxfile.py", "package.json", ".npmrc"),
    *("jest.config.*", "vitest.config.*", "vitest.workspace.*", ".mocharc*", "ava.config.*"),
    *("playwright.config.*", "cypress.config.*", "karma.conf.*", ".nycrc*", ".c8rc*"),
    *("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", ".justfile", "Taskfile.y*ml"),
    *("Cargo.toml", "Rakefile", ".rspec", "phpunit.xml", "phpunit.xml.dist", "nextest.toml"),
)
_TEST_FOLDERS = frozenset({"tests", "test", "spec", "__tests__", "__mocks__", "testdata"})
_DATA_FOLDERS = frozenset({"__snapshots__", "testdata"})
_PLUGIN_LISTS = ("*.dist-info/entry_points.txt", "*.egg-info/entry_points.txt")

# Python looks for modules there first: `python -m` in the folder it stands in, `pythonpath = src`.
_SEARCHED = ("", "src", "lib")
_RUNNER_MODULES = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "py", "coverage", "xdist", "nose", "nose2"}
    | {"tox", "nox", "hypothesis", "anyio", "execnet", "packaging", "virtualenv"}
)

_SHELL_SCRIPT = frozenset({"sh", "bash"})
_SCRIPT = frozenset({*_SHELL_SCRIPT, "py", "js", "mjs", "cjs", "ts", "rb", "pl", "php", "mk", ""})
_SCRIPT_FOLDERS = frozenset({"ci", ".ci", "scripts", "script", "bin", "tools", "hack", "dev"})
_TESTING_WORD = re.compile(r"test|check|verify|spec|(?:^|[^a-z])ci(?:$|[^a-z])|lint", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides on a path, besides its name.

    ``folder`` is the working directory from the top, '' for the top; ``commands`` are those of
    the checks; ``globs`` name further files, and with a leading ``!`` files that are none.
    """

    folder: str = ""
    commands: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Control:
    """A control file that is not as it was: ``before`` is what it was, ``None`` for a new one."""

    path: str
    kind: Kind
    before: Entry | None
    now: Entry | None

    @property
    def edited(self) -> bool:
        """Whether it was there at base and belongs to the tests themselves."""
        return self.before is not None and self.kind in (Kind.TEST, Kind.DATA, Kind.SUPPORT)


def kind_of(path: str, rules: Rules, *, new: bool) -> Kind | None:
    """What ``path`` is to the tests; ``None`` for the product. ``new``: base does not have it."""
    if any(match_glob(path, glob[1:]) for glob in rules.globs if glob.startswith("!")):
        return None
    if any(match_glob(path, glob) for glob in rules.globs):
        return Kind.RUNNER
    pure = PurePosixPath(path)
    folders = pure.parts[:-1]
    code = pure.suffix.removeprefix(".") in _CODE
    if _named(pure.name, _STARTUP) or {*folders} & {*_STARTUP_FOLDERS} or _lists_plugins(path):
        return Kind.STARTUP
    if new and _shadows(pure, rules.folder):
        return Kind.STARTUP
    if _named(pure.name, _RUNNER):
        return Kind.RUNNER
    if pure.name == "conftest.py":
        return Kind.SUPPORT
    if {*folders} & _DATA_FOLDERS:
        return Kind.DATA
    if _named(pure.name, _TESTS):
        return Kind.TEST
    if {*folders} & _TEST_FOLDERS:
        whole = pure.suffix in (".rs", ".java", ".kt", ".scala", ".groovy")
        return Kind.TEST if whole else Kind.SUPPORT if code else Kind.DATA
    if path in {script for command in rules.commands for script in scripts(command, rules.folder)}:
        return Kind.RUNNER
    return None


def differing(
    changes: Iterable[tuple[str, Entry | None, Entry | None]], rules: Rules, read: Read
) -> tuple[Control, ...]:
    """The control files among ``changes`` (path, at base, now), sorted; ``read`` reads a blob.

    Of a file that holds more than the runner's configuration (``pyproject.toml``,
    ``package.json``, …) only a change of that part counts: honest work adds dependencies.
    """
    found = []
    for path, before, now in changes:
        kind = kind_of(path, rules, new=before is None)
        if kind is None:
            continue
        name = PurePosixPath(path).name
        texts = [read(entry.blob) if entry else b"" for entry in (before, now)]
        if name in PARTLY and same_runner(name, *texts):
            continue
        if _lists_plugins(path) and not any(b"pytest11" in text for text in texts):
            continue
        found.append(Control(path, kind, before, now))
    return tuple(sorted(found, key=lambda control: control.path))


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
        if path.startswith(("/", "-")) or ".." in pure.parts or suffix not in _SCRIPT:
            continue
        if not suffix and "/" not in words[at]:
            continue  # a program, or a subcommand
        starts = at == 0 or (at == 1 and PurePosixPath(words[0]).name in _SHELL_SCRIPT)
        shell = suffix in _SHELL_SCRIPT or (not suffix and at == 0)
        if (
            _TESTING_WORD.search(pure.stem)
            or {*pure.parts[:-1]} & _SCRIPT_FOLDERS
            or (alone and starts and shell)
        ):
            found.add(str(PurePosixPath(folder) / pure))
    return frozenset(found)


def _named(name: str, globs: Sequence[str]) -> bool:
    return any(match_glob(name, glob) for glob in globs)


def _lists_plugins(path: str) -> bool:
    return any(match_glob(path, f"**/{glob}") for glob in _PLUGIN_LISTS)


def _shadows(path: PurePosixPath, folder: str) -> bool:
    """Would Python import this in place of its own library, or of the test runner?"""
    for place in (folder, ""):
        for searched in _SEARCHED:
            root = PurePosixPath(place) / searched
            if not path.is_relative_to(root):
                continue
            parts = path.relative_to(root).parts
            name = parts[0] if len(parts) > 1 else parts[0].partition(".")[0]
            is_module = len(parts) > 1 or path.suffix in (".py", ".so", ".pyc")
            if is_module and (
                name in _RUNNER_MODULES
                or name.startswith("pytest_")
                or (name in sys.stdlib_module_names and name not in ("test", "__main__"))
            ):
                return True
    return False
