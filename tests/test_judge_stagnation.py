"""State hashes, streaks, signatures and events: Navigator's cases 13 to 21, Comet's sequences."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from navci.judge import judge
from navci.judge.stagnation import adjusted, equal_in_a_row, pick, progressed, signature, state_hash
from navci.model import End, Gaps, Memory, Phase, Rules, Strategy
from tests.support.observations import UNATTENDED, gaps, indicators, judge_all, observe


@pytest.mark.parametrize(
    ("phase", "met", "files", "error", "golden"),
    [
        (Phase.INIT, [], [], None, "9ea082"),
        (Phase.IMPL, [], [], None, "54a5bb"),
        (Phase.IMPL, ["code_committed"], ["b.ts", "a.ts"], None, "a0524c"),
        (Phase.IMPL, ["code_committed"], ["a.ts", "b.ts"], None, "a0524c"),
        (Phase.VERIFY, ["tests_passing", "code_committed"], ["a.ts"], None, "a97d2c"),
        (Phase.IMPL, [], [], "Test failed", "74c677"),
        (Phase.IMPL, [], ["é.py"], None, "919975"),
    ],
)
def test_state_hash_goldens(
    phase: Phase, met: list[str], files: list[str], error: str | None, golden: str
) -> None:
    assert state_hash(phase, met, files, error) == golden


def test_state_hash_of_a_name_that_is_not_utf_8() -> None:
    assert len(state_hash(Phase.IMPL, [], ["\udcff.py"], None)) == 6


@pytest.mark.parametrize(
    ("history", "row"),
    [([], 1), (["H", "H"], 3), (["H", "X", "H"], 2), (["H", "H", "X"], 1)],
)
def test_equal_hashes_at_the_end_of_the_history(history: list[str], row: int) -> None:
    assert equal_in_a_row(history, "H") == row


def test_unmet_indicators_are_not_in_the_hash() -> None:
    first = judge(Memory(), observe(met=2), UNATTENDED)
    assert first.state_hash == state_hash(Phase.VERIFY, list(indicators(2))[:2], ["a.py"], None)
    assert first.previous_hash is None
    assert judge(first.memory, observe(met=2), UNATTENDED).previous_hash == first.state_hash


def test_signature() -> None:
    text = '{"acc":["A"],"chk":["check:t","test:\\u00e9"],"contract":"c0"}'
    assert (
        signature("c0", gaps("test:é", "A", "check:t")) == hashlib.sha256(text.encode()).hexdigest()
    )
    assert signature("c1", gaps("A")) != signature("c0", gaps("A"))


def test_a_failure_puts_its_signature_into_the_state_hash() -> None:
    judged = judge(Memory(), observe("check:t"), UNATTENDED)
    assert judged.failure and judged.signature == signature("c0", gaps("check:t"))
    assert judged.memory.signatures == {judged.signature}
    assert judged.state_hash == state_hash(
        Phase.IMPL, ["code_committed"], ["a.py"], judged.signature[:12]
    )


# Comet's sequences (G1) as navci counts them: gaps of each iteration, then the streak.
SEQUENCES: dict[str, tuple[list[list[str]], list[int]]] = {
    "constant": ([["A"]] * 3, [1, 2, 3]),
    "swap": ([["A", "B", "c", "d"]] * 2 + [["A", "C", "c", "e"]], [1, 2, 3]),
    "shrink": ([["A", "B", "c", "d"]] * 2 + [["A", "c"]], [1, 2, 1]),
    "gap moved to a check": ([["A", "B"], ["A", "c"]], [1, 2]),
    "always another": ([["A"], ["B"], ["C"]], [1, 2, 3]),
    "back and still there": ([["A", "B"], ["A"], ["A", "B"], ["A", "B"]], [1, 1, 2, 3]),
    "oscillation": ([["A", "B"], ["A"], ["A", "B"], ["A"]], [1, 1, 2, 3]),
    "one fewer each time": ([list("abcde")[:n] for n in (5, 4, 3, 2, 1)], [1, 1, 1, 1, 1]),
    "smaller, but larger than before": ([["A", "B"], ["A"], ["A", "B", "C"], ["A", "B"]],
                                        [1, 1, 2, 3]),
    "green in between ends no streak": ([["A"], ["A"], [], ["A"]], [1, 2, 2, 3]),
}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENCES)
def test_streak(name: str) -> None:
    sequence, streaks = SEQUENCES[name]
    judged = judge_all(observe(*ids) for ids in sequence)
    assert [one.memory.streak for one in judged] == streaks
    events = [streak == 3 for streak in streaks]
    assert [one.event for one in judged] == events
    assert [one.warning for one in judged] == [one.counter == 2 and not one.event for one in judged]


def test_another_edit_with_the_same_gap_is_no_progress() -> None:
    edits = [["x.py"], ["y.py"], ["z.py"]]
    judged = judge_all(replace(observe("A"), files_changed=tuple(files)) for files in edits)
    assert [one.counter for one in judged] == [1, 2, 3]
    assert len({one.state_hash for one in judged}) == 3


@pytest.mark.parametrize(
    ("new", "last", "smallest", "expected"),
    [
        (gaps("A"), None, None, False),
        (gaps("A"), gaps("A", "B"), gaps("A", "B"), True),
        (gaps("A"), gaps("A", "b"), gaps("A", "b"), True),
        (gaps("A", "c"), gaps("A", "B"), gaps("A", "B"), False),
        (gaps("A"), gaps("A"), gaps("A"), False),
        (gaps("A", "B"), gaps("A", "B", "C"), gaps("A"), False),
        (gaps("A", "B"), gaps("A", "B", "C"), gaps("D"), True),
        (gaps("A"), gaps("A", "B"), gaps("A"), False),
    ],
)
def test_progress(new: Gaps, last: Gaps | None, smallest: Gaps | None, expected: bool) -> None:
    assert progressed(new, last, smallest) is expected


def test_constant_gap_has_events_after_3_6_and_9_and_aborts() -> None:
    judged = judge_all([observe("check:t")] * 12, Rules(max_iterations=12, never_pause=True))
    assert [one.iteration for one in judged if one.event] == [3, 6, 9]
    assert [one.iteration for one in judged if one.warning] == [2, 5, 8]
    assert [one.strategy for one in judged if one.event] == [
        Strategy.COMBINE,
        Strategy.COMBINE,
        None,
    ]
    assert judged[-1].end is End.STAGNATED and judged[-1].iteration == 9
    assert judged[-1].memory.streak == 9
    assert [one.counter for one in judged] == [1, 2, 3] * 3


def test_an_event_cuts_the_history_and_keeps_streak_and_signatures() -> None:
    third = judge_all([observe("A")] * 3)[-1]
    assert third.memory.hashes == () and third.memory.failures_since_event == 0
    assert third.memory.streak == 3 and third.memory.signatures
    assert third.counter == 3, "shown as it was before the event"


def test_an_idle_agent_stagnates_by_equal_states() -> None:
    idle = replace(observe("A"), tree_changed=False, files_changed=())
    judged = judge_all([idle] * 3)
    assert not any(one.failure for one in judged) and judged[-1].event


def test_attended_first_event_ends_the_run() -> None:
    judged = judge_all([observe("A")] * 5, Rules(never_pause=False))
    assert [one.end for one in judged] == [None, None, End.STAGNATED]
    assert judged[-1].strategy is None


def test_oscillating_gaps_stagnate_although_no_state_repeats() -> None:  # case 17
    judged = judge_all(observe(name) for name in "ABABABABAB")
    assert [one.iteration for one in judged if one.event] == [3, 6, 9]
    assert all(one.state_hash != one.previous_hash for one in judged)


def test_changed_content_of_the_same_files_is_a_new_state_when_gaps_change() -> None:  # case 19
    judged = judge_all([observe("a", "b", "c"), observe("a", "b"), observe("a")])
    assert len({one.state_hash for one in judged}) == 3 and judged[-1].counter == 1


def test_forty_failing_tests_fixed_two_at_a_time_have_no_event() -> None:
    reds = [f"test:t::{n:02}" for n in range(40)]
    steps = [observe("check:t", *reds[2 * n :]) for n in range(1, 20)] + [observe()]
    judged = judge_all(steps, Rules(max_iterations=21, never_pause=True))
    assert len(judged) == 20 and not any(one.event or one.warning for one in judged)
    assert all(one.progressed for one in judged[1:-1])


def test_threshold_two_warns_at_once() -> None:  # case 13
    rules = Rules(stagnation_threshold=2, never_pause=True)
    first, second = judge_all([observe("A")] * 2, rules)
    assert first.warning and not first.event and second.event and not second.warning


def test_adjusted_iteration_does_not_enter_the_history() -> None:  # case 20
    rules = Rules(approval="strict", never_pause=True)
    first = judge(Memory(), observe(), rules)
    assert first.end is End.AWAITING_APPROVAL
    assert judge(first.memory, observe(), rules).counter == 2
    assert judge(adjusted(first.memory), observe(), rules).counter == 1


def test_rotation() -> None:
    rules = Rules(strategy=Strategy.ROTATE, never_pause=True, max_iterations=20)
    judged = judge_all([observe("A")] * 12, rules)
    assert judged[-1].memory.strategies == (Strategy.COMBINE, Strategy.RADICAL)
    used: list[Strategy] = []
    for _ in range(4):
        used.append(pick(Strategy.ROTATE, used))
    assert used == [Strategy.COMBINE, Strategy.RADICAL, Strategy.REREAD, Strategy.COMBINE]
    assert pick(Strategy.RADICAL, used) is Strategy.RADICAL


def test_a_pass_between_failures_does_not_show_the_old_counter() -> None:
    judged = judge_all([observe("A"), observe("A"), observe()])
    assert [one.counter for one in judged] == [1, 2, 1]
    assert judged[-1].memory.failures_since_event == 2
