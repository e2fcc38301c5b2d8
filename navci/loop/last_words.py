"""The last lines of a run's log: verdict, what is open, where everything is, what to do."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from navci.loop.iteration import Ending
from navci.loop.observe import statuses_of
from navci.loop.run import Run
from navci.loop.show import last_claim
from navci.model import ENDS, End
from navci.outcome import RunReport
from navci.report.gap_lines import gap_lines
from navci.report.job_summary import summary_file
from navci.report.status_block import Banner, banner, exit_block, status_block
from navci.system.neutral import show_path

_OPEN = ". Still open: "


def say_end(run: Run, report: RunReport) -> None:
    """The last lines of the log: verdict, final block, where everything is, and what to do."""
    console, end = run.console, report.outcome
    last = report.last
    if report.complete and last:
        console.line(status_block(last, run.settings.rules))
        console.line(banner(Banner.COMPLETE, report.headline), style="green")
        console.line(exit_block(report.reason, [show_path(p) for p in report.files_changed]))
    else:
        console.line(banner(Banner.ABORTED, f"{report.headline}\n{report.reason}"), style="red")
        for line in open_lines(run, report):
            console.line(line)
    if not report.has_checks:
        console.warning(
            "no test command and no checks were given: nothing but the agent's word and git "
            "stands behind this run"
        )
    for label, value in places(run, report):
        console.line(f"{label:<10} {value}")
    console.line(f"\nWhat to do next: {ENDS[end].next_step}")
    for command in commands(run, report):
        console.line(f"    {command}")


def with_evidence(run: Run, ending: Ending) -> Ending:
    """A failure budget that is out names what was open when the agent last said done.

    Whoever reads of it has to decide: raise the limit, change the requirement, or stop.
    """
    if ending.end is not End.FAILURE_BUDGET or _OPEN in ending.reason:  # a process before us did
        return ending
    nothing: list[str] = []
    lines = run.measured("what is still open", lambda: evidence(run), nothing)
    if not lines:
        return ending
    return replace(ending, reason=f"{ending.reason.rstrip('.')}{_OPEN}{'; '.join(lines)}")


def evidence(run: Run) -> list[str]:
    """The first open gaps of the last iteration, or of the last refused claim before this run."""
    last = run.iterations[-1] if run.iterations else last_claim(run)
    if last is None:
        return []
    seen = last.observation
    return gap_lines(
        seen.gaps, last.excerpts, run.contract.items, seen.acceptance, limit=3, width=120
    )


def open_lines(run: Run, report: RunReport) -> list[str]:
    """The open gaps, a line each; nothing where there is none, or where nothing was measured."""
    known = report.last.observation.acceptance if report.last else statuses_of(run)
    claim = last_claim(run) if report.end is End.FAILURE_BUDGET and not report.last else None
    if claim:
        known = claim.observation.acceptance
    elif not report.last and not report.checks:
        return []  # nothing was measured
    lines = gap_lines(report.gaps, report.excerpts, run.contract.items, known)
    count = len(report.gaps)
    return [f"Open gaps ({count}):", *(f"- {line}" for line in lines), ""] if lines else []


def commands(run: Run, report: RunReport) -> list[str]:
    """How to look at finished work and merge it, on the machine where it lies."""
    if not report.complete or not report.commit or run.settings.in_actions:
        return []
    branch, into = shlex.quote(report.branch), report.base_branch or ""
    known = (f"refs/heads/{into}", f"refs/remotes/origin/{into}")
    merge = f"git merge {branch}"
    if into != report.branch and any(run.git.read_ref(ref) for ref in known if into):
        merge = f"git switch {shlex.quote(into)} && {merge}"
    else:
        merge += "   # on the branch that it is for"
    return [f"git diff {report.base[:12]} {branch}", merge]


def places(run: Run, report: RunReport) -> list[tuple[str, str]]:
    """Where a person finds what the run made."""
    found = [("repository", str(run.checkout.top))]
    if report.commit:
        found.append(("branch", f"{report.branch} ({report.commit[:12]}), {pushed(run, report)}"))
    else:
        found.append(("branch", f"{report.branch} (no changes)"))
    if run.marker:
        found.append(("marker", str(run.marker.json)))
    summary = summary_file(run.request.environment) or run.folders.artifact / "summary.md"
    if summary.is_file():
        found.append(("summary", str(summary)))
    found.append(("journal", f"navci show {run.task.id}"))
    found.append(("run folder", str(run.folders.top)))
    if not run.mirrored:
        found.append(("to fetch", rescue(run)))
    return found


def pushed(run: Run, report: RunReport) -> str:
    """Whether the branch went to the remote, and if not, what decided that."""
    if report.pushed:
        # A URL may hold a password.
        url = re.sub(r"(?<=://)[^/@]*@", "", run.checkout.remote_url or "")
        return f"pushed to {show_path(url)}"
    if not run.checkout.remote_url:
        return "not pushed: there is no remote"
    return "not pushed: the push failed" if run.settings.push else "not pushed: push is off"


def rescue(run: Run) -> str:
    """How to bring the work into a repository that had no room for it."""
    words = ["git", "fetch", "--update-head-ok", str(run.git.git_dir), "refs/navci/*:refs/navci/*"]
    if run.state.head != run.state.base:
        words.append(f"{run.state.head}:refs/heads/{run.state.branch}")
    return f"{shlex.join(words)} && git reset -q"
