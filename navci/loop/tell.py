"""What the next prompt is made of."""

from __future__ import annotations

from navci.loop.observe import excerpts_of, gaps_of, statuses_of
from navci.loop.run import Run
from navci.prompt import PromptFacts
from navci.task import text_for_agent


def prompt_facts(run: Run, number: int) -> PromptFacts:
    """The facts of iteration ``number``'s prompt: the last judgement, or the baseline."""
    last = run.iterations[-1] if run.iterations else None
    gaps = last.observation.gaps if last else gaps_of(run, {})
    return PromptFacts(
        iteration=number,
        max_iterations=run.settings.rules.max_iterations,
        title=run.task.title,
        body=text_for_agent(run.task),
        items=run.contract.items,
        checks=run.required,
        protect=run.settings.protect,
        gaps=gaps,
        excerpts=last.excerpts if last else excerpts_of(run, gaps),
        statuses=last.observation.acceptance if last else statuses_of(run),
        hypotheses=run.state.memory.hypotheses,
        previous=last.judgement if last else None,
        indicators=last.observation.indicators if last else {},
        stagnation_threshold=run.settings.rules.stagnation_threshold,
        complaints=run.complaints,
        notes=(*adjusted(run), *(last.notes if last else ())),
        diagnose=run.settings.diagnose,
        verification_checkpoints=run.settings.verification_checkpoints,
    )


def adjusted(run: Run) -> tuple[str, ...]:
    """What a person told the agent by `/navci adjust`."""
    note = run.ticket.note if run.ticket else ""
    return (f"a person with write access adds: {note}",) if note else ()
