from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navci.actions.event import read_event, runtime_info
from navci.actions.outputs import entry, outputs_of, write_outputs
from navci.errors import ConfigError
from navci.model import End, Gaps, Usage
from navci.system.neutral import plain
from tests.support.reports import make_report


def read_outputs(text: str) -> dict[str, str]:
    """The outputs as the runner reads their file; fails on what the runner refuses."""
    values, lines = {}, iter(text.split("\n")[:-1])
    for line in lines:
        name, found, delimiter = line.partition("<<")
        assert found, f"invalid format {line!r}"
        value = []
        while (part := next(lines)) != delimiter:
            value.append(part)
        values[name] = "\n".join(value)
    return values


# --- outputs --------------------------------------------------------------------------------


@given(st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,20}", fullmatch=True), st.text(max_size=80)))
def test_outputs_hold_any_value(values: dict[str, str]) -> None:
    text = "".join(entry(name, value) for name, value in values.items())
    assert read_outputs(text) == {name: plain(value) for name, value in values.items()}


def test_outputs_are_appended_and_the_last_write_wins(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("before<<E\nx\nE")
    env = {"GITHUB_OUTPUT": str(path)}
    assert (
        write_outputs({"outcome": "infra_error", "reason": "a\nE\noutcome=complete"}, env) is None
    )
    assert write_outputs({"outcome": "stagnated"}, env) is None
    assert read_outputs(path.read_text()) == {
        "before": "x",
        "outcome": "stagnated",
        "reason": "a\nE\noutcome=complete",
    }


def test_delimiters_are_never_the_same() -> None:
    delimiters = {entry("a", "").split("\n")[0] for _ in range(50)}
    assert len(delimiters) == 50
    assert all(len(delimiter) >= len("a<<navci_") + 32 for delimiter in delimiters)


@pytest.mark.parametrize("name", ["", "a b", "a\nb", "a=b", "a<<b"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be an output's name"):
        entry(name, "x")


@pytest.mark.parametrize(
    ("where", "note"),
    [
        pytest.param(None, None, id="unset"),
        pytest.param("", None, id="empty"),
        pytest.param("new", None, id="not there yet"),
        pytest.param("no/such/folder", "No such file or directory", id="nowhere"),
        pytest.param(".", "not a file", id="a folder"),
        pytest.param("/dev/null", "not a file", id="a device"),
    ],
)
def test_an_output_file_that_is_none_is_a_note(
    where: str | None, note: str | None, tmp_path: Path
) -> None:
    env = {} if where is None else {"GITHUB_OUTPUT": where and str(tmp_path / where)}
    said = write_outputs({"outcome": "complete"}, env)
    assert (said is None) if note is None else (said is not None and note in said)


def test_outputs_of_a_complete_run() -> None:
    values = outputs_of(
        make_report(End.COMPLETE), Path("/run/artifact"), "loop-complete-TASK-12", Path("/m.json")
    )
    assert {name: values[name] for name in values if name not in ("indicators", "reason")} == {
        "outcome": "complete",
        "complete": "true",
        "iterations": "3",
        "phase": "COMPLETE",
        "gaps": "[]",
        "tests-total": "3",
        "tests-failed": "0",
        "branch": "navci/TASK-12",
        "commit": "2" * 40,
        "pull-request-url": "",
        "marker": "/m.json",
        "cost-usd": "0.2500",
        "tokens": "1200",
        "artifact-path": "/run/artifact",
        "artifact-name": "loop-complete-TASK-12",
    }
    indicators = json.loads(values["indicators"])
    assert indicators["tests_passing"] is True
    assert indicators["ticket_closed"] is None
    assert len(indicators) == 6


def test_outputs_of_a_run_that_is_not_over_say_aborted() -> None:
    gaps = Gaps(chk=frozenset(f"test:t::{n:04}" for n in range(5000)))
    report = make_report(None, gaps=gaps, checks=(), spent=Usage(), secrets=("navci/TASK-12",))
    values = outputs_of(report, Path("/a"), "loop-aborted-TASK-12", None)
    assert (values["outcome"], values["complete"]) == ("infra_error", "false")
    assert values["reason"].startswith("the job ended before navci could finish")
    assert [values[n] for n in ("tests-total", "cost-usd", "tokens", "marker")] == [""] * 4
    assert json.loads(values["gaps"])[199:] == ["test:t::0199", "… and 4800 more: see the marker"]
    assert values["branch"] == "***"


# --- event ----------------------------------------------------------------------------------


def event_env(tmp_path: Path, payload: object, name: str = "issues") -> dict[str, str]:
    path = tmp_path / "event.json"
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "ada/primes",
    }


PAYLOAD = {
    "action": "labeled",
    "issue": {
        "number": 7,
        "title": "Fix is_prime",
        "body": None,
        "state": "open",
        "labels": [{"name": "bug", "color": "f00"}, {"name": "loop-mode"}],
        "user": {"login": "bob"},
    },
    "label": {"name": "loop-mode"},
    "repository": {"full_name": "ada/primes", "private": True},
    "sender": {"login": "ada", "type": "User"},
}


def test_a_labelled_issue(tmp_path: Path) -> None:
    event = read_event(event_env(tmp_path, PAYLOAD))
    assert event is not None
    assert (event.number, event.title, event.body) == (7, "Fix is_prime", "")
    assert (event.label, event.labels) == ("loop-mode", ("bug", "loop-mode"))
    assert (event.sender, event.repository, event.private) == ("ada", "ada/primes", True)
    assert (event.comment, event.closed, event.pull_request) == (None, False, False)


def test_a_comment_on_a_pull_request(tmp_path: Path) -> None:
    payload = {
        "action": "created",
        "issue": {"number": 8, "pull_request": {"url": "x"}, "state": "closed"},
        "comment": {"id": 1, "body": "/navci run"},
    }
    event = read_event(event_env(tmp_path, payload, "issue_comment"))
    assert event is not None
    assert (event.comment, event.pull_request, event.closed) == ("/navci run", True, True)
    assert (event.title, event.repository) == ("", "ada/primes")


@pytest.mark.parametrize("name", ["schedule", "workflow_dispatch", "push", ""])
def test_events_without_an_issue_need_no_payload(name: str) -> None:
    assert read_event({"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": name}) is None


def test_outside_actions_there_is_no_event(tmp_path: Path) -> None:
    env = event_env(tmp_path, "{broken")
    assert read_event({**env, "GITHUB_ACTIONS": ""}) is None


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        pytest.param("{broken", "is not JSON", id="broken"),
        pytest.param("", "is not JSON", id="empty"),
        pytest.param("[" * 100_000, "is not JSON", id="too deep"),
        pytest.param([], "is no `issues` event", id="no object"),
        pytest.param({"action": "labeled"}, "issue: Field required", id="no issue"),
        pytest.param({"issue": {"number": "x"}}, "issue.number", id="no number"),
    ],
)
def test_a_payload_that_cannot_be_read(payload: object, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=re.escape(said)):
        read_event(event_env(tmp_path, payload))


@pytest.mark.parametrize(
    ("path", "said"), [("", "GITHUB_EVENT_PATH is not set"), ("/nowhere/x", "cannot read")]
)
def test_a_payload_that_is_not_there(path: str, said: str, tmp_path: Path) -> None:
    env = {**event_env(tmp_path, {}), "GITHUB_EVENT_PATH": path}
    with pytest.raises(ConfigError, match=said):
        read_event(env)


def test_runtime_info() -> None:
    info = runtime_info(
        {
            "GITHUB_ACTIONS": "true",
            "GITHUB_RUN_ID": "42",
            "GITHUB_RUN_ATTEMPT": "2",
            "GITHUB_REPOSITORY": "ada/primes",
            "GITHUB_EVENT_NAME": "schedule",
        }
    )
    assert (info.in_actions, info.run_attempt, info.event_name) == (True, 2, "schedule")
    assert info.run_url == "https://github.com/ada/primes/actions/runs/42"
    outside = runtime_info({"GITHUB_RUN_ATTEMPT": "x"})
    assert (outside.in_actions, outside.run_attempt, outside.run_url) == (False, 1, "")
