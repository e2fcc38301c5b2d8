"""navci.journal: the ledger in git, what it refuses, and what a damaged one still gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from navci.errors import InfraError, JournalDamaged
from navci.journal import (
    ATTEMPT,
    CLOSING,
    CREATED,
    JUDGED,
    NOT_JUDGED,
    OPENED,
    Journal,
    Judged,
    State,
    judged_record,
    ref_of,
    take_lease,
)
from navci.judge import JUDGE_VERSION, judge
from navci.model import Baseline, End, Gaps, Memory, Observation, Rules, Strategy, Usage
from navci.system.checkout import adopt, find_checkout
from navci.system.clock import SYSTEM_CLOCK
from navci.system.git import Git
from tests.support.navci_run import journal_events, run_navci, write_playbook
from tests.support.observations import observe
from tests.support.repos import git, make_repo

TASK = "TASK-7"
REF = ref_of(TASK)
RULES = Rules(max_iterations=9)


@pytest.fixture
def ours(tmp_path: Path) -> Git:
    repo = make_repo(tmp_path / "repo", {"a.txt": "one\n"})
    (tmp_path / "run").mkdir()
    return adopt(find_checkout(repo), tmp_path / "run")


def open_journal(ours: Git, task: str = TASK) -> Journal:
    return Journal(ours, task, SYSTEM_CLOCK)


def judged(observation: Observation, before: Memory, **more: Any) -> Judged:
    judgement = judge(before, observation, RULES)
    return replace(
        Judged(JUDGE_VERSION, RULES, before, observation, judgement, None, {}, (), "", 1.5), **more
    )


def fill(journal: Journal, *observations: Observation, run: str = "r1") -> State:
    """A run that is under way, with these iterations behind it."""
    state = State(TASK, run=run, memory=journal.state.memory)
    journal.append(OPENED, state, {"version": "1"})
    for observation in observations:
        record = judged(observation, state.memory)
        state = replace(state, iteration=observation.iteration, memory=record.judgement.memory)
        journal.append(JUDGED, state, record)
    return state


THREE = [observe("check:t", number=n) for n in (1, 2, 3)]


# --- append and read back -------------------------------------------------------------------


def test_everything_comes_back(ours: Git) -> None:
    head = git(ours.git_dir, "rev-parse", "HEAD")
    memory = Memory(
        hashes=("a0524c",), failures_since_event=2, streak=3, events=1,
        strategies=(Strategy.RADICAL,), last_failure=Gaps(frozenset({"A"}), frozenset({"b"})),
        smallest=Gaps(), signatures=frozenset({"s"}), verify_failures=4,
    )  # fmt: skip
    state = State(
        TASK, run="r1", token="t", started="2026-11-30T22:15:00Z", base="b", base_branch="main",
        origin="o", branch="navci/x", head=head, snapshot="s", contract="c", iteration=3, attempt=5,
        troubles=1, memory=memory, spent=Usage(0.1 + 0.2, 7), lease=take_lease("t", 1e9, 60.5),
        place="here", deciding=End.STAGNATED, closing=("pushed",), end=End.STAGNATED,
        reason="caf\u00e9 \udcff \U0001f600", shelved={"c1": memory},
    )  # fmt: skip
    journal = open_journal(ours)
    journal.append(OPENED, state, {"rules": RULES, "path": "\udcff\u2028", "none": None})
    again = open_journal(ours)
    assert again.state == state
    assert again.tip == journal.tip == git(ours.git_dir, "rev-parse", REF)
    assert again.warnings == []
    first, opened = again.events()
    assert (first.kind, first.seq, opened.kind, opened.seq, opened.run) == (
        CREATED, 1, OPENED, 2, "r1",
    )  # fmt: skip
    assert opened.data["path"] == "\udcff\u2028"
    assert opened.commit == again.tip


def test_a_judgement_comes_back_typed_and_is_judged_again(ours: Git) -> None:
    path = "caf\udce9.txt"
    observation = replace(observe("check:t", f"guard:{path}"), files_changed=(path,))
    record = judged(observation, Memory(), notes=("n",), excerpts={f"guard:{path}": "\ud83d"})
    journal = open_journal(ours)
    journal.append(OPENED, State(TASK, run="r1"))
    state = State(TASK, run="r1", iteration=1, memory=record.judgement.memory)
    journal.append(JUDGED, state, record)
    again = open_journal(ours)
    assert again.judged("r1") == [record]
    assert again.judged("r2") == []
    assert judged_record(list(again.events("r1"))[-1]) == record


def test_every_append_is_a_commit_and_a_snapshot_its_second_parent(ours: Git) -> None:
    snapshot = git(ours.git_dir, "rev-parse", "HEAD")
    journal = open_journal(ours)
    state = State(TASK, run="r1", snapshot=snapshot)
    journal.append(OPENED, state)
    journal.append(ATTEMPT, replace(state, attempt=1), {"attempt": 1})
    journal.append(NOT_JUDGED, state, {"why": "crash"}, snapshot=snapshot)
    parents = [
        line.split()[1:]
        for line in git(ours.git_dir, "rev-list", "--first-parent", "--parents", REF).splitlines()
    ]
    ledger = git(ours.git_dir, "rev-list", "--first-parent", REF).split()
    assert parents == [[ledger[1], snapshot], [ledger[2]], [ledger[3]], []]
    assert git(ours.git_dir, "log", "--first-parent", "--format=%s", REF).splitlines() == [
        "attempt_not_judged TASK-7 #4 iteration 1",
        "attempt TASK-7 #3 iteration 1",
        "run_opened TASK-7 #2",
        "created TASK-7 #1",
    ]
    assert git(ours.git_dir, "ls-tree", "--name-only", REF).split() == ["event.json", "state.json"]


def test_the_head_comes_along_wherever_the_journal_goes(ours: Git) -> None:
    """The branch is pushed once, at the end; until then the journal alone holds its commits."""
    first = git(ours.git_dir, "rev-parse", "HEAD")
    tree = git(ours.git_dir, "rev-parse", "HEAD^{tree}")
    second = git(ours.git_dir, "commit-tree", tree, "-p", first, "-m", "second")
    journal = open_journal(ours)
    state = State(TASK, run="r1", head=first)
    journal.append(OPENED, state, snapshot=first)
    journal.append(ATTEMPT, state)
    journal.state = replace(state, head=second)
    journal.append(JUDGED, journal.state, snapshot=first)
    again = open_journal(ours)
    again.append(CLOSING, again.state)
    shown = git(ours.git_dir, "log", "--first-parent", "--format=%P", REF).splitlines()
    assert [parents.split()[1:] for parents in shown] == [[], [first, second], [], [first]]


def test_an_append_costs_the_same_however_long_the_journal_is(ours: Git) -> None:
    journal = open_journal(ours)
    state = fill(journal)

    def cost() -> tuple[int, int]:
        """Objects written and programs started by one append."""
        count = int(git(ours.git_dir, "count-objects").split()[0])
        calls = 0
        answer = Git.answer

        def counted(self: Git, *args: str, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            return answer(self, *args, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Git, "answer", counted)
            journal.append(ATTEMPT, state, {"attempt": 1})
        return int(git(ours.git_dir, "count-objects").split()[0]) - count, calls

    early = cost()
    for _ in range(40):
        journal.append(ATTEMPT, state, {"attempt": 1})
    assert cost() == early
    assert early[0] <= 4  # event, tree, commit, and the state where it changed


def test_what_is_attached_stays_and_is_stored_once(ours: Git) -> None:
    journal = open_journal(ours)
    baseline = Baseline("c", "h", must_pass={"tests": frozenset({"b", "a"})})
    journal.attach("baseline.json", baseline)
    state = fill(journal, *THREE)
    journal.attach("byproducts.json", {"a\udcff": "1"})
    journal.append(CLOSING, state)
    again = open_journal(ours)
    kept = again.attached("baseline.json")
    assert isinstance(kept, dict)
    assert kept["must_pass"] == {"tests": ["a", "b"]}
    assert again.attached("byproducts.json") == {"a\udcff": "1"}
    assert again.attached("nothing.json") is None
    again.append(CLOSING, state)
    blobs = {
        git(ours.git_dir, "rev-parse", f"{commit}:baseline.json")
        for commit in git(ours.git_dir, "rev-list", "--first-parent", REF).split()
    }
    assert len(blobs) == 1


def test_an_attachment_that_is_unreadable_is_said_and_gone(ours: Git) -> None:
    journal = open_journal(ours)
    journal.attach("byproducts.json", {})
    fill(journal)
    blob = git(ours.git_dir, "rev-parse", f"{REF}:byproducts.json")
    file = ours.git_dir / "objects" / blob[:2] / blob[2:]
    file.chmod(0o644)
    file.write_bytes(b"rotten")
    again = open_journal(ours)
    assert again.attached("byproducts.json") is None
    assert "byproducts.json is unreadable and is made again" in again.warnings[0]


# --- one writer -----------------------------------------------------------------------------


def test_the_second_of_two_writers_is_refused(ours: Git) -> None:
    one = open_journal(ours)
    fill(one)
    other = open_journal(ours)
    one.append(ATTEMPT, one.state, {"by": "one"})
    told: list[str] = []
    other.on_append = lambda: told.append("appended")
    with pytest.raises(InfraError, match=r"was moved by another process; is a second navci"):
        other.append(ATTEMPT, replace(other.state, attempt=9), {"by": "other"})
    assert other.state.attempt == 0
    assert told == []
    assert open_journal(ours).tip == one.tip
    assert [event.data.get("by") for event in open_journal(ours).events()][-1] == "one"


def test_two_that_start_a_journal_at_once(ours: Git) -> None:
    one, other = open_journal(ours), open_journal(ours)
    fill(one)
    with pytest.raises(InfraError, match="was moved by another process"):
        other.append(OPENED, State(TASK, run="r2"))
    assert {event.run for event in open_journal(ours).events()} == {"", "r1"}


# --- damage ---------------------------------------------------------------------------------

Files = dict[str, bytes]


def put(ours: Git, files: Files, parents: list[str]) -> str:
    """A commit with these files, as anyone who can write the ref can make it."""
    lines = []
    for name, data in files.items():
        blob = git(ours.git_dir, "hash-object", "-w", "--stdin", stdin=data)
        lines.append(f"100644 blob {blob}\t{name}\n")
    tree = git(ours.git_dir, "mktree", stdin="".join(lines).encode())
    words = [word for parent in parents for word in ("-p", parent)]
    return git(ours.git_dir, "commit-tree", tree, *words, "-m", "forged")


def files_of(ours: Git, commit: str) -> Files:
    names = git(ours.git_dir, "ls-tree", "--name-only", commit).split()
    return {
        name: git(ours.git_dir, "show", f"{commit}:{name}").encode("utf-8", "surrogateescape")
        for name in names
    }


def alter(ours: Git, change: Callable[[Files], Files], index: int = -1) -> None:
    """Rewrite the ledger with one append changed, and everything after it put on top again."""
    ledger = git(ours.git_dir, "rev-list", "--first-parent", "--reverse", REF).split()
    at = index % len(ledger)
    parent = ledger[at - 1]
    for number, commit in enumerate(ledger[at:]):
        files = files_of(ours, commit)
        parent = put(ours, change(files) if number == 0 else files, [parent])
    git(ours.git_dir, "update-ref", REF, parent)


def edit(name: str, change: Callable[[Any], object]) -> Callable[[Files], Files]:
    def changed(files: Files) -> Files:
        content = json.loads(files[name])
        change(content)
        return files | {name: json.dumps(content).encode()}

    return changed


def without(name: str) -> Callable[[Files], Files]:
    return lambda files: {key: data for key, data in files.items() if key != name}


DAMAGES: dict[str, Callable[[Files], Files]] = {
    "no event": without("event.json"),
    "no state": without("state.json"),
    "empty": lambda files: files | {"state.json": b""},
    "cut off": lambda files: files | {"event.json": files["event.json"][:-9]},
    "not JSON": lambda files: files | {"event.json": b"\xff\xfe\x00"},
    "too deep": lambda files: files | {"state.json": b"[" * 100_000},
    "another type": lambda files: files | {"state.json": b"[1, 2]"},
    "no such end": edit("state.json", lambda state: state.update(end="perfect")),
    "a number for a text": edit("state.json", lambda state: state.update(iteration="many")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_tip_falls_back_to_the_append_before_it(name: str, ours: Git) -> None:
    state = fill(open_journal(ours), *THREE)
    journal = open_journal(ours)
    journal.append(CLOSING, replace(state, attempt=77))
    alter(ours, DAMAGES[name])
    again = open_journal(ours)
    assert again.state == state
    assert len(again.warnings) == 1
    assert again.warnings[0].endswith("going on from the append before it")
    # The ledger goes on: the damaged append stays in it, and is passed over when it is read.
    again.append(CLOSING, replace(state, attempt=78))
    later = open_journal(ours)
    assert later.state.attempt == 78
    assert [event.seq for event in later.events()] == [1, 2, 3, 4, 5, 7]
    assert len(later.judged("r1")) == 3


@pytest.mark.parametrize("name", DAMAGES)
def test_a_journal_without_a_readable_append(name: str, ours: Git) -> None:
    fill(open_journal(ours))
    tip, root = git(ours.git_dir, "rev-list", "--first-parent", REF).split()
    parent = put(ours, DAMAGES[name](files_of(ours, root)), [])
    tip = put(ours, DAMAGES[name](files_of(ours, tip)), [parent])
    git(ours.git_dir, "update-ref", REF, tip)
    with pytest.raises(JournalDamaged, match="nothing before it is readable either"):
        open_journal(ours)


def test_a_lost_object_is_damage_too(ours: Git) -> None:
    state = fill(open_journal(ours), *THREE)
    open_journal(ours).append(CLOSING, replace(state, attempt=77))
    blob = git(ours.git_dir, "rev-parse", f"{REF}:state.json")
    (ours.git_dir / "objects" / blob[:2] / blob[2:]).unlink()
    again = open_journal(ours)
    assert again.state == state
    assert "going on from the append before it" in again.warnings[0]


def test_the_journal_of_another_task(ours: Git) -> None:
    fill(open_journal(ours))
    git(ours.git_dir, "update-ref", ref_of("TASK-8"), REF)
    with pytest.raises(JournalDamaged, match="holds the journal of TASK-7, not TASK-8"):
        open_journal(ours, "TASK-8")


def test_a_ref_that_is_no_journal(ours: Git) -> None:
    git(ours.git_dir, "update-ref", REF, "HEAD")
    with pytest.raises(JournalDamaged, match=r"git log refs/navci.*start this task afresh"):
        open_journal(ours)


FORGERIES: dict[str, Callable[[Any], object]] = {
    "end": lambda event: event["data"]["judgement"].update(end="complete"),
    "gate": lambda event: event["data"]["judgement"]["gate"].update(decision="EXIT"),
    "gaps": lambda event: event["data"]["observation"]["gaps"].update(chk=[]),
    "indicators": lambda event: event["data"]["observation"]["indicators"]["tests_passing"].update(
        met=True
    ),
    "rules": lambda event: event["data"]["rules"].update(max_iterations=1),
    "before": lambda event: event["data"]["before"].update(verify_failures=3),
    "memory": lambda event: event["data"]["judgement"]["memory"].update(events=2),
    "hash": lambda event: event["data"]["judgement"].update(state_hash="ffffff"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_judgement_is_refused(name: str, ours: Git) -> None:
    fill(open_journal(ours), *THREE)
    alter(ours, edit("event.json", FORGERIES[name]), index=3)
    journal = open_journal(ours)
    with pytest.raises(JournalDamaged, match=r"iteration 2\) holds a judgement .* was altered"):
        list(journal.events())
    with pytest.raises(JournalDamaged):
        journal.judged("r1")


def test_a_record_that_is_none(ours: Git) -> None:
    fill(open_journal(ours), *THREE)
    alter(ours, edit("event.json", lambda event: event["data"].pop("rules")), index=3)
    with pytest.raises(JournalDamaged, match=r"append \w+: Field required"):
        list(open_journal(ours).events())


PROJECTIONS: dict[str, Callable[[Any], object]] = {
    "iteration": lambda state: state.update(iteration=1),
    "memory": lambda state: state["memory"].update(verify_failures=0, events=0, streak=0),
    "complete": lambda state: state.update(deciding="complete"),
}


@pytest.mark.parametrize("name", PROJECTIONS)
def test_a_forged_projection_is_refused(name: str, ours: Git) -> None:
    fill(open_journal(ours), *THREE)
    alter(ours, edit("state.json", PROJECTIONS[name]))
    with pytest.raises(JournalDamaged, match=r"does not follow from|which no judgement says"):
        open_journal(ours).judged("r1")


def test_appends_out_of_order_are_refused(ours: Git) -> None:
    fill(open_journal(ours), *THREE)
    alter(ours, edit("event.json", lambda event: event.update(seq=3)), index=3)
    with pytest.raises(JournalDamaged, match="is number 3, expected 4"):
        list(open_journal(ours).events())


def test_an_append_that_was_left_out_is_noticed(ours: Git) -> None:
    fill(open_journal(ours), *THREE)
    ledger = git(ours.git_dir, "rev-list", "--first-parent", "--reverse", REF).split()
    git(ours.git_dir, "update-ref", REF, put(ours, files_of(ours, ledger[-1]), [ledger[-3]]))
    with pytest.raises(JournalDamaged, match="is number 5, expected 4"):
        list(open_journal(ours).events())


def test_a_judgement_of_another_judge_is_taken_as_read(ours: Git) -> None:
    fill(open_journal(ours), *THREE)

    def older(event: Any) -> None:
        event["data"]["judge_version"] = JUDGE_VERSION + 1
        event["data"]["judgement"]["state_hash"] = "ffffff"

    alter(ours, edit("event.json", older), index=3)
    journal = open_journal(ours)
    assert len(journal.judged("r1")) == 3
    assert f"judged by version {JUDGE_VERSION + 1}; taken as it is" in journal.warnings[0]


# --- in the user's repository ---------------------------------------------------------------

e2e = pytest.mark.e2e
TEST = ("--test-command", "grep -qx 42 answer.txt")


def a_run(repo: Path, *turns: list[object], iterations: int = 2) -> str:
    book = write_playbook(repo, *turns)
    result = run_navci(
        repo, "run", "--task-file", "TASK-7.md", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", str(iterations), *TEST,
    )  # fmt: skip
    return result.said


def wrong(number: int) -> list[object]:
    return [{"write": {"path": "answer.txt", "text": f"{number}\n"}}, {"say": "next"}]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"TASK-7.md": "# Write the answer\n"})


@e2e
def test_every_append_is_there_at_once_for_people_to_look_at(repo: Path, tmp_path: Path) -> None:
    """The agent sees its own attempt reserved, in the user's repository, before it works."""
    seen = tmp_path / "seen"
    look = {"run": f"git log -1 --format=%s {REF} >> {seen}"}
    said = a_run(repo, [look, *wrong(40)], [look, *wrong(41)])
    assert seen.read_text().splitlines() == [
        "attempt TASK-7 #4 iteration 1",
        "attempt TASK-7 #7 iteration 2",
    ], said
    kinds = [event["kind"] for event in journal_events(repo, TASK)]
    assert kinds == [
        "created", "run_opened", "baseline", *("attempt", "snapshot", "iteration") * 2,
        "run_ended",
    ]  # fmt: skip


@e2e
def test_show_prints_the_ledger(repo: Path) -> None:
    said = a_run(repo, wrong(40), wrong(41))
    show = run_navci(repo, "show", TASK)
    assert show.exit_code == 0, said
    for part in (
        "run_opened", "baseline", "iteration 1: IMPL", "1 gap", "stagnation 2",
        "ended max_iterations: Iteration 2 of at most 2 did not complete the task (CONTINUE: ",
    ):  # fmt: skip
        assert part in show.stdout
    lines = run_navci(repo, "show", TASK, "--json").stdout.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, 11))
    assert run_navci(repo, "show").stdout == "TASK-7\n"


@e2e
def test_show_of_what_is_not_there_or_damaged(repo: Path) -> None:
    assert run_navci(repo, "show").stdout == "no task has a journal in this repository\n"
    unknown = run_navci(repo, "show", "TASK-9")
    assert unknown.exit_code == 2
    assert "TASK-9 has no journal in this repository" in unknown.stderr
    git(repo, "update-ref", REF, "HEAD")
    damaged = run_navci(repo, "show", TASK)
    assert damaged.exit_code == 20
    assert "has no event.json or no state.json" in damaged.stderr
    bare = make_repo(repo.with_name("none"), {}).joinpath("..").resolve()
    assert run_navci(repo, "show", cwd=bare).exit_code == 2


@e2e
def test_the_ledger_and_the_snapshots_survive_gc(repo: Path) -> None:
    a_run(repo, [{"write": {"path": "big.txt", "text": "kept\n"}}, *wrong(40)],
          [{"delete": "big.txt"}, *wrong(41)])  # fmt: skip
    before = journal_events(repo, TASK)
    git(repo, "checkout", "-q", "main")
    git(repo, "branch", "-D", f"navci/{TASK}")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    assert journal_events(repo, TASK) == before
    snapshots = [
        line.split()[2]
        for line in git(repo, "rev-list", "--first-parent", "--parents", REF).splitlines()
        if len(line.split()) == 3
    ]
    texts = [git(repo, "show", f"{snapshot}:big.txt", check=False) for snapshot in snapshots]
    assert "kept" in texts
    assert run_navci(repo, "show", TASK).exit_code == 0
    said = a_run(repo, [{"write": {"path": "answer.txt", "text": "42\n"}},
                        {"signal": {"type": "exit", "success": True}}], iterations=3)  # fmt: skip
    assert "LOOP COMPLETE" in said


@e2e
def test_a_forged_judgement_ends_the_run_that_would_go_on_from_it(
    repo: Path, tmp_path: Path
) -> None:
    a_run(repo, wrong(40), wrong(41))
    # The end event goes: the run is taken up again, and its judgements are read.
    ledger = git(repo, "rev-list", "--first-parent", REF).split()
    git(repo, "update-ref", REF, ledger[1])
    (tmp_path / "run").mkdir()
    ours = Git(repo / ".git", repo, tmp_path / "run")
    alter(ours, edit("event.json", FORGERIES["gaps"]))
    refs = git(repo, "for-each-ref")
    book = write_playbook(repo, wrong(40))
    result = run_navci(
        repo,
        "run",
        "--task-file",
        "TASK-7.md",
        "--agent",
        "playbook",
        "--playbook",
        str(book),
        *TEST,
    )
    assert result.exit_code == 20, result.said
    assert "it was altered" in result.said
    assert result.kind == "loop-aborted"
    assert git(repo, "for-each-ref") == refs


@e2e
def test_the_branch_name_is_not_ambiguous(repo: Path) -> None:
    """`git merge navci/<task>` is what people type; it must not find the journal."""
    said = a_run(repo, wrong(40), wrong(41))
    branch, work = f"navci/{TASK}", git(repo, "rev-parse", f"refs/heads/navci/{TASK}")
    assert work != git(repo, "rev-parse", REF), said
    assert git(repo, "rev-parse", "--verify", branch) == work
    git(repo, "switch", "-q", "main")
    git(repo, "merge", "-q", branch)
    assert git(repo, "rev-parse", "HEAD") == work
    assert (repo / "answer.txt").read_text() == "41\n"
