"""What a test is called: ids that are the same in every checkout of a repository (DESIGN §4).

Addresses and times in parametrised names are left as they are: they tell tests of one report apart.
Who compares two runs leaves them out.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

_ID_LIMIT = 1024
_SETUP = re.compile(r"setUp(?:Class|Module) \((.+)\)")
_SOURCE_FILE = re.compile(r"[^\s:][^:]*\.(?:[cm]?[jt]sx?|py|rb|php|vue|svelte|dart|lua|exs?)")
_CLASS_LEVEL = frozenset({"", "initializationError", "executionError", "classMethod"})


class Namer:
    """Gives testcases their ids, relative to the repository at ``root``."""

    def __init__(self, root: Path) -> None:
        tops = {str(root.absolute()), os.path.realpath(root)} - {"/"}
        self._tops = tuple(top + "/" for top in sorted(tops, key=len, reverse=True))
        self._known = lru_cache(maxsize=1024)(self._file)

    def whole_ids(self, tests: list[str]) -> list[str]:
        """Ids from ``<classname>::<name>``; :meth:`file` and ``::`` before it where that is needed.

        Longer than 1,024 characters: cut, with a hash of the whole in its place, so that
        different tests stay different.
        """
        if "/" in "".join(tests):
            tests = [self.stable(test) for test in tests]
        if max(map(len, tests), default=0) > _ID_LIMIT:
            tests = [test if len(test) <= _ID_LIMIT else _cut(test) for test in tests]
        return tests

    def stable(self, text: str) -> str:
        """``text`` with the repository's own paths relative to it."""
        if "/" in text:
            for top in self._tops:
                text = text.replace(f"file://{top}", "").replace(top, "")
        return text

    def file(self, file: str) -> str:
        """A source file as the repository knows it; only its name when it lies elsewhere."""
        return self._known(file)

    def _file(self, file: str) -> str:
        file = file.removeprefix("file://").replace("\\", "/")
        for top in self._tops:
            file = file.removeprefix(top)
        if file.startswith("/") or re.match(r"[A-Za-z]:/", file):
            return PurePosixPath(file).name  # outside the repository: this machine's business
        return file.removeprefix("./")


def _cut(test: str) -> str:
    whole = hashlib.sha256(test.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{test[: _ID_LIMIT - 40]}…{whole[:32]}"


def unloaded_module(case: Mapping[str, str], message: str) -> str | None:
    """The module, class or file that a red testcase says did not load, or ``None`` for a real test.

    Such a testcase stands for all the tests that are missing because of it: pytest's collection
    failure, unittest's ``_FailedTest`` and ``setUpClass``, jest's and vitest's suite that fails
    to run, JUnit 5's and surefire's class-level error.
    """
    name, classname = case.get("name", ""), case.get("classname", "")
    if message == "collection failure":
        return f"{classname}.{name}" if classname else name
    if classname in ("unittest.loader._FailedTest", "unittest.loader.ModuleImportFailure"):
        return name
    if match := _SETUP.fullmatch(name):
        return match[1]
    if "Test suite failed to run" in (classname, name):
        return name if name != "Test suite failed to run" else classname
    if classname and (name in _CLASS_LEVEL or (name == classname and "." in name)):
        return classname if name in _CLASS_LEVEL or _SOURCE_FILE.fullmatch(name) else None
    if "/" in name and _SOURCE_FILE.fullmatch(name) and classname in ("", "test"):
        return name  # node --test: the file itself is the failing test
    return None
