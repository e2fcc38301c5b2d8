"""Observations in a word, sequences of them judged one after the other, and Hypothesis's any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import strategies as st

from navci.judge import judge
from navci.model import (
    ExitSignal,
    Gaps,
    Hypothesis,
    Indicator,
    Indicators,
    Judgement,
    Memory,
    Observation,
    Reading,
    Rules,
    Strategy,
)

UNATTENDED = Rules(max_iterations=20, never_pause=True, max_verify_failures=100)
DONE = ExitSignal(success=True, no_op=False, reason="all criteria met")


def indicators(met: int = 1, total: int = 6) -> Indicators:
    """The first ``met`` of six are met; those beyond ``total`` are not applicable."""
    return {
        name: Reading(n < met if n < total else None, "not asked")
        for n, name in enumerate(Indicator)
    }


def gaps(*ids: str) -> Gaps:
    """Upper-case ids are acceptance items, the others checks."""
    return Gaps(
        acc=frozenset(name for name in ids if name.isupper()),
        chk=frozenset(name for name in ids if not name.isupper()),
    )


def observe(*ids: str, number: int = 1, claims: bool = False, met: int = 1) -> Observation:
    """An iteration that changed one file and left these gaps."""
    return Observation(
        iteration=number,
        contract="c0",
        indicators=indicators(met),
        gaps=gaps(*ids),
        signal=DONE if claims else None,
        files_changed=("a.py",),
        tests_exit=1 if ids else 0,
        tree_changed=True,
        run_changed=True,
    )


def judge_all(
    observations: Iterable[Observation], rules: Rules = UNATTENDED, memory: Memory | None = None
) -> list[Judgement]:
    """Numbered and judged in a row, up to the first end."""
    judged: list[Judgement] = []
    memory = memory or Memory()
    for number, observation in enumerate(observations, 1):
        judged.append(judge(memory, replace(observation, iteration=number), rules))
        memory = judged[-1].memory
        if judged[-1].end is not None:
            break
    return judged


NAMES = st.sampled_from(["A", "B", "C"]), st.sampled_from(["check:t", "test:a::b", "guard:x\n`"])
ANY_GAPS = st.builds(Gaps, acc=st.frozensets(NAMES[0]), chk=st.frozensets(NAMES[1]))
ANY_TEXT = st.text(max_size=12) | st.sampled_from(["\udcff", "```\n", "<!--", "\u202e"])
ANY_INDICATORS = st.dictionaries(
    st.sampled_from(Indicator), st.builds(Reading, st.none() | st.booleans(), ANY_TEXT)
)
ANY_HYPOTHESIS = st.builds(Hypothesis, NAMES[0] | NAMES[1] | ANY_TEXT, ANY_TEXT, ANY_TEXT)
ANY_OBSERVATION = st.builds(
    Observation,
    iteration=st.integers(0, 25),
    contract=ANY_TEXT,
    indicators=ANY_INDICATORS,
    gaps=ANY_GAPS,
    signal=st.none() | st.builds(ExitSignal, st.booleans(), st.booleans(), ANY_TEXT),
    files_changed=st.lists(ANY_TEXT, max_size=3).map(tuple),
    files_read=st.lists(ANY_TEXT, max_size=3).map(tuple),
    hypothesis=st.none() | ANY_HYPOTHESIS,
)
ANY_MEMORY = st.builds(
    Memory,
    hashes=st.lists(st.sampled_from(["000000", "a0524c"]), max_size=4).map(tuple),
    failures_since_event=st.integers(0, 6),
    streak=st.integers(0, 6),
    events=st.integers(0, 4),
    strategies=st.lists(st.sampled_from(Strategy), max_size=4).map(tuple),
    last_failure=st.none() | ANY_GAPS,
    smallest=st.none() | ANY_GAPS,
    verify_failures=st.integers(0, 6),
    hypotheses=st.lists(ANY_HYPOTHESIS, max_size=3).map(tuple),
)
ANY_RULES = st.builds(
    Rules,
    max_iterations=st.integers(0, 20),
    stagnation_threshold=st.integers(0, 5),
    min_heuristics=st.integers(0, 7),
    max_verify_failures=st.integers(0, 7),
    max_cost_usd=st.none() | st.floats(),
    max_tokens=st.none() | st.integers(),
    approval=st.sampled_from(["none", "strict", "periodic"]),
    approval_interval=st.integers(-1, 5),
)
