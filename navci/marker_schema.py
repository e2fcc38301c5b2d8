"""The published form of a marker: what is in its JSON, and the JSON Schema of that.

``templates/marker.schema.json`` is a copy of :func:`marker_schema` for other programs; a test
keeps it equal.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from navci.model import ENDS, End, Indicator, MarkerKind, Phase, Strategy

SCHEMA: Literal["navci.marker"] = "navci.marker"
SCHEMA_VERSION: Literal[1] = 1
SCHEMA_ID = "urn:navci:marker:1"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunPart(_Part):
    """When it ran; times are UTC ISO 8601."""

    id: str
    started: str
    updated: str
    seconds: float = Field(ge=0)
    agent: str
    resumed: bool


class IterationsPart(_Part):
    """Judged iterations and the limit."""

    used: int = Field(ge=0)
    max: int = Field(ge=1)


class IndicatorPart(_Part):
    """``met`` is null where the indicator does not apply."""

    met: bool | None
    why: str


class GapPart(_Part):
    """Something that is not true yet; ``excerpt`` only for the first hundred."""

    id: str
    excerpt: str | None = None


class TestsPart(_Part):
    """Counted testcase elements of the latest checks."""

    __test__ = False

    total: int
    passed: int
    failed: int
    errored: int
    skipped: int
    flaky: int


class StagnationPart(_Part):
    """Events and diversifications of this run; ``streak``: failures in a row without progress."""

    events: int
    counter: int
    threshold: int
    strategies: tuple[Strategy, ...]
    streak: int


class BudgetPart(_Part):
    """Verify failures of the contract, across runs, and their limit."""

    used: int
    limit: int


class CheckPart(_Part):
    """The latest outcome of one check; null where only the journal's facts are left of it."""

    id: str
    passed: bool
    why: str
    exit_code: int | None
    tree: str | None
    seconds: float | None


class HistoryPart(_Part):
    """One judged iteration."""

    number: int
    phase: Phase
    state_hash: str
    gaps: int
    progress: int = Field(ge=0, le=100, description="percent")
    note: str


class Marker(_Part):
    """The published form. ``outcome`` and ``complete`` always agree; so do ``kind`` and they."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_extra={"$id": SCHEMA_ID}, title="navci marker"
    )

    schema_: Literal["navci.marker"] = Field(alias="schema")
    schema_version: Literal[1]
    navci_version: str
    task: str = Field(min_length=1)
    title: str
    kind: MarkerKind
    outcome: End
    complete: bool
    provisional: bool = Field(description="written before the end; the process died if it stays")
    resumable: bool
    exit_code: int
    reason: str
    next_step: str
    run: RunPart
    iterations: IterationsPart
    phase: Phase
    state_hash: str | None
    exit_signal: bool
    indicators: dict[Indicator, IndicatorPart]
    gaps: tuple[GapPart, ...]
    gaps_total: int = Field(ge=0)
    tests: TestsPart | None
    stagnation: StagnationPart
    verify_failures: BudgetPart
    branch: str
    base: str
    base_branch: str | None
    commit: str | None
    commits: int = Field(ge=0)
    files_changed: tuple[str, ...]
    files_changed_total: int = Field(ge=0)
    pushed: bool
    pull_request_url: str
    kept_refs: tuple[str, ...] = Field(description="refs the agent's work is reachable from")
    cost_usd: float | None
    tokens: int | None
    no_checks: bool = Field(description="only the agent's word and git stand behind this run")
    checks: tuple[CheckPart, ...]
    history: tuple[HistoryPart, ...]
    notes: tuple[str, ...]

    @model_validator(mode="after")
    def _one_truth(self) -> Marker:
        rule = ENDS[self.outcome]
        if rule.marker is None:
            raise ValueError(f"a run that ends {self.outcome} has no marker")
        if self.kind is not rule.marker:
            raise ValueError(f"outcome {self.outcome} has a {rule.marker} marker, not {self.kind}")
        if self.complete is not (self.outcome is End.COMPLETE):
            raise ValueError(f"complete is {self.complete} but outcome is {self.outcome}")
        if self.complete and self.gaps_total:
            raise ValueError(f"complete with {self.gaps_total} open gaps")
        return self


def marker_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a marker, as published."""
    schema = Marker.model_json_schema(by_alias=True, mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
