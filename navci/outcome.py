"""One run as it is told to people: what the marker, the summary and the outputs are made from.

A neighbour of ``model`` (it imports nothing else): the loop fills it, everything above reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from navci.model import (
    ENDS,
    CheckFacts,
    CheckResult,
    End,
    Gaps,
    GateDecision,
    Indicator,
    Indicators,
    Iteration,
    MarkerKind,
    Phase,
    Rules,
    Strategy,
    Task,
    Totals,
    Usage,
)

PROVISIONAL_REASON = "the job ended before navci could finish: killed, cancelled or timed out"

LABELS: Mapping[Indicator, str] = {
    Indicator.CODE_COMMITTED: "Code changes committed",
    Indicator.TESTS_PASSING: "Tests passing",
    Indicator.CODE_SIMPLIFIED: "Code simplified",
    Indicator.DOCS_UPDATED: "Documentation updated",
    Indicator.TICKET_CLOSED: "Ticket closed",
    Indicator.MARKER_CREATED: "Marker created",
}

_ENDED: Mapping[End, str] = {
    End.COMPLETE: "complete",
    End.MAX_ITERATIONS: "max iterations reached",
    End.STAGNATED: "stagnated",
    End.FAILURE_BUDGET: "failure budget used up",
    End.COST_BUDGET: "cost budget used up",
    End.DECLINED: "the agent declined",
    End.NO_OP: "nothing to do",
    End.TIME_BUDGET: "time budget used up",
    End.RATE_LIMITED: "rate limited",
    End.INFRA_ERROR: "infrastructure error",
    End.AWAITING_APPROVAL: "awaiting approval",
    End.USER_ABORTED: "stopped on request",
    End.JOURNAL_DAMAGED: "journal damaged",
    End.SKIPPED: "skipped",
    End.CONFIG_ERROR: "configuration error",
}


@dataclass(frozen=True, slots=True)
class RunReport:
    """Everything that is told about a run.

    ``end`` is ``None`` while the run goes on; ``outcome`` then says what is true if this process
    is killed now. ``indicators``, ``gaps`` and ``checks`` are the latest. ``updated`` is the
    moment of this report; ``seconds`` the time spent so far. ``files_changed`` counts since base.
    ``verify_failures`` counts refused claims under the task's contract, those of earlier runs too.
    ``kept_refs`` name where the work is reachable. ``secrets`` are masked in everything written.
    """

    task: Task
    run_id: str
    started: datetime
    updated: datetime
    rules: Rules
    indicators: Indicators
    base: str
    branch: str
    run_dir: Path
    end: End | None = None
    reason: str = ""
    base_branch: str | None = None
    commit: str | None = None
    iterations: tuple[Iteration, ...] = ()
    gaps: Gaps = field(default_factory=Gaps)
    excerpts: Mapping[str, str] = field(default_factory=dict)
    checks: tuple[CheckResult | CheckFacts, ...] = ()
    has_checks: bool = True
    spent: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    strategies: tuple[Strategy, ...] = ()
    verify_failures: int = 0
    files_changed: tuple[str, ...] = ()
    commits: int = 0
    agent: str = ""
    version: str = ""
    resumed: bool = False
    pushed: bool = False
    kept_refs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    marker: Path | None = None
    artifact: str = ""
    pull_request_url: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def provisional(self) -> bool:
        """The run goes on; what is written now is for the case that this process dies."""
        return self.end is None

    @property
    def outcome(self) -> End:
        """The end, or ``infra_error`` while there is none."""
        return End.INFRA_ERROR if self.end is None else self.end

    @property
    def complete(self) -> bool:
        """Whether the run ended complete; the only place that decides what is said about it."""
        return self.end is End.COMPLETE

    @property
    def kind(self) -> MarkerKind | None:
        """The kind of marker this report gets (DESIGN §4, ends); ``None``: none at all."""
        return ENDS[self.outcome].marker

    @property
    def last(self) -> Iteration | None:
        """The latest judged iteration."""
        return self.iterations[-1] if self.iterations else None

    @property
    def number(self) -> int:
        """How many iterations were judged in this run."""
        return self.iterations[-1].number if self.iterations else 0

    @property
    def phase(self) -> Phase:
        """The latest phase; a run that ended complete is COMPLETE, one without iterations INIT."""
        if self.complete:
            return Phase.COMPLETE
        return self.last.judgement.phase if self.last else Phase.INIT

    @property
    def why(self) -> str:
        """The reason, or what to say when the process died before there was one."""
        return self.reason or (PROVISIONAL_REASON if self.end is None else "")

    @property
    def met(self) -> tuple[int, int]:
        """Met and applicable indicators."""
        readings = [self.indicators[name].met for name in Indicator if name in self.indicators]
        applicable = [met for met in readings if met is not None]
        return sum(applicable), len(applicable)

    @property
    def totals(self) -> Totals | None:
        """Counted tests of the latest checks together; ``None`` when no report is known."""
        known = [c.report.totals for c in self.checks if isinstance(c, CheckResult) and c.report]
        if not known:
            return None
        return Totals(
            tests=sum(t.tests for t in known),
            passed=sum(t.passed for t in known),
            failed=sum(t.failed for t in known),
            errored=sum(t.errored for t in known),
            skipped=sum(t.skipped for t in known),
            flaky=sum(t.flaky for t in known),
        )

    @property
    def headline(self) -> str:
        """The verdict in one line: ``LOOP ABORTED: stagnated after 9 iterations``."""
        after = f"after {self.number} iteration{'' if self.number == 1 else 's'}"
        match self.end:
            case None:
                return f"LOOP RUNNING: {self.number}/{self.rules.max_iterations} iterations judged"
            case End.COMPLETE:
                return f"LOOP COMPLETE {after}"
            case End.AWAITING_APPROVAL:
                return f"LOOP PAUSED: {_ENDED[self.end]} {after}"
            case End.SKIPPED | End.CONFIG_ERROR:
                return f"LOOP NOT STARTED: {_ENDED[self.end]}"
            case _:
                return f"LOOP ABORTED: {_ENDED[self.end]} {after}"


def note_of(iteration: Iteration) -> str:
    """The one thing worth saying about an iteration in a table: event, refusal, or its notes."""
    judged = iteration.judgement
    if judged.event:
        if judged.hypothesis:
            return f"STAGNATION → hypothesis on {judged.hypothesis.gap}"
        then = f" → AUTO-DIVERSIFY ({judged.strategy.upper()})" if judged.strategy else ""
        return f"STAGNATION{then}"
    if judged.gate.decision is GateDecision.BLOCKED:
        return judged.gate.reason
    if iteration.notes:
        return iteration.notes[0]
    return "stagnation warning" if judged.warning else ""
