"""What a process leaves to the one that goes on after it, beside the journal's state."""

from __future__ import annotations

from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from navci.journal import Journal
from navci.loop.run import Run
from navci.model import CheckResult

_BYPRODUCTS, _CHECKS = "byproducts.json", "checks.json"
_RESULTS: TypeAdapter[tuple[CheckResult, ...]] = TypeAdapter(tuple[CheckResult, ...])


def carry(run: Run) -> None:
    """Attach it to the journal's next append."""
    run.journal.attach(_BYPRODUCTS, run.worktree.byproducts)
    run.journal.attach(_CHECKS, [without_names(check) for check in run.checks])


def without_names(check: CheckResult) -> CheckResult:
    """Enough for a report: outcome and numbers, without the names of thousands of tests."""
    if check.report is None:
        return check
    bare = replace(
        check.report, passed=frozenset(), red={}, skipped=frozenset(), digests={}, repeated={}
    )
    return replace(check, report=bare)


def byproducts(journal: Journal) -> dict[str, str]:
    """The files that checks wrote, and what they wrote there."""
    kept = journal.attached(_BYPRODUCTS)
    return {str(path): str(blob) for path, blob in kept.items()} if isinstance(kept, dict) else {}


def results(journal: Journal) -> tuple[CheckResult, ...]:
    """The latest results, for reports only: receipts of another process prove nothing here."""
    kept = journal.attached(_CHECKS)
    try:
        return _RESULTS.validate_python(kept) if kept is not None else ()
    except ValidationError as error:
        journal.warnings.append(
            f"the journal's {_CHECKS} is unreadable: {error.errors()[0]['msg']}"
        )
        return ()
