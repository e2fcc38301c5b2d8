"""agents: the phone book, the environment of an agent, and any program as one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navci.agents import REGISTRY, Agent, AgentOptions, TurnRequest, agent_env
from navci.errors import ConfigError
from navci.model import AgentErrorKind, Turn
from navci.system.process import TOKEN, StopFlag
from tests.support.processes import Steps, stepping


@pytest.fixture
def step(tmp_path: Path) -> Iterator[Steps]:
    with stepping(tmp_path) as steps:
        yield steps


def turn(step: Steps, command: str, prompt: str = "do it\n", **options: Any) -> Turn:
    agent = REGISTRY["command"](AgentOptions(command=command, args=options.pop("args", ())))
    request: dict[str, Any] = {
        "prompt": prompt,
        "prompt_file": step.folder / "run" / "prompt.md",
        "cwd": step.folder,
        "env": step.env,
        "folder": step.folder / "run",
        "iteration": 1,
        "deadline": 5.0,
    }
    return agent.run_turn(TurnRequest(**(request | options)))


def test_registry_names_are_the_agents_own(tmp_path: Path) -> None:
    options = AgentOptions(command="true", playbook_text="iterations: [[say: hi]]")
    agents: dict[str, Agent] = {name: make(options) for name, make in REGISTRY.items()}
    assert {name: agent.name for name, agent in agents.items()} == {name: name for name in agents}


# --- environment -------------------------------------------------------------------------------


def test_agent_environment(tmp_path: Path) -> None:
    source = {"PATH": "/bin", "HOME": "/real", "KEY": "secret", "GITHUB_TOKEN": "secret"}
    env = agent_env(
        ["KEY"],
        home=tmp_path / "home",
        tmp=tmp_path / "tmp",
        task="TASK-7",
        token="t0ken",
        source=source,
    )
    assert env == {
        "PATH": "/bin",
        "KEY": "secret",
        "HOME": str(tmp_path / "home"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PILOT_EXECUTOR": "1",
        "NAVCI_LOOP_ACTIVE": "TASK-7",
        TOKEN: "t0ken",
    }
    assert (tmp_path / "home").is_dir()
    assert (tmp_path / "tmp").is_dir()


def test_agent_environment_keeps_the_real_home_when_asked(tmp_path: Path) -> None:
    env = agent_env(
        ["HOME"], home=tmp_path / "h", tmp=tmp_path, task="x", token="t", source={"HOME": "/real"}
    )
    assert env["HOME"] == "/real"
    assert not (tmp_path / "h").exists()


def test_agent_environment_refuses_the_runners_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="GITHUB_ENV"):
        agent_env(["GITHUB_ENV"], home=tmp_path, tmp=tmp_path, task="x", token="t", source={})


# --- command -----------------------------------------------------------------------------------


def test_prompt_on_standard_input_answer_on_standard_output(step: Steps) -> None:
    lines: list[str] = []
    done = turn(step, "bash -c 'cat; echo working >&2; echo done'", on_line=lines.append)
    assert done.final_text == "do it\ndone\n"
    assert (done.exit_code, done.error, done.timed_out) == (0, None, False)
    assert done.transcript == step.folder / "run" / "agent.out"
    assert done.transcript.read_text() == "do it\ndone\n"
    assert (step.folder / "run" / "agent.err").read_text() == "working\n"
    assert sorted(lines) == ["do it", "done", "working"]


def test_prompt_as_a_file(step: Steps) -> None:
    done = turn(step, 'bash -c \'cat; cat "$1"; echo "$2"\' x {prompt_file}', args=("--extra",))
    assert done.final_text == "do it\n--extra\n"


def test_prompt_of_a_megabyte(step: Steps) -> None:
    assert turn(step, "wc -c", prompt="x" * 1_000_000).final_text.strip() == "1000000"


def test_prompt_that_is_not_read(step: Steps) -> None:
    assert turn(step, "echo ready", prompt="x" * 1_000_000).final_text == "ready\n"


def test_only_the_end_of_a_long_answer_is_kept(step: Steps) -> None:
    done = turn(step, "bash -c 'yes 0123456789 | head -n 300000; echo the signal'")
    assert done.final_text.endswith("\nthe signal\n")
    assert len(done.final_text) <= 1 << 20
    assert done.final_text.startswith("0123456789\n")


def test_answer_that_is_no_text(step: Steps) -> None:
    done = turn(step, r"printf 'a\xff\x00b'")
    assert done.final_text == "a\ufffd\ufffdb"
    assert done.error is None


@pytest.mark.parametrize(
    ("command", "kind", "words"),
    [
        pytest.param("true", "empty", "exited 0 and printed nothing", id="prints nothing"),
        pytest.param("bash -c 'echo x >&2'", "empty", "standard output", id="only on stderr"),
        pytest.param("false", "crash", "`false` exited 1", id="exits 1 in silence"),
        pytest.param(
            "bash -c 'echo so far; echo no key >&2; exit 3'",
            "crash",
            "exited 3; it said: no key",
            id="exits 3 with words",
        ),
        pytest.param("bash -c 'echo here; exit 4'", "crash", "said: here", id="words on stdout"),
        pytest.param("bash nowhere.sh", "crash", "exited 127", id="script missing"),
        pytest.param("no-such-agent --x", "cannot_start", "not found", id="program missing"),
        pytest.param("./no-such-agent", "cannot_start", "not found", id="relative, missing"),
        pytest.param("/etc/passwd", "cannot_start", "not executable", id="not executable"),
    ],
)
def test_what_went_wrong(step: Steps, command: str, kind: str, words: str) -> None:
    done = turn(step, command)
    assert done.error is not None
    assert done.error.kind == AgentErrorKind(kind)
    assert words in done.error.message


def test_crash_keeps_the_answer(step: Steps) -> None:
    done = turn(step, "bash -c 'echo so far; exit 3'")
    assert (done.final_text, done.exit_code) == ("so far\n", 3)


def test_turn_that_is_cut_short_is_no_error(step: Steps) -> None:
    done = turn(step, "bash -c 'echo begun; sleep 60'", deadline=0.4)
    assert done.timed_out
    assert (done.error, done.final_text) == (None, "begun\n")
    assert step.left() == []


def test_stopped_turn(step: Steps) -> None:
    flag = StopFlag()
    flag.request("SIGINT")
    done = turn(step, "bash -c 'touch started'", stop=flag)
    assert done.interrupted
    assert done.error is None
    assert not (step.folder / "started").exists()


def test_folder_deleted_by_the_agent_before(step: Steps) -> None:
    done = turn(step, "echo x", cwd=step.folder / "gone")
    assert done.error is not None
    assert done.error.kind == AgentErrorKind.CANNOT_START


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("bash fix.sh", True),
        ("./relative-is-the-turns-matter", True),
        ("no-such-agent", False),
        ("/no/such/agent", False),
        ("/etc/passwd", False),
    ],
)
def test_check_says_what_to_do(command: str, found: bool) -> None:
    said = REGISTRY["command"](AgentOptions(command=command)).check()
    assert (said is None) == found
    if said is not None:
        assert "install it, or correct agent-command" in said


@pytest.mark.parametrize("command", ["", "   ", "bash 'never closed"])
def test_unusable_command_line(command: str) -> None:
    with pytest.raises(ConfigError, match="agent-command"):
        REGISTRY["command"](AgentOptions(command=command))


def test_agent_does_not_see_navcis_environment(
    step: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    done = turn(step, "env")
    assert "GITHUB_TOKEN" in os.environ
    assert "GITHUB_TOKEN" not in done.final_text
    assert f"{TOKEN}={step.token}" in done.final_text
