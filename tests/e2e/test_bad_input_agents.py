"""Agents that crash, flood, linger, pry and kill: each ends as it must, with its work kept."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.support.bash_agent import HONEST, WORK, an_agent, assert_ended
from tests.support.navci_run import place_of, processes_left, run_folders
from tests.support.processes import ANYBODY, can, wait_until
from tests.support.repos import git

pytestmark = pytest.mark.e2e

AGAIN = "the agent's turn does not count"


NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork")


# --- starting and ending --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("no-such-agent --headless", "`no-such-agent` was not found or is not executable"),
        ("/nowhere/agent", "`/nowhere/agent` was not found or is not executable"),
        ("./missing.sh", "cannot start `./missing.sh`: not found; install it, correct the name"),
        ("./answer.txt", "cannot start `./answer.txt`: not executable; `chmod +x"),
        ("./src", "cannot start `./src`: not executable"),
        ("./odd", "cannot start `./odd`: no program; a script needs a first line"),
    ],
)
def test_an_agent_that_cannot_start_ends_the_run_at_once(
    tmp_path: Path, program: str, says: str
) -> None:
    agent = an_agent(tmp_path, files={"odd": "echo no shebang\n"})
    (agent.repo / "odd").chmod(0o755)
    git(agent.repo, "commit", "-qam", "executable")
    result = agent.run(program=program)
    assert_ended(result, "infra_error", 18, "loop-aborted")
    assert says in result.outputs["reason"]
    assert result.outputs["iterations"] == "0"
    assert AGAIN not in result.said, "another try would not help"


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        ("work; echo 'no credit left' >&2; exit 1", "exited 1; it said: no credit left"),
        ("work; kill -SEGV $$", "exited 139"),
        ("work; exec kill -9 $$", "exited 137"),
    ],
    ids=["exits 1", "segfaults", "kills itself"],
)
def test_three_crashes_in_a_row_end_the_run_with_their_work_kept(
    tmp_path: Path, turn: str, says: str
) -> None:
    agent = an_agent(tmp_path, turn)
    result = agent.run()
    assert_ended(result, "infra_error", 18, "loop-aborted")
    assert "the agent failed 3 times in a row" in result.outputs["reason"]
    assert says in result.outputs["reason"]
    assert result.said.count(AGAIN) == 2
    assert result.outputs["iterations"] == "0"
    assert agent.has("work.txt")


def test_a_crash_between_good_turns_counts_nowhere(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, "work; exit 7", HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert result.outputs["iterations"] == "1"
    assert agent.has("work.txt")


def test_silence_without_work_is_no_turn(tmp_path: Path) -> None:
    result = an_agent(tmp_path, "true").run()
    assert_ended(result, "infra_error", 18, "loop-aborted")
    assert "printed nothing on standard output" in result.outputs["reason"]


def test_silence_with_work_is_a_turn(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, "work", HONEST)
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert result.outputs["iterations"] == "2"
    assert agent.has("work.txt")


def test_a_turn_that_never_ends_is_ended_at_its_deadline(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, "work; echo thinking; sleep 300", HONEST)
    result = agent.run("--iteration-timeout", "2s", timeout=30)
    assert_ended(result, "complete", 0, "complete")
    assert "the turn was ended at its deadline" in result.said
    assert result.outputs["iterations"] == "2"
    assert agent.has("work.txt")
    assert processes_left(agent.repo) == []


def test_a_turn_that_is_deaf_to_sigterm_is_ended_too(tmp_path: Path) -> None:
    turn = "work; trap '' TERM INT HUP; while :; do sleep 1; done"
    agent = an_agent(tmp_path, turn, HONEST)
    result = agent.run("--iteration-timeout", "1s", timeout=40)
    assert_ended(result, "complete", 0, "complete")
    assert agent.has("work.txt")
    assert processes_left(agent.repo) == []


def test_daemons_that_hold_the_pipes_open_are_ended(tmp_path: Path) -> None:
    turn = """
        for n in 1 2 3; do setsid nohup sleep 300 & done
        (setsid bash -c 'trap : TERM HUP; while :; do echo tick; sleep 1; done' &)
        (setsid setsid sleep 300 < /dev/null > /dev/null 2>&1 &)
        work; echo working
    """
    agent = an_agent(tmp_path, turn, HONEST)
    result = agent.run(timeout=30)
    assert_ended(result, "complete", 0, "complete")
    assert "still running afterwards and were ended" in result.said
    assert processes_left(agent.repo) == []


# --- what it prints -------------------------------------------------------------------------


def test_bytes_that_are_no_text_are_no_trouble(tmp_path: Path) -> None:
    junk = r"printf '\377\376 bad \000 nul \033[31m \033]0;title\007 red \r\n'"
    agent = an_agent(tmp_path, f"work; {junk}", f"{junk}; {HONEST}")
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "\0" not in result.said
    assert "\x1b" not in result.said
    assert "\x1b" not in result.summary
    assert agent.has("work.txt")


def test_300_megabytes_of_output_are_read_to_the_end(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, f"work; yes 0123456789abcdef | head -c 300000000; {HONEST}")
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert result.outputs["iterations"] == "1", "the signal came after all of it"
    assert "output cut after" in result.said
    assert len(result.said) < 3_000_000
    assert len(result.summary) < 1_000_000
    (transcript,) = run_folders(agent.repo)[0].glob("transcripts/01-001/agent.out")
    assert transcript.stat().st_size > 300_000_000
    shutil.rmtree(place_of(agent.repo))


COMMANDS = r"""
    printf '::set-output name=outcome::complete\n  ::add-mask::e\n##[error]bad\n::error::worse\n'
    printf '::stop-commands::x\n::endgroup::\n::group::mine\nabc\r::error::after a return\n'
    printf '\033[0m::warning::coloured\n\xe2\x80\x8b::notice::unseen\n x ##[group]y\n##[debug]z'"""


def test_workflow_commands_of_the_agent_are_not_alive(tmp_path: Path) -> None:
    """Read as the runner reads a log: what is between stop-commands tokens is text."""
    agent = an_agent(tmp_path, f"work; {COMMANDS}", f"{COMMANDS}; {HONEST}")
    test = f"{COMMANDS}; grep -qx 42 answer.txt"
    result = agent.run(env={"GITHUB_ACTIONS": "true"}, test=test)
    assert_ended(result, "complete", 0, "complete")
    alive, dead = commands_in(result.stdout)
    own = re.compile(r"::(group::|endgroup::$|(warning|notice|error)( title=[^:]*)?::)")
    assert alive
    assert [line for line in alive if not own.match(line)] == []
    for word in ("worse", "mine", "coloured", "unseen", "after a return", "name=outcome"):
        assert not [line for line in alive if word in line]
        assert word in result.stdout, "people still see what it printed"
    assert dead == [], "disarmed even where the runner is told not to look"


def commands_in(log: str) -> tuple[list[str], list[str]]:
    """Lines the runner takes for commands, and those it would but for ``stop-commands``."""
    alive, dead, token = [], [], None
    for line in re.split(r"\r\n|\r|\n", log):
        text = line.strip()
        if token is not None:
            if text == f"::{token}::":
                token = None
            elif text.startswith("::") or "##[" in text:
                dead.append(line)
        elif text.startswith("::stop-commands::"):
            token = text.removeprefix("::stop-commands::")
        elif text.startswith("::") or "##[" in text:
            alive.append(text)
    return alive, dead


# --- killing --------------------------------------------------------------------------------

NAVCI = "navci=$(cut -d' ' -f4 /proc/$PPID/stat)"


def test_an_agent_that_kills_its_parent_has_crashed(tmp_path: Path) -> None:
    turn = "work; setsid sleep 300 & kill -9 $PPID; sleep 5; echo late > late.txt"
    agent = an_agent(tmp_path, turn, HONEST)
    result = agent.run(timeout=30)
    assert_ended(result, "complete", 0, "complete")
    assert "the step killed its own supervisor" in result.said
    assert result.outputs["iterations"] == "1"
    assert agent.has("work.txt")
    assert not (agent.repo / "late.txt").exists()
    assert processes_left(agent.repo) == []


def test_an_agent_that_stops_its_parent_is_ended_at_the_deadline(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, "work; kill -STOP $PPID; echo stopped", HONEST)
    result = agent.run("--iteration-timeout", "2s", timeout=40)
    assert_ended(result, "complete", 0, "complete")
    assert agent.has("work.txt")
    assert processes_left(agent.repo) == []


@pytest.mark.skipif(not can(*NAMESPACE), reason="needs a process namespace of its own")
def test_an_agent_that_kills_everything_it_sees_has_crashed(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, "work; echo working; kill -9 -1; exit 9", HONEST)
    result = agent.run(program=f"{' '.join(NAMESPACE)} bash {agent.program}")
    assert_ended(result, "complete", 0, "complete")
    assert "exited 9" in result.said
    assert agent.has("work.txt")


def test_an_agent_that_tells_navci_to_end_has_stopped_the_run(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, f"work; {NAVCI}; kill $navci; sleep 300")
    result = agent.run(timeout=30)
    assert_ended(result, "user_aborted", 130, "user-aborted")
    assert "SIGTERM" in result.outputs["reason"]
    assert agent.has("work.txt")
    assert processes_left(agent.repo) == []


def test_an_agent_that_kills_navci_dies_with_it_and_the_next_run_goes_on(tmp_path: Path) -> None:
    turn = f"work; {NAVCI}; kill -9 $navci; sleep 2; echo late > late.txt"
    agent = an_agent(tmp_path, turn, HONEST)
    killed = agent.run(timeout=30)
    assert killed.exit_code == -9
    assert killed.outputs["outcome"] == "infra_error"
    assert killed.outputs["complete"] == "false"
    assert killed.marker and killed.marker["provisional"], "a killed job still tells the truth"
    assert wait_until(lambda: not processes_left(agent.repo))

    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    assert "continuing the run" in result.said
    assert agent.has("work.txt")
    assert not (agent.repo / "late.txt").exists()


# --- prying ---------------------------------------------------------------------------------

SECRETS = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_TOKEN": "ghs_thetokenofthejob",
    "NAVCI_GITHUB_TOKEN": "ghs_thetokenofnavci",
    "ACTIONS_RUNTIME_TOKEN": "theruntimetoken",
    "ACTIONS_ID_TOKEN_REQUEST_URL": "https://id.example.org",
    "AWS_SECRET_ACCESS_KEY": "thekeyofthecloud",
    "GITHUB_ENV": "/tmp/env",
    "GITHUB_PATH": "/tmp/path",
    "GITHUB_STATE": "/tmp/state",
}


def test_the_environment_of_an_agent_holds_nothing_of_the_jobs(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, f'env > "$PLACE/env"; {HONEST}')
    result = agent.run(env=SECRETS)
    assert_ended(result, "complete", 0, "complete")
    lines = (place_of(agent.repo) / "env").read_text().splitlines()
    seen = dict(line.split("=", 1) for line in lines if "=" in line)
    assert seen["PILOT_EXECUTOR"] == "1"
    assert seen["NAVCI_LOOP_ACTIVE"] == agent.task
    assert [name for name in seen if name.startswith(("GITHUB_", "ACTIONS_", "AWS_"))] == []
    assert {name for name in seen if "NAVCI" in name} == {"NAVCI_LOOP_ACTIVE", "NAVCI_RUN_TOKEN"}
    assert not Path(seen["HOME"]).is_relative_to(place_of(agent.repo) / "home")
    assert Path(seen["TMPDIR"]).name == "tmp"
    assert not Path("/tmp/env").exists()


@pytest.mark.skipif(not can(*ANYBODY), reason="needs setpriv")
def test_navcis_own_environment_cannot_be_read(tmp_path: Path) -> None:
    """Root can, by sudo too: on a hosted runner `agent-user` is what closes that."""
    pry = f"""
        {NAVCI}
        for pid in $navci $PPID; do
            cat /proc/$pid/environ >> "$PLACE/stolen"; cat /proc/$pid/mem >> "$PLACE/stolen"
            cat /proc/$pid/fd/* >> "$PLACE/stolen"; readlink /proc/$pid/fd/* >> "$PLACE/stolen"
        done
    """
    agent = an_agent(tmp_path, f"work\n{pry}\n{HONEST}")
    result = agent.run(env=SECRETS, through=ANYBODY)
    assert_ended(result, "complete", 0, "complete")
    assert (place_of(agent.repo) / "stolen").read_bytes() == b""
    everything = result.said + result.summary
    assert not [value for name, value in SECRETS.items() if "TOKEN" in name and value in everything]


def test_an_agent_that_starts_navci_again_is_told_that_loops_do_not_nest(tmp_path: Path) -> None:
    nested = 'navci run --task again --agent command --agent-command true > "$PLACE/nested" 2>&1'
    agent = an_agent(tmp_path, f'work; {nested}; echo "exit $?" >> "$PLACE/nested"; {HONEST}')
    result = agent.run()
    assert_ended(result, "complete", 0, "complete")
    said = (place_of(agent.repo) / "nested").read_text()
    assert "loops do not nest" in said
    assert said.endswith("exit 19\n")


def test_the_agents_input_is_the_prompt_and_then_ends(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, f'cat > "$PLACE/input"; {HONEST}')
    assert_ended(agent.run(), "complete", 0, "complete")
    assert "Write 42 into answer.txt" in (place_of(agent.repo) / "input").read_text()


def test_an_agent_that_reads_no_input_is_no_trouble(tmp_path: Path) -> None:
    agent = an_agent(tmp_path, f"exec < /dev/null; {HONEST}")
    task = ("--task", "Write 42 into answer.txt\n" + "x" * 100_000)
    assert_ended(agent.run(task=task), "complete", 0, "complete")


# --- playbooks ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("iterations: [[{wirte: {path: a}}]]", "unknown step `wirte`; did you mean `write`?"),
        ("iterations: {}", "`iterations` must be a list of at least one list of steps"),
        ("iterations: [", "not valid YAML"),
        ("iterations: [[{write: {path: a, mode: 755, text: x}}]]", "an octal mode in quotes"),
    ],
    ids=["a typing error", "no list", "no YAML", "a number for a mode"],
)
def test_a_playbook_nobody_can_play_is_refused_with_its_place(
    tmp_path: Path, text: str, says: str
) -> None:
    agent = an_agent(tmp_path)
    playbook = place_of(agent.repo) / "playbook.yml"
    playbook.write_text(text)
    result = agent.run("--agent", "playbook", "--playbook", str(playbook))
    assert result.exit_code == 2, result.said
    assert says in result.said
    assert "playbook.yml" in result.said
    assert result.outputs["outcome"] == "config_error"
    assert (result.marker, result.marker_files) == (None, [])


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ("{patch: {path: answer.txt, find: nothing like it, replace: x}}",
         "answer.txt does not contain the text to find"),
        ("{delete: nowhere.txt}", "step 2 (delete): "),
        ("{run: {command: exit 3, must_succeed: true}}", "`exit 3` exited 3"),
        ("{write: {path: answer.txt/below, text: x}}", "step 2 (write): "),
    ],
    ids=["a patch that does not fit", "a file that is not there", "a command that fails",
         "a file for a folder"],
)  # fmt: skip
def test_a_step_that_cannot_be_done_is_a_crash_that_says_which(
    tmp_path: Path, step: str, says: str
) -> None:
    agent = an_agent(tmp_path)
    playbook = place_of(agent.repo) / "playbook.yml"
    work = f"{{write: {{path: work.txt, text: {json.dumps(WORK)}}}}}"
    playbook.write_text(f"iterations: [[{work}, {step}]]")
    result = agent.run("--agent", "playbook", "--playbook", str(playbook))
    assert_ended(result, "infra_error", 18, "loop-aborted")
    assert says in result.outputs["reason"]
    assert agent.has("work.txt")
