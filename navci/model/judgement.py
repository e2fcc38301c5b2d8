"""What the judge is given, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from navci.model.ends import End
from navci.model.evidence import CheckFacts, CheckResult, ExitSignal, Hypothesis, Usage
from navci.model.words import Indicators, Phase, Strategy


class ItemState(StrEnum):
    """What the evidence says of an acceptance item (Comet Native Loop)."""

    FAILED = "failed"
    MISSING = "missing"
    UNVERIFIED = "unverified"
    SATISFIED = "satisfied"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of an item's evidence: a check, or a test of it, that is passed, red or skipped."""

    check: str
    test: str
    result: str


@dataclass(frozen=True, slots=True)
class ItemStatus:
    """An acceptance item's state, why in one sentence, and the most telling of its evidence."""

    state: ItemState
    why: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Gaps:
    """What is not true yet, as two id sets: acceptance items; checks, tests, guards (DESIGN §4)."""

    acc: frozenset[str] = frozenset()
    chk: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.acc or self.chk)

    def __len__(self) -> int:
        return len(self.acc) + len(self.chk)


@dataclass(frozen=True, slots=True)
class Baseline:
    """The checks on the base commit. ``must_pass`` maps a check to the tests that ran there."""

    commit: str
    contract: str
    checks: tuple[CheckFacts, ...] = ()
    must_pass: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rules:
    """The numbers and switches decisions depend on; journalled with every judgement."""

    max_iterations: int = 5
    stagnation_threshold: int = 3
    min_heuristics: int = 2
    require_signal: bool = True
    never_pause: bool = False
    strategy: Strategy = Strategy.COMBINE
    max_verify_failures: int = 5
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    approval: str = "none"
    approval_interval: int = 3


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything measured in one iteration; with :class:`Memory` the judge's only input.

    ``tests_exit`` is 0 when the last run of the checks was green, 1 when red, ``None`` when none
    ran in this run yet. ``out_of_time`` says the time budget's reserve is reached. ``acceptance``
    is where the items of ``gaps`` come from, for people: decisions are made from the gaps.
    """

    iteration: int
    contract: str
    indicators: Indicators
    gaps: Gaps
    signal: ExitSignal | None = None
    files_changed: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    tests_exit: int | None = None
    tree_changed: bool = False
    run_changed: bool = False
    spent: Usage = field(default_factory=Usage)
    out_of_time: bool = False
    stop_requested: bool = False
    hypothesis: Hypothesis | None = None
    acceptance: Mapping[str, ItemStatus] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Memory:
    """What decisions remember between iterations; the projection in the journal's ``state.json``.

    ``hashes`` and ``failures_since_event`` count since the last event; ``streak`` only ends with
    progress; ``verify_failures``, ``signatures`` and ``last_failure`` belong to the contract, as do
    ``hypotheses``, the last ones that were accepted, and ``overridden``, the signatures that had
    theirs.
    """

    hashes: tuple[str, ...] = ()
    failures_since_event: int = 0
    streak: int = 0
    events: int = 0
    strategies: tuple[Strategy, ...] = ()
    last_failure: Gaps | None = None
    smallest: Gaps | None = None
    signatures: frozenset[str] = frozenset()
    verify_failures: int = 0
    hypotheses: tuple[Hypothesis, ...] = ()
    overridden: frozenset[str] = frozenset()


class GateDecision(StrEnum):
    """What the exit gate says (DESIGN §4)."""

    EXIT = "EXIT"
    BLOCKED = "BLOCKED"
    CONTINUE = "CONTINUE"


@dataclass(frozen=True, slots=True)
class Gate:
    """The exit gate's answer with the counts behind it."""

    decision: GateDecision
    reason: str
    met: int
    total: int
    required: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """One iteration judged. ``memory`` is what the next iteration starts from.

    ``counter`` is the stagnation counter as shown (before an event zeroes it); ``end`` is the
    end this iteration decides, ``None`` to go on. After an event the next turn pursues
    ``hypothesis`` or, without one, follows ``strategy``; ``refusal`` says why a hypothesis that
    the agent gave was not taken.
    """

    iteration: int
    phase: Phase
    progress: int
    gate: Gate
    state_hash: str
    previous_hash: str | None
    counter: int
    failure: bool
    verify_failure: bool
    progressed: bool
    signature: str | None
    warning: bool
    event: bool
    strategy: Strategy | None
    end: End | None
    reason: str
    next_action: str
    memory: Memory
    hypothesis: Hypothesis | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Iteration:
    """An iteration as people see it: what was observed, what was judged, what to show."""

    number: int
    observation: Observation
    judgement: Judgement
    checks: tuple[CheckResult, ...] = ()
    excerpts: Mapping[str, str] = field(default_factory=dict)
    commit: str | None = None
    notes: tuple[str, ...] = ()
    agent_seconds: float = 0.0
    summary: str = ""
