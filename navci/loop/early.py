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
from navci.report.prose import prose
from navci.report.status_block import Banner, banner

REHEARSED = "dry run: "
"""How the reason of a dry run begins that found nothing to mend."""


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
    title, heading = "navci did not start", f"navci did not start ({end})"
    told, next_step = reason, ENDS[end].next_step
    if end is End.SKIPPED and reason.startswith(REHEARSED):
        title, heading = (
            "dry run",
            "Dry run: nothing stands in the way; navci did not start the loop",
        )
        told = reason.removeprefix(REHEARSED)
        next_step = "Give the same again without `dry-run` to start the loop."
    if end is End.SKIPPED:
        console.notice(told, title=title)
    else:
        console.error(told, title=title)
    console.line(f"What to do next: {next_step}")
    said = "\n".join(f"- {prose(line, 1000)}" for line in told.splitlines())
    summary = f"## {heading}\n\n{said}\n\n**What to do next:** {next_step}\n"
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
