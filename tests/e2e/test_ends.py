"""Every row of DESIGN's table of ends, as a person and a job see it."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from navci.cli.run import exit_code
from navci.journal import ref_of
from navci.model import End
from tests.support.navci_run import (
    Result,
    is_reachable,
    journal_events,
    journal_state,
    processes_left,
    run_folders,
    run_navci,
    start_navci,
    tasks_of,
    write_playbook,
)
from tests.support.processes import wait_until
from tests.support.repos import commit_all, git, make_repo, write_files

pytestmark = pytest.mark.e2e

Turn = Sequence[object]

TASK = "TASK-7"
DOCUMENT = ".agent/tasks/TASK-7-answer.md"
TEXT = "# TASK-7: Write the answer\n\nPut 42 into `answer.txt`.\n"
FILES = {DOCUMENT: TEXT, "README.md": "# answers\n"}

WRONG = {"write": {"path": "answer.txt", "text": "41\n"}}
RIGHT = {"write": {"path": "answer.txt", "text": "42\n"}}
DONE = {"signal": {"type": "exit", "success": True, "reason": "the answer is there"}}
DECLINE = {"signal": {"type": "exit", "success": False, "reason": "I need the question"}}
NOTHING = {"signal": {"type": "exit", "success": True, "no_op": True, "reason": "it is there"}}
AWAY = {"error": {"kind": "rate_limit", "message": "usage limit", "resets_in": "10h"}}
SPEND = {"usage": {"cost_usd": 0.6, "tokens": 600}}
TEST = "grep -qx 42 answer.txt"


def turns_that_differ(*more: object) -> list[Turn]:
    """Turns that never fix it and never leave the same state twice."""
    return [
        [{"write": {"path": f"note-{n}.txt", "text": f"{n}\n"}}, *more, {"say": "going on"}]
        for n in range(1, 5)
    ]


@dataclass(frozen=True)
class Row:
    """A row of DESIGN §4's table, written out here, and a run that ends so.

    ``red``: whether the job fails under ``fail-on: incomplete`` and under ``error``. ``says`` is
    what a person reads; ``after`` the iterations outside Actions, ``in_actions`` those inside.
    """

    end: str
    exit: int
    marker: str
    red: tuple[bool, bool]
    says: str
    after: int
    turns: Sequence[Turn]
    args: tuple[str, ...] = ()
    config: dict[str, object] | None = None
    resumable: bool = False
    in_actions: int | None = None
    test: str = TEST
    files: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return f"{self.end}-{self.args[0].strip('-')}" if self.args[:1] else self.end


ABORTED = "loop-aborted"
ROWS = [
    Row("complete", 0, "complete", (False, False), "LOOP COMPLETE after 1 iteration", 1,
        [[RIGHT, DONE]]),
    Row("max_iterations", 10, ABORTED, (True, False), "MAX ITERATIONS REACHED", 2,
        turns_that_differ(), ("--max-iterations", "2")),
    Row("stagnated", 11, ABORTED, (True, False), "STAGNATION DETECTED", 3,
        [[{"say": "thinking"}]], in_actions=9),
    Row("failure_budget", 12, ABORTED, (True, False), "max_verify_failures 2", 2,
        [[WRONG, DONE], [{"write": {"path": "answer.txt", "text": "43\n"}}, DONE]],
        config={"native": {"max_verify_failures": 2}}),
    Row("cost_budget", 16, ABORTED, (True, False), "spent $1.20 of at most $1.00", 2,
        turns_that_differ(SPEND), ("--max-cost-usd", "1.00")),
    Row("cost_budget", 16, ABORTED, (True, False), "used 1200 of at most 1000 tokens", 2,
        turns_that_differ(SPEND), ("--max-tokens", "1000")),
    Row("declined", 13, ABORTED, (True, False), "The agent declined: I need the question", 1,
        [[WRONG, DECLINE]]),
    Row("no_op", 14, ABORTED, (False, False), "The agent found nothing to do: it is there", 1,
        [[NOTHING]], files=(("answer.txt", "42\n"),)),
    Row("time_budget", 15, ABORTED, (True, False), "time budget", 1,
        [[WRONG, {"sleep": "20s"}]], ("--time-budget", "4s"), resumable=True),
    Row("rate_limited", 17, ABORTED, (True, False), "it resets in 10h", 0,
        [[WRONG, AWAY]], resumable=True),
    Row("infra_error", 18, ABORTED, (True, True), "the agent failed 3 times in a row", 0,
        [[WRONG, {"fail": 3}]], resumable=True),
    Row("awaiting_approval", 21, ABORTED, (False, False), "waits for a person's approval", 1,
        turns_that_differ(), config={"loop_mode": {"iteration_approval": "strict"}},
        resumable=True),
]  # fmt: skip


def repository(tmp_path: Path, config: object = None, **files: str) -> Path:
    content = FILES | files
    if config is not None:
        content = content | {".agent/.nav-config.json": json.dumps(config)}
    return make_repo(tmp_path / "repo", content)


def run_row(row: Row, tmp_path: Path, *args: str, actions: bool = False) -> tuple[Path, Result]:
    repo = repository(tmp_path, row.config)
    if row.files:
        write_files(repo, dict(row.files))
        commit_all(repo, "more")
    book = write_playbook(repo, *row.turns)
    given = dict.fromkeys(["--max-iterations"], "12") if "--max-iterations" not in row.args else {}
    result = run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--test-command", row.test, *(word for pair in given.items() for word in pair),
        *row.args, *args, env={"GITHUB_ACTIONS": "true"} if actions else None,
    )  # fmt: skip
    return repo, result


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_end_on_a_laptop(row: Row, tmp_path: Path) -> None:
    repo, result = run_row(row, tmp_path)
    assert result.exit_code == row.exit, result.said
    assert row.says in result.said
    assert result.outputs["outcome"] == row.end
    check_everything(row, repo, result, row.after)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_end_in_a_job(row: Row, tmp_path: Path) -> None:
    """Nobody is there to answer: never_pause is on, and stagnation ends it at its third event."""
    repo, result = run_row(row, tmp_path, actions=True)
    assert result.exit_code == (row.exit if row.red[0] else 0), result.said
    check_everything(row, repo, result, row.in_actions or row.after)


@pytest.mark.parametrize("fail_on", ["incomplete", "error", "never"])
@pytest.mark.parametrize("name", ["declined", "no_op", "infra_error"])
def test_fail_on_says_which_ends_are_red(name: str, fail_on: str, tmp_path: Path) -> None:
    row = next(row for row in ROWS if row.end == name)
    _, result = run_row(row, tmp_path, "--fail-on", fail_on, actions=True)
    red = {"incomplete": row.red[0], "error": row.red[1], "never": False}[fail_on]
    assert result.exit_code == (row.exit if red else 0), result.said
    assert result.outputs["outcome"] == name


@pytest.mark.parametrize("actions", [False, True], ids=["laptop", "job"])
def test_fail_on_in_the_config_is_about_jobs(actions: bool, tmp_path: Path) -> None:
    repo = repository(tmp_path, {"navci": {"fail_on": "never"}})
    book = write_playbook(repo, [WRONG, DECLINE])
    result = run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "3", env={"GITHUB_ACTIONS": "true"} if actions else None,
    )  # fmt: skip
    assert result.exit_code == (0 if actions else 13), result.said


@pytest.mark.parametrize("end", End)
def test_the_exit_code_of_every_end(end: End) -> None:
    """What the program above decides by, for the whole table."""
    codes = {row.end: (row.exit, row.red) for row in ROWS} | {
        "user_aborted": (130, (True, False)),
        "journal_damaged": (20, (True, True)),
        "skipped": (19, (False, False)),
        "config_error": (2, (True, True)),
    }
    code, (incomplete, error) = codes[end]
    assert exit_code(end, None, in_actions=False) == code
    assert exit_code(end, None, in_actions=True) == (code if incomplete else 0)
    for in_actions in (False, True):
        assert exit_code(end, "incomplete", in_actions) == (code if incomplete else 0)
        assert exit_code(end, "error", in_actions) == (code if error else 0)
        assert exit_code(end, "never", in_actions) == 0


def check_everything(row: Row, repo: Path, result: Result, iterations: int) -> None:
    """What holds of an end wherever it happens."""
    complete = row.end == "complete"
    outputs, marker = result.outputs, result.marker
    assert outputs["outcome"] == row.end
    assert outputs["complete"] == ("true" if complete else "false")
    assert outputs["iterations"] == str(iterations)
    assert outputs["reason"]
    assert outputs["branch"] == f"navci/{TASK}"

    assert marker is not None
    assert (marker["kind"], marker["outcome"], marker["complete"], marker["provisional"]) == (
        row.marker, row.end, complete, False,
    )  # fmt: skip
    assert marker["exit_code"] == row.exit
    assert marker["resumable"] is row.resumable
    assert marker["iterations"]["used"] == iterations
    assert [str(path) for path in result.marker_files] == [outputs["marker"]]
    assert result.marker_files[0].name.endswith(f"_task-7-{row.marker}.json")
    artifact = Path(outputs["artifact-path"])
    assert (artifact / result.marker_files[0].name).read_bytes() == (
        result.marker_files[0].read_bytes()
    )
    assert outputs["artifact-name"] == f"loop-{'complete' if complete else 'aborted'}-{TASK}"

    markdown = result.marker_files[0].with_suffix(".md").read_text()
    for text in (result.said, result.summary, markdown):
        assert marker["next_step"] in text
    state = journal_state(repo, TASK)
    ended = (None, row.end) if row.resumable else (row.end, None)  # a process may go on with it
    assert (state["end"], state["paused"]) == ended
    assert (state["lease"], state["iteration"]) == (None, iterations)
    kind = "run_paused" if row.resumable else "run_ended"
    assert journal_events(repo, TASK)[-1]["kind"] == kind
    assert processes_left(repo) == []

    for step in row.turns[0]:
        if isinstance(step, dict) and "write" in step:
            assert is_reachable(repo, step["write"]["text"])
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "ls-files", ".agent/.context-markers") == ""
    archived = repo / ".agent/tasks/archive" / Path(DOCUMENT).name
    if complete:
        assert archived.read_text().startswith("---\nstatus: done\n---\n")
        assert not (repo / DOCUMENT).exists()
    else:
        assert (repo / DOCUMENT).read_text() == TEXT
        assert not archived.exists()


# --- ends that need more than a playbook ----------------------------------------------------

Do = Callable[[Path], dict[str, str | None]]
"""What comes before the run; the environment it gives."""


def nested(repo: Path) -> dict[str, str | None]:
    return {"NAVCI_LOOP_ACTIVE": "TASK-1"}


def closed_document(repo: Path) -> dict[str, str | None]:
    (repo / DOCUMENT).write_text(f"---\nstatus: done\n---\n{TEXT}")
    commit_all(repo, "closed")
    return {}


def document_says_no(repo: Path) -> dict[str, str | None]:
    (repo / DOCUMENT).write_text(f"---\nloop_mode: false\n---\n{TEXT}")
    commit_all(repo, "no loop")
    return {}


def wrong_config(repo: Path) -> dict[str, str | None]:
    write_files(repo, {".agent/.nav-config.json": '{"loop_mode": {"max_iterations": 99}}'})
    commit_all(repo, "config")
    return {}


def dirty(repo: Path) -> dict[str, str | None]:
    (repo / "README.md").write_text("half done")
    return {}


NOT_STARTED = {
    "nested": ("skipped", 19, (False, False), nested, "loops do not nest"),
    "closed": ("skipped", 19, (False, False), closed_document, "is closed already"),
    "off": ("skipped", 19, (False, False), document_says_no, "loop_mode: false"),
    "config": ("config_error", 2, (True, True), wrong_config, "loop_mode.max_iterations"),
    "dirty": ("config_error", 2, (True, True), dirty, "uncommitted changes in tracked files"),
}


@pytest.mark.parametrize("fail_on", [None, "incomplete", "error", "never"])
@pytest.mark.parametrize("name", NOT_STARTED)
def test_what_is_refused_leaves_nothing(name: str, fail_on: str | None, tmp_path: Path) -> None:
    end, code, red, before, says = NOT_STARTED[name]
    repo = repository(tmp_path)
    env = before(repo)
    refs, status = git(repo, "for-each-ref"), git(repo, "status", "--porcelain")
    args = ["--agent", "playbook", "--playbook", str(write_playbook(repo, [RIGHT, DONE]))]
    if name != "config":
        args += ["--max-iterations", "3"]
    if fail_on is not None:
        args += ["--fail-on", fail_on]
        env |= {"GITHUB_ACTIONS": "true"}
    result = run_navci(repo, "run", "--task-file", DOCUMENT, *args, env=env)
    is_red = {None: True, "incomplete": red[0], "error": red[1], "never": False}[fail_on]
    assert result.exit_code == (code if is_red else 0), result.said
    assert says in result.said
    assert says.replace("_", "\\_") in result.summary or says in result.summary
    assert result.outputs["outcome"] == end
    assert result.outputs["complete"] == "false"
    assert result.outputs["marker"] == ""
    assert result.marker_files == []
    assert run_folders(repo) == []
    assert git(repo, "for-each-ref") == refs
    assert git(repo, "status", "--porcelain") == status


def agent_args(repo: Path, script: str) -> list[str]:
    """Options of a run whose agent is this bash script."""
    path = repo.with_name("agent.sh")
    path.write_text(script)
    return ["--agent", "command", "--agent-command", f"bash {path}", "--max-iterations", "5"]


def test_a_second_run_of_a_task_waits_for_the_first(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    started = tmp_path / "started"
    wait = f"touch {started}; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo no more"
    first = start_navci(
        repo, "run", "--task-file", DOCUMENT, *agent_args(repo, wait), "--max-iterations", "1"
    )
    try:
        assert wait_until(started.exists, 20), first.said
        folders = run_folders(repo)
        second = run_navci(
            repo, "run", "--task-file", DOCUMENT, *agent_args(repo, "echo second > second.txt")
        )
        assert second.exit_code == 19
        assert f"{TASK} is being worked on by process {first.process.pid}" in second.said
        assert second.outputs["outcome"] == "skipped"
        assert run_folders(repo) == folders
    finally:
        (tmp_path / "go").touch()
        result = first.wait()
    assert result.exit_code == 10, result.said
    assert not (repo / "second.txt").exists()


def test_another_task_waits_for_the_checkout(tmp_path: Path) -> None:
    """The work of two tasks in one checkout would be taken for each other's."""
    repo = repository(tmp_path)
    started = tmp_path / "started"
    wait = f"touch {started}; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo no more"
    agent = agent_args(repo, wait)
    first = start_navci(repo, "run", "--task-file", DOCUMENT, *agent, "--max-iterations", "1")
    other = ("run", "--task", "Write something else", *agent, "--max-iterations", "1")
    try:
        assert wait_until(started.exists, 20), first.said
        folders = run_folders(repo)
        second = run_navci(repo, *other)
        assert second.exit_code == 19
        assert f"another navci is working in {repo}" in second.said
        assert second.outputs["outcome"] == "skipped"
        assert run_folders(repo) == folders
    finally:
        (tmp_path / "go").touch()
        result = first.wait()
    assert result.exit_code == 10, result.said
    third = run_navci(repo, *other)
    assert third.exit_code == 10, third.said


def test_a_killed_run_does_not_keep_the_checkout(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    started = tmp_path / "started"
    agent = agent_args(repo, f"touch {started}; sleep 30")
    first = start_navci(repo, "run", "--task-file", DOCUMENT, *agent)
    assert wait_until(started.exists, 20), first.said
    first.process.kill()
    first.wait()
    quick = agent_args(repo, "echo nothing")
    second = run_navci(repo, "run", "--task", "Else", *quick, "--max-iterations", "1")
    assert second.exit_code == 10, second.said


def test_only_a_completion_marker_counts_as_one(tmp_path: Path) -> None:
    row = next(row for row in ROWS if row.end == "infra_error")
    _, result = run_row(row, tmp_path)
    assert result.marker
    assert result.marker["indicators"]["marker_created"]["met"] is False


def test_what_nothing_measures_is_named_at_the_end(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    write_files(
        repo, {DOCUMENT: TEXT + "\n- [ ] the answer is polite\n- [ ] it is there (check=tests)\n"}
    )
    commit_all(repo, "items")
    book = write_playbook(repo, [RIGHT, DONE])
    result = run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--test-command", TEST, "--max-iterations", "2",
    )  # fmt: skip
    assert result.exit_code == 0, result.said
    says = "unverified, so see for yourself (nothing measures it): the answer is polite"
    assert says in result.said
    assert result.marker
    assert says in result.marker["notes"]
    assert says in result.summary


def test_nothing_to_do_is_taken_as_a_claim_where_it_cannot_be_true(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    book = write_playbook(repo, [NOTHING], [RIGHT, NOTHING])
    result = run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--test-command", TEST, "--max-iterations", "2",
    )  # fmt: skip
    assert result.exit_code == 0, result.said
    says = "the agent says there is nothing to do, but "
    assert f"{says}1 gap, first check:tests: taken as a claim to be done" in result.said
    assert f"{says}files differ from base: taken as a claim to be done" in result.said


def test_the_next_run_says_that_the_last_one_ended(tmp_path: Path) -> None:
    row = ROWS[0]
    repo, first = run_row(row, tmp_path)
    assert first.exit_code == 0
    assert git(repo, "branch", "--show-current") == f"navci/{TASK}"
    write_files(repo, {DOCUMENT: TEXT})
    commit_all(repo, "reopened")
    book = write_playbook(repo, [NOTHING])
    second = run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--test-command", TEST, "--max-iterations", "2",
    )  # fmt: skip
    assert "the last run ended complete, this is a new one" in second.said


@pytest.mark.parametrize("actions", [False, True], ids=["laptop", "job"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_a_person_stops_the_run(number: int, actions: bool, tmp_path: Path) -> None:
    repo = repository(tmp_path)
    script = (
        "echo half done > half.txt\n(setsid sleep 300 >/dev/null 2>&1 &)\n"
        "trap '' TERM INT\necho working\nsleep 300\n"
    )
    run = start_navci(
        repo, "run", "--task-file", DOCUMENT, *agent_args(repo, script), "--test-command", TEST,
        env={"GITHUB_ACTIONS": "true"} if actions else None,
    )  # fmt: skip
    assert wait_until((repo / "half.txt").exists, 20), run.said
    run.send(number)
    result = run.wait(20)
    assert result.exit_code == 130, result.said
    assert f"stopped on request ({signal.Signals(number).name})" in result.said
    assert result.outputs["outcome"] == "user_aborted"
    assert result.outputs["iterations"] == "0"
    assert result.kind == "user-aborted"
    assert result.marker is not None
    assert result.marker["resumable"] is False
    assert is_reachable(repo, "half done\n")
    assert git(repo, "show", f"refs/heads/navci/{TASK}:half.txt") == "half done"
    assert processes_left(repo) == []
    assert journal_state(repo, TASK)["end"] == "user_aborted"


@pytest.mark.parametrize(("fail_on", "code"), [("incomplete", 130), ("error", 0), ("never", 0)])
def test_a_job_that_was_cancelled_is_red_by_fail_on(
    fail_on: str, code: int, tmp_path: Path
) -> None:
    repo = repository(tmp_path)
    run = start_navci(
        repo, "run", "--task-file", DOCUMENT, "--fail-on", fail_on,
        *agent_args(repo, "echo x > x.txt; sleep 300"), env={"GITHUB_ACTIONS": "true"},
    )  # fmt: skip
    assert wait_until((repo / "x.txt").exists, 20), run.said
    run.send(signal.SIGINT)
    result = run.wait(20)
    assert (result.exit_code, result.kind) == (code, "user-aborted")


def test_a_stop_during_the_checks_is_no_failure_of_the_work(tmp_path: Path) -> None:
    """A check that was cut short proves nothing, so the agent's claim is not held against it."""
    repo = repository(tmp_path)
    checking = tmp_path / "checking"
    test = f"[ -e answer.txt ] || exit 1; touch {checking}; sleep 300"
    book = write_playbook(repo, [RIGHT, DONE])
    run = start_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "3", "--test-command", test,
    )  # fmt: skip
    assert wait_until(checking.exists, 20), run.said
    run.send(signal.SIGTERM)
    result = run.wait(20)
    assert (result.exit_code, result.kind) == (130, "user-aborted"), result.said
    assert is_reachable(repo, "42\n")
    assert journal_state(repo, TASK)["memory"]["verify_failures"] == 0
    assert processes_left(repo) == []


def test_a_stop_during_the_baseline(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    checking = tmp_path / "checking"
    run = start_navci(
        repo, "run", "--task-file", DOCUMENT, *agent_args(repo, "echo x > x.txt"),
        "--test-command", f"touch {checking}; sleep 300",
    )  # fmt: skip
    assert wait_until(checking.exists, 20), run.said
    run.send(signal.SIGINT)
    result = run.wait(20)
    assert (result.exit_code, result.kind) == (130, "user-aborted"), result.said
    assert not (repo / "x.txt").exists()
    assert processes_left(repo) == []


@pytest.mark.parametrize("fail_on", [None, "incomplete", "error", "never"])
def test_a_journal_that_cannot_be_read(fail_on: str | None, tmp_path: Path) -> None:
    repo = repository(tmp_path)
    git(repo, "update-ref", ref_of(TASK), "HEAD")
    refs = git(repo, "for-each-ref")
    args = ["--fail-on", fail_on] if fail_on else []
    result = run_navci(
        repo, "run", "--task-file", DOCUMENT, *agent_args(repo, "echo x > x.txt"), *args,
        env={"GITHUB_ACTIONS": "true"} if fail_on else None,
    )  # fmt: skip
    assert result.exit_code == (0 if fail_on == "never" else 20), result.said
    assert "has no event.json or no state.json" in result.said
    assert result.outputs["outcome"] == "journal_damaged"
    assert result.kind == "loop-aborted"
    assert result.marker is not None
    assert (result.marker["resumable"], result.marker["exit_code"]) == (False, 20)
    assert result.marker["next_step"] in result.summary
    assert git(repo, "for-each-ref") == refs
    assert not (repo / "x.txt").exists()


def test_an_agent_that_is_missing(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    result = run_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "command",
        "--agent-command", "no-such-agent --headless",
    )  # fmt: skip
    assert (result.exit_code, result.kind) == (18, "loop-aborted")
    assert "'no-such-agent' was not found or is not executable" in result.said
    assert result.outputs["outcome"] == "infra_error"
    assert result.outputs["iterations"] == "0"
    assert result.marker is not None
    assert result.marker["resumable"] is True


def test_three_empty_answers_in_a_row(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    result = run_navci(repo, "run", "--task-file", DOCUMENT, *agent_args(repo, "true"))
    assert (result.exit_code, result.kind) == (18, "loop-aborted")
    assert "the agent failed 3 times in a row" in result.said
    assert "printed nothing" in result.said
    kinds = [event["kind"] for event in journal_events(repo, TASK)]
    assert kinds.count("attempt") == kinds.count("attempt_not_judged") == 3
    assert "iteration" not in kinds


def test_a_crash_between_good_turns_counts_nowhere(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    script = (
        f"n=$(cat {tmp_path}/n 2>/dev/null || echo 0); echo $((n + 1)) > {tmp_path}/n\n"
        "case $n in 0|1|3|4) exit 7;; 2) echo one > one.txt; echo going on;;\n"
        f"5) echo 42 > answer.txt; printf '```pilot-signal\\n%s\\n```\\n' '{EXIT}';; esac\n"
    )
    result = run_navci(
        repo, "run", "--task-file", DOCUMENT, *agent_args(repo, script), "--test-command", TEST
    )
    assert result.exit_code == 0, result.said
    assert result.outputs["iterations"] == "2"
    assert "exited 7" in result.said


def test_a_limit_that_resets_soon_is_waited_for(tmp_path: Path) -> None:
    repo = repository(tmp_path)
    counter = tmp_path / "n"
    limit = {"error": {"kind": "rate_limit", "message": "slow down", "resets_in": "1s"}}
    book = write_playbook(repo, [{"run": f"echo x >> {counter}"}, WRONG, limit])
    run = start_navci(
        repo, "run", "--task-file", DOCUMENT, "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "3", "--time-budget", "6s", "--test-command", TEST,
    )  # fmt: skip
    result = run.wait(30)
    assert result.exit_code == 17, result.said
    assert "the agent's limit is reached; waiting 1s" in result.said
    # Waiting is neither trouble nor an iteration: it goes on until the reset lies too far off.
    assert counter.read_text().count("x") >= 2
    assert result.outputs["iterations"] == "0"
    assert is_reachable(repo, "41\n")


# --- the line of the issue ------------------------------------------------------------------

PRIME = "def is_prime(n):\n    return n > 1 and all(n % i for i in range(2, n - 1))\n"
TEST_PRIME = (
    "from prime import is_prime\n\n"
    "def test_primes():\n    assert [n for n in range(12) if is_prime(n)] == [2, 3, 5, 7, 11]\n"
)
FIX = (
    "cat >/dev/null\nsed -i 's/n - 1/n/' prime.py\n"
    'printf \'Fixed the bound.\\n\\n```pilot-signal\\n{"v": 2, "type": "exit", "success": true,'
    ' "reason": "the tests pass"}\\n```\\n\'\n'
)
LINE = (
    *("run", "--task", "Fix is_prime", "--agent", "command", "--agent-command", "bash fix.sh"),
    *("--test-command", "python -m pytest -q --junitxml=build/junit.xml"),
    *("--junit", "build/*.xml", "--max-iterations", "3", "--no-push"),
)


@pytest.mark.parametrize("in_job", [True, False], ids=["with-job-files", "bare"])
def test_the_line_of_the_issue(in_job: bool, tmp_path: Path) -> None:
    """No account, no remote, no config, no identity."""
    repo = make_repo(
        tmp_path / "repo", {"prime.py": PRIME, "test_prime.py": TEST_PRIME, "fix.sh": FIX}
    )
    bare = {"GITHUB_OUTPUT": None, "GITHUB_STEP_SUMMARY": None, "RUNNER_TEMP": None}
    home = tmp_path / "nobody"
    home.mkdir()
    env: dict[str, str | None] = {"HOME": str(home), **({} if in_job else bare)}
    result = run_navci(repo, *LINE, env=env)
    assert result.exit_code == 0, result.said
    assert "LOOP COMPLETE after 1 iteration" in result.said
    assert len(result.marker_files) == 1
    assert f"marker     {result.marker_files[0]}" in result.stdout
    assert result.kind == "complete"
    assert result.marker is not None
    assert result.marker["tests"]["passed"] == 1
    task = result.marker["task"]
    assert git(repo, "show", f"refs/heads/navci/{task}:prime.py") == PRIME.replace(
        "n - 1", "n"
    ).rstrip("\n")
    assert git(repo, "log", "-1", "--format=%an", f"refs/heads/navci/{task}") == "navci"
    assert git(repo, "status", "--porcelain", "--untracked-files=no") == ""
    if in_job:
        assert result.outputs["outcome"] == "complete"
        assert result.outputs["complete"] == "true"
        assert result.outputs["marker"] == str(result.marker_files[0])
        assert result.outputs["tests-total"] == "1"
        assert "LOOP COMPLETE" in result.summary


# --- what is no signal ----------------------------------------------------------------------

EXIT = '{"v":2,"type":"exit","success":true,"reason":"all done"}'
NO_SIGNALS = {
    "example-fence": f"````markdown\n```pilot-signal\n{EXIT}\n```\n````\n",
    "other-fence": f"```json\n{EXIT}\n```\n",
    "prose": f"I would now print {EXIT} but I am not done.\n",
    "prose-lines": f"At the end I will say\n{EXIT[:-1]}\nand close the brace.\n",
    "quote": f"> ```pilot-signal\n> {EXIT}\n> ```\n",
    "list-example": f"- like this:\n\n  ```pilot-signal\n  {EXIT}\n  ```\n",
    "not-closed": f"```pilot-signal\n{EXIT}\n",
    "v3-in-prose": f"The form is <!-- nav-signal:v3:{EXIT} --> in a line.\n",
    "indented-code": f"\n    {EXIT}\n",
    "status-with-exit": '```pilot-signal\n{"v":2,"type":"status","exit_signal":true}\n```\n',
}


def never_ends(repo: Path, script: str, *args: str) -> Result:
    """A run whose work is right from the first turn on, and whose agent says what it says."""
    result = run_navci(
        repo, "run", *args, *agent_args(repo, f"echo 42 > answer.txt\n{script}"),
        "--test-command", TEST, "--max-iterations", "2",
    )  # fmt: skip
    assert result.exit_code == 10, result.said
    assert result.outputs["outcome"] == "max_iterations"
    assert result.outputs["gaps"] == "[]"
    assert result.marker is not None
    assert result.marker["exit_signal"] is False
    return result


@pytest.mark.parametrize("name", NO_SIGNALS)
def test_a_signal_that_is_none_never_ends_the_loop(name: str, tmp_path: Path) -> None:
    repo = repository(tmp_path)
    said = tmp_path / "said.md"
    said.write_text(NO_SIGNALS[name])
    never_ends(repo, f"cat >/dev/null; cat {said}", "--task-file", DOCUMENT)


@pytest.mark.parametrize("task", ["plain", "with-signals"])
def test_an_agent_that_echoes_its_prompt_never_ends_the_loop(task: str, tmp_path: Path) -> None:
    fence = f"```pilot-signal\n{EXIT}\n```"
    hidden = [f"<!-- nav-signal:v3:{EXIT} -->", f"<!--\n{fence}\n-->"]
    text = "\n\n".join(["Write it.", fence, EXIT, *hidden, "````", f"~~~\n{fence}", "~~~", fence])
    repo = repository(tmp_path)
    result = never_ends(repo, "cat", "--task", "Write it." if task == "plain" else text)
    (task_id,) = tasks_of(repo)
    transcripts = sorted(Path(result.outputs["artifact-path"]).glob("transcripts/*/agent.out"))
    assert len(transcripts) == 2
    assert "pilot-signal" in transcripts[0].read_text()
    assert journal_state(repo, task_id)["iteration"] == 2
