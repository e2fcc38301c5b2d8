"""The night as the next job reads it, and as people do."""

from __future__ import annotations

import json
from collections.abc import Sequence

from navci.model import GitHubRules
from navci.queue.order import MAX_MATRIX
from navci.queue.tonight import Night, Row
from navci.report.prose import prose
from navci.system.neutral import table_cell
from navci.system.templates import render

_ROWS = 300


def matrix_json(numbers: Sequence[int]) -> str:
    """A job's ``matrix``: one entry for each issue. Numbers alone: nobody's text is in it."""
    return json.dumps({"include": [{"issue": number} for number in numbers[:MAX_MATRIX]]})


def outputs_of(night: Night, rules: GitHubRules) -> dict[str, str]:
    """The outputs of ``navci queue``."""
    return {
        "matrix": matrix_json([row.number for row in night.taken]),
        "count": str(len(night.taken)),
        "max-parallel": str(rules.max_parallel),
    }


def record(night: Night) -> dict[str, object]:
    """The night as JSON types."""

    def rows(some: Sequence[Row]) -> list[dict[str, object]]:
        return [
            {"issue": row.number, "why": row.why, "refusal": row.refusal and row.refusal.value}
            for row in some
        ]

    return {
        "taken": rows(night.taken),
        "skipped": rows(night.skipped),
        "recovered": rows(night.recovered),
        "dropped": night.dropped,
        "later": night.later,
        "notes": night.notes,
    }


def table(night: Night) -> str:
    """The night as Markdown: taken, skipped and why, labels put right."""
    return render(
        "digest_queue.md.j2",
        taken=_rows(night.taken),
        skipped=_rows(night.skipped),
        skipped_more=max(0, len(night.skipped) - _ROWS),
        recovered=_rows(night.recovered),
        later=night.later,
        dropped=len(night.dropped),
        notes=[prose(note, 500) for note in night.notes],
    )


def _rows(rows: Sequence[Row]) -> list[tuple[int, str, str]]:
    return [
        (row.number, table_cell(row.title, 120), prose(row.why, 500).replace("|", "\\|"))
        for row in rows[:_ROWS]
    ]
