"""Files of which only a part tells the test runner what to do: is that part still the same?

Dependencies, metadata and other tools' settings live in the same files, and honest work changes
them. What cannot be read counts as changed.
"""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from typing import Any
from xml.etree import ElementTree

from navci.system.globs import match_glob

_PYPROJECT = (
    *("pytest", "coverage", "tox", "nox", "hypothesis", "poe", "taskipy", "pytest-enabler"),
    *("hatch.envs", "pdm.scripts", "uv.sources.pytest"),
)
_PACKAGE = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "cypress", "playwright")
_Part = Callable[[str, str, Collection[str]], bool]
_DEPENDENCIES = frozenset({"deps", "requires", "extras", "dependency_groups"})
_LINTERS = frozenset({"ruff", "mypy", "pyright", "pylint", "black", "isort", "bandit", "ty"})
_BUILDS_TESTS = re.compile(r"test|skip|surefire|failsafe|argline", re.IGNORECASE)

# Where the product lies, and which tests there are: tests that vanish are told in any case.
_PLACES = ("testpaths", "markers", "python_files", "norecursedirs", "minversion")
_SOURCES = frozenset({"", ".", "src", "lib"})  # where no new module can hide another
_HERE = r"\$\$?(?:[({]?(?:PWD|CURDIR|PYTHONPATH)[)}]?)"
_ONE_SOURCE = rf"(?:{_HERE}/?)?(?:\./?)?(?:src|lib)?/?"
_PYTHONPATH = re.compile(
    rf"""(?:export[ \t]+)?\bPYTHONPATH[ \t]*[:?]?=[ \t]*"""
    rf"""(?P<quote>["']?){_ONE_SOURCE}(?::{_ONE_SOURCE})*(?P=quote)(?=\s|$)[ \t]*\n?"""
)
_INI = {"tox.ini": "pytest", "setup.cfg": "tool:pytest", "pytest.ini": "pytest"}


def partly(name: str) -> bool:
    """Whether only a part of a file of this name tells a test runner what to do."""
    return _part_of(name) is not None


def same_runner(name: str, base: bytes, now: bytes, tools: Collection[str] = ()) -> bool:
    """Whether two states of a file that :func:`partly` is a runner's say the same to it.

    An empty text stands for a file that is not there. ``tools``: the programs that are called.
    """
    part = _part_of(name)
    return part is not None and _holds(part, base, now, tools)


def same_but_places(name: str, base: bytes, now: bytes, tools: Collection[str] = ()) -> bool:
    """Whether what differs only says where the product lies, and which tests there are.

    pytest's ``pythonpath`` and ``PYTHONPATH`` to the usual folders; ``testpaths`` and its like.
    """
    suffix = name.rpartition(".")[2]
    if name.lower() in ("makefile", "gnumakefile") or suffix in ("mk", "sh", "bash"):
        return _holds(_without_pythonpath, base, now, tools)
    if name == "pyproject.toml":
        return _holds(_pyproject_but_places, base, now, tools)
    return name in _INI and _holds(_ini_but_places(name), base, now, tools)


def _holds(part: _Part, base: bytes, now: bytes, tools: Collection[str]) -> bool:
    try:
        return part(base.decode("utf-8-sig"), now.decode("utf-8-sig"), tools)
    except (ValueError, TypeError, AttributeError, configparser.Error, RecursionError):
        return False
    except ElementTree.ParseError:
        return False


def _part_of(name: str) -> _Part | None:
    return next((part for glob, part in PARTLY.items() if match_glob(name, glob)), None)


def _pyproject_part(text: str, tools: Collection[str]) -> dict[str, Any]:
    whole = tomllib.loads(text)
    wanted = (*_PYPROJECT, *sorted(_LINTERS.intersection(tools)))
    parts = {name: _at(whole, f"tool.{name}") for name in wanted}
    return {**parts, "": _at(whole, "project.entry-points.pytest11")}


def _pyproject(base: str, now: str, tools: Collection[str]) -> bool:
    return _pyproject_part(base, tools) == _pyproject_part(now, tools)


def _pyproject_but_places(base: str, now: str, tools: Collection[str]) -> bool:
    def part(text: str) -> Any:
        found = _pyproject_part(text, tools)
        pytest = dict(found.pop("pytest") or {})
        return found, _without_places(pytest.pop("ini_options", None) or {}), pytest

    return bool(part(base) == part(now))


def _without_places(options: Mapping[str, Any]) -> dict[str, Any]:
    """pytest's options without those that only say where things lie."""
    kept = {name: value for name, value in options.items() if name not in _PLACES}
    folders = kept.pop("pythonpath", ())
    folders = folders.split() if isinstance(folders, str) else folders
    others = [folder for folder in folders if folder.strip("/").removeprefix("./") not in _SOURCES]
    return {**kept, "pythonpath": others}


def _ini_but_places(name: str) -> _Part:
    def same(base: str, now: str, tools: Collection[str]) -> bool:
        def part(text: str) -> Any:
            ini = _ini(text)
            if _INI[name] not in ini:
                raise ValueError("a section that comes or goes changes which file is read")
            options = _without_places(ini.pop(_INI[name]))
            ini.pop("metadata", None)
            ini.pop("options", None)
            return ini, options

        return bool(part(base) == part(now))

    return same


def _without_pythonpath(base: str, now: str, _: Collection[str]) -> bool:
    return _PYTHONPATH.sub("", base) == _PYTHONPATH.sub("", now)


def _cargo(base: str, now: str, _: Collection[str]) -> bool:
    def part(text: str) -> Any:
        whole = tomllib.loads(text)
        names = ("test", "lib.test", "lib.harness", "package.autotests", "profile.test", "patch")
        return [_at(whole, name) for name in names]

    return bool(part(base) == part(now))


def _package(base: str, now: str, _: Collection[str]) -> bool:
    """The scripts that base has, hooks around them, and the settings of runners."""
    old, new = json.loads(base or "{}"), json.loads(now or "{}")
    before, after = old.get("scripts") or {}, new.get("scripts") or {}
    hooks = {f"{when}{script}" for script in before for when in ("pre", "post")}
    return all(after.get(name) == before.get(name) for name in {*before, *hooks}) and all(
        old.get(name) == new.get(name) and _local(old, name) == _local(new, name)
        for name in _PACKAGE
    )


def _local(package: Mapping[str, Any], name: str) -> list[str]:
    """Where a runner is taken from, if not from a registry."""
    tables = (package.get(kind) or {} for kind in ("dependencies", "devDependencies", "overrides"))
    versions = (str(table.get(name, "")) for table in tables)
    return [version for version in versions if re.match(r"(?:file|link|portal):|[./~]", version)]


def _go_mod(base: str, now: str, _: Collection[str]) -> bool:
    """Replacements by a folder (a library of the tests may be one), and the toolchain."""

    def part(text: str) -> list[str]:
        return [
            line.strip()
            for line in text.splitlines()
            if re.search(r"=>\s*\.{0,2}/", line) or line.startswith("toolchain")
        ]

    return part(base) == part(now)


def _pom(base: str, now: str, _: Collection[str]) -> bool:
    """The build without its dependencies, profiles, the parent, and properties about tests."""

    def part(text: str) -> list[str]:
        found = []
        for child in _root(text) if text else ():
            name = child.tag.rpartition("}")[2]
            if name in ("build", "profiles", "parent", "properties"):
                for inner in list(child):
                    other = name == "properties" and not _BUILDS_TESTS.search(inner.tag)
                    if other or inner.tag.endswith("dependencies"):
                        child.remove(inner)
                whole = ElementTree.canonicalize(
                    ElementTree.tostring(child, "unicode"), strip_text=True
                )
                found.append(whole if len(child) else "")
        return [whole for whole in found if whole]

    return part(base) == part(now)


def _root(text: str) -> ElementTree.Element:
    if "<!" in text.replace("<!--", ""):
        raise ValueError("entities and document types are not read")
    return ElementTree.fromstring(text)  # noqa: S314 - what makes it dangerous is refused


def _gradle(base: str, now: str, _: Collection[str]) -> bool:
    """Everything but blocks of dependencies, and the version."""

    def part(text: str) -> list[str]:
        kept, depth, inside = [], 0, None
        for line in text.splitlines():
            bare = line.strip()
            if inside is None and re.match(r"dependencies\s*\{", bare):
                inside = depth
            depth += line.count("{") - line.count("}")
            if inside is not None:
                inside = None if depth <= inside else inside
            elif bare and not re.match(r"//|(?:version|group|description)\b|include\b", bare):
                kept.append(bare)
        return kept

    return part(base) == part(now)


def _setup_cfg(base: str, now: str, _: Collection[str]) -> bool:
    def part(text: str) -> Any:
        ini = _ini(text)
        wanted = ("tool:pytest", "pytest", "coverage:", "aliases", "nosetests", "test")
        found = {name: table for name, table in ini.items() if name.startswith(wanted)}
        return found, "pytest11" in ini.get("options.entry_points", {})

    return bool(part(base) == part(now))


def _tox(base: str, now: str, _: Collection[str]) -> bool:
    def part(text: str) -> Any:
        return {
            name: {key: value for key, value in table.items() if key not in _DEPENDENCIES}
            for name, table in _ini(text).items()
        }

    return bool(part(base) == part(now))


def _ini(text: str) -> dict[str, dict[str, str]]:
    ini = configparser.RawConfigParser(strict=False)
    ini.read_string(text)
    return {name: dict(ini[name]) for name in ini.sections()}


def _at(table: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        table = table.get(name) if isinstance(table, Mapping) else None
    return table


PARTLY: Mapping[str, _Part] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "tox.ini": _tox,
    "package.json": _package,
    "composer.json": _package,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
    "pom.xml": _pom,
    "build.gradle*": _gradle,
    "settings.gradle*": _gradle,
    "gradle.properties": _gradle,
}
"""By a glob of file names: whether two states say the same to a runner."""
