"""The NAVIGATOR_STATUS block, the exit block and the banners, as Navigator's nav-loop shows them.

The text is plain, for a log or a code fence. What agents and test suites put into it stays on
one line, and can neither close the fence that follows nor pass for a signal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from navci.judge.gaps import ordered
from navci.judge.gate import count_readings
from navci.judge.verdict import claims_done
from navci.model import (
    ENDS,
    End,
    GateDecision,
    Indicator,
    Iteration,
    Reading,
    Rules,
    Strategy,
)
from navci.outcome import LABELS
from navci.system.neutral import one_line, plain
from navci.system.templates import render

RULE = "━" * 52
_NOTES, _CHANGES, _OPEN = 10, 20, 3
# An indicator that nobody measured is not met, and the block still shows all six.
_UNREAD = Reading(False, "not measured")


class Banner(StrEnum):
    """The lines other tools look for (Navigator nav-loop)."""

    ACTIVATED = "LOOP MODE ACTIVATED"
    STAGNATION = "STAGNATION DETECTED"
    MAX_ITERATIONS = "MAX ITERATIONS REACHED"
    COMPLETE = "LOOP COMPLETE"
    ABORTED = "LOOP ABORTED"


def auto_diversify(strategy: Strategy) -> str:
    """The banner of a stagnation event that changes the approach instead of pausing."""
    return f"STAGNATION → AUTO-DIVERSIFY ({strategy.upper()})"


def banner(name: str, detail: str | None = None) -> str:
    """``name`` between two rules; below it ``detail``, which may have several lines."""
    lines = [_harmless(line) for line in plain(detail or "").strip().splitlines()]
    return render("banner.j2", rule=RULE, title=_harmless(name), detail="\n".join(lines))


def status_block(iteration: Iteration, rules: Rules) -> str:
    """One iteration's block, two blank lines, and its machine-readable ``pilot-signal`` block.

    ``EXIT_SIGNAL`` says what the agent said, with ``(refused)`` where the gate blocked it. The
    machine block's ``exit_signal`` is true only when the gate let it pass: some readers end on
    any true they see.
    """
    judged, indicators = iteration.judgement, iteration.observation.indicators
    met, total = count_readings(indicators)
    claimed = claims_done(iteration.observation)
    return render(
        "status_block.j2",
        rule=RULE,
        judged=judged,
        rules=rules,
        number=iteration.number,
        indicators=[
            {
                "label": LABELS[name],
                "met": indicators.get(name, _UNREAD).met,
                "why": _harmless(indicators.get(name, _UNREAD).why, 80),
            }
            for name in Indicator
        ],
        met=met,
        total=total,
        claimed=claimed,
        refused=claimed and judged.gate.decision is GateDecision.BLOCKED,
        next_action=_harmless(judged.next_action),
        notes=[_harmless(note) for note in (*iteration.notes[:_NOTES], *_last_words(iteration))],
        signal=_signal(
            {
                "v": 2,
                "type": "status",
                "phase": judged.phase,
                "progress": judged.progress,
                "iteration": iteration.number,
                "max_iterations": rules.max_iterations,
                "indicators": {name: indicators.get(name, _UNREAD).met for name in Indicator},
                "exit_signal": claimed and judged.gate.decision is GateDecision.EXIT,
            }
        ),
    )


def _last_words(iteration: Iteration) -> Iterator[str]:
    """What an end other than complete leaves open, and what a person can do about it."""
    end, gaps = iteration.judgement.end, ordered(iteration.observation.gaps)
    if end is None or end is End.COMPLETE:
        return
    if gaps:
        more = f" and {len(gaps) - _OPEN} more" if gaps[_OPEN:] else ""
        yield f"open: {', '.join(one_line(gap, 100) for gap in gaps[:_OPEN])}{more}"
    yield f"what to do next: {ENDS[end].next_step}"


def exit_block(reason: str, changes: Sequence[str]) -> str:
    """The exit ``pilot-signal`` block that comes with LOOP COMPLETE, and the key changes."""
    return render(
        "exit_block.j2",
        signal=_signal(
            {
                "v": 2,
                "type": "exit",
                "success": True,
                "exit_signal": True,
                "reason": one_line(reason),
            }
        ),
        changes=[_harmless(change) for change in changes[:_CHANGES]] or ["no files changed"],
        more=max(0, len(changes) - _CHANGES),
    )


def _signal(value: Mapping[str, object]) -> str:
    """One line of ASCII JSON without a backtick or angle bracket of its own."""
    text = json.dumps(value, separators=(",", ":"))
    for mark in "`<>":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _harmless(text: str, limit: int = 500) -> str:
    """One line that opens no fence and no comment and is no signal, wherever it may be read."""
    line = one_line(text, limit).replace("`", "'").replace("~~~", "~ ~ ~").replace("<!--", "<! --")
    # A line of its own that is JSON would be a signal without any fence.
    return f"- {line}" if line.startswith("{") else line
