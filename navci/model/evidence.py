"""What was measured: reports, receipts, checks; what the agent said and spent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Verdict(StrEnum):
    """What a set of JUnit reports says on its own (DESIGN §5)."""

    PASSING = "passing"
    FAILING = "failing"
    UNUSABLE = "unusable"


@dataclass(frozen=True, slots=True)
class Totals:
    """Counted testcase elements, never the declared numbers."""

    tests: int = 0
    passed: int = 0
    failed: int = 0
    errored: int = 0
    skipped: int = 0
    flaky: int = 0


@dataclass(frozen=True, slots=True)
class TestReport:
    """All reports of one check taken together.

    ``red`` maps a test id to an excerpt (message, first lines) of its failure; ``passed`` and
    ``skipped`` hold test ids; an id is ``<classname>::<name>`` with ``<file>::`` before it when
    the class name is empty or equals the name. ``unloaded`` names modules that did not load;
    ``red`` has their excerpts under the same names. ``repeated`` maps ids that occur more than
    once to how often. ``acceptance`` maps the values of ``<property name="acceptance">`` in
    testcases, each an acceptance item's id, to the tests that carry them, whatever their result.
    """

    __test__ = False

    verdict: Verdict
    reasons: tuple[str, ...]
    totals: Totals
    passed: frozenset[str] = frozenset()
    red: Mapping[str, str] = field(default_factory=dict)
    skipped: frozenset[str] = frozenset()
    unloaded: frozenset[str] = frozenset()
    digests: Mapping[str, str] = field(default_factory=dict)
    oddities: tuple[str, ...] = ()
    repeated: Mapping[str, int] = field(default_factory=dict)
    acceptance: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that a check ran: valid only for ``tree`` under ``contract`` and ``definition``.

    Times are UTC ISO 8601; ``exit_code`` is ``None`` when the check could not start.
    """

    check: str
    contract: str
    definition: str
    tree: str
    commit: str
    started: str
    ended: str
    exit_code: int | None
    timed_out: bool = False
    report_digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check's outcome on one tree. ``why`` is one sentence; ``excerpt`` the last output lines.

    ``changed`` names files of the tree that the check itself changed (it then voids itself).
    ``blind`` is that of :class:`CheckFacts`.
    """

    check: str
    passed: bool
    why: str
    receipt: Receipt
    report: TestReport | None = None
    excerpt: str = ""
    changed: tuple[str, ...] = ()
    seconds: float = 0.0
    blind: bool = False


@dataclass(frozen=True, slots=True)
class CheckFacts:
    """The part of a check's outcome that decisions need; what the journal keeps of it.

    ``acceptance`` is that of :class:`TestReport`. ``blind``: the check names reports and left none
    that is usable, so that which of its tests are red is not known.
    """

    check: str
    passed: bool
    why: str
    red: frozenset[str] = frozenset()
    passing: frozenset[str] = frozenset()
    unloaded: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    acceptance: Mapping[str, frozenset[str]] = field(default_factory=dict)
    blind: bool = False


@dataclass(frozen=True, slots=True)
class ExitSignal:
    """The agent's explicit word: done, declined (``success`` false), or nothing to do."""

    success: bool
    no_op: bool
    reason: str


MAX_HYPOTHESIS = 2000
"""Characters of a hypothesis, cause and change together."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Why a gap is still open, as the agent sees it, and what it would change (DESIGN §4)."""

    gap: str
    cause: str
    change: str


@dataclass(frozen=True, slots=True)
class Signals:
    """What the agent's final message signals. ``complaints`` are reported back to the agent."""

    exit: ExitSignal | None = None
    status_phase: str | None = None
    complaints: tuple[str, ...] = ()
    hypothesis: Hypothesis | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a turn spent, as the agent reports it; ``None`` is unknown, never guessed."""

    cost_usd: float | None = None
    tokens: int | None = None


class AgentErrorKind(StrEnum):
    """Why a turn did not happen as it should; none of these is ever a failure of the task."""

    CANNOT_START = "cannot_start"
    AUTH = "auth"
    CONFIG = "config"
    RATE_LIMIT = "rate_limit"
    OVERLOAD = "overload"
    NETWORK = "network"
    CRASH = "crash"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class AgentError:
    """A turn's error. ``resets_at`` is Unix time in seconds where a limit says so."""

    kind: AgentErrorKind
    message: str
    resets_at: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """What one agent turn was: its final message, what it said it did, what it spent."""

    final_text: str
    exit_code: int | None
    seconds: float
    files_read: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    usage: Usage = Usage()
    error: AgentError | None = None
    timed_out: bool = False
    interrupted: bool = False
    transcript: Path | None = None
    notes: tuple[str, ...] = ()
