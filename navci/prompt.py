"""What the agent is told each iteration (DESIGN §3 step 2); the words are in ``templates/prompt``.

An agent may echo its prompt, whole or in part, quoted or not: no line of it may ever read as a
signal. The templates hold none, and every text from outside stands either on one line behind
words of ours, or indented by four spaces inside a fence longer than any run of backticks in it:
an indented line neither opens nor closes a block, whatever stands around the echo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from navci.model import (
    CLOSING,
    MAX_HYPOTHESIS,
    AcceptanceItem,
    CheckSpec,
    Gaps,
    GateDecision,
    Hypothesis,
    Indicators,
    ItemState,
    ItemStatus,
    Judgement,
    Phase,
)
from navci.prompt_gaps import MAX_GAPS, MIN_GAPS, GapFacts, fenced, gap_list, within
from navci.system.neutral import code_span, one_line
from navci.system.templates import render

MAX_PROMPT = 32 * 1024
"""Bytes of a prompt, but for a task whose own text is longer than all the rest leaves it."""
_MAX_BODY = 100_000
_MAX_PATHS = 200
_MAX_HYPOTHESES = 8


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """Everything a prompt is made of.

    ``title``, ``body`` and ``items`` are the task's, as :func:`navci.task.text_for_agent` gives
    them; ``statuses`` says where the items stand. ``labels`` and ``excerpts`` say per gap id why
    it is open and what the evidence shows. ``previous`` is the last judgement, ``indicators`` what
    it was judged on; ``hypotheses`` are those of earlier runs, where there is none yet.
    ``complaints`` come from :class:`navci.model.Signals`. ``diagnose`` and
    ``verification_checkpoints`` are the ``tom_features`` of the settings.
    """

    iteration: int
    max_iterations: int
    title: str
    body: str
    items: tuple[AcceptanceItem, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    protect: tuple[str, ...] = ()
    gaps: Gaps = field(default_factory=Gaps)
    labels: Mapping[str, str] = field(default_factory=dict)
    excerpts: Mapping[str, str] = field(default_factory=dict)
    statuses: Mapping[str, ItemStatus] = field(default_factory=dict)
    previous: Judgement | None = None
    indicators: Indicators = field(default_factory=dict)
    stagnation_threshold: int = 3
    hypotheses: tuple[Hypothesis, ...] = ()
    complaints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    diagnose: bool = False
    verification_checkpoints: bool = False


def build_prompt(facts: PromptFacts) -> str:
    """The prompt of one iteration. Never parses as a signal, whatever the facts hold.

    The gaps get what the rest leaves them of ``MAX_PROMPT``.
    """
    rest = len(_prompt(facts, "").encode())
    room = max(MIN_GAPS, min(MAX_GAPS, MAX_PROMPT - rest))
    told = GapFacts(facts.gaps, facts.items, facts.statuses, facts.labels, facts.excerpts)
    return _prompt(facts, gap_list(told, room))


def _prompt(facts: PromptFacts, gaps: str) -> str:
    last = facts.previous
    refused = last is not None and last.gate.decision is GateDecision.BLOCKED
    return render(
        "prompt/turn.md.j2",
        facts=facts,
        task=fenced(_task(facts), _MAX_BODY),
        items=within(_items(facts), 4096, "all in the task above"),
        checks=within(
            [f"{code_span(spec.id)}: {code_span(spec.command, 500)}" for spec in facts.checks], 2048
        ),
        protect=within([code_span(glob) for glob in facts.protect], 1024),
        gaps=gaps,
        gap_count=len(facts.gaps),
        status=_status(facts, last) if last else "",
        hypotheses=_earlier(facts),
        notes=_lines(facts.notes),
        complaints=_lines(facts.complaints),
        stage="first" if last is None else "diversify" if last.event else "go on",
        strategy=last.strategy if last else None,
        pursued=_pursued(last.hypothesis) if last and last.hypothesis else (),
        refusal=one_line(last.refusal, 500) if last else "",
        unmet=[
            name.value
            for name, reading in facts.indicators.items()
            if reading.met is False and name not in CLOSING
        ],
        refused=one_line(last.gate.reason) if last and refused else "",
        warning=f"{last.counter}/{facts.stagnation_threshold}" if last and last.warning else "",
        verify=facts.verification_checkpoints and last is not None and last.phase is Phase.VERIFY,
    )


def build_simplify_prompt(paths: Sequence[str], *, base: str, protect: Iterable[str] = ()) -> str:
    """The prompt of the simplify turn over the changed code files ``paths`` (DESIGN §6).

    ``base`` is the commit they are compared with. What makes code simple is Navigator's list.
    """
    return render(
        "prompt/simplify.md.j2",
        paths=[code_span(path) for path in paths[:_MAX_PATHS]],
        more=max(0, len(paths) - _MAX_PATHS),
        base=one_line(base),
        protect=[code_span(glob) for glob in protect],
    )


def _task(facts: PromptFacts) -> str:
    """Title and text; a text that opens with its title says it once."""
    title = one_line(facts.title)
    if title in one_line(facts.body.partition("\n")[0], 1000):
        return facts.body
    return f"{title}\n\n{facts.body}"


def _lines(texts: Sequence[str]) -> list[str]:
    return within([one_line(text, 500) for text in texts], 2048)


def _items(facts: PromptFacts) -> list[str]:
    """The items that are no gap, unverified ones first: nobody but the agent looks after them."""
    unverified, satisfied = [], []
    for item in facts.items:
        status = facts.statuses.get(item.id)
        if item.id in facts.gaps.acc:
            continue
        if status is not None and status.state is ItemState.SATISFIED:
            satisfied.append(f"{code_span(item.text, 300)} (true: {one_line(status.why, 200)})")
        else:
            why = status.why if status else "nothing measures it"
            unverified.append(
                f"{code_span(item.text, 300)} (unverified, so make sure of it yourself: "
                f"{one_line(why, 200)})"
            )
    return [*unverified, *satisfied]


def _earlier(facts: PromptFacts) -> list[str]:
    """The hypotheses that were pursued before, the last ones last."""
    last = facts.previous
    earlier = last.memory.hypotheses if last else facts.hypotheses
    tried = [one for one in earlier if last is None or one != last.hypothesis]
    return [
        f"{code_span(one.gap, 120)}: {one_line(one.cause, 120)} → {one_line(one.change, 120)}"
        for one in tried[-_MAX_HYPOTHESES:]
    ]


def _pursued(said: Hypothesis) -> tuple[str, ...]:
    return (
        f"gap: {code_span(said.gap)}",
        f"cause: {one_line(said.cause, MAX_HYPOTHESIS)}",
        f"change: {one_line(said.change, MAX_HYPOTHESIS)}",
    )


def _status(facts: PromptFacts, last: Judgement) -> str:
    marks = {True: "x", False: " ", None: "-"}
    lines = [
        f"- Iteration {last.iteration}/{facts.max_iterations}: {last.phase}, {last.progress}%",
        f"- Exit gate: {one_line(last.gate.reason)}",
        f"- Stagnation: {last.counter}/{facts.stagnation_threshold}",
        f"- Next action: {one_line(last.next_action)}",
        "- Indicators:",
    ]
    for name, reading in facts.indicators.items():
        lines.append(f"  - [{marks[reading.met]}] {name.value}: {one_line(reading.why, 200)}")
    return "\n".join(lines if facts.indicators else lines[:-1])
