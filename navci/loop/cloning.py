"""Fresh clones of the run's commits: where claims are judged if that can be (DESIGN §5, Trust).

What git ignores here may be the agent's doing, and may be what the user's checks need. The base
commit tells: where a clone of it gives the results that the work tree gave, nothing is missing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TypeVar

from navci.errors import NavciError
from navci.evidence.checks import to_facts
from navci.loop.clean import Clone
from navci.loop.red_words import said_of
from navci.loop.run import Run
from navci.loop.verify import tags
from navci.model import CheckFacts
from navci.system.neutral import one_line

Result = TypeVar("Result")

_COULD_NOT_RUN = (126, 127)
_MOST = 5.0
"""How often the checks run at most where a claim is judged: base, twice the work, two states."""
_SPARE = 30.0


def why_not_cloned(run: Run) -> str:
    """Why a claim is judged in the work tree; empty when a fresh clone serves. Said once.

    With a ``setup-command`` it always does: what the clone lacks then is for that to bring.
    """
    if run.settings.setup_command:
        return ""
    if run.base_cloned is None:
        seconds = sum(result.seconds for result in run.checks)
        if run.seconds_left < _MOST * seconds + _SPARE:
            why = "there is not the time to judge the claim in a fresh clone of the commit"
            run.note(f"{why}; it is judged here, where files that git ignores count too")
            return why
        found = base_differs(run)
        if run.stop.requested:
            return found
        run.base_cloned = found
        if found:
            run.note(
                f"a fresh clone of the base commit is no measure of the work: {one_line(found)}; "
                "claims are judged here, where files that git ignores count too; give "
                "`setup-command` what makes a clone ready"
            )
    return run.base_cloned


def base_differs(run: Run) -> str:
    """What a fresh clone of base has otherwise than the baseline; empty when nothing."""
    if run.baseline is None or run.said_at_base is None:
        return "what the checks said of it here is not known"
    try:
        results = in_clone_of(run, run.state.base, lambda clone: clone.results())
    except NavciError as error:
        return str(error)
    before = {facts.check: facts for facts in run.baseline.checks}
    for result in results:
        known = before.get(result.check)
        if known is None or results_of(known) != results_of(to_facts(result)):
            return f"there, {result.why}"
        if not result.passed and result.receipt.exit_code in _COULD_NOT_RUN:
            return f"there, {result.why}"
    if said_of(results) != run.said_at_base:
        return "there, the checks are red for another reason"
    return ""


def in_clone_of(run: Run, commit: str, use: Callable[[Clone], Result]) -> Result:
    """``use`` of a clone that is removed afterwards."""
    place = run.folders.scratch / "clone"
    shutil.rmtree(place, ignore_errors=True)
    try:
        return use(
            Clone(
                place, run.git.git_dir, commit, run.state.base, run.settings,
                run.request.environment, run.clock, run.stop, tags(run),
                lambda: max(run.seconds_left, _SPARE),
                bytecode=run.bytecode_folder, instead_of=run.checkout.top,
            )
        )  # fmt: skip
    finally:
        shutil.rmtree(place, ignore_errors=True)


def results_of(facts: CheckFacts) -> tuple[object, ...]:
    """What must be the same for two runs of a check to say the same."""
    return facts.passed, facts.blind, facts.red, facts.passing, facts.unloaded
