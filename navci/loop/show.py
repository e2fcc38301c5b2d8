"""Say where the run stands: log, marker, job summary, outputs, each as good as it can be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from navci import __version__
from navci.actions.outputs import outputs_of, write_outputs
from navci.errors import InfraError
from navci.journal import JUDGED, Judged, judged_record
from navci.loop.observe import changed_since_base, excerpts_of, gaps_of, indicators_of
from navci.loop.run import Run
from navci.marker import MarkerFiles, write_marker
from navci.model import End, Gaps, Iteration
from navci.outcome import RunReport
from navci.report.job_summary import job_summary, write_summary
from navci.report.status_block import Banner, auto_diversify, banner, status_block
from navci.system.files import write_atomic
from navci.system.neutral import inline

MARKERS = ".agent/.context-markers"


def announce(run: Run, iteration: Iteration) -> None:
    """The status block, and the banner of an event, into the log."""
    if run.settings.show_status_block:
        run.console.line(status_block(iteration, run.settings.rules))
    judgement = iteration.judgement
    if judgement.event:
        run.console.line(banner(Banner.STAGNATION, judgement.reason), style="yellow")
    if judgement.strategy and judgement.end is None:
        shown = banner(auto_diversify(judgement.strategy), judgement.next_action)
        run.console.line(shown, style="yellow")
    if judgement.hypothesis and judgement.end is None:
        detail = f"The next turn pursues the agent's hypothesis: {judgement.hypothesis.change}"
        run.console.line(banner("STAGNATION → HYPOTHESIS", detail), style="yellow")
    if judgement.end is End.MAX_ITERATIONS:
        run.console.line(banner(Banner.MAX_ITERATIONS, judgement.reason), style="yellow")


def report_of(run: Run, end: End | None = None, reason: str = "") -> RunReport:
    """The run as it is told to people now; ``end`` is ``None`` while it goes on."""
    state, last = run.state, run.iterations[-1] if run.iterations else None
    gaps, excerpts = (last.observation.gaps, last.excerpts) if last else before_the_first(run, end)
    complete = end is End.COMPLETE
    closed = "archived" in state.closing or "closed" in state.closing
    indicators = (
        indicators_of(run, closed=closed, marker=complete)
        if complete or last is None
        else last.observation.indicators
    )
    baseline = run.baseline.checks if run.baseline else ()
    iterations = list(run.iterations)
    if complete and last:
        # The final block: what closing did has become true since the gate was asked.
        seen = replace(last.observation, indicators=indicators)
        iterations[-1] = replace(last, observation=seen, notes=(*last.notes, *run.notes))
    return RunReport(
        task=run.task,
        run_id=state.run,
        started=started_at(state.started),
        updated=run.clock.now(),
        rules=run.settings.rules,
        indicators=indicators,
        base=state.base,
        base_branch=state.base_branch,
        branch=state.branch,
        run_dir=run.folders.top,
        end=end,
        reason=reason,
        commit=state.head if state.head != state.base else None,
        iterations=tuple(iterations),
        gaps=gaps,
        excerpts=excerpts,
        checks=run.checks or baseline,
        has_checks=bool(run.required),
        spent=state.spent,
        seconds=run.clock.monotonic() - run.opened,
        strategies=state.memory.strategies,
        verify_failures=state.memory.verify_failures,
        files_changed=run.measured("changed files", lambda: changed_since_base(run), ()),
        commits=run.measured("commits", lambda: commits_of(run), 0),
        agent=run.settings.agent,
        version=__version__,
        resumed=run.resumed,
        pushed=run.pushed or ("pushed" in state.closing and state.head != state.base),
        kept_refs=(f"refs/heads/{state.branch}", run.journal.ref),
        notes=tuple(run.notes),
        marker=run.marker.json if run.marker else None,
        pull_request_url=state.pull_request,
        artifact=artifact_name(run.task.id, end),
        secrets=run.secrets,
    )


def before_the_first(run: Run, end: End | None) -> tuple[Gaps, Mapping[str, str]]:
    """What is open before any iteration of this run, and what the evidence shows.

    A budget that earlier runs used up: what was open at the last claim that was refused.
    """
    unread: Mapping[str, str] = {}
    claim = last_claim(run) if end is End.FAILURE_BUDGET else None
    if claim:
        return claim.observation.gaps, claim.excerpts
    gaps = run.measured("gaps", lambda: gaps_of(run, {}), Gaps())
    return gaps, run.measured("excerpts", lambda: excerpts_of(run, gaps), unread)


def last_claim(run: Run) -> Judged | None:
    """The last Verify failure of this contract in the journal."""
    found = None
    for event in run.journal.events():
        if event.kind == JUDGED:
            record = judged_record(event)
            same = record.observation.contract == run.contract.hash
            found = record if same and record.judgement.verify_failure else found
    return found


def bare_report(run: Run, end: End | None, reason: str) -> RunReport:
    """What can be told without measuring anything: where even that fails, the marker stands."""
    state = run.state
    return RunReport(
        task=run.task,
        run_id=state.run,
        started=started_at(state.started),
        updated=run.clock.now(),
        rules=run.settings.rules,
        indicators={},
        base=state.base,
        base_branch=state.base_branch,
        branch=state.branch,
        run_dir=run.folders.top,
        end=end,
        reason=reason,
        commit=state.head if state.head != state.base else None,
        iterations=tuple(run.iterations),
        has_checks=bool(run.required),
        agent=run.settings.agent,
        version=__version__,
        resumed=run.resumed,
        kept_refs=(f"refs/heads/{state.branch}", run.journal.ref),
        notes=tuple(run.notes),
        artifact=artifact_name(run.task.id, end),
        secrets=run.secrets,
    )


def started_at(text: str) -> datetime:
    """The moment of an ISO time of the journal."""
    return datetime.fromisoformat(text).astimezone(UTC)


def commits_of(run: Run) -> int:
    """Commits of the work branch that base lacks."""
    return int(run.git.text("rev-list", "--count", f"{run.state.base}..{run.state.head}"))


def artifact_name(task_id: str, end: End | None) -> str:
    """One artifact a run, named by how it ended (DESIGN §8)."""
    return f"loop-{'complete' if end is End.COMPLETE else 'aborted'}-{task_id}"


def refresh(run: Run, end: End | None = None, reason: str = "") -> RunReport:
    """Rewrite marker, summary and outputs; one that cannot be written is said, no more."""
    bare = bare_report(run, end, reason)
    report = run.measured("the report", lambda: report_of(run, end, reason), bare)
    folders = run.folders.artifact, run.directory
    run.marker = write_markers(report, *folders, run.note) or write_markers(
        bare, *folders, run.note
    )
    marker = run.marker.json if run.marker else None
    run.attempt(
        "summary and outputs could not be written",
        lambda: publish_report(report, folders[0], marker, run.request.environment, run.note),
    )
    upload = {
        "artifact-path": str(run.folders.artifact) if run.settings.upload else "",
        "retention-days": str(run.settings.retention_days),
    }
    problem = write_outputs(upload, run.request.environment)
    if problem:
        run.note(problem)
    return report


def write_markers(
    report: RunReport, artifact: Path, directory: Path, note: Callable[[str], None]
) -> MarkerFiles | None:
    """The marker, once for the artifact and once where Navigator looks for it."""
    written = None
    for folder in (artifact, directory / MARKERS):
        try:
            if folder != artifact:
                refuse_detour(folder, directory)
            written = write_marker(report, folder)
        except Exception as error:  # whatever it is, the other folder still gets its marker
            said = error.strerror if isinstance(error, OSError) and error.strerror else error
            note(f"the marker could not be written to {folder}: {said}")
    return written


def refuse_detour(folder: Path, directory: Path) -> None:
    """A marker goes into the checkout, never through a link out of it."""
    if not folder.resolve().is_relative_to(directory.resolve()):
        raise InfraError(f"{MARKERS} leads out of the checkout (a symbolic link)")


def publish_report(
    report: RunReport,
    artifact: Path,
    marker: Path | None,
    environment: Mapping[str, str],
    note: Callable[[str], None],
) -> None:
    """The job's summary and the step's outputs, where there is a job."""
    values = outputs_of(report, artifact, report.artifact, marker)
    try:
        summary = job_summary(report, in_job=environment.get("GITHUB_ACTIONS") == "true")
        write_atomic(artifact / "summary.md", summary)
    except OSError as error:
        note(f"the summary could not be written to {artifact}: {error.strerror}")
    except Exception as error:  # a summary that cannot be made must not cost the outputs
        summary = f"## {inline(report.headline)}\n\n{inline(report.why, 1000)}\n"
        note(f"the summary could not be made: {type(error).__name__}: {error}")
    for problem in (
        write_summary(summary, environment),
        write_outputs(values, environment),
    ):
        if problem:
            note(problem)
