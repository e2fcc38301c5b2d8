"""The action's outputs: which they are, and the file the runner reads them from."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from navci.model import Indicator
from navci.outcome import RunReport
from navci.system.files import append_text
from navci.system.neutral import mask, one_line, plain, show_path

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
_GAPS_SHOWN = 200


def outputs_of(
    report: RunReport, artifact_path: Path, artifact_name: str, marker: Path | None
) -> dict[str, str]:
    """Every output of the ``run`` command (DESIGN §9); empty where something is not known.

    ``artifact-url`` is not among them: the upload step of ``action.yml`` knows it.
    """
    totals = report.totals
    ids = sorted(report.gaps.acc | report.gaps.chk)
    shown = [one_line(gap) for gap in ids[:_GAPS_SHOWN]]
    if len(ids) > _GAPS_SHOWN:
        shown.append(f"… and {len(ids) - _GAPS_SHOWN} more: see the marker")
    met = {i.value: report.indicators[i].met for i in Indicator if i in report.indicators}
    spent = report.spent
    values = {
        "outcome": report.outcome.value,
        "complete": "true" if report.complete else "false",
        "reason": one_line(report.why, 500),
        "iterations": str(report.number),
        "phase": report.phase.value,
        "indicators": json.dumps(met),
        "gaps": json.dumps(shown),
        "tests-total": str(totals.tests) if totals else "",
        "tests-failed": str(totals.failed + totals.errored) if totals else "",
        "branch": report.branch,
        "commit": report.commit or "",
        "pull-request-url": report.pull_request_url,
        "marker": str(marker) if marker else "",
        "cost-usd": "" if spent.cost_usd is None else f"{spent.cost_usd:.4f}",
        "tokens": "" if spent.tokens is None else str(spent.tokens),
        "artifact-path": str(artifact_path),
        "artifact-name": artifact_name,
    }
    return {name: mask(value, report.secrets) for name, value in values.items()}


def write_outputs(values: Mapping[str, str], env: Mapping[str, str]) -> str | None:
    """Append ``values`` to the file ``GITHUB_OUTPUT`` names; the last write of a name wins.

    Returns a note for people when they could not be written, ``None`` when they were or when
    nobody asked for them (variable unset or empty). Never raises: outputs cannot end a run.
    """
    where = env.get("GITHUB_OUTPUT", "")
    if not where:
        return None
    path = Path(where)
    try:
        if path.exists() and not path.is_file():
            return f"outputs were not written: GITHUB_OUTPUT names {show_path(where)}, not a file"
        # The runner takes empty lines, `act` does not: a newline only where one is missing.
        start = "\n" if path.exists() and not _ends_a_line(path) else ""
        append_text(path, start + "".join(entry(name, text) for name, text in values.items()))
    except (OSError, ValueError) as error:
        said = (isinstance(error, OSError) and error.strerror) or error
        return f"outputs were not written: GITHUB_OUTPUT names {show_path(where)}: {said}"
    return None


def entry(name: str, value: str) -> str:
    """One output in the runner's file format, between delimiters no value can guess or hold.

    Raises :class:`ValueError` for a name that is none; names are ours, never a stranger's.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be an output's name")
    value = plain(value)
    delimiter = f"navci_{secrets.token_hex(16)}"
    while delimiter in value:
        delimiter = f"navci_{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as stream:
        if stream.seek(0, 2) == 0:
            return True
        stream.seek(-1, 2)
        return stream.read(1) == b"\n"
