"""The original-tests run before a claim is accepted (DESIGN §5, Trust)."""

from __future__ import annotations

import contextlib
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from navci.evidence.control_files import Rules
from navci.evidence.junit_files import ReportGlobs
from navci.loop.clean import Clone
from navci.loop.cloning import in_clone_of, why_not_cloned
from navci.loop.observe import gaps_of
from navci.loop.preexisting import tolerated, wanted_baseline
from navci.loop.run import Run
from navci.loop.trial import Bench, Trial, try_original
from navci.loop.verify import check_environment, run_one, verify
from navci.loop.work import Work
from navci.model import CheckResult, CheckSpec, Signals
from navci.system.neutral import show_path
from navci.system.path_folders import folders_inside

_SHOWN = 20
_UNMEASURED: Mapping[str, str] = {
    "run": "the checks could not be run with the test files as they were at base"
}


def original_tests(
    run: Run, signals: Signals, work: Work, folder: Path
) -> Mapping[str, str] | None:
    """What is green only thanks to files that control testing: by name, what was seen.

    Run only where everything else allows the end, and once per tree. A failure of ours counts as
    a gap. ``None``: a person asked to stop, and what was seen says nothing.
    """
    if not due(run, signals, work):
        return {}
    if why_not_cloned(run) and not run.stop.requested and stale(run, work):
        # The receipts are of the same tree, and maybe of other files that git ignores.
        run.verified_tree = None
        unmeasured: tuple[CheckResult, ...] = ()
        run.measured("checks", lambda: verify(run, work.tree, folder / "claim"), unmeasured)
        if not due(run, signals, work):
            return None if run.stop.requested else {}
    found = originals_of(run, work.tree, folder)
    return None if run.stop.requested else found


def originals_of(run: Run, tree: str, folder: Path) -> Mapping[str, str]:
    """What the run finds on ``tree``, the files as they lie here; worth nothing after a stop."""
    if tree not in run.originals:
        found = run.measured(
            "the original-tests run",
            lambda: report(run, trial_of(run, folder / "original")),
            _UNMEASURED,
        )
        if run.stop.requested:
            return found
        run.originals = {tree: found}
    return run.originals[tree]


def trial_of(run: Run, folder: Path) -> Trial:
    """The run itself: in a fresh clone, or in the work tree where a clone is no measure.

    Reports that git ignores are put back too: other steps of the job read them.
    What is no regular file, and what cannot be copied, is left as the last check left it.
    """
    if not why_not_cloned(run):
        return in_clone(run)
    place, top = folder / "reports", run.checkout.top
    place.mkdir(parents=True)
    kept: dict[Path, Path] = {}
    for spec in run.required:
        for path in ReportGlobs(spec.junit, run.directory, top).find().files:
            source = top / path
            if stat.S_ISREG(source.lstat().st_mode):
                kept[source] = place / f"{len(kept)}.xml"
                shutil.copy2(source, kept[source])
    try:
        return try_original(bench_of(run), folder)
    finally:
        for source, copy in kept.items():
            with contextlib.suppress(OSError):
                source.unlink(missing_ok=True)  # never through a link a check put there
                shutil.copy2(copy, source)
        shutil.rmtree(place, ignore_errors=True)


def in_clone(run: Run) -> Trial:
    """The same in a fresh clone of the commit: what no commit holds is no part of the work.

    What is red there runs once more, as it does here: one whole run decides.
    """
    baseline = wanted_baseline(run.baseline, run.settings)

    def judged(clone: Clone) -> Trial:
        wrong = clone.gaps(baseline, clone.judged_results(baseline))
        if wrong and not run.stop.requested:
            wrong = clone.gaps(baseline, clone.judged_results(baseline))
        if not wrong:
            return clone.trial(baseline)
        after = ", after `setup-command`" if run.settings.setup_command else ""
        said = f"in a fresh clone of the commit{after}"
        return Trial({gap.removeprefix("test:"): f"{said}: {why}" for gap, why in wrong.items()})

    return in_clone_of(run, run.state.head, judged)


def due(run: Run, signals: Signals, work: Work) -> bool:
    """Whether the run would end complete but for this."""
    claims = signals.exit.success if signals.exit else not run.settings.rules.require_signal
    return claims and bool(run.required) and not gaps_of(run, work.guards)


def stale(run: Run, work: Work) -> bool:
    """Whether a turn came after the checks last ran on the tree."""
    return run.measured_at != (work.tree, run.turns)


def report(run: Run, trial: Trial) -> Mapping[str, str]:
    """Say to people which tests are not those of base; the gaps."""
    if trial.edited:
        shown = ", ".join(show_path(path) for path in trial.edited[:_SHOWN])
        rest = len(trial.edited) - _SHOWN
        run.note(f"edited test files: {shown}" + (f" and {rest} more" if rest > 0 else ""))
    others = [control.path for control in trial.controls if not control.edited and control.before]
    if others:
        shown = ", ".join(show_path(path) for path in others[:_SHOWN])
        run.note(f"edited files that steer the tests: {shown}")
    if trial.doubtful:
        first = trial.doubtful[0]
        more = f" and {len(trial.doubtful) - 1} more" if trial.doubtful[1:] else ""
        run.note(
            f"as they were at base, tests of edited files fail: {first}{more}; "
            "see that the task asked for it"
        )
    return trial.gaps


def bench_of(run: Run) -> Bench:
    """The work tree of the run, against its base."""

    def check(spec: CheckSpec, tree: str, folder: Path) -> CheckResult:
        return run_one(run, spec, tree, folder, f"original {tree}")

    inside = run.settings.working_directory
    return Bench(
        run.git,
        run.worktree,
        run.state.origin,
        run.required,
        wanted_baseline(run.baseline, run.settings),
        Rules(
            "" if inside == "." else inside,
            tuple(spec.command for spec in run.required),
            run.settings.original_tests_globs,
            folders_inside(check_environment(run).get("PATH", ""), run.checkout.top, run.directory),
        ),
        run.folders.scratch,
        check,
        require=run.settings.original_tests == "require",
        tolerated=tolerated(run.baseline, run.settings),
        stopped=lambda: run.stop.requested is not None,
    )
