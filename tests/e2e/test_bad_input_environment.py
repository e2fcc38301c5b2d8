"""What is around a run: full disks, the runner's files and variables, pipes nobody reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from navci.journal import ref_of
from tests.support.bash_agent import HONEST, WORK, Agent, an_agent, assert_ended
from tests.support.navci_run import PROGRAM, Result, environment, place_of, read_marker, run_folders
from tests.support.processes import ANYBODY, can
from tests.support.repos import git

pytestmark = pytest.mark.e2e

MOUNTS = ("unshare", "-m")
mounts = pytest.mark.skipif(not can(*MOUNTS), reason="needs a mount namespace of its own")


# --- full disks -----------------------------------------------------------------------------


def on_a_small_disk(agent: Agent, folder: Path, size: str, **options: str | None) -> Result:
    """A run during which ``folder`` is a disk of ``size``; afterwards it holds what was there."""
    copy = folder.with_name("copy")
    script = f"""
        cp -a {folder} {copy}; mount -t tmpfs -o size={size} none {folder}; cp -a {copy}/. {folder}
        rm -rf {copy}; cd {agent.repo}; "$@"; code=$?; cp -a {folder} {copy}; exit $code
    """
    through = (*MOUNTS, "bash", "-c", script, "bash")
    result = agent.run(through=through, env=options, timeout=60)
    shutil.rmtree(folder)
    copy.rename(folder)
    return result


@mounts
def test_no_room_for_the_run_directory(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, files={"large.txt": "".join(map(str, range(100_000)))})
    result = on_a_small_disk(agent, place_of(agent.repo) / "temp", "64k")
    assert_ended(result, "infra_error", 18, "loop-aborted")
    assert "No space left on device" in result.outputs["reason"]
    assert Path(result.outputs["marker"]).is_relative_to(agent.repo)
    assert result.outputs["marker"] in result.said
    assert git(agent.repo, "status", "--porcelain", "--branch") == "## main"

    assert_ended(agent.run(), "complete", 0, "complete")


@mounts
def test_the_agent_fills_the_disk_of_the_run_directory(tmp_path: Path) -> None:
    fill = 'head -c 20000000 /dev/zero > "$TMPDIR/fill" 2>/dev/null'
    agent = an_agent(tmp_path, f"work; {fill}; echo working", HONEST)
    result = on_a_small_disk(agent, place_of(agent.repo) / "temp", "3m")
    assert_ended(result, "infra_error", 18, "loop-aborted")
    assert "No space left on device" in result.outputs["reason"]
    assert Path(result.outputs["marker"]).is_relative_to(agent.repo)
    assert result.outputs["marker"] in result.said
    assert (agent.repo / "work.txt").read_text() == WORK

    result = agent.run("--allow-dirty")
    assert_ended(result, "complete", 0, "complete")
    assert agent.has("work.txt")


@mounts
def test_the_disk_of_the_repository_fills_up(tmp_path: Path) -> None:
    """There is no room for the work where it belongs: the run directory has it, and says so."""
    fill = "head -c 20000000 /dev/zero > fill.log 2>/dev/null"
    agent = an_agent(tmp_path, f"work; {fill}; echo working", HONEST)
    result = on_a_small_disk(agent, agent.repo, "3m")
    assert_ended(result, "infra_error", 18, "loop-aborted")
    assert "No space left on device" in result.outputs["reason"]
    (folder,) = run_folders(agent.repo)
    assert Path(result.outputs["marker"]).is_relative_to(folder)
    assert result.outputs["marker"] in result.said
    assert f"run folder {folder}" in result.said
    journal = ref_of(agent.task)
    listing = git(folder / "git", "rev-list", "--objects", journal)
    assert git(agent.repo, "hash-object", "work.txt") in listing

    (agent.repo / "fill.log").unlink()
    (rescue,) = (line for line in result.stdout.splitlines() if line.startswith("to fetch"))
    subprocess.run(["bash", "-c", rescue.removeprefix("to fetch")], cwd=agent.repo, check=True)
    assert agent.has("work.txt")
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "continuing the run" in result.said
    assert agent.has("work.txt")


@mounts
def test_a_repository_without_room_is_gone_on_with_once_there_is_some(tmp_path: Path) -> None:
    fill = "head -c 20000000 /dev/zero > fill.log 2>/dev/null"
    agent = an_agent(tmp_path, f"work; {fill}; echo working", HONEST)
    result = on_a_small_disk(agent, agent.repo, "3m")
    assert_ended(result, "infra_error", 18, "loop-aborted")
    (agent.repo / "fill.log").unlink()
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "continuing the run" in result.said
    assert agent.has("work.txt")


@mounts
def test_the_files_of_the_runner_are_on_a_full_disk(tmp_path: Path) -> None:
    agent = an_agent(tmp_path)
    (full := tmp_path / "full").mkdir()
    (full / "fill").write_bytes(bytes(60_000))
    files = {"GITHUB_OUTPUT": str(full / "output"), "GITHUB_STEP_SUMMARY": str(full / "summary")}
    result = on_a_small_disk(agent, full, "64k", **files)
    assert result.exit_code == 0
    assert "the job summary was not written" in result.said
    assert "outputs were not written" in result.said
    assert result.kind == "complete"


# --- the runner's files ---------------------------------------------------------------------

PLACES = ["unset", "empty", "nowhere", "a folder", "read-only", "/dev/full", "a pipe", "dangling"]


def place(kind: str, folder: Path) -> str | None:
    """A value for a variable that should name a file."""
    folder.mkdir()
    match kind:
        case "unset":
            return None
        case "empty":
            return ""
        case "nowhere":
            return str(folder / "no" / "such" / "file")
        case "read-only":
            (folder / "file").touch()
            (folder / "file").chmod(0o444)
            folder.chmod(0o555)
            return str(folder / "file")
        case "a pipe":
            os.mkfifo(folder / "pipe")
            return str(folder / "pipe")
        case "dangling":
            (folder / "link").symlink_to(folder / "no" / "such" / "file")
            return str(folder / "link")
        case "/dev/full":
            return kind
        case _:
            return str(folder)


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("name", ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"])
def test_a_file_of_the_runner_that_cannot_be_written_ends_nothing(
    tmp_path: Path, name: str, kind: str
) -> None:
    agent = an_agent(tmp_path)
    value = place(kind, tmp_path / "place")
    through = ANYBODY if kind == "read-only" and can(*ANYBODY) else ()
    result = agent.run(env={name: value, "GITHUB_ACTIONS": "true"}, through=through)
    assert result.exit_code == 0, result.said
    assert result.kind == "complete"
    said = {"GITHUB_OUTPUT": "outputs were not written", "GITHUB_STEP_SUMMARY": "the job summary"}
    lines = result.said.splitlines()
    complaints = [line for line in lines if said[name] in line and line.startswith("::warning")]
    if (name, kind) == ("GITHUB_STEP_SUMMARY", "dangling"):
        assert complaints == [], "the link is replaced by a file"
    elif value:
        assert name in complaints[0]
        assert len(complaints) == 1, "said once, however often it is tried"
    else:
        assert complaints == []
    other = result.summary if name == "GITHUB_OUTPUT" else result.outputs["outcome"]
    assert "complete" in other


@pytest.mark.parametrize("kind", [kind for kind in PLACES if kind != "a folder"])
def test_a_temporary_folder_that_is_none_is_replaced_by_the_systems(
    tmp_path: Path, kind: str
) -> None:
    agent = an_agent(tmp_path)
    value = place(kind, tmp_path / "place")
    (tmp_path / "tmp").mkdir()
    result = agent.run(env={"RUNNER_TEMP": value, "TMPDIR": str(tmp_path / "tmp")})
    assert_ended(result, "complete", 0, "complete")
    (folder,) = (tmp_path / "tmp").glob("navci-*")
    assert f"run folder {folder}" in result.said


@pytest.mark.skipif(not can(*ANYBODY), reason="needs setpriv")
def test_a_read_only_temporary_folder_is_replaced_by_the_systems(tmp_path: Path) -> None:
    agent = an_agent(tmp_path)
    (closed := tmp_path / "closed").mkdir(0o555)
    (tmp_path / "tmp").mkdir()
    variables = {"RUNNER_TEMP": str(closed), "TMPDIR": str(tmp_path / "tmp")}
    assert_ended(agent.run(env=variables, through=ANYBODY), "complete", 0, "complete")
    assert list((tmp_path / "tmp").glob("navci-*"))


@pytest.mark.parametrize("kind", ["/dev/full", "/dev/zero", "a pipe", "a folder"])
def test_an_event_that_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    agent = an_agent(tmp_path)
    path = kind if kind.startswith("/dev") else place(kind, tmp_path / "place")
    job = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "issues", "GITHUB_EVENT_PATH": path}
    result = agent.run(env=job, task=(), timeout=20)
    assert result.exit_code == 2
    assert result.outputs["outcome"] == "config_error"
    assert f"cannot read the event payload {path}" in result.said
    assert (result.marker, result.marker_files) == (None, [])


# --- variables ------------------------------------------------------------------------------

VARIABLES: Mapping[str, Mapping[str, str | None]] = {
    "no HOME": {"HOME": None},
    "an empty HOME": {"HOME": ""},
    "a HOME that is nowhere": {"HOME": "/no/such/home"},
    "a HOME that is a file": {"HOME": "/etc/hostname"},
    "no LANG": {"LANG": None, "LC_ALL": None},
    "an old locale": {"LANG": "C", "LC_ALL": "C"},
    "an old locale that Python must take": {
        "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"
    },
    "a locale that is not there": {"LC_ALL": "xx_YY.UTF-9"},
    "ASCII for output": {"PYTHONIOENCODING": "ascii"},
    "Latin-1 for output": {"PYTHONIOENCODING": "latin-1:strict"},
    "a time zone that is none": {"TZ": "Nowhere/Land"},
    "numbers that are none": {"GITHUB_RUN_ATTEMPT": "²", "GITHUB_RUN_ID": "", "COLUMNS": "x"},
    "a dumb terminal": {"TERM": "dumb", "COLUMNS": "1"},
    "no TERM": {"TERM": None},
    "only PATH": {"LANG": None, "TZ": None, "TERM": None, "TMPDIR": None, "RUNNER_TEMP": None},
}  # fmt: skip


@pytest.mark.parametrize("name", VARIABLES)
def test_the_loop_runs_with(tmp_path: Path, name: str) -> None:
    agent = an_agent(tmp_path, "work; echo 1 > $'caf\\351'; echo '✓ working'", HONEST)
    result = agent.run(env=VARIABLES[name])
    assert_ended(result, "complete", 0, "complete")
    assert agent.has("work.txt")
    assert agent.keeps("1\n")
    assert "LOOP COMPLETE" in result.stdout
    for folder in Path("/tmp").glob(f"navci-{agent.task}-*"):
        shutil.rmtree(folder)


@pytest.mark.parametrize("path", ["", "/nowhere", None])
def test_without_git_the_run_ends_with_what_to_do(tmp_path: Path, path: str | None) -> None:
    agent = an_agent(tmp_path)
    if path is None:  # everything but git
        (tools := tmp_path / "bin").mkdir()
        for tool in ("bash", "sh", "cat", "grep"):
            (tools / tool).symlink_to(str(shutil.which(tool)))
        path = str(tools)
    result = agent.run(env={"PATH": path})
    assert result.exit_code == 18
    assert "git was not found; install git" in result.said
    assert result.outputs["outcome"] == "infra_error"
    assert result.outputs["complete"] == "false"
    assert "Traceback" not in result.said


def test_no_color_is_honoured_in_a_job_too(tmp_path: Path) -> None:
    agent = an_agent(tmp_path)
    job = {"GITHUB_ACTIONS": "true"}
    assert "\x1b[" in agent.run(env=job).stdout
    plain = agent.run(env=job | {"NO_COLOR": "1"})
    assert "LOOP COMPLETE" in plain.stdout
    assert "\x1b[" not in plain.stdout
    assert "\x1b[" not in agent.run().stdout


# --- streams --------------------------------------------------------------------------------

STREAMS = {
    "standard output closed": '"$@" >&-',
    "all three closed": '"$@" >&- 2>&- <&-',
    "standard input closed": '"$@" <&-',
    "standard output full": '"$@" > /dev/full',
    "a reader that goes away": '"$@" | head -1; exit ${PIPESTATUS[0]}',
    "a reader that was never there": '"$@" | true; exit ${PIPESTATUS[0]}',
    "standard output for reading": '"$@" 1< /dev/null',
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_run_ends_right_with(tmp_path: Path, name: str) -> None:
    """Nobody listens; the work, the marker and the exit code are the same."""
    agent = an_agent(tmp_path, f"work; {'echo talking;' * 50}", f"echo x >&2; {HONEST}")
    result = agent.run(through=("bash", "-c", STREAMS[name], "bash"))
    assert_ended(result, "complete", 0, "complete")
    assert agent.has("work.txt") and agent.has("answer.txt", "42\n")
    assert "Exception ignored" not in result.said
    assert [path for path in agent.repo.iterdir() if path.name not in KNOWN] == []


KNOWN = {".git", ".gitignore", ".agent", "answer.txt", "src", "work.txt"}


@pytest.mark.parametrize("line", ['"$@" --json', '"$@" --json 2>/dev/full', '"$@" --json 2>&-'])
def test_json_is_the_marker_alone_whatever_becomes_of_the_log(tmp_path: Path, line: str) -> None:
    agent = an_agent(tmp_path)
    result = agent.run(through=("bash", "-c", line, "bash"))
    assert_ended(result, "complete", 0, "complete")
    assert json.loads(result.stdout) == result.marker


def test_json_into_a_full_disk_still_ends_with_the_runs_exit_code(tmp_path: Path) -> None:
    agent = an_agent(tmp_path)
    result = agent.run(through=("bash", "-c", '"$@" --json > /dev/full', "bash"))
    assert_ended(result, "complete", 0, "complete")


def test_two_runs_at_once_share_nothing_they_should_not(tmp_path: Path) -> None:
    """The second finds the first one's lease and leaves; the first one never notices."""
    agent = an_agent(tmp_path, 'work; until [ -e "$PLACE/go" ]; do sleep 0.1; done; done_')
    command = [str(PROGRAM), "run", "--task", "Write 42 into answer.txt", "--no-push"]
    command += ["--agent", "command", "--agent-command", f"bash {agent.program}"]
    command += ["--max-iterations", "1"]
    first = subprocess.Popen(
        command,
        cwd=agent.repo,
        env=environment(place_of(agent.repo)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(200):
            if (agent.repo / "work.txt").exists():
                break
            subprocess.run(["sleep", "0.1"], check=True)
        second = agent.run()
        assert second.exit_code == 19
        assert "is being worked on by process" in second.said
    finally:
        (place_of(agent.repo) / "go").touch()
        code = first.wait(30)
    assert code in (0, 10)
    (marker,) = [read_marker(path) for path in agent.repo.glob(".agent/.context-markers/*.json")]
    assert not marker["provisional"]
    assert agent.has("work.txt")
