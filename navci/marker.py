"""The marker: the document that says how a run ended (Navigator nav-marker; DESIGN §8).

JSON for machines (:mod:`navci.marker_schema`) and Markdown in Navigator's form, of one stem. A
run has one marker: it is rewritten while the run goes on, so that a job that is killed still
leaves the truth behind.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from navci.errors import ConfigError, InfraError
from navci.marker_schema import SCHEMA, SCHEMA_VERSION, Marker
from navci.model import (
    ENDS,
    CheckFacts,
    CheckResult,
    Indicator,
    Iteration,
    MarkerKind,
)
from navci.outcome import LABELS, RunReport, note_of
from navci.system import neutral
from navci.system.clock import iso, show_duration
from navci.system.files import read_regular, write_atomic
from navci.system.templates import render

# A marker is read by people and models: it names everything, but quotes only so much.
_FILES, _GAPS, _EXCERPTS = 500, 5000, 100
_SHOWN_FILES, _SHOWN_GAPS = 50, 20
_LONGEST = 64 << 20


@dataclass(frozen=True, slots=True)
class MarkerFiles:
    """The two files of a marker."""

    json: Path
    md: Path


def write_marker(report: RunReport, folder: Path) -> MarkerFiles:
    """Write the marker of ``report`` into ``folder`` and read it back.

    Its kind and outcome come from ``report.end`` alone (none yet: a provisional ``loop-aborted``
    one), so that no marker can say what the run does not. Earlier files of this run with another
    name are removed; another run's marker of the same minute is never overwritten (``-v2``).
    Raises :class:`ValueError` for an end that has no marker, :class:`OSError` when the folder
    cannot be written, :class:`InfraError` when what was written does not read back.
    """
    marker = marker_of(report)
    start = f"{report.started.astimezone(UTC):%Y-%m-%d-%H%M}_{_slug(report.task.id)}"
    stem = _free_stem(folder, f"{start}-{marker.kind}", report.run_id)
    files = MarkerFiles(folder / f"{stem}.json", folder / f"{stem}.md")
    write_atomic(files.json, marker.model_dump_json(by_alias=True, indent=2) + "\n")
    write_atomic(files.md, markdown(report, marker, stem))
    write_atomic(folder / ".active", files.md.name)
    ignore = folder / ".gitignore"
    if not ignore.exists():  # A marker is never committed.
        write_atomic(ignore, "*\n")
    if read_marker(files.json) != marker or not files.md.stat().st_size:
        raise InfraError(f"the marker {files.json} does not read back as it was written")
    for kind in MarkerKind:
        for old in folder.glob(f"{start}-{kind}*.json"):
            if old != files.json and _run_of(old) == report.run_id:
                old.unlink(missing_ok=True)
                old.with_suffix(".md").unlink(missing_ok=True)
    return files


def read_marker(path: Path) -> Marker:
    """The marker in the JSON file ``path``. Raises :class:`ConfigError` when it is none."""
    try:
        return Marker.model_validate_json(read_regular(path, _LONGEST))
    except OSError as error:
        raise ConfigError(f"cannot read the marker {path}: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise ConfigError(f"{path} is not a navci marker: {place}: {first['msg']}") from error


def marker_of(report: RunReport) -> Marker:
    """``report`` as a marker. Raises :class:`ValueError` for an end that has none."""
    rule = ENDS[report.outcome]
    if rule.marker is None:
        raise ValueError(f"a run that ends {report.outcome} has no marker")
    last = report.last
    cost = report.spent.cost_usd
    memory = last.judgement.memory if last else None
    gaps = sorted(report.gaps.acc | report.gaps.chk)
    data: dict[str, Any] = {
        "schema": SCHEMA,
        "schema_version": SCHEMA_VERSION,
        "navci_version": report.version,
        "task": report.task.id,
        "title": neutral.one_line(report.task.title),
        "kind": rule.marker,
        "outcome": report.outcome,
        "complete": report.complete,
        "provisional": report.provisional,
        "resumable": rule.resumable,
        "exit_code": rule.exit_code,
        "reason": neutral.one_line(report.why, 1000),
        "next_step": rule.next_step,
        "run": {
            "id": report.run_id,
            "started": iso(report.started),
            "updated": iso(report.updated),
            "seconds": round(max(report.seconds, 0.0), 3),
            "agent": report.agent,
            "resumed": report.resumed,
        },
        "iterations": {"used": report.number, "max": report.rules.max_iterations},
        "phase": report.phase,
        "state_hash": last.judgement.state_hash if last else None,
        "exit_signal": bool(last and last.observation.signal and last.observation.signal.success),
        "indicators": {
            name: {
                "met": report.indicators[name].met,
                "why": neutral.one_line(report.indicators[name].why),
            }
            for name in Indicator
            if name in report.indicators
        },
        "gaps": [_gap(report, id_, index) for index, id_ in enumerate(gaps[:_GAPS])],
        "gaps_total": len(gaps),
        "tests": _tests(report),
        "stagnation": {
            "events": memory.events if memory else 0,
            "counter": last.judgement.counter if last else 0,
            "threshold": report.rules.stagnation_threshold,
            "strategies": report.strategies,
            "streak": memory.streak if memory else 0,
        },
        "verify_failures": {
            "used": report.verify_failures,
            "limit": report.rules.max_verify_failures,
        },
        "branch": report.branch,
        "base": report.base,
        "base_branch": report.base_branch,
        "commit": report.commit,
        "commits": report.commits,
        "files_changed": [neutral.show_path(path) for path in report.files_changed[:_FILES]],
        "files_changed_total": len(report.files_changed),
        "pushed": report.pushed,
        "pull_request_url": report.pull_request_url,
        "kept_refs": report.kept_refs,
        "cost_usd": cost if cost is not None and math.isfinite(cost) else None,
        "tokens": report.spent.tokens,
        "no_checks": not report.has_checks,
        "checks": [_check(check) for check in report.checks],
        "history": [_past(iteration) for iteration in report.iterations],
        "notes": [neutral.one_line(note, 500) for note in report.notes],
    }
    return Marker.model_validate(_encodable(data, report.secrets))


def markdown(report: RunReport, marker: Marker, stem: str) -> str:
    """The marker for people, in Navigator's form; everything a stranger wrote is neutralised."""
    files = [neutral.code_span(path) for path in marker.files_changed[:_SHOWN_FILES]]
    read = {path: None for turn in report.iterations for path in turn.observation.files_read}
    text = render(
        "marker.md.j2",
        stem=stem,
        m=marker,
        title=neutral.inline(marker.title),
        headline=report.headline,
        reason=neutral.inline(marker.reason, 1000),
        duration=show_duration(report.seconds),
        history=[(h, neutral.inline(h.note)) for h in marker.history],
        notes=[neutral.inline(note, 500) for note in marker.notes],
        files=files,
        more_files=marker.files_changed_total - len(files),
        read=[neutral.code_span(neutral.show_path(path)) for path in list(read)[:_SHOWN_FILES]],
        gaps=[_shown_gap(gap.id, gap.excerpt) for gap in marker.gaps[:_SHOWN_GAPS]],
        more_gaps=max(0, marker.gaps_total - _SHOWN_GAPS),
        checks=[(check, neutral.inline(check.why)) for check in marker.checks],
        indicators=[
            (LABELS[name], reading.met, neutral.inline(reading.why))
            for name, reading in marker.indicators.items()
        ],
        goal=neutral.fence(report.task.body or report.task.title, 2000),
        code=neutral.code_span,
    )
    return neutral.mask(text, report.secrets)


def _shown_gap(id_: str, text: str | None) -> tuple[str, str]:
    return neutral.code_span(id_), neutral.fence(text) if text else ""


def _gap(report: RunReport, id_: str, index: int) -> dict[str, str | None]:
    quote = _evidence(report, id_) if index < _EXCERPTS else ""
    return {"id": neutral.one_line(id_, 500), "excerpt": neutral.excerpt(quote, 600) or None}


def _evidence(report: RunReport, gap: str) -> str:
    """What was seen of a gap; of an acceptance item, its words and why it is open."""
    status = report.last.observation.acceptance.get(gap) if report.last else None
    if status is None:
        return report.excerpts.get(gap, "")
    words = next((item.text for item in report.task.items if item.id == gap), gap)
    return f"{words}\n{status.why}"


def _check(check: CheckResult | CheckFacts) -> dict[str, Any]:
    full = check if isinstance(check, CheckResult) else None
    return {
        "id": check.check,
        "passed": check.passed,
        "why": neutral.one_line(check.why),
        "exit_code": full.receipt.exit_code if full else None,
        "tree": full.receipt.tree if full else None,
        "seconds": round(full.seconds, 3) if full else None,
    }


def _tests(report: RunReport) -> dict[str, int] | None:
    totals = report.totals
    if totals is None:
        return None
    return {
        "total": totals.tests,
        "passed": totals.passed,
        "failed": totals.failed,
        "errored": totals.errored,
        "skipped": totals.skipped,
        "flaky": totals.flaky,
    }


def _past(iteration: Iteration) -> dict[str, Any]:
    judged = iteration.judgement
    return {
        "number": iteration.number,
        "phase": judged.phase,
        "state_hash": judged.state_hash,
        "gaps": len(iteration.observation.gaps),
        "progress": judged.progress,
        "note": neutral.one_line(note_of(iteration)),
    }


def _encodable(value: Any, secrets: tuple[str, ...]) -> Any:
    """``value`` with secrets masked and nothing left that UTF-8 cannot hold."""
    if isinstance(value, str):
        clean = value.encode("utf-8", "replace").decode() if not value.isascii() else value
        return neutral.mask(clean, secrets)
    if isinstance(value, dict):
        return {key: _encodable(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item, secrets) for item in value]
    return value


def _slug(task: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", task.lower()).strip("-")[:80] or "task"


def _free_stem(folder: Path, stem: str, run_id: str) -> str:
    """``stem``, or with ``-v2``, ``-v3`` … where that is another run's marker."""
    version = 1
    while True:
        name = stem if version == 1 else f"{stem}-v{version}"
        taken = [folder / f"{name}{suffix}" for suffix in (".json", ".md")]
        if not any(path.exists() for path in taken) or _run_of(taken[0]) == run_id:
            return name
        version += 1


def _run_of(path: Path) -> str | None:
    """The id of the run whose marker ``path`` is; ``None`` when that cannot be told."""
    try:
        content = json.loads(read_regular(path, _LONGEST))
        return str(content["run"]["id"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
