"""What a process leaves to the one that goes on after it, beside the journal's state."""

from __future__ import annotations

from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from navci.errors import JournalDamaged
from navci.journal import Journal, Judged
from navci.loop.run import Run
from navci.model import AcceptanceItem, CheckResult, Iteration
from navci.report.verification import Matrix, verification
from navci.system.files import write_atomic
from navci.system.neutral import mask

_BYPRODUCTS, _CHECKS = "byproducts.json", "checks.json"
_CONTRACT, VERIFICATION = "contract.json", "verification.md"
_RESULTS: TypeAdapter[tuple[CheckResult, ...]] = TypeAdapter(tuple[CheckResult, ...])
_ITEMS: TypeAdapter[tuple[AcceptanceItem, ...]] = TypeAdapter(tuple[AcceptanceItem, ...])


def carry(run: Run) -> None:
    """Attach it to the journal's next append."""
    run.journal.attach(_BYPRODUCTS, run.worktree.byproducts)
    run.journal.attach(_CHECKS, [without_names(check) for check in run.checks])


def carry_matrix(run: Run, iteration: Iteration) -> None:
    """Attach the acceptance matrix, and what it can be made from again; the artifact has it too."""
    run.journal.attach(_CONTRACT, {"title": run.task.title, "items": run.contract.items})

    def matrix() -> None:
        seen = iteration.observation
        text = verification(
            Matrix(
                run.task.id, run.task.title, run.state.run, iteration.number, iteration.commit,
                run.contract.items, seen.acceptance, run.checks, seen.gaps,
            )
        )  # fmt: skip
        text = mask(text, run.secrets)
        run.journal.attach_text(VERIFICATION, text)
        write_atomic(run.folders.artifact / VERIFICATION, text)

    run.attempt(f"{VERIFICATION} could not be written", matrix)


def matrix_of(journal: Journal, last: Judged, run: str) -> Matrix:
    """The acceptance matrix of the last judged iteration, made again from the journal.

    Raises :class:`JournalDamaged` when the journal has none of what it is made from.
    """
    kept = journal.attached(_CONTRACT)
    try:
        if not isinstance(kept, dict):
            raise JournalDamaged(f"{journal.ref} holds no readable {_CONTRACT}")
        title, items = str(kept.get("title")), _ITEMS.validate_python(kept.get("items"))
    except ValidationError as error:
        raise JournalDamaged(f"{journal.ref}: {_CONTRACT}: {error.errors()[0]['msg']}") from error
    seen = last.observation
    return Matrix(
        journal.state.task, title, run, seen.iteration, last.commit, items, seen.acceptance,
        results(journal), seen.gaps,
    )  # fmt: skip


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
