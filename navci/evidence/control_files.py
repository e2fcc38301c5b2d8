"""Which files control testing: those put back as they were at base for the original-tests run.

DESIGN §5, Trust. Everything here is about paths and the text of single files; nothing is run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import PurePosixPath

from navci.evidence.command_files import scripts
from navci.evidence.runner_parts import partly, same_but_places, same_runner
from navci.evidence.second_hand import Reached, reached
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
    # Python
    *("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml"),
    *("setup.cfg", "pyproject.toml", ".coveragerc", "noxfile.py", "uv.toml", ".python-version"),
    # JavaScript
    *("package.json", ".npmrc", ".yarnrc*", "bunfig.toml", ".nvmrc", ".node-version"),
    *("jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.workspace.*", "vitest.setup.*"),
    *("vite.config.*", ".mocharc*", "ava.config.*", "playwright.config.*", "cypress.config.*"),
    *("karma.conf*", ".nycrc*", ".c8rc*", ".taprc", "web-test-runner.config.*", "jasmine.json"),
    *("babel.config.*", ".babelrc*", ".swcrc", "nx.json", "turbo.json", "deno.json*"),
    # make and its like
    *("Makefile", "makefile", "GNUmakefile", "*.mk", "justfile", "Justfile", ".justfile"),
    *("Taskfile.y*ml", "mise.toml", ".mise.toml", "mise.*.toml", ".tool-versions", ".env.test*"),
    # Rust, Go, JVM, Ruby, PHP
    *("Cargo.toml", "rust-toolchain", "rust-toolchain.toml", "nextest.toml", "go.mod", "go.work"),
    *("pom.xml", "build.gradle*", "settings.gradle*", "gradle.properties", "gradlew*", "mvnw*"),
    *("Rakefile", ".rspec", ".ruby-version", "phpunit.xml", "phpunit.xml.dist", "composer.json"),
)
_RUNNER_PATHS = (
    *("**/.cargo/config", "**/.cargo/config.toml", "**/.mvn/**", "**/gradle/wrapper/**"),
    *("**/.config/mise/**", "**/.mise/**", "**/.yarn/**/*.cjs"),
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


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides on a path, besides its name.

    ``folder`` is the working directory from the top, '' for the top; ``commands`` are those of
    the checks; ``globs`` name further files, and with a leading ``!`` files that are none;
    ``path_folders`` are the folders of the checks' ``PATH`` that lie in the checkout, from the
    top. :func:`at_base` finds ``reached``, what commands go through, and ``pytest_elsewhere``,
    whether pytest's settings stand in ``tox.ini`` or ``setup.cfg``.
    """

    folder: str = ""
    commands: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    path_folders: tuple[str, ...] = ()
    reached: Reached = field(default_factory=Reached)
    pytest_elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Control:
    """A control file that is not as it was: ``before`` is what it was, ``None`` for a new one.

    ``stays``: its change only says where the product lies and which tests there are; people are
    told of it, and it is not put back.
    """

    path: str
    kind: Kind
    before: Entry | None
    now: Entry | None
    stays: bool = False

    @property
    def edited(self) -> bool:
        """Whether it was there at base and belongs to the tests themselves."""
        return self.before is not None and self.kind in (Kind.TEST, Kind.DATA, Kind.SUPPORT)


def at_base(rules: Rules, files: Mapping[str, Entry], read: Read) -> Rules:
    """``rules`` that also know what the commands go through in ``files``, those of base."""

    def text(path: str) -> str:
        return read(files[path].blob).decode("utf-8", "replace")

    regular = [path for path, entry in files.items() if entry.mode.startswith("100")]
    return replace(
        rules,
        reached=reached(rules.commands, rules.folder, regular, text),
        pytest_elsewhere=any(
            "[pytest]" in text(path) or "[tool:pytest]" in text(path)
            for path in regular
            if PurePosixPath(path).name in ("tox.ini", "setup.cfg")
        ),
    )


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
    if new and _shadows(pure, rules):
        return Kind.STARTUP
    if _in_path(pure, rules):
        return Kind.STARTUP
    if _named(pure.name, _RUNNER) or any(match_glob(path, glob) for glob in _RUNNER_PATHS):
        return Kind.RUNNER
    if pure.name == "conftest.py":
        return Kind.SUPPORT
    if {*folders} & _DATA_FOLDERS:
        return Kind.DATA
    if _named(pure.name, _TESTS) or path in rules.reached.tests:
        return Kind.TEST
    if {*folders} & _TEST_FOLDERS:
        whole = pure.suffix in (".rs", ".java", ".kt", ".scala", ".groovy")
        return Kind.TEST if whole else Kind.SUPPORT if code else Kind.DATA
    if path in rules.reached.runner:
        return Kind.RUNNER
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
        tools = rules.reached.programs
        if partly(name) and same_runner(name, texts[0], texts[1], tools):
            continue
        if _lists_plugins(path) and not any(b"pytest11" in text for text in texts):
            continue
        near = str(PurePosixPath(path).parent) in (".", rules.folder or ".")
        stays = kind is Kind.RUNNER and near and None not in (before, now)
        if rules.pytest_elsewhere and name == "pyproject.toml" and b"tool.pytest" not in texts[0]:
            stays = False  # it would be read in place of the other file
        stays = stays and same_but_places(name, texts[0], texts[1], tools)
        if _in_path(PurePosixPath(path), rules) and not _runs(before) and not _runs(now):
            continue
        found.append(Control(path, kind, before, now, stays))
    return tuple(sorted(found, key=lambda control: control.path))


def _named(name: str, globs: Sequence[str]) -> bool:
    return any(match_glob(name, glob) for glob in globs)


def _lists_plugins(path: str) -> bool:
    return any(match_glob(path, f"**/{glob}") for glob in _PLUGIN_LISTS)


def _in_path(path: PurePosixPath, rules: Rules) -> bool:
    """Would a shell find it as a program? At the top only what has no ending could be one."""
    folder = "" if str(path.parent) == "." else str(path.parent)
    return folder in {*rules.path_folders, *rules.reached.path} and bool(folder or not path.suffix)


def _runs(entry: Entry | None) -> bool:
    return entry is not None and entry.mode != "100644"


def _shadows(path: PurePosixPath, rules: Rules) -> bool:
    """Would Python import this in place of its own library, or of the test runner?"""
    usual = [PurePosixPath(place) / s for place in (rules.folder, "") for s in _SEARCHED]
    for root in (*usual, *map(PurePosixPath, rules.reached.searched)):
        if not path.is_relative_to(root):
            continue
        parts = path.relative_to(root).parts
        if not parts:
            continue
        name = parts[0] if len(parts) > 1 else parts[0].partition(".")[0]
        is_module = len(parts) > 1 or path.suffix in (".py", ".so", ".pyc")
        if is_module and (
            name in _RUNNER_MODULES
            or name.startswith("pytest_")
            or (name in sys.stdlib_module_names and name not in ("test", "__main__"))
        ):
            return True
    return False
