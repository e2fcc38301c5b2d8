"""Close a run: each step journalled, none able to prevent the marker (DESIGN §3.3)."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace

from navci.journal import CLOSING, ENDED
from navci.loop.iteration import Ending
from navci.loop.observe import statuses_of
from navci.loop.push import push_branch, push_journal
from navci.loop.run import Run
from navci.loop.show import refresh
from navci.loop.work import commit_work
from navci.model import ENDS, End, ItemState
from navci.outcome import RunReport
from navci.report.status_block import Banner, banner, exit_block, status_block
from navci.system.neutral import one_line, show_path
from navci.tickets.taskfile import archive

_ITEMS = 20


def close(run: Run, ending: Ending) -> RunReport:
    """Whatever can be done of the end is done; what cannot is said. Never raises our own errors."""
    run.attempt("the end could not be journalled", lambda: decide(run, ending))
    if ending.end is End.COMPLETE:
        run.attempt("the acceptance items could not be told", lambda: name_unverified(run))
    if ending.end is End.COMPLETE and run.task.source:
        once(run, "archived", "the task document could not be archived", lambda: archive_task(run))
    if run.pushes:
        once(run, "pushed", "the branch was not pushed", lambda: push_branch(run))
    refresh(run, ending.end, ending.reason)
    run.attempt("the end could not be journalled", lambda: journal_end(run, ending))
    if run.pushes:
        run.attempt("the journal was not pushed", lambda: push_journal(run))
    report = refresh(run, ending.end, ending.reason)
    run.attempt("the end could not be shown", lambda: say_end(run, report))
    return report


def decide(run: Run, ending: Ending) -> None:
    """From here on a process that takes over closes the run and starts no agent."""
    if run.state.deciding is None:
        state = replace(run.state, deciding=ending.end, reason=ending.reason)
        run.journal.append(CLOSING, state, {"end": ending.end, "reason": ending.reason})


def once(run: Run, name: str, failed: str, step: Callable[[], None]) -> None:
    """A step of closing that is not done again by a process that takes over."""
    if name in run.state.closing:
        return

    def do() -> None:
        step()
        state = replace(run.state, closing=(*run.state.closing, name))
        run.journal.append(CLOSING, state, {"step": name})

    run.attempt(failed, do)


def name_unverified(run: Run) -> None:
    """Say behind which acceptance items nothing but the agent's word stands."""
    known = statuses_of(run)
    texts = [i.text for i in run.contract.items if known[i.id].state is ItemState.UNVERIFIED]
    if texts:
        shown = "; ".join(one_line(text, 120) for text in texts[:_ITEMS])
        more = f"; and {len(texts) - _ITEMS} more" if texts[_ITEMS:] else ""
        run.note(f"unverified, so see for yourself (nothing measures it): {shown}{more}")


def archive_task(run: Run) -> None:
    """The task document goes to the archive, as a commit of navci's own."""
    target = archive(run.task, run.checkout.top)
    tree = run.worktree.tree()
    commit_work(run, tree, f"docs(tasks): archive as {target}")
    run.tree = tree


def journal_end(run: Run, ending: Ending) -> None:
    """The end event: after it, the next process starts a new run."""
    state = replace(run.state, end=ending.end, reason=ending.reason, lease=None)
    run.journal.append(
        ENDED, state, {"end": ending.end, "reason": ending.reason}, snapshot=run.state.snapshot
    )


def say_end(run: Run, report: RunReport) -> None:
    """The last lines of the log: verdict, final block, and where everything is."""
    console, end = run.console, report.outcome
    last = report.last
    if report.complete and last:
        console.line(status_block(last, run.settings.rules))
        console.line(banner(Banner.COMPLETE, report.headline), style="green")
        console.line(exit_block(report.reason, [show_path(p) for p in report.files_changed]))
    else:
        console.line(banner(Banner.ABORTED, f"{report.headline}\n{report.reason}"), style="red")
    console.line(f"What to do next: {ENDS[end].next_step}")
    if not report.has_checks:
        console.warning(
            "no test command and no checks were given: nothing but the agent's word and git "
            "stands behind this run"
        )
    for label, value in places(run, report):
        console.line(f"{label:<10} {value}")


def places(run: Run, report: RunReport) -> list[tuple[str, str]]:
    """Where a person finds what the run made."""
    found = [("repository", str(run.checkout.top))]
    if report.commit:
        found.append(("branch", f"{report.branch} ({report.commit[:12]})"))
    else:
        found.append(("branch", f"{report.branch} (no changes)"))
    if run.marker:
        found.append(("marker", str(run.marker.json)))
    summary = run.request.environment.get("GITHUB_STEP_SUMMARY")
    found.append(("summary", summary or str(run.folders.artifact / "summary.md")))
    found.append(("journal", f"navci show {run.task.id}"))
    found.append(("run folder", str(run.folders.top)))
    if not run.mirrored:
        found.append(("to fetch", rescue(run)))
    return found


def rescue(run: Run) -> str:
    """How to bring the work into a repository that had no room for it."""
    words = ["git", "fetch", "--update-head-ok", str(run.git.git_dir), "refs/navci/*:refs/navci/*"]
    if run.state.head != run.state.base:
        words.append(f"{run.state.head}:refs/heads/{run.state.branch}")
    return f"{shlex.join(words)} && git reset -q"
