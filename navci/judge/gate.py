"""The dual-condition exit gate (Navigator nav-loop, with navci's gaps) and the approval gate."""

from __future__ import annotations

from collections.abc import Collection

from navci.judge.gaps import summary
from navci.model import Gaps, Gate, GateDecision, Indicator, Indicators, Rules


def count(values: Collection[bool | None]) -> tuple[int, int]:
    """(met, total) of indicator values: ``None`` leaves the total; nothing given is 0 of 6."""
    if not values:
        return 0, len(Indicator)
    applicable = [value for value in values if value is not None]
    return sum(applicable), len(applicable)


def count_readings(indicators: Indicators) -> tuple[int, int]:
    """(met, total) of measured indicators."""
    return count([reading.met for reading in indicators.values()])


def decide(
    met: int,
    total: int,
    *,
    signal: bool,
    gaps: Gaps | None = None,
    required: int = 2,
    require_signal: bool = True,
) -> Gate:
    """One row of DESIGN's table, in Navigator's words.

    ``signal`` is the agent's claim that the work is done. Too few indicators block before gaps
    do, whatever the gaps. With ``required`` 0 the heuristics always hold, so that a lone signal
    exits (as in Navigator) unless there are gaps. A gap stops every exit, also one that
    needs no signal.
    """
    decision, reason = _row(met, total, signal, gaps or Gaps(), required, require_signal)
    return Gate(decision, f"{decision}: {reason}", met, total, required)


def _row(
    met: int, total: int, signal: bool, gaps: Gaps, required: int, require_signal: bool
) -> tuple[GateDecision, str]:
    heuristics = f"{met}/{total} heuristics"
    match met >= required, signal, bool(gaps):
        case True, True, False:
            return GateDecision.EXIT, f"{heuristics} + explicit signal"
        case True, True, True:
            return GateDecision.BLOCKED, f"Exit signal but {summary(gaps)}"
        case False, True, _:
            return GateDecision.BLOCKED, f"Exit signal but only {heuristics}"
        case True, False, False if not require_signal:
            return GateDecision.EXIT, f"{heuristics} (explicit signal not required)"
        case True, False, True if not require_signal:
            return GateDecision.CONTINUE, f"{heuristics}, {summary(gaps)}"
        case True, False, _:
            return GateDecision.CONTINUE, f"{heuristics}, awaiting EXIT_SIGNAL"
        case _:
            return GateDecision.CONTINUE, f"{heuristics}, no exit signal"


def approval_due(iteration: int, rules: Rules) -> bool:
    """Whether a person is asked after this iteration (Navigator ``iteration_approval``)."""
    if rules.approval == "periodic":
        return rules.approval_interval > 0 and iteration % rules.approval_interval == 0
    return rules.approval == "strict"
