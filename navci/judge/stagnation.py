"""Equal states, semantic progress, failure signatures, and the events they make (DESIGN §4)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from navci.model import Gaps, Memory, Observation, Rules, Strategy

# The event of a run that no longer diversifies but aborts (Navigator: "3 times within a run").
LAST_EVENT = 3
ROTATION = (Strategy.COMBINE, Strategy.RADICAL, Strategy.REREAD)


def state_hash(
    phase: str, met: Collection[str], files_changed: Collection[str], error_state: str | None
) -> str:
    """Navigator's six hex digits: MD5 over Python's default JSON of four sorted keys."""
    state = {
        "phase": str(phase),
        "indicators": sorted(map(str, met)),
        "files_changed": sorted(files_changed),
        "error_state": error_state,
    }
    text = json.dumps(state, sort_keys=True)
    return hashlib.md5(text.encode("ascii"), usedforsecurity=False).hexdigest()[:6]


def equal_in_a_row(history: Sequence[str], current: str) -> int:
    """How often ``current`` stands at the end of ``history``, itself included (not yet in it)."""
    row = 1
    for earlier in reversed(history):
        if earlier != current:
            break
        row += 1
    return row


def signature(contract: str, gaps: Gaps) -> str:
    """A failure's identity: SHA-256 of canonical JSON {contract, acc, chk}, never of a cut list."""
    identity = {"contract": contract, "acc": sorted(gaps.acc), "chk": sorted(gaps.chk)}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def includes(larger: Gaps, smaller: Gaps) -> bool:
    """Whether every gap of ``smaller`` is one of ``larger``."""
    return smaller.acc <= larger.acc and smaller.chk <= larger.chk


def progressed(gaps: Gaps, last: Gaps | None, smallest: Gaps | None) -> bool:
    """Whether a failure is progress against the ``last`` one of its contract.

    Both sets shrink or stay, one shrinks, and the result is not a superset of the ``smallest``
    set already reached (else A,B → A → A,B → A would count as progress for ever).
    """
    if last is None or not includes(last, gaps) or gaps == last:
        return False
    return smallest is None or not includes(gaps, smallest)


def pick(strategy: Strategy, used: Sequence[Strategy]) -> Strategy:
    """What a diversification does; ``rotate`` goes through the others, one a diversification."""
    return ROTATION[len(used) % len(ROTATION)] if strategy is Strategy.ROTATE else strategy


def adjusted(memory: Memory) -> Memory:
    """Memory after a person rejected the last iteration: its state hash is not in the history."""
    return replace(memory, hashes=memory.hashes[:-1])


@dataclass(frozen=True, slots=True)
class Step:
    """One iteration seen as part of a sequence; the fields are those of ``Judgement``."""

    state_hash: str
    previous_hash: str | None
    counter: int
    failure: bool
    verify_failure: bool
    progressed: bool
    signature: str | None
    warning: bool
    event: bool
    memory: Memory


def step(
    memory: Memory,
    observation: Observation,
    rules: Rules,
    *,
    phase: str,
    claimed: bool,
    done: bool,
) -> Step:
    """Add one iteration to ``memory``.

    An iteration is a failure when it has gaps and changed the tree or ``claimed`` to be done; its
    signature is then the hash's error state. The first failure of a streak counts 1, as does one
    that is progress (Comet Native Loop). An iteration that is no failure neither adds to
    the failures in a row nor ends them, as a passing verification does not in Comet; one without
    gaps does not show them. ``done``: the exit gate is satisfied, and a finished run
    cannot stagnate.
    """
    gaps = observation.gaps
    failure = bool(gaps) and (observation.tree_changed or claimed)
    signed = signature(observation.contract, gaps) if failure else None
    met = [name for name, reading in observation.indicators.items() if reading.met]
    hashed = state_hash(phase, met, observation.files_changed, signed[:12] if signed else None)
    previous = memory.hashes[-1] if memory.hashes else None
    row = equal_in_a_row(memory.hashes, hashed)
    better = failure and progressed(gaps, memory.last_failure, memory.smallest)
    memory = replace(memory, hashes=(*memory.hashes, hashed))
    if failure:
        memory = _with_failure(memory, gaps, signed, better, claimed)
    counter = max(row, memory.failures_since_event if gaps else 0)
    event = not done and counter >= rules.stagnation_threshold
    if event:
        memory = replace(memory, hashes=(), failures_since_event=0, events=memory.events + 1)
    return Step(
        state_hash=hashed,
        previous_hash=previous,
        counter=counter,
        failure=failure,
        verify_failure=failure and claimed,
        progressed=better,
        signature=signed,
        warning=not done and not event and counter >= rules.stagnation_threshold - 1,
        event=event,
        memory=memory,
    )


def _with_failure(
    memory: Memory, gaps: Gaps, signed: str | None, better: bool, claimed: bool
) -> Memory:
    # The earlier of two equally small sets stays: swapping between them is not getting anywhere.
    smaller = memory.smallest is None or len(gaps) < len(memory.smallest)
    return replace(
        memory,
        failures_since_event=1 if better else memory.failures_since_event + 1,
        streak=1 if better else memory.streak + 1,
        last_failure=gaps,
        smallest=gaps if smaller else memory.smallest,
        signatures=memory.signatures | ({signed} if signed else frozenset()),
        verify_failures=memory.verify_failures + claimed,
    )
