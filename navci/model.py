"""The words of navci as frozen values (DESIGN §1). No I/O, no clock, no logic beyond shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Phase(StrEnum):
    """Where the work stands (Navigator nav-loop)."""

    INIT = "INIT"
    RESEARCH = "RESEARCH"
    IMPL = "IMPL"
    VERIFY = "VERIFY"
    COMPLETE = "COMPLETE"


class Indicator(StrEnum):
    """The six completion indicators, in the order people see them (Navigator nav-loop)."""

    CODE_COMMITTED = "code_committed"
    TESTS_PASSING = "tests_passing"
    CODE_SIMPLIFIED = "code_simplified"
    DOCS_UPDATED = "docs_updated"
    TICKET_CLOSED = "ticket_closed"
    MARKER_CREATED = "marker_created"


CLOSING = frozenset({Indicator.TICKET_CLOSED, Indicator.MARKER_CREATED})
"""What only navci's own closing makes true: nothing an agent can be asked for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one indicator says: ``True`` met, ``False`` unmet, ``None`` not applicable; and why."""

    met: bool | None
    why: str


Indicators = Mapping[Indicator, Reading]


class Strategy(StrEnum):
    """How a diversification changes the approach (Navigator nav-loop; ``rotate`` is navci's)."""

    COMBINE = "combine"
    RADICAL = "radical"
    REREAD = "reread"
    ROTATE = "rotate"


class MarkerKind(StrEnum):
    """How a marker calls the end of a run; the value is the suffix of its file name."""

    COMPLETE = "complete"
    LOOP_ABORTED = "loop-aborted"
    USER_ABORTED = "user-aborted"


class End(StrEnum):
    """Every way a run can end (DESIGN §4, ends)."""

    COMPLETE = "complete"
    MAX_ITERATIONS = "max_iterations"
    STAGNATED = "stagnated"
    FAILURE_BUDGET = "failure_budget"
    COST_BUDGET = "cost_budget"
    DECLINED = "declined"
    NO_OP = "no_op"
    TIME_BUDGET = "time_budget"
    RATE_LIMITED = "rate_limited"
    INFRA_ERROR = "infra_error"
    AWAITING_APPROVAL = "awaiting_approval"
    USER_ABORTED = "user_aborted"
    JOURNAL_DAMAGED = "journal_damaged"
    SKIPPED = "skipped"
    CONFIG_ERROR = "config_error"


class FailOn(StrEnum):
    """When the job turns red: ``fail-on`` of the action."""

    INCOMPLETE = "incomplete"
    ERROR = "error"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class EndRule:
    """One row of DESIGN's table of ends.

    ``red`` says under which ``fail-on`` values the job fails. ``next_step`` is the one sentence
    that tells a person what to do.
    """

    exit_code: int
    marker: MarkerKind | None
    label: str | None
    red: frozenset[FailOn]
    next_step: str
    resumable: bool = False


_INCOMPLETE = frozenset({FailOn.INCOMPLETE})
_BOTH = frozenset({FailOn.INCOMPLETE, FailOn.ERROR})
_NEVER: frozenset[FailOn] = frozenset()

ENDS: Mapping[End, EndRule] = {
    End.COMPLETE: EndRule(
        0, MarkerKind.COMPLETE, "loop-complete", _NEVER, "Review the branch and merge it."
    ),
    End.MAX_ITERATIONS: EndRule(
        10,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Look at the open gaps; raise max_iterations (up to 20) or split the task, then run again.",
    ),
    End.STAGNATED: EndRule(
        11,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Give the task more context or a smaller goal, then run again.",
    ),
    End.FAILURE_BUDGET: EndRule(
        12,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Look at the open gaps, then raise the limit (`native.max_verify_failures` in "
        "`.agent/.nav-config.json`), change the requirement, or stop here.",
    ),
    End.COST_BUDGET: EndRule(
        16,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Raise max-cost-usd or max-tokens if the progress so far is worth it, then run again.",
    ),
    End.DECLINED: EndRule(
        13,
        MarkerKind.LOOP_ABORTED,
        "loop-declined",
        _INCOMPLETE,
        "Read the agent's reason, give it what it asks for, then run again.",
    ),
    End.NO_OP: EndRule(
        14,
        MarkerKind.LOOP_ABORTED,
        "loop-declined",
        _NEVER,
        "Check the agent's reason; close the ticket yourself if it is right.",
    ),
    End.TIME_BUDGET: EndRule(
        15,
        MarkerKind.LOOP_ABORTED,
        "loop-mode",
        _INCOMPLETE,
        "Run again to go on from here, or raise time-budget.",
        resumable=True,
    ),
    End.RATE_LIMITED: EndRule(
        17,
        MarkerKind.LOOP_ABORTED,
        "loop-mode",
        _INCOMPLETE,
        "Run again after the limit resets; nothing is lost.",
        resumable=True,
    ),
    End.INFRA_ERROR: EndRule(
        18,
        MarkerKind.LOOP_ABORTED,
        "loop-mode",
        _BOTH,
        "Mend what the reason names, then run again; nothing counts against the task.",
        resumable=True,
    ),
    End.AWAITING_APPROVAL: EndRule(
        21,
        MarkerKind.LOOP_ABORTED,
        "loop-awaiting",
        _NEVER,
        "Look at the work so far, then start the run again to go on.",
        resumable=True,
    ),
    End.USER_ABORTED: EndRule(
        130,
        MarkerKind.USER_ABORTED,
        "loop-aborted",
        _INCOMPLETE,
        "Run again when you want the work to go on; what was done is kept.",
    ),
    End.JOURNAL_DAMAGED: EndRule(
        20,
        MarkerKind.LOOP_ABORTED,
        "loop-aborted",
        _BOTH,
        "Look at the journal with `navci show`; move its ref aside to start afresh.",
    ),
    End.SKIPPED: EndRule(
        19,
        None,
        None,
        _NEVER,
        "Do what the reason says, if anything; nothing was started and nothing was spent.",
    ),
    End.CONFIG_ERROR: EndRule(2, None, None, _BOTH, "Mend what the message names, then run again."),
}


# --- task and contract ----------------------------------------------------------------------


class BindingKind(StrEnum):
    """What an acceptance item is bound to; the value is the word that stands before ``=``.

    ``test``: tests by a selector; ``check``: a required check; ``id``: tests that carry this id.
    """

    TEST = "test"
    CHECK = "check"
    ID = "id"


@dataclass(frozen=True, slots=True)
class Binding:
    """Evidence that an acceptance item asks for; all bindings of an item have to hold."""

    kind: BindingKind
    value: str


@dataclass(frozen=True, slots=True)
class AcceptanceItem:
    """A Markdown task-list line of the task; ``id`` is stable under re-wrapping and reordering.

    ``text`` is without the tags of its line, which are ``bindings``; ``times`` is how often an
    equal item stands in the task.
    """

    id: str
    text: str
    bindings: tuple[Binding, ...] = ()
    times: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """What to do. ``id`` is ``issue-7``, ``TASK-12`` or ``text-<8 hex of its SHA-256>``.

    ``source`` is the task document's path relative to the repository, where there is one.
    ``loop_mode`` is what the document says for itself; ``None`` when it says nothing.
    """

    id: str
    title: str
    body: str
    items: tuple[AcceptanceItem, ...] = ()
    source: str | None = None
    loop_mode: bool | None = None
    closed: bool = False
    has_ticket: bool = False


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """A required check: a bash line, globs of the JUnit reports it writes, a limit in seconds.

    ``may_write``: globs of tracked files the check is allowed to change.
    """

    id: str
    command: str
    junit: tuple[str, ...] = ()
    timeout: float = 3600.0
    may_write: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contract:
    """What must become true: acceptance items and required checks. ``hash`` is its SHA-256.

    ``bindings`` maps an item's id to what it is bound to, by its own line or by the config.
    ``strict``: an item without any evidence is missing, not just unverified. ``notes`` are for
    people.
    """

    hash: str
    items: tuple[AcceptanceItem, ...]
    checks: tuple[CheckSpec, ...]
    bindings: Mapping[str, tuple[Binding, ...]] = field(default_factory=dict)
    strict: bool = False
    notes: tuple[str, ...] = ()


# --- evidence -------------------------------------------------------------------------------


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


# --- judgement ------------------------------------------------------------------------------


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
    spent: Usage = Usage()
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
