"""Which tests occurred, and how often: by name for the judge, by hash where only counts are asked.

Both keep every occurrence until the end: that is cheaper than a look-up at each of a million tests.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import chain
from typing import Protocol, Self

_BUCKETS = 64  # a power of two


class Status(IntEnum):
    """A testcase's result. Of several for one test the greatest counts, never the best."""

    PASSED = 0
    SKIPPED = 1
    FAILED = 2
    ERRORED = 3


@dataclass(frozen=True, slots=True)
class Settled:
    """Every id in one set only: red before skipped before passed.

    ``repeated`` maps ids that occur more than once to how often; ``again`` is their number, and
    ``most`` how often the most frequent occurs, also where names are not kept.
    """

    passed: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    repeated: Mapping[str, int] = field(default_factory=dict)
    again: int = 0
    most: int = 0


class Occurrences(Protocol):
    """Takes in the id of every testcase element."""

    def add(self, test: str, status: Status) -> None:
        """One testcase element."""

    def add_all(self, tests: Iterable[str], status: Status) -> None:
        """Many testcase elements with the same result."""

    def merge(self, other: Self) -> None:
        """Take in those of another report; the same test in both is one test, repeated."""

    def settle(self, red: Collection[str]) -> Settled:
        """What it comes to; ``red`` are the ids that failed or errored anywhere."""


class NamedOccurrences:
    """By name: a passed test costs its id and 8 bytes, and as much again when settled."""

    __slots__ = ("_passed", "_red", "_skipped")

    def __init__(self) -> None:
        self._passed: list[str] = []
        self._skipped: list[str] = []
        self._red: list[str] = []

    def add(self, test: str, status: Status) -> None:
        self.add_all((test,), status)

    def add_all(self, tests: Iterable[str], status: Status) -> None:
        (self._passed, self._skipped, self._red, self._red)[status].extend(tests)

    def merge(self, other: NamedOccurrences) -> None:
        self._passed += other._passed
        self._skipped += other._skipped
        self._red += other._red

    def settle(self, red: Collection[str]) -> Settled:
        passed, skipped, failed = set(self._passed), set(self._skipped), set(red)
        elements = len(self._passed) + len(self._skipped) + len(self._red)
        skipped -= failed
        passed -= skipped
        passed -= failed
        repeated: dict[str, int] = {}
        if len(passed) + len(skipped) + len(failed) < elements:
            count = Counter(chain(self._passed, self._skipped, self._red))
            repeated = {test: times for test, times in count.items() if times > 1}
        return Settled(
            frozenset(passed),
            frozenset(skipped),
            repeated,
            len(repeated),
            max(repeated.values(), default=0),
        )


class HashedOccurrences:
    """By 64-bit hash (Python's own, keyed by process): 8 bytes a test, about 9 with room to grow.

    Hashes fall into buckets, so that duplicates are found with one bucket at a time as a set.
    """

    __slots__ = ("_appends", "_buckets")

    def __init__(self) -> None:
        self._buckets = [array("q") for _ in range(_BUCKETS)]
        self._appends = [bucket.append for bucket in self._buckets]

    def add(self, test: str, status: Status) -> None:
        key = hash(test)
        self._appends[key & (_BUCKETS - 1)](key)

    def add_all(self, tests: Iterable[str], status: Status) -> None:
        appends, last = self._appends, _BUCKETS - 1
        for key in map(hash, tests):
            appends[key & last](key)

    def merge(self, other: HashedOccurrences) -> None:
        for mine, theirs in zip(self._buckets, other._buckets, strict=True):
            mine.extend(theirs)

    def settle(self, red: Collection[str]) -> Settled:
        again = most = 0
        for bucket in self._buckets:
            if len(set(bucket)) < len(bucket):
                times = [count for count in Counter(bucket).values() if count > 1]
                again += len(times)
                most = max(most, *times)
        return Settled(again=again, most=most)
