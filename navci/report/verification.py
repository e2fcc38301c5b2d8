"""``verification.md``: the acceptance matrix, each item with status, evidence and receipts.

It lies in the artifact and in the journal, and is made again from the journal at any time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from navci.model import AcceptanceItem, CheckResult, Evidence, Gaps, ItemState, ItemStatus
from navci.system import neutral
from navci.system.templates import render

_MARKS: Mapping[ItemState, str] = {
    ItemState.SATISFIED: "✅ true",
    ItemState.FAILED: "❌ failed",
    ItemState.MISSING: "❌ missing",
    ItemState.UNVERIFIED: "❔ unverified",
}
_ITEMS, _GAPS, _REPORTS = 1024, 200, 100


@dataclass(frozen=True, slots=True)
class Matrix:
    """What is known after an iteration; ``checks`` hold the receipts."""

    task: str
    title: str
    run: str
    iteration: int
    commit: str | None
    items: Sequence[AcceptanceItem]
    statuses: Mapping[str, ItemStatus]
    checks: Sequence[CheckResult]
    gaps: Gaps


def verification(matrix: Matrix) -> str:
    """``matrix`` as Markdown."""
    gaps = sorted(matrix.gaps.acc | matrix.gaps.chk)
    digests = [
        f"{neutral.code_span(path)}: {neutral.code_span(digest)}"
        for check in matrix.checks
        for path, digest in sorted(check.receipt.report_digests.items())
    ]
    return render(
        "verification.md.j2",
        m=matrix,
        title=neutral.inline(matrix.title),
        verdict=_verdict(matrix),
        items=[_item(item, matrix) for item in matrix.items[:_ITEMS]],
        receipts=[_receipt(check) for check in matrix.checks],
        reports=digests[:_REPORTS],
        gaps=[neutral.code_span(gap) for gap in gaps[:_GAPS]],
        more=max(0, len(gaps) - _GAPS),
        code=neutral.code_span,
    )


def _verdict(matrix: Matrix) -> str:
    checks = Counter("green" if check.passed else "red" for check in matrix.checks)
    parts = [f"{count} {what}" for what, count in sorted(checks.items())]
    said = f"Checks: {', '.join(parts) or 'none'}."
    if not matrix.items:
        return said
    states = Counter(matrix.statuses[i.id].state for i in matrix.items if i.id in matrix.statuses)
    told = ", ".join(
        f"{states[state]} {mark.partition(' ')[2]}"
        for state, mark in _MARKS.items()
        if states[state]
    )
    return f"{said} Acceptance items: {told or 'not measured'}."


def _item(item: AcceptanceItem, matrix: Matrix) -> tuple[str, ...]:
    status = matrix.statuses.get(item.id)
    if status is None:
        return neutral.table_cell(item.text), "❔ not measured", "", ""
    evidence = "<br>".join(_evidence(one) for one in status.evidence)
    return (
        neutral.table_cell(item.text),
        _MARKS[status.state],
        neutral.table_cell(status.why, 600),
        evidence or "-",
    )


def _evidence(one: Evidence) -> str:
    name = f"{one.check} {one.test}".strip()
    return f"{neutral.table_code(name)} {one.result}"


def _receipt(check: CheckResult) -> tuple[str, ...]:
    receipt = check.receipt
    return (
        neutral.table_code(check.check),
        f"{'✅' if check.passed else '❌'} {neutral.table_cell(check.why)}",
        "-" if receipt.exit_code is None else str(receipt.exit_code),
        neutral.table_code(receipt.tree[:12]),
        neutral.table_code(receipt.commit[:12]),
        receipt.started,
        receipt.ended,
    )
