"""Which file a test of a report comes from, as far as its id tells."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

_STEPS = re.compile(r"[/\\.]+")
_IDENTIFIER = re.compile(r"\w+")


class Owners:
    """The test files ``paths``, to be found by test ids; ``folder`` is the working directory.

    Reports name a file in a class name (``tests.test_a.TestX``, ``com.acme.FooTest``,
    ``src/a.test.ts``) or not at all: from wherever the runner stood, so any end of a path will do.
    """

    def __init__(self, paths: Iterable[str], folder: str = "") -> None:
        self._by_end: dict[tuple[str, ...], set[str]] = defaultdict(set)
        self._folder = folder
        for path in paths:
            words = _words(path)
            for start in range(len(words)):
                self._by_end[words[start:]].add(path)

    def of(self, test: str) -> frozenset[str]:
        """The files that ``test`` may be in; empty when its id names none of them."""
        parts = test.split("::")
        for part in parts[:-1] or parts:
            words = tuple(word for word in _STEPS.split(part) if word)
            # A report may name more than the repository knows: its own folder, a crate.
            for start in range(max(1, len(words) - 1)):
                for end in range(len(words), start, -1):
                    found = self._by_end.get(words[start:end])
                    if found:
                        return self._nearest(found, words[start:end])
        return frozenset()

    def _nearest(self, found: set[str], key: tuple[str, ...]) -> frozenset[str]:
        """Of several paths with the same end, the one that is it in whole."""
        for root in (self._folder, ""):
            top = tuple(part for part in PurePosixPath(root).parts if part != ".")
            whole = {path for path in found if _words(path) == (*top, *key)}
            if whole:
                return frozenset(whole)
        return frozenset(found)


def could_hold(text: str, test: str) -> bool:
    """Whether a file with ``text`` could define a test whose id names no file.

    Titles stand in quotes there (``describe`` and ``it``: any end of the whole title), functions
    by their bare name.
    """
    name = test.split("::", 1)[-1]
    title = name.split(" ")
    ends = (" ".join(title[start:]) for start in range(len(title)))
    if any(f"{quote}{end}{quote}" in text for end in ends if end for quote in "\"'`"):
        return True
    bare = _IDENTIFIER.findall(re.split(r"[/\[({]", name.split("::")[-1], maxsplit=1)[0])
    return len(bare) == 1 and re.search(rf"\b{re.escape(bare[0])}\b", text) is not None


def in_edited(test: str, owners: Owners, edited: Mapping[str, str]) -> bool:
    """Whether ``test`` is, or may be, in one of the ``edited`` files (path to its text at base).

    A Python report always names the module, so a test that names none is in no Python file.
    """
    files = owners.of(test)
    if files:
        return not files.isdisjoint(edited)
    return any(
        could_hold(text, test)
        for path, text in edited.items()
        if not path.endswith((".py", ".pyi"))
    )


def _words(path: str) -> tuple[str, ...]:
    """A path's parts, without the ending and the dot of the last."""
    words = tuple(word for word in _STEPS.split(path) if word)
    return words[:-1] if "." in PurePosixPath(path).name and len(words) > 1 else words
