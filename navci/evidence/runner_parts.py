"""Files of which only a part tells the test runner what to do: is that part still the same?

Dependencies, metadata and other tools' settings live in the same files, and honest work changes
them. What cannot be read counts as changed.
"""

from __future__ import annotations

import configparser
import json
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

_PYPROJECT = (
    *("pytest", "coverage", "tox", "nox", "hypothesis", "poe", "taskipy", "pytest-enabler"),
    *("hatch.envs", "pdm.scripts", "uv.sources.pytest"),
)
_PACKAGE = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "cypress", "playwright")
_DEPENDENCIES = frozenset({"deps", "requires", "extras", "dependency_groups"})


def same_runner(name: str, base: bytes, now: bytes) -> bool:
    """Whether two states of the file ``name`` (one of :data:`PARTLY`) say the same to a runner.

    An empty text stands for a file that is not there.
    """
    try:
        return PARTLY[name](base.decode("utf-8-sig"), now.decode("utf-8-sig"))
    except (ValueError, TypeError, AttributeError, configparser.Error, RecursionError):
        return False


def _pyproject(base: str, now: str) -> bool:
    def part(text: str) -> Any:
        whole = tomllib.loads(text)
        plugins = _at(whole, "project.entry-points.pytest11")
        return [plugins, *(_at(whole, f"tool.{name}") for name in _PYPROJECT)]

    return bool(part(base) == part(now))


def _cargo(base: str, now: str) -> bool:
    def part(text: str) -> Any:
        whole = tomllib.loads(text)
        names = ("test", "lib.test", "lib.harness", "package.autotests", "profile.test")
        return [_at(whole, name) for name in names]

    return bool(part(base) == part(now))


def _package(base: str, now: str) -> bool:
    """The scripts that base has, hooks around them, and the settings of runners."""
    old, new = json.loads(base or "{}"), json.loads(now or "{}")
    before, after = old.get("scripts") or {}, new.get("scripts") or {}
    hooks = {f"{when}{script}" for script in before for when in ("pre", "post")}
    return all(after.get(name) == before.get(name) for name in {*before, *hooks}) and all(
        old.get(name) == new.get(name) for name in _PACKAGE
    )


def _setup_cfg(base: str, now: str) -> bool:
    def part(text: str) -> Any:
        ini = _ini(text)
        wanted = ("tool:pytest", "pytest", "coverage:", "aliases", "nosetests", "test")
        found = {name: table for name, table in ini.items() if name.startswith(wanted)}
        return found, "pytest11" in ini.get("options.entry_points", {})

    return bool(part(base) == part(now))


def _tox(base: str, now: str) -> bool:
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


PARTLY: Mapping[str, Callable[[str, str], bool]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "tox.ini": _tox,
    "package.json": _package,
    "Cargo.toml": _cargo,
}
"""By file name: whether two states say the same to a runner."""
