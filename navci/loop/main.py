"""A run from its first step to its exit code: open, iterate, close (DESIGN §3)."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from navci.actions.commands import Console
from navci.errors import ConfigError, InfraError, JournalDamaged, NavciError, Skipped
from navci.loop.beginning import begin_work, described, tell_found
from navci.loop.closing import close
from navci.loop.early import tell_early, tell_refused
from navci.loop.iteration import Ending, iterate
from navci.loop.opening import Prepared, open_run, prepare
from navci.loop.run import Run, RunRequest
from navci.loop.standing import leave
from navci.loop.stopping import listening
from navci.model import End, FailOn
from navci.outcome import RunReport
from navci.system.process import protect_self
from navci.system.templates import preload


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; ``report`` is ``None`` where nothing was opened.

    ``fail_on`` is what the settings say about a job's colour, where they were read.
    """

    end: End
    reason: str
    report: RunReport | None = None
    fail_on: FailOn = FailOn.INCOMPLETE


def run_loop(request: RunRequest, console: Console) -> Outcome:
    """Run until an end. Everything navci itself reports becomes an outcome; nothing is raised."""
    protect_self()
    preload()
    try:
        prepared = prepare(request)
        with prepared.lock:
            return run_prepared(request, console, prepared)
    except Skipped as skipped:
        return refused(request, console, End.SKIPPED, skipped)
    except ConfigError as wrong:
        return refused(request, console, End.CONFIG_ERROR, wrong)
    except InfraError as broken:
        return refused(request, console, End.INFRA_ERROR, broken)
    except Exception as error:  # a bug of ours, before there was anything to keep
        console.line(traceback.format_exc())
        return refused(request, console, End.INFRA_ERROR, InfraError(bug(error)))


def run_prepared(request: RunRequest, console: Console, prepared: Prepared) -> Outcome:
    """The same with a run directory: from here on an end has a marker."""
    try:
        run = open_run(request, console, prepared)
    except JournalDamaged as damaged:
        return early(request, console, prepared, End.JOURNAL_DAMAGED, str(damaged))
    except (Skipped, ConfigError):
        prepared.discard()
        raise
    except InfraError as broken:
        return early(request, console, prepared, End.INFRA_ERROR, str(broken))
    except Exception as error:  # a bug of ours
        console.line(traceback.format_exc())
        return early(request, console, prepared, End.INFRA_ERROR, bug(error))
    if run.settings.dry_run:
        prepared.discard()
        raise Skipped(rehearsed(run))
    try:
        with listening(run):
            ending = loop(run)
    except ConfigError as wrong:  # the baseline refuses: the run is over before it began
        why = str(wrong)
        run.attempt("the refusal was not journalled", lambda: run.journal_refusal(why))
        run.attempt("the checkout was not put back as it was", lambda: leave(run))
        prepared.discard()
        raise
    run.attempt("the checkout was not put back as it was", lambda: leave(run))
    report = close(run, ending)
    return Outcome(ending.end, ending.reason, report, run.settings.fail_on)


def rehearsed(run: Run) -> str:
    """What a dry run found. Raises :class:`InfraError` for an agent that could not start."""
    missing = run.agent.check()
    if missing:
        raise InfraError(f"the agent cannot start: {missing}")
    tell_found(run)
    return f"dry run: everything but the checks was tried, nothing was started\n{described(run)}"


def loop(run: Run) -> Ending:
    """Baseline, then iterations until one of them ends the run.

    Raises :class:`ConfigError` while nothing has been spent; later nothing is refused any more.
    """
    begun = False
    try:
        ending = begin_work(run)
        begun = True
        while ending is None:
            ending = between(run) or iterate(run)
        return ending
    except NavciError as error:
        if isinstance(error, ConfigError) and not begun:
            raise
        run.log(traceback.format_exc())
        return Ending(End.INFRA_ERROR, str(error))
    except Exception as error:  # a bug of ours ends the run as what it is, with everything kept
        run.log(traceback.format_exc())
        return Ending(End.INFRA_ERROR, bug(error))


def bug(error: Exception) -> str:
    """What to say of an error that is none of ours."""
    return f"navci failed: {type(error).__name__}: {error}"


def between(run: Run) -> Ending | None:
    """What ends a run between two attempts."""
    if run.stop.requested:
        return Ending(End.USER_ABORTED, f"stopped on request ({run.stop.requested})")
    if run.seconds_left <= 0:
        return Ending(End.TIME_BUDGET, "the time budget is used up to its reserve for closing")
    return None


def early(
    request: RunRequest, console: Console, prepared: Prepared, end: End, reason: str
) -> Outcome:
    """An end before there was a run: its marker says what is known."""
    return Outcome(end, reason, tell_early(request, console, prepared, end, reason))


def refused(request: RunRequest, console: Console, end: End, why: NavciError) -> Outcome:
    """Nothing was started: said in the log, the summary and the outputs, without a marker."""
    tell_refused(request, console, end, str(why))
    return Outcome(end, str(why))
