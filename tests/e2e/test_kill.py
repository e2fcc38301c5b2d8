"""navci killed at any moment and started again ends as if nothing had happened (DESIGN §7)."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from navci.journal import ref_of
from tests.support.navci_run import (
    Result,
    Started,
    is_reachable,
    journal_events,
    journal_state,
    markers_in,
    processes_left,
    read_marker,
    run_navci,
    start_navci,
    tasks_of,
    write_playbook,
)
from tests.support.processes import wait_until
from tests.support.repos import commit_all, git, make_repo, write_files

pytestmark = pytest.mark.e2e

TASK = "TASK-7"
BRANCH = f"refs/heads/navci/{TASK}"
FILES = {
    "TASK-7.md": "# Write the answer\n\n- [ ] 42 is in answer.txt\n",
    "README.md": "# answers\n",
    "answer.txt": "0\n",
}
EXIT = {"signal": {"type": "exit", "success": True, "reason": "it is 42"}}


def write(path: str, text: str) -> dict[str, object]:
    return {"write": {"path": path, "text": text}}


def turns() -> list[list[object]]:
    """A run of four iterations: a note, a wrong claim, a commit of the agent's own, the answer."""
    pause: list[object] = [{"run": "touch $FLAGS/agent"}, {"sleep": "0.15s"}]
    return [
        [write("notes.txt", "half\n"), *pause, write("notes.txt", "notes\n"), {"say": "I read."}],
        [write("answer.txt", "41\n"), *pause, EXIT],
        [
            write("answer.txt", "43\n"),
            *pause,
            {"run": "git add answer.txt && git commit -qm 'try 43' || true"},
            {"say": "Not yet."},
        ],
        [write("answer.txt", "42\n"), *pause, write("README.md", "# answers\n\n42\n"), EXIT],
    ]


@dataclass
class Scene:
    """A repository with a task, the options of its run, and flags that say where a run is.

    ``past`` is the id of a run that ended before.
    """

    repo: Path
    flags: Path
    args: tuple[str, ...]
    past: str = ""

    def start(self) -> Started:
        return start_navci(self.repo, *self.args, env={"FLAGS": str(self.flags)})

    def finish(self) -> Result:
        return self.start().wait()


def scene(tmp_path: Path, name: str = "repo", repo: Path | None = None) -> Scene:
    repo = repo or make_repo(tmp_path / name, FILES)
    flags = tmp_path / f"{name}.flags"
    flags.mkdir()
    book = write_playbook(repo, *turns())
    # It leaves by-products, new ones every time, and works on a tracked file for a while.
    test = (
        "touch $FLAGS/check; mkdir -p cache; echo x > cache/$RANDOM; cp README.md $FLAGS/kept; "
        "echo x >> README.md; sleep 0.1; cp $FLAGS/kept README.md; grep -qx 42 answer.txt"
    )
    args = (
        *("run", "--task-file", "TASK-7.md", "--agent", "playbook", "--playbook", str(book)),
        *("--test-command", test, "--max-iterations", "6", "--never-pause-on-stagnation"),
        *("--agent-env", "FLAGS", "--check-env", "FLAGS"),
    )
    return Scene(repo, flags, args)


Story = list[tuple[Any, ...]]


def story(repo: Path) -> Story:
    """What the journal says happened in its last run, whichever process judged an iteration."""
    found = []
    events = journal_events(repo, TASK)
    for event in events:
        if event["kind"] == "iteration" and event["run"] == events[-1]["run"]:
            seen, judged = event["data"]["observation"], event["data"]["judgement"]
            found.append(
                (
                    seen["iteration"],
                    judged["phase"],
                    judged["state_hash"],
                    judged["counter"],
                    tuple(seen["gaps"]["chk"]),
                    tuple(seen["files_changed"]),
                    judged["verify_failure"],
                    judged["end"],
                )
            )
    return found


@dataclass(frozen=True)
class Undisturbed:
    """How the run goes when nobody kills it."""

    story: Story
    tree: str
    outputs: dict[str, str]
    block: str


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed_in(scene(tmp_path_factory.mktemp("undisturbed")))


def undisturbed_in(place: Scene) -> Undisturbed:
    result = place.finish()
    assert result.exit_code == 0, result.said
    told = story(place.repo)
    assert [row[0] for row in told] == [1, 2, 3, 4]
    tree = git(place.repo, "ls-tree", "-r", BRANCH)
    return Undisturbed(told, tree, told_at_the_end(result), final_block(result))


def told_at_the_end(result: Result) -> dict[str, str]:
    """The outputs that do not name this very run."""
    own = ("commit", "marker", "artifact-path")
    return {name: value for name, value in result.outputs.items() if name not in own}


def final_block(result: Result) -> str:
    """The machine-readable status block of the end."""
    return [line for line in result.stdout.splitlines() if '"type":"status"' in line][-1]


def kill(run: Started, repo: Path) -> None:
    """Kill navci, and see that what it left is the truth and nothing that runs."""
    run.kill()
    assert wait_until(lambda: not processes_left(repo)), "something was left running"
    if TASK not in tasks_of(repo):
        return
    state = journal_state(repo, TASK)
    for path in markers_in(repo):
        marker = read_marker(path)
        assert marker["complete"] is (marker["kind"] == "complete")
        if marker["complete"]:
            assert state["deciding"] == "complete"
        else:
            assert (marker["provisional"], marker["resumable"]) == (True, True)
    if state["iteration"] and state["end"] is None:
        assert markers_in(repo), "no provisional marker"


def check_end(place: Scene, result: Result, undisturbed: Undisturbed) -> None:
    """It ended as if nothing had happened."""
    assert result.exit_code == 0, result.said
    assert result.outputs["outcome"] == "complete"
    assert told_at_the_end(result) == undisturbed.outputs
    assert final_block(result) == undisturbed.block
    check_what_is_left(place.repo, undisturbed)


def check_what_is_left(repo: Path, undisturbed: Undisturbed) -> None:
    """Marker, branch and journal of a run that has ended."""
    (path,) = markers_in(repo)
    marker = read_marker(path)
    assert (marker["kind"], marker["provisional"]) == ("complete", False)
    assert story(repo) == undisturbed.story
    assert git(repo, "ls-tree", "-r", BRANCH) == undisturbed.tree
    assert git(repo, "status", "--porcelain") == "?? cache/"
    events = journal_events(repo, TASK)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    runs = len({event["run"] for event in events} - {""})
    assert [event["kind"] for event in events].count("run_ended") == runs
    assert processes_left(repo) == []


def journal_moves(run: Started) -> Iterator[str]:
    """The journal's tip, each time it moves, until the run is over."""
    file = run.repo / ".git" / ref_of(TASK)

    def tip() -> str:
        try:
            return file.read_text().strip()
        except OSError:
            return ""

    last = tip()
    while run.process.poll() is None:
        if (now := tip()) not in ("", last):
            last = now
            yield now
        time.sleep(0.001)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_random_times(seed: int, tmp_path: Path, undisturbed: Undisturbed) -> None:
    place = scene(tmp_path)
    dice = random.Random(seed)
    for _ in range(8):
        run = place.start()
        end = time.monotonic() + dice.uniform(0.05, 1.6)
        while run.process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        if run.process.poll() is not None:
            check_end(place, run.wait(), undisturbed)
            return
        kill(run, place.repo)
        if ended(place):
            break
    go_on(place, undisturbed)


def test_killed_after_so_many_events(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """Right after an append: the journal knows, and nothing else may know yet."""
    place = scene(tmp_path)
    for count in (1, 2, 3, 4, 2, 3, 4, 5):
        run = place.start()
        moves = journal_moves(run)
        for _ in range(count):
            next(moves, None)
        if run.process.poll() is not None:
            check_end(place, run.wait(), undisturbed)
            return
        kill(run, place.repo)
        if ended(place):
            break
    go_on(place, undisturbed)


def flag(name: str, times: int) -> Callable[[Scene, Started], None]:
    """Wait until the agent works, or a check runs, for the ``times``-th time."""

    def wait(place: Scene, run: Started) -> None:
        for _ in range(times):
            path = place.flags / name
            assert wait_until(path.exists, 20), run.said
            if _ < times - 1:
                path.unlink()

    return wait


def ended(place: Scene) -> bool:
    """Whether the journal has the run's end."""
    if TASK not in tasks_of(place.repo):
        return False
    state = journal_state(place.repo, TASK)
    return state["end"] is not None and state["run"] != place.past


def go_on(place: Scene, undisturbed: Undisturbed) -> None:
    """Start it again for the last time; where the end was journalled already, nothing is left."""
    if ended(place):
        check_what_is_left(place.repo, undisturbed)
    else:
        check_end(place, place.finish(), undisturbed)


def closing(count: int) -> Callable[[Scene, Started], None]:
    """Wait until ``count`` appends of closing are in the journal."""

    def wait(place: Scene, run: Started) -> None:
        seen = 0
        for tip in journal_moves(run):
            seen += git(place.repo, "log", "-1", "--format=%s", tip).startswith("closing")
            if seen == count:
                return
        raise AssertionError(run.said)

    return wait


MOMENTS = {
    "baseline": flag("check", 1),
    "first-turn": flag("agent", 1),
    "first-checks": flag("check", 2),
    "second-turn": flag("agent", 2),
    "fourth-turn": flag("agent", 4),
    "last-checks": flag("check", 5),
    "archived": closing(1),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_in_the_middle_of_a_step(
    moment: str, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    place = scene(tmp_path)
    run = place.start()
    MOMENTS[moment](place, run)
    kill(run, place.repo)
    go_on(place, undisturbed)


def test_killed_twice_in_the_same_turn(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """What the first attempt left is still this iteration's work, not a thing of the past."""
    place = scene(tmp_path)
    for _ in range(3):
        run = place.start()
        if not (place.flags / "third").exists():
            flag("agent", 3)(place, run)
            (place.flags / "third").touch()
        else:
            (place.flags / "agent").unlink(missing_ok=True)
            flag("agent", 1)(place, run)
        time.sleep(0.1)
        kill(run, place.repo)
    go_on(place, undisturbed)


def test_a_job_that_is_killed_says_so_by_itself(tmp_path: Path) -> None:
    """The last write wins: what a killed job uploads, shows and hands on is not "complete"."""
    place = scene(tmp_path)
    run = place.start()
    flag("agent", 4)(place, run)
    run.kill()
    result = run.wait()
    assert result.outputs["outcome"] == "infra_error"
    assert result.outputs["complete"] == "false"
    assert "killed, cancelled or timed out" in result.outputs["reason"]
    assert result.outputs["iterations"] == "3"
    assert result.marker is not None
    assert (result.marker["provisional"], result.marker["iterations"]["used"]) == (True, 3)
    assert "LOOP RUNNING: 3/6 iterations judged" in result.summary
    assert Path(result.outputs["artifact-path"]).joinpath("summary.md").is_file()


# --- elsewhere ------------------------------------------------------------------------------


def interrupted(tmp_path: Path, moment: Callable[[Scene, Started], None]) -> Scene:
    place = scene(tmp_path)
    run = place.start()
    moment(place, run)
    kill(run, place.repo)
    return place


@pytest.mark.parametrize("branch", ["main", f"navci/{TASK}"])
def test_a_fresh_clone_goes_on_from_the_snapshot(
    branch: str, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    old = interrupted(tmp_path, flag("agent", 3))
    new = tmp_path / "new"
    git(tmp_path, "clone", "-q", "--branch", branch, str(old.repo), str(new))
    git(new, "fetch", "-q", str(old.repo), "refs/navci/*:refs/navci/*")
    git(new, "remote", "remove", "origin")
    place = scene(tmp_path, "new", new)
    result = place.finish()
    assert "continuing the run started" in result.said
    assert "Iteration 3/6" in result.said
    assert "Iteration 2/6" not in result.said
    check_end(place, result, undisturbed)


def bash_args(script: Path, text: str) -> tuple[str, ...]:
    """Options of a run whose agent is this bash script."""
    script.write_text(text)
    return (
        *("run", "--task-file", "TASK-7.md", "--agent", "command"),
        *("--agent-command", f"bash {script}", "--test-command", "grep -qx 42 answer.txt"),
    )


DONE = 'printf \'```pilot-signal\\n{"v":2,"type":"exit","success":true}\\n```\\n\'\n'


@pytest.mark.parametrize("branch", ["main", f"navci/{TASK}"])
def test_a_snapshot_goes_further_than_the_branch(branch: str, tmp_path: Path) -> None:
    """Work of an attempt that crashed is in no commit of the branch, and still not lost."""
    repo = make_repo(tmp_path / "repo", FILES)
    waiting = tmp_path / "waiting"
    args = bash_args(
        tmp_path / "agent.sh",
        f"if [ ! -e {tmp_path}/crashed ]; then touch {tmp_path}/crashed; echo half > half.txt; "
        f"exit 3; fi\nif [ ! -e {waiting} ]; then touch {waiting}; sleep 60; fi\n"
        f"echo 42 > answer.txt; {DONE}",
    )
    run = start_navci(repo, *args)
    assert wait_until(waiting.exists, 20), run.said
    kill(run, repo)
    new = tmp_path / "new"
    git(tmp_path, "clone", "-q", "--branch", branch, str(repo), str(new))
    git(new, "fetch", "-q", str(repo), "refs/navci/*:refs/navci/*")
    git(new, "remote", "remove", "origin")
    result = run_navci(new, *args)
    assert result.exit_code == 0, result.said
    assert git(new, "show", f"{BRANCH}:half.txt") == "half"


CLOSES = {
    "marked": "printf -- '---\\nstatus: done\\n---\\n# Nothing to do\\n' > TASK-7.md",
    "archived": "mkdir -p .agent/tasks/archive; git mv TASK-7.md .agent/tasks/archive/",
    "deleted": "rm TASK-7.md",
    "broken": "printf -- '---\\nstatus: [\\n---\\n' > TASK-7.md",
}


@pytest.mark.parametrize("how", CLOSES)
def test_the_agent_had_been_at_the_task_document(how: str, tmp_path: Path) -> None:
    """A run under way goes on with the task it started with."""
    repo = make_repo(tmp_path / "repo", FILES)
    waiting = tmp_path / "waiting"
    args = bash_args(
        tmp_path / "agent.sh",
        f"if [ ! -e {waiting} ]; then {CLOSES[how]}; touch {waiting}; sleep 60; fi\n"
        f"git checkout -q HEAD TASK-7.md 2>/dev/null; echo 42 > answer.txt; {DONE}",
    )
    run = start_navci(repo, *args)
    assert wait_until(waiting.exists, 20), run.said
    kill(run, repo)
    contract = journal_state(repo, TASK)["contract"]
    result = run_navci(repo, *args)
    assert result.exit_code == 0, result.said
    assert journal_state(repo, TASK)["contract"] == contract
    assert result.outputs["iterations"] == "1"


@pytest.mark.parametrize("moment", ["first-checks", "second-turn"])
def test_what_a_person_does_in_between_is_kept(
    moment: str, tmp_path: Path, undisturbed: Undisturbed
) -> None:
    place = interrupted(tmp_path, MOMENTS[moment])
    write_files(place.repo, {"mine.txt": "mine\n", "README.md": "# my own words\n"})
    result = place.finish()
    assert result.exit_code == 0, result.said
    assert (place.repo / "mine.txt").read_text() == "mine\n"
    assert is_reachable(place.repo, "# my own words\n")


LEFT = {
    "committed": "echo half > half.txt; git add half.txt; git commit -qm half",
    "untracked": "echo half > half.txt",
    "staged": "echo half > half.txt; git add half.txt",
    "changed": "echo half > notes.txt",
    "stashed": "echo half > half.txt; git add half.txt; git stash -q",
}


@pytest.mark.parametrize("where", ["side", "detached", "main"])
@pytest.mark.parametrize("how", LEFT)
def test_the_agent_had_switched_branch(how: str, where: str, tmp_path: Path) -> None:
    """Wherever it left the checkout, what it wrote is kept and the run goes on."""
    repo = make_repo(tmp_path / "repo", FILES | {"notes.txt": "notes\n"})
    working = tmp_path / "working"
    switch = {
        "side": "git switch -qc side", "detached": "git switch -q --detach", "main":
        "git switch -q main",
    }[where]  # fmt: skip
    args = bash_args(
        tmp_path / "agent.sh",
        f"if [ ! -e {working} ]; then {switch} && {LEFT[how]}; touch {working}; sleep 60; fi\n"
        f"echo 42 > answer.txt; {DONE}",
    )
    run = start_navci(repo, *args)
    assert wait_until(working.exists, 20), run.said
    kill(run, repo)
    main = git(repo, "rev-parse", "main")
    result = run_navci(repo, *args)
    assert result.exit_code == 0, result.said
    assert result.outputs["iterations"] == "1"
    assert git(repo, "show", f"{BRANCH}:answer.txt") == "42"
    assert git(repo, "symbolic-ref", "HEAD") == BRANCH
    assert git(repo, "rev-parse", "main") == main
    assert is_reachable(repo, "half\n")


# --- runs after one another -----------------------------------------------------------------


def a_run(repo: Path, *turn: object, iterations: int = 1, test: str = "42") -> Result:
    book = write_playbook(repo, turn)
    return run_navci(
        repo, "run", "--task-file", "TASK-7.md", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", str(iterations), "--test-command", f"grep -qx {test} answer.txt",
    )  # fmt: skip


@pytest.mark.parametrize("at", ["main", f"navci/{TASK}"])
def test_a_second_run_goes_on_from_the_work_branch(at: str, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", FILES)
    base = git(repo, "rev-parse", "main")
    first = a_run(repo, write("part.txt", "part one\n"), {"say": "more to do"})
    assert first.exit_code == 10, first.said
    git(repo, "switch", "-q", at)
    second = a_run(repo, write("answer.txt", "42\n"), EXIT)
    assert second.exit_code == 0, second.said
    assert f"going on from the work already on 'navci/{TASK}'" in second.said
    assert second.outputs["iterations"] == "1"
    assert git(repo, "show", f"{BRANCH}:part.txt") == "part one"
    assert git(repo, "rev-parse", "main") == base
    assert int(git(repo, "rev-list", "--count", f"main..{BRANCH}")) >= 2
    assert second.marker is not None
    assert {"part.txt", "answer.txt"} <= set(second.marker["files_changed"])
    runs = {event["run"] for event in journal_events(repo, TASK)} - {""}
    assert len(runs) == 2


def test_a_moved_base_is_merged_in(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", FILES)
    assert a_run(repo, write("part.txt", "part one\n"), {"say": "more"}).exit_code == 10
    git(repo, "switch", "-q", "main")
    write_files(repo, {"new.txt": "from main\n"})
    moved = commit_all(repo, "main moves on")
    result = a_run(repo, write("answer.txt", "42\n"), EXIT)
    assert result.exit_code == 0, result.said
    assert git(repo, "merge-base", "main", BRANCH) == moved
    for path, text in (("new.txt", "from main"), ("part.txt", "part one"), ("answer.txt", "42")):
        assert git(repo, "show", f"{BRANCH}:{path}") == text
    assert git(repo, "rev-parse", "main") == moved
    # What came from main is not the run's change.
    assert "new.txt" not in git(repo, "diff", "--name-only", "main", BRANCH)


def test_a_conflict_with_the_moved_base_is_a_guard_gap(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", FILES)
    assert a_run(repo, write("answer.txt", "41\n"), {"say": "more"}).exit_code == 10
    git(repo, "switch", "-q", "main")
    write_files(repo, {"answer.txt": "40\n"})
    commit_all(repo, "main moves on")
    # The agent claims to be done and leaves the conflict where it is: the test is green.
    lazy = a_run(repo, write("more.txt", "x\n"), EXIT, test="41")
    assert lazy.exit_code == 10, lazy.said
    assert "the base moved on and conflicts in 1 file" in lazy.said
    assert "guard:answer.txt" in lazy.outputs["gaps"]
    assert "answer.txt holds conflict markers; resolve them" in lazy.summary
    done = a_run(repo, write("answer.txt", "42\n"), EXIT)
    assert done.exit_code == 0, done.said
    assert git(repo, "show", f"{BRANCH}:answer.txt") == "42"
    assert git(repo, "merge-base", "--is-ancestor", "main", BRANCH) == ""


def with_history(tmp_path: Path) -> Scene:
    """A task with a run behind it, whose work branch and base have both gone on since."""
    repo = make_repo(tmp_path / "repo", FILES | {"old.txt": "old\n"})
    first = a_run(repo, write("part.txt", "part one\n"), {"delete": "old.txt"}, {"say": "more"})
    assert first.exit_code == 10, first.said
    git(repo, "switch", "-q", "main")
    write_files(repo, {"new.txt": "from main\n"})
    commit_all(repo, "main moves on")
    for marker in markers_in(repo):
        marker.unlink()
    return replace(scene(tmp_path, repo=repo), past=journal_state(repo, TASK)["run"])


@pytest.fixture(scope="module")
def undisturbed_second(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed_in(with_history(tmp_path_factory.mktemp("second")))


@pytest.mark.parametrize("moment", ["opened", "baseline", "opening-checks", "first-turn"])
def test_killed_in_a_second_run(
    moment: str, tmp_path: Path, undisturbed_second: Undisturbed
) -> None:
    """The baseline lays the base's files out for a while: no part of the work, either."""
    place = with_history(tmp_path)
    run = place.start()
    match moment:
        case "opened":
            next(journal_moves(run))
        case "baseline":
            flag("check", 1)(place, run)
        case "opening-checks":
            flag("check", 2)(place, run)
        case _:
            flag("agent", 1)(place, run)
    kill(run, place.repo)
    check_end(place, place.finish(), undisturbed_second)
