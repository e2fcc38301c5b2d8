"""What was counted in JUnit reports, while it is being counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from navci.evidence.junit_occurrences import (
    HashedOccurrences,
    NamedOccurrences,
    Occurrences,
    Settled,
    Status,
)
from navci.system import neutral

_EXCERPTS = 2_000
_NOTES = 50
_REASONS = 1_000


@dataclass(slots=True)
class Tally:
    """Counts are of testcase elements, sets are of ids.

    ``ids`` are the tests that occurred, ``red`` the excerpts of those that failed or errored,
    ``first_red`` the report with the first of them, where several were merged.
    ``unloaded`` maps the id of a testcase that stands for a module which did not load to that
    module; ``acceptance`` a value of the property of that name to the tests that carry it.
    ``failures`` are failures outside any testcase, ``doubts`` reasons why a report without a
    failure still proves nothing.
    """

    ids: Occurrences
    cases: int = 0
    counts: list[int] = field(default_factory=lambda: [0, 0, 0, 0])  # of PASSED: see passed_cases
    flaky: int = 0
    red: dict[str, str] = field(default_factory=dict)
    first_red: str = ""
    unloaded: dict[str, str] = field(default_factory=dict)
    acceptance: dict[str, set[str]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    oddities: dict[str, None] = field(default_factory=dict)
    settled: Settled | None = None

    @classmethod
    def empty(cls, *, names: bool) -> Tally:
        """A tally that keeps the names of passed tests, or only counts them."""
        return cls(NamedOccurrences() if names else HashedOccurrences())

    @property
    def passed_cases(self) -> int:
        """Testcase elements that passed: all that are nothing else."""
        return self.cases - sum(self.counts)

    def add(self, test: str, status: Status) -> None:
        """One testcase element."""
        self.cases += 1
        self.ids.add(test, status)
        if status is not Status.PASSED:
            self.counts[status] += 1
        if status >= Status.FAILED:
            self.red.setdefault(test, "")

    def passed(self, tests: Sequence[str]) -> None:
        """Many passed testcase elements at once."""
        self.cases += len(tests)
        self.ids.add_all(tests, Status.PASSED)

    def skipped(self, tests: Sequence[str]) -> None:
        """Many skipped testcase elements at once."""
        self.cases += len(tests)
        self.counts[Status.SKIPPED] += len(tests)
        self.ids.add_all(tests, Status.SKIPPED)

    def wants_excerpt(self, test: str) -> bool:
        """Whether an excerpt for ``test`` would be kept: the first, of the first 2,000 tests."""
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

    def accept(self, values: Iterable[str], test: str) -> None:
        """``test`` is evidence for the acceptance items that ``values`` name."""
        for value in values:
            self.acceptance.setdefault(value, set()).add(test)

    def merge(self, other: Tally, source: str) -> None:
        """Take in another report, kept the same way; its reasons begin with ``source``."""
        self.ids.merge(other.ids)
        self.cases += other.cases
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.flaky += other.flaky
        self.unloaded |= other.unloaded
        if other.red and not self.red:
            self.first_red = source
        for test, excerpt in other.red.items():
            if not self.red.get(test):
                self.red[test] = excerpt if len(self.red) <= _EXCERPTS else ""
        for value, tests in other.acceptance.items():
            self.acceptance.setdefault(value, set()).update(tests)
        self.failures += _from(source, other.failures)
        self.doubts += _from(source, other.doubts)
        for note in other.oddities:
            self.odd(note)

    def name_source(self, source: str) -> None:
        """Let the reasons begin with ``source``, as :meth:`merge` does."""
        self.failures = _from(source, self.failures)
        self.doubts = _from(source, self.doubts)

    def settle(self) -> Settled:
        """Leave every id in one set only, and note those that occur more than once; only once.

        A testcase that stands for a module takes the module's name, so nothing can be added or
        merged afterwards.
        """
        if self.settled:
            return self.settled
        settled = self.settled = self.ids.settle(self.red.keys())
        for test, module in self.unloaded.items():
            self.red[module] = self.red.pop(test, "") or self.red.get(module, "")
        if settled.again:
            self.odd(_repetition(settled))
        return settled


def _from(source: str, reasons: list[str]) -> list[str]:
    return [f"{source}: {reason}" for reason in reasons]


def _repetition(settled: Settled) -> str:
    if settled.repeated:
        most = max(settled.repeated, key=lambda test: settled.repeated[test])
        which = neutral.one_line(most, 100)
    else:
        which = "one of them"
    ids = "1 id occurs" if settled.again == 1 else f"{settled.again} ids occur"
    return (
        f"{ids} more than once and the worst result of each counts; "
        f"{which} occurs {settled.most} times"
    )
