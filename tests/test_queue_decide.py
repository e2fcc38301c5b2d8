"""Decisions and orders as tables: facts in, run or not and why out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navci.actions.event import Asked
from navci.actions.slash import MAX_NOTE, Command, Word, command_of_words, read_command
from navci.journal import Lease, State
from navci.model import End, GitHubRules, Memory
from navci.queue.approved import (
    Change,
    Labelling,
    changes_since,
    labelling,
    refuse_change,
    unseen_edits,
)
from navci.queue.blockers import blockers
from navci.queue.decide import (
    Past,
    Person,
    past_of,
    refuse_busy,
    refuse_event,
    refuse_issue,
    refuse_person,
    refuse_spent,
    refuse_text,
    refuse_unarmed,
    refuse_word,
)
from navci.queue.matrix import matrix_json
from navci.queue.order import (
    Candidate,
    closed_long_ago,
    label_after,
    limit,
    ordered,
    starting,
    worth_a_look,
)
from navci.queue.refusals import REFUSALS, Refusal
from navci.tickets.github_answers import Edit, Happened, Issue, Permission

RULES = GitHubRules()
T = datetime(2026, 3, 1, 12, tzinfo=UTC)
ISSUE = Issue(7, "Fix it", "Please.", ("loop-mode",), "eve", "open", None, False, False, "", "")


def after(minutes: float) -> datetime:
    return T + timedelta(minutes=minutes)


def test_every_refusal_says_what_to_do() -> None:
    assert set(REFUSALS) == set(Refusal)
    for means, do in REFUSALS.values():
        assert means.endswith(".")
        assert do.endswith(".")


# --- commands -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "command"),
    [
        ("/navci run", Command(Word.RUN, "", "run")),
        ("/navci RUN, please", Command(None, "", "RUN,")),
        ("/NavCI  Stop now\r\n", Command(Word.STOP, "", "Stop")),
        ("Well.\n/navci abort", Command(Word.ABORT, "", "abort")),
        ("> quoted\n/navci continue", Command(Word.CONTINUE, "", "continue")),
        ("- a list\n/navci run", Command(Word.RUN, "", "run")),
        ("/navci adjust use x\nand y\n", Command(Word.ADJUST, "use x\nand y", "adjust")),
        ("/navci adjust", Command(Word.ADJUST, "", "adjust")),
        ("/navci adjust a <!-- not this -->\u202eb", Command(Word.ADJUST, "a b", "adjust")),
        ("/navci stop\n/navci run", Command(Word.STOP, "", "stop")),
        ("```\n/navci stop\n```\n/navci run", Command(Word.RUN, "", "run")),
        ("/navci dance", Command(None, "", "dance")),
        ("/navci", Command(None, "", "")),
        ("see /navci run", None),
        (" /navci run", None),
        ("> /navci run", None),
        ("    /navci run", None),
        ("~~~\n/navci run", None),
        ("<!--\n/navci run\n-->", None),
        ("<details>\n/navci run\n</details>", None),
        ("/navcirun", None),
        ("", None),
        ("/navci run" + "x" * (1 << 20), None),
    ],
)
def test_commands(comment: str, command: Command | None) -> None:
    assert read_command(comment) == command


def test_a_note_has_an_end() -> None:
    command = read_command("/navci adjust " + "long " * 10_000)
    assert command is not None
    assert MAX_NOTE - 10 < len(command.text) <= MAX_NOTE
    assert command_of_words("adjust  this\nand that").text == "this\nand that"


@given(st.text())
def test_any_comment_is_read(comment: str) -> None:
    read_command(comment)
    read_command(f"/navci {comment}")


# --- events ---------------------------------------------------------------------------------


def asked(name: str, action: str = "", issue: int | None = None, word: Word | None = None) -> Asked:
    return Asked(name, action, issue, command=Command(word) if word else None)


@pytest.mark.parametrize(
    ("ask", "number", "reason"),
    [
        (asked("schedule"), None, Refusal.NO_ISSUE),
        (asked("schedule"), 7, None),
        (asked("workflow_dispatch"), 7, None),
        (asked("workflow_dispatch", "", 7, Word.RUN), 7, None),
        (asked("workflow_dispatch", "", 7, Word.ADJUST), 7, Refusal.NO_NOTE),
        (asked("repository_dispatch", "go", None, Word.RUN), None, Refusal.NO_ISSUE),
        (asked("issue_comment", "created", 7), 7, Refusal.NO_COMMAND),
        (asked("issue_comment", "deleted", 7, Word.RUN), 7, Refusal.EVENT),
        (asked("issues", "opened", 7), 7, Refusal.EVENT),
        (asked("issues", "labeled", 7), 7, Refusal.OTHER_LABEL),
        (asked("push"), None, Refusal.EVENT),
        (asked(""), 7, None),
    ],
)
def test_events(ask: Asked, number: int | None, reason: Refusal | None) -> None:
    refused = refuse_event(ask, number, RULES)
    assert (refused and refused.reason) == reason


@pytest.mark.parametrize(
    ("person", "reason"),
    [
        (Person("a", Permission.ADMIN), None),
        (Person("a", Permission.WRITE), None),
        (Person("a", Permission.READ), Refusal.NO_WRITE_ACCESS),
        (Person("a"), Refusal.NO_WRITE_ACCESS),
        (Person(""), Refusal.NO_WRITE_ACCESS),
        (Person("a[bot]", Permission.WRITE), None),
        (Person("a", Permission.WRITE, app=True), Refusal.APP),
        (Person("a", app=True, listed=True), None),
        (Person("a[bot]", listed=True), None),
    ],
)
def test_people(person: Person, reason: Refusal | None) -> None:
    refused = refuse_person(person, "asked")
    assert (refused and refused.reason) == reason


# --- whose word -----------------------------------------------------------------------------


def one(kind: str, actor: str, label: str | None, minutes: float) -> Happened:
    return Happened(kind, actor, after(minutes), label)


def on(actor: str, minutes: float, label: str = "loop-mode") -> Happened:
    return one("labeled", actor, label, minutes)


def off(actor: str, minutes: float, label: str = "loop-mode") -> Happened:
    return one("unlabeled", actor, label, minutes)


BEGUN = (on("bot", 10, "loop-running"), off("bot", 10))
PAUSED = (on("bot", 60), off("bot", 60, "loop-running"))


@pytest.mark.parametrize(
    ("timeline", "actor"),
    [
        pytest.param((), None, id="never labelled"),
        pytest.param((on("mona", 0), on("eve", 1, "bug")), "mona", id="another label"),
        pytest.param((on("mona", 0), off("mona", 1), on("eve", 2)), "eve", id="the last one"),
        pytest.param((on("mona", 0, "Loop-Mode"),), "mona", id="case"),
        pytest.param((on("mona", 0), *BEGUN, *PAUSED), "mona", id="paused"),
        pytest.param((on("mona", 0), *BEGUN, *PAUSED, *PAUSED), "mona", id="paused twice"),
        pytest.param((on("mona", 0), *BEGUN, *PAUSED, off("ada", 70), on("bot", 71)), "bot",
                     id="the app put it on again"),
        pytest.param((on("mona", 0), off("ada", 5), *PAUSED), "bot", id="taken off before"),
        pytest.param((on("mona", 0), *BEGUN, *PAUSED, off("mona", 80), on("ada", 90)), "ada",
                     id="armed again"),
    ],
)  # fmt: skip
def test_whose_labelling_it_is(timeline: tuple[Happened, ...], actor: str | None) -> None:
    found = labelling(timeline, RULES)
    assert (found.actor if found else None) == actor


LABELLED = Labelling("mona", T, 0)


@pytest.mark.parametrize(
    ("edits", "renames", "found"),
    [
        ((), (), []),
        ((Edit(after(-1), "eve"),), (), []),
        ((Edit(after(1), "ada"), Edit(after(-9), "eve")), (), [Change("body", "ada", after(1))]),
        ((Edit(T, "eve"),), (), []),
        ((Edit(T, "ada"),), (), [Change("body", "ada", T)]),
        ((Edit(T, "eve"), Edit(T, "eve")), (), [Change("body", "eve", T)]),
        ((), (one("renamed", "eve", None, 0),), [Change("title", "eve", T)]),
        ((), (one("commented", "eve", None, 3),), []),
        ((Edit(after(2), "Ada"), Edit(after(1), "ada")), (), [Change("body", "ada", after(1))]),
    ],
)
def test_edits_since(
    edits: tuple[Edit, ...], renames: tuple[Happened, ...], found: list[Change]
) -> None:
    assert changes_since(LABELLED, (on("mona", 0), *renames), edits, "eve") == found


def test_more_edits_than_are_told() -> None:
    many = tuple(Edit(after(200 - n), "mona") for n in range(100))
    assert unseen_edits(LABELLED, many) is not None
    assert unseen_edits(LABELLED, many[:99]) is None
    assert unseen_edits(replace(LABELLED, at=after(150)), many) is None


def test_who_may_edit() -> None:
    change = Change("body", "eve", after(1))
    assert refuse_change(change, Person("eve", Permission.WRITE), LABELLED) is None
    refused = refuse_change(change, Person("eve", Permission.READ), LABELLED)
    assert refused is not None
    assert refused.why == (
        "its body was edited by eve, who has no write access, at 2026-03-01T12:01:00Z, after mona "
        "labelled it; read it, then label again to approve"
    )


# --- the issue and its past -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("issue", "labelled", "reason"),
    [
        (ISSUE, True, None),
        (replace(ISSUE, labels=("LOOP-Running",)), True, None),
        (replace(ISSUE, labels=()), False, None),
        (replace(ISSUE, labels=()), True, Refusal.NOT_LABELLED),
        (replace(ISSUE, labels=("loop-mode", "Security")), True, Refusal.REFUSE_LABEL),
        (replace(ISSUE, state="closed"), True, Refusal.CLOSED),
        (replace(ISSUE, is_pull=True, state="closed"), True, Refusal.PULL_REQUEST),
    ],
)
def test_issues(issue: Issue, labelled: bool, reason: Refusal | None) -> None:
    refused = refuse_issue(issue, RULES, labelled=labelled)
    assert (refused and refused.reason) == reason


@pytest.mark.parametrize(
    ("title", "body", "reason"),
    [
        ("Fix it", "", None),
        ("Just do this once", "", Refusal.JUST_ONCE),
        ("x", "Please just do\nthis once.", Refusal.JUST_ONCE),
        ("x", "Write `just do this once`.", None),
        ("\u202e", "<!-- nothing -->", Refusal.EMPTY),
    ],
)
def test_words(title: str, body: str, reason: Refusal | None) -> None:
    refused = refuse_text(replace(ISSUE, title=title, body=body))
    assert (refused and refused.reason) == reason


RUN = State("issue-7", run="c0ffee", contract="c1", memory=Memory(verify_failures=5))
LEASE = Lease("elsewhere", "1", 7, 0.0, "t", T.timestamp() + 60, "1000", 1)


@pytest.mark.parametrize(
    ("state", "now", "job", "attempt", "alive"),
    [
        (replace(RUN, lease=LEASE), 0, "", 0, True),
        (replace(RUN, lease=LEASE), 61, "", 0, False),
        (replace(RUN, lease=LEASE), 0, "1000", 1, True),
        (replace(RUN, lease=LEASE), 0, "1000", 2, False),
        (replace(RUN, lease=LEASE), 0, "1001", 2, True),
        (replace(RUN, lease=LEASE, end=End.COMPLETE), 0, "", 0, False),
        (RUN, 0, "", 0, False),
    ],
)
def test_leases(state: State, now: float, job: str, attempt: int, alive: bool) -> None:
    past = past_of(state, T, T.timestamp() + now, job, attempt)
    assert past.alive is alive
    assert (refuse_busy(past) is not None) is alive


@pytest.mark.parametrize(
    ("state", "contract", "limit", "refused"),
    [
        (RUN, "c1", 5, True),
        (RUN, "c1", 6, False),
        (RUN, "c2", 5, False),
        (RUN, "", 5, False),
        (replace(RUN, contract="c3", shelved={"c1": RUN.memory}), "c1", 5, True),
        (None, "c1", 5, False),
    ],
)
def test_failure_budgets(state: State | None, contract: str, limit: int, refused: bool) -> None:
    assert (refuse_spent(Past(state), contract, limit) is not None) is refused


def past(end: End | None = None, paused: End | None = None, *, alive: bool = False) -> Past:
    return Past(replace(RUN, end=end, paused=paused), T, alive)


@pytest.mark.parametrize(
    ("known", "since", "reason"),
    [
        (Past(), None, None),
        (past(), after(-5), None),
        (past(paused=End.RATE_LIMITED), after(-5), None),
        (past(End.CONFIG_ERROR), after(-5), None),
        (past(End.STAGNATED), after(-5), Refusal.NOT_REARMED),
        (past(End.STAGNATED), None, Refusal.NOT_REARMED),
        (past(End.STAGNATED), T, Refusal.NOT_REARMED),
        (past(End.STAGNATED), after(5), None),
        (past(End.COMPLETE), after(-5), Refusal.NOT_REARMED),
        (past(End.TIME_BUDGET), after(-5), Refusal.NOT_REARMED),
        (past(paused=End.AWAITING_APPROVAL), after(-5), Refusal.WAITING),
        (past(paused=End.AWAITING_APPROVAL), after(5), None),
    ],
)
def test_rearming(known: Past, since: datetime | None, reason: Refusal | None) -> None:
    refused = refuse_unarmed(known, since)
    assert (refused and refused.reason) == reason


_WAITS = past(paused=End.AWAITING_APPROVAL)


@pytest.mark.parametrize(
    ("word", "known", "reason"),
    [
        (Word.RUN, Past(), None),
        (Word.STOP, past(alive=True), Refusal.STOPPING),
        (Word.ABORT, past(alive=True), Refusal.STOPPING),
        (Word.STOP, past(), Refusal.NOTHING_RUNS),
        (Word.STOP, _WAITS, Refusal.NOTHING_RUNS),
        (Word.ABORT, _WAITS, Refusal.ENDING),
        (Word.ABORT, past(), Refusal.NOTHING_RUNS),
        (Word.CONTINUE, _WAITS, None),
        (Word.ADJUST, _WAITS, None),
        (Word.CONTINUE, past(End.STAGNATED), Refusal.NOT_WAITING),
        (Word.ADJUST, Past(), Refusal.NOT_WAITING),
    ],
)
def test_what_words_want(word: Word, known: Past, reason: Refusal | None) -> None:
    refused = refuse_word(word, known)
    assert (refused and refused.reason) == reason


# --- blockers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("Fixes #3", ()),
        ("Blocked by #3.", (3,)),
        ("blocked by #3, #4; #5 and #6 but not #8", (3, 4, 5, 6)),
        ("**Depends on:** #3", (3,)),
        ("Depends on\n\n- #3\n- #4\n\nSee #5", (3, 4)),
        ("DEPENDS  ON octo/demo#3", (3,)),
        ("depends on other/repo#3 and #4", (None, 4)),
        ("blocked by #7", ()),
        ("unblocked by #3", ()),
        ("`blocked by #3`", ()),
        ("```\nblocked by #3\n```", ()),
        ("<!-- blocked by #3 -->", ()),
        ("blocked by " + ", ".join(f"#{n}" for n in range(100, 130)), (*range(100, 120), None)),
        ("blocked by the weather #3", ()),
    ],
)
def test_blockers(body: str, found: tuple[int | None, ...]) -> None:
    assert blockers(replace(ISSUE, body=body), "Octo/Demo") == found


@pytest.mark.parametrize(
    "body",
    ["blocked by " + " , " * 50_000 + "!#", "depends on " + "a/" * 100_000 + "#1",
     "blocked by #1 " * 20_000],
)  # fmt: skip
def test_long_lists_are_read_in_no_time(body: str) -> None:
    began = datetime.now(UTC)
    blockers(replace(ISSUE, body=body), "octo/demo")
    assert datetime.now(UTC) - began < timedelta(seconds=10)


# --- order ----------------------------------------------------------------------------------


def candidate(number: int, tried: float | None = None, *labels: str) -> Candidate:
    at = None if tried is None else after(tried)
    return Candidate(replace(ISSUE, number=number, labels=("loop-mode", *labels)), at)


def test_order() -> None:
    rules = replace(RULES, priority_labels=("P1", "p2"))
    queue = [
        candidate(1, 5),
        candidate(2, -5),
        candidate(3),
        candidate(4, -9, "p2"),
        candidate(5, None, "P2"),
        candidate(6, 100, "p1", "p2"),
        candidate(7, -5),
    ]
    want = [6, 5, 4, 3, 2, 7, 1]
    assert [one.issue.number for one in ordered(queue, rules)] == want
    assert [one.issue.number for one in ordered(reversed(queue), rules)] == want
    assert limit(rules) == 20
    assert limit(replace(rules, max_per_night=999)) == 256


@given(st.lists(st.integers(1, 10**9), unique=True, max_size=300))
def test_a_matrix_is_never_too_large(numbers: list[int]) -> None:
    import json

    told = json.loads(matrix_json(numbers))
    assert [entry["issue"] for entry in told["include"]] == numbers[:256]


@pytest.mark.parametrize(
    ("known", "label"),
    [
        (Past(), "loop-mode"),
        (past(), "loop-mode"),
        (past(paused=End.TIME_BUDGET), "loop-mode"),
        (past(End.TIME_BUDGET), "loop-aborted"),
        (past(End.CONFIG_ERROR), "loop-mode"),
        (past(End.USER_ABORTED), "loop-aborted"),
        (past(End.NO_OP), "loop-declined"),
        (past(End.COMPLETE), "done ✓"),
        (past(paused=End.AWAITING_APPROVAL), "loop-awaiting"),
    ],
)
def test_labels_after(known: Past, label: str) -> None:
    assert label_after(known, replace(RULES, label_complete="done ✓")) == label


def test_starting() -> None:
    timeline = (on("bot", -600, "loop-running"), on("bot", -10, "Loop-Running"), on("ada", 0, "x"))
    assert starting(timeline, RULES, T)
    assert not starting(timeline, RULES, after(6))
    assert not starting((), RULES, T)


def test_old_journals() -> None:
    days = {f"issue-{n}": T - timedelta(days=n) for n in range(80, 200)}
    first = worth_a_look(days, {"issue-199"}, T)
    assert len(first) == 20
    assert not {"issue-199", "issue-89"} & set(first)
    nights = [worth_a_look(days, (), T + timedelta(days=day)) for day in range(40)]
    assert len({task for night in nights for task in night}) >= 110, "each night others"
    closing = (one("closed", "mona", None, -10), one("reopened", "mona", None, -5))
    done = replace(ISSUE, state="closed")
    assert closed_long_ago(done, closing, T + timedelta(days=91))
    assert not closed_long_ago(done, closing, T + timedelta(days=89))
    assert not closed_long_ago(ISSUE, closing, T + timedelta(days=91))
