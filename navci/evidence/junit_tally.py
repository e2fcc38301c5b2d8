"""What was counted in JUnit reports, while it is being counted."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from enum import IntEnum

from navci.system import neutral

_EXCERPTS = 1_000
_NOTES = 50
_REASONS = 1_000


class Status(IntEnum):
    """A testcase's result. Of several for one test the greatest counts, never the best."""

    PASSED = 0
    SKIPPED = 1
    FAILED = 2
    ERRORED = 3


@dataclass(slots=True)
class Tally:
    """Counts are of testcase elements, sets are of ids.

    ``repeats`` counts how often an id came again in the set it was already in. ``unloaded`` maps
    the id of a testcase that stands for a module which did not load to that module. ``failures``
    are failures outside any testcase, ``doubts`` reasons why a report without a failure still
    proves nothing.
    """

    cases: int = 0
    counts: list[int] = field(default_factory=lambda: [0, 0, 0, 0])  # of PASSED: see passed_cases
    flaky: int = 0
    passed: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    red: dict[str, str] = field(default_factory=dict)
    repeats: dict[str, int] = field(default_factory=dict)
    unloaded: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    oddities: dict[str, None] = field(default_factory=dict)

    @property
    def passed_cases(self) -> int:
        """Testcase elements that passed: all that are nothing else."""
        return self.cases - sum(self.counts)

    def add(self, test: str, status: Status) -> None:
        """One testcase element that is not simply passed; ``passed`` is filled by the reader."""
        self.cases += 1
        if test in self._ids(status):
            self.repeats[test] = self.repeats.get(test, 0) + 1
        match status:
            case Status.PASSED:
                self.passed.add(test)
                return
            case Status.SKIPPED:
                self.skipped.add(test)
            case _:
                self.red.setdefault(test, "")
        self.counts[status] += 1

    def wants_excerpt(self, test: str) -> bool:
        """Whether an excerpt for ``test`` would be kept: the first, of the first 1,000 tests."""
        return len(self.red) <= _EXCERPTS and not self.red.get(test)

    def odd(self, note: str) -> None:
        """Something to tell a person that decides nothing."""
        if len(self.oddities) < _NOTES:
            self.oddities.setdefault(note)

    def fail(self, reason: str) -> None:
        """A failure outside any testcase."""
        if len(self.failures) < _REASONS:
            self.failures.append(reason)

    def doubt(self, reason: str) -> None:
        """A reason why the report proves nothing even if nothing failed."""
        if len(self.doubts) < _REASONS:
            self.doubts.append(reason)

    def merge(self, other: Tally) -> None:
        """Take in another report; the same test in both is one test, repeated."""
        for test, count in other.repeats.items():
            self.repeats[test] = self.repeats.get(test, 0) + count
        for mine, theirs in (
            (self.passed, other.passed),
            (self.skipped, other.skipped),
            (self.red.keys(), other.red.keys()),
        ):
            for test in mine & theirs:
                self.repeats[test] = self.repeats.get(test, 0) + 1
        self.cases += other.cases
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.flaky += other.flaky
        if self.passed:
            self.passed |= other.passed
        else:
            self.passed = other.passed  # one big report is not held twice
        self.skipped |= other.skipped
        self.unloaded |= other.unloaded
        for test, excerpt in other.red.items():
            if not self.red.get(test):
                self.red[test] = excerpt if len(self.red) <= _EXCERPTS else ""
        self.failures += other.failures
        self.doubts += other.doubts
        for note in other.oddities:
            self.odd(note)

    def settle(self) -> dict[str, int]:
        """Leave every id in one set only: red before skipped before passed.

        Gives back the ids that occur more than once, with how often. A testcase that stands for a
        module takes the module's name.
        """
        for test in (*(self.red.keys() & self.skipped), *(self.red.keys() & self.passed)):
            self.repeats[test] = self.repeats.get(test, 0) + 1
        for test in self.skipped & self.passed:
            self.repeats[test] = self.repeats.get(test, 0) + 1
        self.skipped -= self.red.keys()
        self.passed -= self.skipped
        self.passed -= self.red.keys()
        for test, module in self.unloaded.items():
            self.red[module] = self.red.pop(test, "") or self.red.get(module, "")
        if self.repeats:
            most = max(self.repeats, key=lambda test: self.repeats[test])
            self.odd(
                f"{len(self.repeats)} ids occur more than once and the worst result of each "
                f"counts; {neutral.one_line(most, 100)} occurs {self.repeats[most] + 1} times"
            )
        return {test: count + 1 for test, count in self.repeats.items()}

    def _ids(self, status: Status) -> Set[str]:
        match status:
            case Status.PASSED:
                return self.passed
            case Status.SKIPPED:
                return self.skipped
            case _:
                return self.red.keys()
