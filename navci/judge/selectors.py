"""Which tests an acceptance item means: by a selector, or by an id that the tests carry.

A selector is a test's id as navci shows it, or pytest's node id; both are compared in one form, in
which ``tests/test_a.py::TestC::test_x`` and ``tests.test_a.TestC::test_x`` are one. It also means
everything below what it names: a file its tests, a test its parameters. ``*`` is any text.
"""

from __future__ import annotations

import fnmatch
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

_HEAD = re.compile(r"[^\s\[(]*")
_SUFFIX = re.compile(r"\.py(?=::|$)")
_STEPS = re.compile(r"::|/|\.{2,}")
# What may follow a name for it to be a whole one.
_BELOW = re.compile(r"$|[.:/\[({]|\s[\[(]")
_WORDS = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"[0-9a-f]{8,16}")
_PREFIX = "acc"


class TestNames:
    """Test ids, found by selectors."""

    __test__ = False

    def __init__(self, tests: Iterable[str]) -> None:
        self._named = sorted((one_form(test), test) for test in tests)
        self._forms = [form for form, _ in self._named]

    def select(self, selector: str) -> Iterator[str]:
        """The ids that ``selector`` means."""
        form = one_form(selector).rstrip(".")
        literal, star, _ = form.partition("*")
        whole = re.compile(
            "|".join(
                fnmatch.translate(form.replace("[", "[[]").replace("?", "[?]") + below)
                for below in ("", "[.:/[({]*", " [[(]*")
            )
        )
        for at in range(bisect_left(self._forms, literal), len(self._forms)):
            name = self._forms[at]
            if not name.startswith(literal):
                break
            if whole.match(name) if star else _BELOW.match(name, len(literal)):
                yield self._named[at][1]

    def above(self, selector: str) -> Iterator[str]:
        """The ids below which everything that ``selector`` means would stand."""
        form = one_form(selector)
        for name, test in self._named:
            if name and form.startswith(name) and _BELOW.match(form, len(name)):
                yield test


def one_form(name: str) -> str:
    """A test's id or a selector with one kind of step between its parts, parameters left alone."""
    head = _HEAD.match(name)
    cut = head.end() if head else 0
    path = _SUFFIX.sub("", name[:cut].removeprefix("./"))
    return _STEPS.sub(".", _STEPS.sub(".", path)).lstrip(".") + name[cut:]


class Carriers:
    """Which tests carry an item's id, in their name or in an ``acceptance`` property.

    ``items`` maps an item to the ids it was given; the first eight or more digits of its own id
    always count. Letter case does not matter, nor which characters stand between an id's words,
    so that ``AVATAR-1`` is carried by ``test_avatar_1_is_deleted`` and not by ``test_avatar_12``.
    """

    def __init__(
        self,
        items: Mapping[str, Sequence[str]],
        tests: Collection[str],
        properties: Iterable[Mapping[str, Collection[str]]],
    ) -> None:
        self._given: dict[str, list[tuple[list[str], str]]] = {}
        self._digits: dict[str, list[str]] = {}
        for item, ids in items.items():
            for words in filter(None, map(_words, ids)):
                self._given.setdefault(words[0], []).append((words, item))
            digits = item.removeprefix(f"{_PREFIX}-")
            for end in range(8, len(digits) + 1):
                self._digits.setdefault(digits[:end], []).append(item)
        self._found: dict[str, set[str]] = {}
        for test in tests:
            # Most suites carry no id at all, and reading words takes time.
            if self._given or _PREFIX in test.lower():
                self._add(test, (test,))
        for values in properties:
            for value, carriers in values.items():
                self._add(value, carriers)

    def of(self, item: str) -> Collection[str]:
        """The tests that carry the id of ``item``."""
        return self._found.get(item, ())

    def _add(self, text: str, tests: Iterable[str]) -> None:
        for item in self._items(_words(text)):
            self._found.setdefault(item, set()).update(tests)

    def _items(self, words: Sequence[str]) -> Iterator[str]:
        for at, word in enumerate(words):
            for given, item in self._given.get(word, ()):
                if words[at : at + len(given)] == given:
                    yield item
            digits = word.removeprefix(_PREFIX) or "".join(words[at + 1 : at + 2])
            if word.startswith(_PREFIX) and _DIGITS.fullmatch(digits):
                yield from self._digits.get(digits, ())


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())
