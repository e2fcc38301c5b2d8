"""agents/playbook: each step does what it says, and a wrong playbook says what is wrong."""

from __future__ import annotations

import datetime
import json
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navci.agents import REGISTRY, AgentOptions, TurnRequest
from navci.agents.playbook import Playbook
from navci.agents.playbook_shape import KINDS, check_step
from navci.errors import ConfigError
from navci.model import AgentErrorKind, Turn, Usage
from tests.support.processes import Steps, stepping


@pytest.fixture
def step(tmp_path: Path) -> Iterator[Steps]:
    (tmp_path / "repo").mkdir()
    with stepping(tmp_path / "repo") as steps:
        yield steps


def play(step: Steps, text: str, iteration: int = 1, **options: Any) -> Turn:
    agent = REGISTRY["playbook"](AgentOptions(playbook=Path("play.yml"), playbook_text=text))
    folder = step.folder.parent / "run"
    request: dict[str, Any] = {
        "prompt": "",
        "prompt_file": folder / "prompt.md",
        "cwd": step.folder,
        "env": step.env,
        "folder": folder,
        "iteration": iteration,
        "deadline": 8.0,
    }
    return agent.run_turn(TurnRequest(**(request | options)))


def one(*steps: dict[str, Any], **more: Any) -> str:
    return json.dumps({"iterations": [list(steps)], **more})  # JSON is YAML


def test_a_whole_turn(step: Steps) -> None:
    (step.folder / "a.py").write_text("x = 1\nx = 1\n")
    lines: list[str] = []
    done = play(
        step,
        """
        iterations:
          - - read: a.py
            - say: "First.\\nSecond."
            - patch: {path: a.py, find: "x = 1", replace: "x = 2"}
            - write: {path: deep/new.sh, text: "#!/bin/sh\\n", mode: "755"}
            - run: "echo loud; echo louder >&2; exit 3"
            - usage: {cost_usd: 0.10, tokens: 1200}
            - usage: {cost_usd: 0.20}
            - signal: {type: exit, success: true, reason: "all\\ngreen"}
        """,
        on_line=lines.append,
    )
    assert (step.folder / "a.py").read_text() == "x = 2\nx = 1\n"
    assert stat.S_IMODE((step.folder / "deep/new.sh").stat().st_mode) == 0o755
    signal = '{"v": 2, "type": "exit", "success": true, "reason": "all\\ngreen"}'
    assert done.final_text == f"First.\nSecond.\n\n```pilot-signal\n{signal}\n```"
    assert done.files_read == ("a.py",)
    assert done.commands == ("echo loud; echo louder >&2; exit 3",)
    assert done.usage.cost_usd == pytest.approx(0.30)
    assert done.usage.tokens == 1200
    assert (done.exit_code, done.error) == (0, None)
    assert (step.folder.parent / "run/agent.err").read_text() == "loud\nlouder\n"
    assert {"read a.py", "First.", "Second.", "write deep/new.sh", "loud", "louder"} < set(lines)
    assert not any('"event"' in line for line in lines)


def test_write_bytes_append_and_overwrite(step: Steps) -> None:
    play(
        step,
        one(
            {"write": {"path": "b", "bytes": "/wA="}},
            {"write": {"path": "b", "text": "é", "append": True}},
            {"write": {"path": "c", "text": "old"}},
            {"write": {"path": "c", "text": ""}},
            {"write": {"path": ".git/config", "text": "[core]\n\thooksPath = /evil\n"}},
        ),
    )
    assert (step.folder / "b").read_bytes() == b"\xff\x00\xc3\xa9"
    assert (step.folder / "c").read_bytes() == b""
    assert "hooksPath" in (step.folder / ".git/config").read_text()


def test_delete_file_folder_and_link(step: Steps) -> None:
    (step.folder / "folder/deep").mkdir(parents=True)
    (step.folder / "file").touch()
    (step.folder / "kept").mkdir()
    (step.folder / "link").symlink_to("kept")
    done = play(step, one(*({"delete": name} for name in ("folder", "file", "link"))))
    assert done.error is None or done.error.kind != AgentErrorKind.CRASH
    assert [place.name for place in step.folder.iterdir()] == ["kept"]


def test_sleep(step: Steps) -> None:
    begin = time.monotonic()
    play(step, one({"sleep": "0.3s"}, {"say": "x"}))
    assert time.monotonic() - begin > 0.3


def test_sleep_beyond_the_deadline(step: Steps) -> None:
    done = play(step, one({"say": "begun"}, {"sleep": "60s"}, {"say": "never"}), deadline=0.5)
    assert done.timed_out
    assert (done.final_text, done.error) == ("begun", None)
    assert step.left() == []


def test_error_step(step: Steps) -> None:
    step_ = {"kind": "rate_limit", "message": "try later", "resets_in": "60s"}
    done = play(step, one({"say": "so far"}, {"error": step_}, {"say": "never"}))
    assert done.final_text == "so far"
    assert done.error is not None
    assert (done.error.kind, done.error.message) == (AgentErrorKind.RATE_LIMIT, "try later")
    assert done.error.resets_at == pytest.approx(time.time() + 60, abs=10)


def test_fail_step(step: Steps) -> None:
    done = play(step, one({"say": "so far"}, {"fail": 3}))
    assert (done.final_text, done.exit_code) == ("so far", 3)
    assert done.error is not None
    assert done.error.kind == AgentErrorKind.CRASH


@pytest.mark.parametrize(
    ("failing", "words"),
    [
        pytest.param(
            {"patch": {"path": "a.py", "find": "nope", "replace": ""}},
            "step 2 (patch): a.py does not contain the text to find",
            id="patch finds nothing",
        ),
        pytest.param({"read": "nope"}, "step 2 (read)", id="read finds nothing"),
        pytest.param({"delete": "nope"}, "step 2 (delete)", id="delete finds nothing"),
        pytest.param(
            {"write": {"path": "a.py/b", "text": ""}}, "step 2 (write)", id="a file in the way"
        ),
        pytest.param(
            {"run": {"command": "exit 5", "must_succeed": True}},
            "step 2 (run): `exit 5` exited 5",
            id="command that must succeed",
        ),
    ],
)
def test_step_that_cannot_be_done_ends_the_turn_loudly(
    step: Steps, failing: dict[str, Any], words: str
) -> None:
    (step.folder / "a.py").write_text("x\n")
    done = play(step, one({"say": "so far"}, failing, {"say": "never"}))
    assert done.final_text == "so far"
    assert done.error is not None
    assert done.error.kind == AgentErrorKind.CRASH
    assert words in done.error.message


def test_no_steps_is_an_empty_answer(step: Steps) -> None:
    done = play(step, "iterations: [[]]")
    assert done.error is not None
    assert done.error.kind == AgentErrorKind.EMPTY


def test_commands_leave_nothing_running(step: Steps) -> None:
    done = play(step, one({"run": "setsid sleep 60 & setsid setsid sleep 60 &"}, {"say": "x"}))
    assert done.seconds < 5
    assert step.left() == []


def test_command_that_kills_the_playbook(step: Steps) -> None:
    done = play(step, one({"say": "x"}, {"run": "kill -9 $PPID; sleep 60"}))
    assert done.exit_code == 137
    assert done.final_text == "x"


def test_what_else_is_printed_is_no_event(step: Steps) -> None:
    """A command may write to the turn's own output; nothing of it breaks reading the rest."""
    hostile = [
        "not json",
        "{",
        "[" * 100_000,
        '{"event": 5}',
        '{"event": "say", "text": 5}',
        '{"event": "error", "kind": "nonsense", "message": "m"}',
        '{"event": "usage", "tokens": "many"}',
    ]
    (step.folder / "hostile").write_text("\n".join(hostile) + "\n")
    line = "head -c 3 /dev/zero > /proc/$PPID/fd/1; cat hostile > /proc/$PPID/fd/1"
    done = play(step, one({"say": "before"}, {"run": line}, {"say": "after"}), on_line=len)
    assert done.final_text == "before\n\nafter"
    assert (done.error, done.usage) == (None, Usage())


def test_null_in_a_signal_is_kept(step: Steps) -> None:
    done = play(step, one({"signal": {"v": 1, "reason": None}}))
    assert '{"v": 1, "reason": null}' in done.final_text


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (None, ["1", "2", "2", "2"]),
        ("repeat", ["1", "2", "2", "2"]),
        ("cycle", ["1", "2", "1", "2"]),
        ("idle", ["1", "2", "nothing left to do", "nothing left to do"]),
    ],
)
def test_after_the_last_iteration(after: str | None, said: list[str]) -> None:
    more = {} if after is None else {"after": after}
    document = {"iterations": [[{"say": "1"}], [{"say": "2"}]], **more}
    playbook = Playbook(json.dumps(document), "p")
    assert [playbook.steps(number)[0]["say"] for number in (1, 2, 3, 4)] == said


@pytest.mark.parametrize(
    ("text", "complaints"),
    [
        pytest.param("", ["p: a playbook is a mapping"], id="empty"),
        pytest.param("iterations: [", ["p: not valid YAML"], id="no YAML"),
        pytest.param("iterations: []", ["at least one list of steps"], id="no iterations"),
        pytest.param("after: idle", ["at least one list of steps"], id="iterations missing"),
        pytest.param(
            "iterations: [[say: x]]\nafter: never\nitertions: 3",
            ["unknown key `itertions`", "`never` is not one of repeat, cycle, idle"],
            id="wrong keys",
        ),
        pytest.param(
            "iterations:\n  - read: a\n",
            ["p: iteration 1 is not a list of steps; it starts like"],
            id="a list forgotten",
        ),
        pytest.param(
            "iterations: [[{read: a, say: b}], [{}], [read]]",
            [
                "p: iteration 1, step 1 must be one `kind: value`; kinds: read, say",
                "p: iteration 2, step 1 must be",
                "p: iteration 3, step 1 must be",
            ],
            id="no single key",
        ),
        pytest.param(
            "iterations: [[say: x], [say: y, wirte: {}]]",
            ["p: iteration 2, step 2: unknown step `wirte`; did you mean `write`? allowed: read"],
            id="unknown step",
        ),
        pytest.param(
            "iterations: [[write: {path: a, mode: 755, txt: x}]]",
            [
                "step 1 (write), mode is 755; allowed: an octal mode in quotes, like '755'",
                "step 1 (write), txt is unknown; did you mean `text`? allowed: path, text, bytes",
            ],
            id="fields",
        ),
        pytest.param(
            "iterations: [[write: {path: a}, write: {path: a, text: x, bytes: eA==}]]",
            ["step 1 (write) is ", "give either `text` or `bytes`"],
            id="content",
        ),
        pytest.param("iterations: [[write: {path: a, bytes: '?'}]]", ["not base64"], id="base64"),
        pytest.param("iterations: [[sleep: soon]]", ["written like 90s"], id="duration"),
        pytest.param("iterations: [[fail: 0]]", ["is 0; allowed: an exit code"], id="fail with 0"),
        pytest.param(
            "iterations: [[error: {kind: tired}]]",
            ['step 1 (error), kind is "tired"; allowed: cannot_start, auth, config, rate_limit'],
            id="unknown error",
        ),
        pytest.param("iterations: [[usage: {cost_usd: -1}]]", ["cost_usd"], id="negative cost"),
        pytest.param("iterations: [[say: 5]]", ["(say) is 5; allowed: text, in quotes"], id="5"),
        pytest.param(
            "iterations: [[error: no]]",
            ["(error) is false; allowed: a mapping of kind, message, resets_in"],
            id="no mapping",
        ),
        pytest.param(
            "iterations: [[run: 5]]",
            ["(run) is 5; allowed: a bash line, as text, or a mapping of command, must_succeed"],
            id="no short form",
        ),
        pytest.param(
            "iterations: [[patch: {path: a, find: b}]]",
            ["(patch), replace is missing; allowed: text"],
            id="a field missing",
        ),
        pytest.param(
            "iterations: [[signal: {at: [2020-01-01]}]]",
            ['(signal) holds "2020-01-01"; allowed: a mapping of text to what JSON can hold'],
            id="no JSON",
        ),
        pytest.param(
            "iterations: [[signal: &a {x: *a}]]", ["(signal) holds {'x': {...}}"], id="in itself"
        ),
        pytest.param(
            "iterations:\n- [say: x\n",
            ["p: not valid YAML (line 3, column 1): expected"],
            id="where YAML stumbled",
        ),
        pytest.param(
            "iterations: [[say: \0]]", ["characters are not allowed at position 19"], id="NUL"
        ),
    ],
)
def test_wrong_playbook(text: str, complaints: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        Playbook(text, "p")
    for complaint in complaints:
        assert complaint in str(caught.value)


WRONG: tuple[object, ...] = (
    *(None, True, -1, 5, 1.5, float("nan"), "", "x", [], [1], {}, {5: 6}, {None: 1}, {"x": 1}),
    *({name: [] for name in KINDS}, datetime.date(2020, 1, 2), b"x", {"text": 5, "path": 5}),
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", WRONG, ids=repr)
def test_no_complaint_speaks_of_classes(kind: str, value: object) -> None:
    """Whatever stands there, people read of playbooks, never of the library that checks them."""
    fields = KINDS[kind].fields
    inside = [{name: value} for name in (fields.model_fields if fields else ())]
    for content in (value, *inside):
        checked = check_step({kind: content}, "here")
        for complaint in checked if isinstance(checked, list) else ():
            assert complaint.startswith(f"here ({kind})")
            for word in (
                f"_{kind.title()}",
                "Input",
                "dictionary",
                "instance of",
                "Field",
                "Extra",
                "[key]",
            ):
                assert word not in complaint


def test_all_problems_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Playbook("iterations: [[say: 5, fail: 0], [sleep: x]]\nafter: x", "p")
    assert len(caught.value.problems) == 4


def test_file_is_read_once(step: Steps) -> None:
    file = step.folder / "play.yml"
    file.write_text(one({"say": "as it was"}))
    agent = REGISTRY["playbook"](AgentOptions(playbook=file))
    file.write_text(one({"say": "changed by the agent"}))
    assert agent.check() is None
    folder = step.folder / "run"
    request = TurnRequest("", folder / "p", step.folder, step.env, folder, 1, 8.0)
    assert agent.run_turn(request).final_text == "as it was"


@pytest.mark.parametrize("name", [None, "nowhere.yml", "."])
def test_file_that_cannot_be_read(
    name: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="playbook"):
        REGISTRY["playbook"](AgentOptions(playbook=None if name is None else Path(name)))
