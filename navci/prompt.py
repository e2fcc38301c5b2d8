"""What the agent is told each iteration (DESIGN §3 step 2); the words are in ``templates/prompt``.

An agent may echo its prompt, whole or in part, quoted or not: no line of it may ever read as a
signal. The templates hold none, and every text from outside stands either on one line behind
words of ours, or indented by four spaces inside a fence longer than any run of backticks in it:
an indented line neither opens nor closes a block, whatever stands around the echo.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from navci.model import (
    AcceptanceItem,
    CheckSpec,
    Gaps,
    GateDecision,
    Indicators,
    Judgement,
    Phase,
)
from navci.system.neutral import code_span, excerpt, one_line, plain
from navci.system.templates import render

MAX_GAPS = 24 * 1024  # bytes of the prompt that gaps and their excerpts may take
_NAMES = 6 * 1024  # of these, kept for the names of gaps whose excerpts do not fit
_MAX_EXCERPT = 1500
_MAX_BODY = 100_000
_MAX_ITEMS = 100
_MAX_LINES = 20
_MAX_PATHS = 200
_BACKTICKS = re.compile(r"`+")

# Failed acceptance comes before missing, evidence before guards (Comet Native Loop).
_KINDS = (
    ("check:", "this check is red"),
    ("test:", "this test is red, or no longer runs"),
    ("original:", "this test fails with the test files as they were at base"),
    ("guard:", "this is not yours to change; your change was put back or left out"),
)


@dataclass(frozen=True, slots=True)
class PromptFacts:
    """Everything a prompt is made of.

    ``title``, ``body`` and ``items`` are the task's, as :func:`navci.task.text_for_agent` gives
    them. ``labels`` and ``excerpts`` say per gap id why it is open and what the evidence shows.
    ``missing`` (no evidence yet) and ``satisfied`` hold ids of acceptance items; an item that is
    neither a gap nor satisfied is unverified. ``previous`` is the last judgement, ``indicators``
    what it was judged on; ``complaints`` come from :class:`navci.model.Signals`. ``diagnose`` and
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
    missing: frozenset[str] = frozenset()
    satisfied: frozenset[str] = frozenset()
    previous: Judgement | None = None
    indicators: Indicators = field(default_factory=dict)
    stagnation_threshold: int = 3
    complaints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    diagnose: bool = False
    verification_checkpoints: bool = False


def build_prompt(facts: PromptFacts) -> str:
    """The prompt of one iteration. Never parses as a signal, whatever the facts hold."""
    last = facts.previous
    refused = last is not None and last.gate.decision is GateDecision.BLOCKED
    stage = "first" if last is None else "diversify" if last.event else "go on"
    return render(
        "prompt/turn.md.j2",
        facts=facts,
        task=_data(_task(facts), _MAX_BODY),
        items=_items(facts),
        checks=[f"{code_span(spec.id)}: {code_span(spec.command, 500)}" for spec in facts.checks],
        protect=[code_span(glob) for glob in facts.protect],
        gaps=_gaps(facts),
        gap_count=len(facts.gaps),
        status=_status(facts, last) if last else "",
        notes=_lines(facts.notes),
        complaints=_lines(facts.complaints),
        stage=stage,
        strategy=last.strategy if last else None,
        unmet=[name.value for name, reading in facts.indicators.items() if reading.met is False],
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


def _data(text: str, limit: int) -> str:
    """A text from outside as a block that no echo can parse; the middle of a longer one is cut."""
    lines = excerpt(text, limit, line_limit=limit).split("\n")
    longest = max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)
    ticks = "`" * max(3, longest + 1)
    body = "\n".join(f"    {line}".rstrip() for line in lines)
    return f"{ticks}text\n{body}\n{ticks}"


def _lines(texts: Sequence[str]) -> list[str]:
    shown = [one_line(text, 500) for text in texts[:_MAX_LINES]]
    rest = len(texts) - len(shown)
    return [*shown, f"and {rest} more"] if rest else shown


def _items(facts: PromptFacts) -> list[str]:
    shown = []
    for item in facts.items[:_MAX_ITEMS]:
        if item.id in facts.gaps.acc:
            state = "no evidence yet" if item.id in facts.missing else "not true yet"
        elif item.id in facts.satisfied:
            state = "true"
        else:
            state = "unverified: nothing measures it, so you must make sure of it"
        shown.append(f"{code_span(item.text, 500)} ({state})")
    rest = len(facts.items) - len(shown)
    return [*shown, f"and {rest} more, all in the task above"] if rest else shown


def _gaps(facts: PromptFacts) -> str:
    """The open gaps, most telling first, in at most ``MAX_GAPS`` bytes."""
    items = {item.id: item.text for item in facts.items}
    order = sorted(facts.gaps.acc, key=lambda gap: (gap in facts.missing, gap))
    order += sorted(facts.gaps.chk, key=lambda gap: (_kind(gap)[0], gap))
    shown: list[str] = []
    left = MAX_GAPS - 200  # for the line that says how many are not shown
    for gap in order:
        why = facts.labels.get(gap) or _why(gap, items, facts.missing)
        entry = f"- {code_span(gap)}: {one_line(why, 500)}"
        detail = facts.excerpts.get(gap, "")
        if plain(detail).strip():
            whole = f"{entry}\n\n{_data(detail, _MAX_EXCERPT)}\n"
            entry = whole if _size(whole) <= left - _NAMES else entry
        if _size(entry) > left:
            break
        left -= _size(entry)
        shown.append(entry)
    rest = len(order) - len(shown)
    if rest:
        shown.append(f"- … and {rest} of {len(order)} open gaps that are not shown here")
    return "\n".join(shown).rstrip("\n")


def _size(entry: str) -> int:
    return len(entry.encode()) + 1


def _kind(gap: str) -> tuple[int, str]:
    for place, (prefix, why) in enumerate(_KINDS):
        if gap.startswith(prefix):
            return place, why
    return len(_KINDS), "this is not true yet"


def _why(gap: str, items: Mapping[str, str], missing: frozenset[str]) -> str:
    if gap not in items:
        return _kind(gap)[1]
    return f"{'no evidence yet for' if gap in missing else 'not true yet'}: {items[gap]}"


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
