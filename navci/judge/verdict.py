"""One iteration judged: phase, gate, stagnation, and whether and how the run ends (DESIGN §4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from navci.judge import budget, hypothesis, stagnation
from navci.judge.gaps import one_line, summary
from navci.judge.gate import approval_due, count_readings, decide
from navci.judge.phase import detect, progress
from navci.judge.stagnation import LAST_EVENT, Step
from navci.model import (
    CLOSING,
    ENDS,
    End,
    ExitSignal,
    Gate,
    GateDecision,
    Hypothesis,
    Judgement,
    Memory,
    Observation,
    Phase,
    Rules,
    Strategy,
)

TACTIC: Mapping[Strategy, str] = {
    Strategy.COMBINE: "combine the earlier approaches that came nearest",
    Strategy.RADICAL: "discard the current approach and take a substantially different one",
    Strategy.REREAD: "re-read the task from scratch and look for what was missed",
}


def judge(memory: Memory, observation: Observation, rules: Rules) -> Judgement:
    """Judge one iteration. Total and deterministic: the journal's read-back calls it again.

    What the agent says: ``success: false`` declines. ``no_op`` with a reason, no gaps and nothing
    changed since base is the answer "nothing to do"; any other ``no_op`` is an ordinary claim to
    be done. Declining and "nothing to do" are no exit signal to the gate, and even where no
    signal is required they keep the run from ending complete: the agent has just said otherwise.

    At an event an accepted hypothesis takes the strategy's place; stated at any other time, it is
    heard by nobody.

    Phase: COMPLETE exactly when the gate says EXIT. A signal the gate refused is no exit signal
    to the phase table, so that no block says COMPLETE or 100 % of a run that is neither.
    """
    met, total = count_readings(observation.indicators)
    said = observation.signal
    claimed = claims_done(observation)
    gate = decide(
        met,
        total,
        signal=claimed,
        gaps=observation.gaps,
        required=rules.min_heuristics,
        require_signal=rules.require_signal or (said is not None and not claimed),
    )
    done = gate.decision is GateDecision.EXIT
    phase = Phase.COMPLETE if done else _phase(observation)
    step = stagnation.step(memory, observation, rules, phase=phase, claimed=claimed, done=done)
    end, reason = _end(observation, rules, gate, step)
    strategy, pursued, refusal = None, None, ""
    # A change of approach is for the next turn: only where there will be one.
    if step.event and (end is None or ENDS[end].resumable):
        pursued, refusal, after = hypothesis.consider(
            observation.hypothesis, observation.contract, observation.gaps, step.memory
        )
        if pursued is None:
            strategy = stagnation.pick(rules.strategy, memory.strategies)
            after = replace(after, strategies=(*memory.strategies, strategy))
        step = replace(step, memory=after)
        if end is None:
            reason = _event(step, rules)
    change = _pursue(pursued) if pursued else _diversify(strategy) if strategy else ""
    return Judgement(
        iteration=observation.iteration,
        phase=phase,
        progress=progress(phase, met, total),
        gate=gate,
        state_hash=step.state_hash,
        previous_hash=step.previous_hash,
        counter=step.counter,
        failure=step.failure,
        verify_failure=step.verify_failure,
        progressed=step.progressed,
        signature=step.signature,
        warning=step.warning,
        event=step.event,
        strategy=strategy,
        end=end,
        reason=reason,
        next_action=_next_action(_plan(observation, gate), step, change, end, reason),
        memory=step.memory,
        hypothesis=pursued,
        refusal=refusal,
    )


def claims_done(observation: Observation) -> bool:
    """Whether the agent's signal is an exit signal to the gate (see :func:`judge`)."""
    said = observation.signal
    return said is not None and said.success and not _nothing_to_do(observation)


def _nothing_to_do(observation: Observation) -> bool:
    said = observation.signal
    return (
        said is not None
        and said.success
        and said.no_op
        and bool(said.reason.strip())
        and not observation.gaps
        and not observation.run_changed
    )


def _phase(observation: Observation) -> Phase:
    return detect(
        tests_exit=observation.tests_exit,
        files_changed=observation.files_changed,
        files_read=observation.files_read,
    ).phase


def _end(observation: Observation, rules: Rules, gate: Gate, step: Step) -> tuple[End | None, str]:
    """The first end that applies and its sentence; the gate's when the run goes on.

    A satisfied gate wins over every abort of the same iteration. The approval gate stands behind
    the ends after which there is nothing to approve, the last iteration among them (Navigator
    asks before it looks for stagnation), but before the time budget: a run that is taken up
    again by itself must not pass a person by.
    """
    number = observation.iteration
    ends: Iterable[tuple[End, str | None]] = (
        (End.COMPLETE, gate.reason if gate.decision is GateDecision.EXIT else None),
        (End.DECLINED, _declined(observation.signal)),
        (End.NO_OP, _idle(observation)),
        (End.USER_ABORTED, "A person asked to stop." if observation.stop_requested else None),
        (
            End.FAILURE_BUDGET,
            budget.failures(step.memory.verify_failures, rules, converging=step.progressed),
        ),
        (End.STAGNATED, _stagnated(step, rules)),
        (End.COST_BUDGET, budget.cost(observation.spent, rules)),
        # Before the ends that are taken up again: there is no iteration left to go on with.
        (End.MAX_ITERATIONS, budget.iterations(number, rules, gate.reason)),
        (
            End.AWAITING_APPROVAL,
            f"Iteration {number} waits for a person's approval ({rules.approval})."
            if approval_due(number, rules)
            else None,
        ),
        (End.TIME_BUDGET, budget.time(observation.out_of_time)),
    )
    return next(((end, why) for end, why in ends if why is not None), (None, gate.reason))


def _declined(said: ExitSignal | None) -> str | None:
    if said is None or said.success:
        return None
    return f"The agent declined: {one_line(said.reason) or 'it gave no reason'}"


def _idle(observation: Observation) -> str | None:
    said = observation.signal
    if said is None or not _nothing_to_do(observation):
        return None
    return f"The agent found nothing to do: {one_line(said.reason)}"


def _stagnated(step: Step, rules: Rules) -> str | None:
    events = step.memory.events
    if not step.event or (rules.never_pause and events < LAST_EVENT):
        return None
    return _event(step, rules)


def _event(step: Step, rules: Rules) -> str:
    of = f" of {LAST_EVENT}" if rules.never_pause else ""
    return (
        f"Stagnation event {step.memory.events}{of}: the state stayed the same, or failures made "
        f"no progress, {step.counter} times in a row."
    )


def _pursue(said: Hypothesis) -> str:
    return f"Pursue the hypothesis on {one_line(said.gap, 120)}: {one_line(said.change, 200)}"


def _diversify(strategy: Strategy) -> str:
    return f"Diversify ({strategy.upper()}): {TACTIC[strategy]}"


def _next_action(plan: str, step: Step, change: str, end: End | None, reason: str) -> str:
    """One imperative sentence: what the next turn does, or that there is none and why.

    ``change`` is the new approach that an event made; empty without one.
    """
    if end is End.COMPLETE:
        return "Close the run: LOOP COMPLETE."
    if change:
        plan = f"{change}; then {_lower(plan)}"
    elif step.warning:
        plan = f"State a new hypothesis, as the run is about to stagnate; then {_lower(plan)}"
    if end is None:
        return plan
    stop = f"Stop the run ({end}): {_lower(reason)}"
    return f"{stop} When it goes on, {_lower(plan)}" if change else stop


def _plan(observation: Observation, gate: Gate) -> str:
    if observation.gaps:
        when = " before signalling exit again" if gate.decision is GateDecision.BLOCKED else ""
        return f"Close {summary(observation.gaps)}{',' if when else ''}{when}."
    if gate.met < gate.required:
        readings = observation.indicators.items()
        unmet = ", ".join(n for n, reading in readings if reading.met is False and n not in CLOSING)
        return f"Go on with the task: {gate.required - gate.met} more of {unmet or 'none'} needed."
    return "Check the work against the task and, if all of it is done, give the exit signal."


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
