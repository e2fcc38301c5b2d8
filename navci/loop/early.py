"""Ends that come before there is a run: said everywhere, marked where there is a task."""

from __future__ import annotations

from navci import __version__
from navci.actions.commands import Console
from navci.actions.outputs import write_outputs
from navci.loop.opening import Prepared
from navci.loop.run import RunRequest
from navci.loop.show import artifact_name, publish_report, write_markers
from navci.model import ENDS, End, Rules
from navci.outcome import RunReport
from navci.report.job_summary import write_summary
from navci.report.status_block import Banner, banner
from navci.system.neutral import inline


def tell_early(
    request: RunRequest, console: Console, prepared: Prepared, end: End, reason: str
) -> RunReport:
    """Marker, summary and outputs of a run whose journal or git directory cannot be used."""
    now = request.clock.now()
    report = RunReport(
        task=prepared.task,
        run_id="",
        started=now,
        updated=now,
        rules=Rules(),
        indicators={},
        base=prepared.checkout.head or "",
        branch="",
        run_dir=prepared.folders.top,
        end=end,
        reason=reason,
        version=__version__,
        artifact=artifact_name(prepared.task.id, end),
    )
    artifact = prepared.folders.artifact
    files = write_markers(report, artifact, prepared.checkout.top, console.warning)
    marker = files.json if files else None
    publish_report(report, artifact, marker, request.environment, console.warning)
    console.line(banner(Banner.ABORTED, f"{report.headline}\n{reason}"), style="red")
    console.line(f"What to do next: {ENDS[end].next_step}")
    if marker:
        console.line(f"marker     {marker}")
    return report


def tell_refused(request: RunRequest, console: Console, end: End, reason: str) -> None:
    """A run that was not started: one line or more in the log, the summary and the outputs."""
    if end is End.SKIPPED:
        console.notice(reason, title="navci did not start")
    else:
        console.error(reason, title="navci did not start")
    console.line(f"What to do next: {ENDS[end].next_step}")
    said = "\n".join(f"- {inline(line, 1000)}" for line in reason.splitlines())
    summary = f"## navci did not start ({end})\n\n{said}\n\n{ENDS[end].next_step}\n"
    outputs = {
        "outcome": end.value,
        "complete": "false",
        "reason": " ".join(reason.split())[:500],
        "iterations": "0",
        "marker": "",
        "artifact-path": "",
    }
    for problem in (
        write_summary(summary, request.environment),
        write_outputs(outputs, request.environment),
    ):
        if problem:
            console.warning(problem)
