"""The iterations that a run has behind it, from the journal."""

from __future__ import annotations

from navci.journal import Judged
from navci.model import Iteration


def as_seen(record: Judged) -> Iteration:
    """An iteration that an interrupted run has behind it."""
    return Iteration(
        record.observation.iteration,
        record.observation,
        record.judgement,
        excerpts=record.excerpts,
        commit=record.commit,
        notes=record.notes,
        agent_seconds=record.agent_seconds,
        summary=record.summary,
    )
