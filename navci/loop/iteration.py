"""One iteration: prompt, agent, evidence, judgement, in DESIGN §3's order and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from navci.evidence.signals import read_signals
from navci.journal import JUDGED, NOT_JUDGED, Judged
from navci.judge import JUDGE_VERSION, judge
from navci.judge.gaps import summary
from navci.loop.carried import carry, carry_matrix
from navci.loop.observe import excerpts_of, observe, unobserved
from navci.loop.original import original_tests
from navci.loop.push import push_journal
from navci.loop.run import Run
from navci.loop.show import announce, refresh
from navci.loop.simplify import simplify
from navci.loop.ticket import tell_progress
from navci.loop.transcripts import keep
from navci.loop.turn import end_of_trouble, is_no_iteration, reserve, take_turn
from navci.loop.verify import verify
from navci.loop.work import Work, commit_work, gather, keep_snapshot, subject_of
from navci.model import CheckResult, End, Iteration, Observation, Signals, Turn
from navci.system.neutral import one_line


@dataclass(frozen=True, slots=True)
class Ending:
    """How and why the loop stops."""

    end: End
    reason: str


def iterate(run: Run) -> Ending | None:
    """One attempt at the next iteration; how the loop ends, or ``None`` to go on.

    Raises :class:`navci.errors.InfraError` when git or the journal cannot be used any more.
    """
    number = run.state.iteration + 1
    with run.console.group(f"Iteration {number}/{run.settings.rules.max_iterations}"):
        folder = reserve(run, number)
        turn = take_turn(run, number, folder)
        signals = run.measured(
            "the agent's signals", lambda: read_signals(turn.final_text), Signals()
        )
        before = run.tree
        work = gather(run, folder)
        if is_no_iteration(turn, work.tree != before):
            return not_judged(run, turn, work, folder)
        keep_snapshot(run, work)
        unmeasured: tuple[CheckResult, ...] = ()
        checks = run.measured("checks", lambda: verify(run, work.tree, folder), unmeasured)
        if run.stop.requested:  # what the checks said then says nothing about the work
            return not_judged(run, turn, work, folder)
        undone = work, checks
        work, checks = run.measured(
            "the simplify turn", lambda: simplify(run, number, *undone, folder), undone
        )
        commit_work(run, work.tree, subject_of(run, number, work.tree), work.agent_head)
        originals = original_tests(run, signals, work, folder)
        if originals is None:
            return not_judged(run, turn, work, folder)
        work = replace(work, originals=originals)
    iteration = judge_it(run, number, turn, signals, work, before)
    remember(run, iteration, work)
    keep(run, folder)
    run.attempt("the status block could not be shown", lambda: announce(run, iteration))
    tell_progress(run, refresh(run))
    return act(iteration)


def judge_it(
    run: Run, number: int, turn: Turn, signals: Signals, work: Work, before: str
) -> Iteration:
    """Everything measured, put before the judge."""
    observation = run.measured(
        "the iteration",
        lambda: observe(run, number, turn, signals, work, before),
        unobserved(run, number),
    )
    judgement = judge(run.state.memory, observation, run.settings.rules)
    notes = [*followed(run), *turn.notes]
    if turn.timed_out:
        notes.append("the turn was ended at its deadline")
    if judgement.refusal:
        notes.append(judgement.refusal)
    notes += refused_no_op(observation)
    run.complaints = signals.complaints
    return Iteration(
        number,
        observation,
        judgement,
        checks=run.checks,
        excerpts=run.measured("excerpts", lambda: excerpts_of(run, observation.gaps, work), {}),
        commit=run.state.head,
        notes=(*notes, *signals.complaints),
        agent_seconds=turn.seconds,
        summary=one_line(turn.final_text, 300),
    )


def refused_no_op(observation: Observation) -> list[str]:
    """Why "nothing to do" was taken as a claim to be done, like any other."""
    said = observation.signal
    if said is None or not said.success or not said.no_op:
        return []
    if not said.reason.strip():
        why = "it gives no reason"
    elif observation.gaps:
        why = summary(observation.gaps)
    elif observation.run_changed:
        why = "files differ from base"
    else:
        return []
    return [f"the agent says there is nothing to do, but {why}: taken as a claim to be done"]


def followed(run: Run) -> list[str]:
    """The change of approach this iteration was told to make, for its block's notes."""
    last = run.iterations[-1].judgement if run.iterations else None
    if last is not None and last.hypothesis:
        return [f"pursued the hypothesis on {last.hypothesis.gap} of iteration {last.iteration}"]
    if last is None or last.strategy is None:
        return []
    return [f"diversified ({last.strategy.upper()}) after iteration {last.iteration} stagnated"]


def remember(run: Run, iteration: Iteration, work: Work) -> None:
    """Append the iteration to the journal; from now on it has happened."""
    record = Judged(
        JUDGE_VERSION,
        run.settings.rules,
        run.state.memory,
        iteration.observation,
        iteration.judgement,
        iteration.commit,
        iteration.excerpts,
        iteration.notes,
        iteration.summary,
        iteration.agent_seconds,
    )
    state = replace(
        run.state,
        iteration=iteration.number,
        memory=iteration.judgement.memory,
        snapshot=work.snapshot,
        tree=work.tree,
        simplified=run.simplified_tree,
        deciding=iteration.judgement.end,
        reason=iteration.judgement.reason if iteration.judgement.end else "",
        troubles=0,
    )
    carry(run)
    carry_matrix(run, iteration)
    run.journal.append(JUDGED, state, record, snapshot=work.snapshot)
    run.iterations.append(iteration)
    run.tree = work.tree
    if run.pushes:
        run.attempt("the journal was not pushed", lambda: push_journal(run))


def not_judged(run: Run, turn: Turn, work: Work, folder: Path) -> Ending | None:
    """An attempt that was no iteration: its work is kept, and it counts nowhere."""
    error = turn.error
    # A limit is the provider's, not the agent's: it never adds up to "the agent is unusable".
    troubles = run.state.troubles + (error is not None and error.kind != "rate_limit")
    state = replace(run.state, snapshot=work.snapshot, tree=work.tree, troubles=troubles)
    what = error.message if error else f"interrupted by {run.stop.requested}"
    run.journal.append(NOT_JUDGED, state, {"why": what}, snapshot=work.snapshot)
    run.tree = work.tree
    keep(run, folder)
    if run.stop.requested:
        commit_work(
            run, work.tree, subject_of(run, run.state.iteration + 1, work.tree), work.agent_head
        )
        return Ending(End.USER_ABORTED, f"stopped on request ({run.stop.requested})")
    if error is None:  # interrupted, but nobody asked to stop: try again
        return None
    trouble = end_of_trouble(run, error)
    if trouble is None:
        return None
    commit_work(
        run, work.tree, subject_of(run, run.state.iteration + 1, work.tree), work.agent_head
    )
    return Ending(*trouble)


def act(iteration: Iteration) -> Ending | None:
    """What the judgement says: go on, or end."""
    judgement = iteration.judgement
    return Ending(judgement.end, judgement.reason) if judgement.end else None
