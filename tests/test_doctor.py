"""doctor: what a run here would read, and whether it would be used, warned of or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from navci.setup.doctor import Finding, examine
from tests.support.navci_run import run_navci
from tests.support.repos import commit_all, git, make_repo, write_files

CONFIG = ".agent/.nav-config.json"
GOOD = '{"native": {"max_verify_failures": 2}}'


def settings(repo: Path) -> Finding:
    (found,) = (one for one in examine(repo, {}) if one.what == "settings")
    return found


def committed(path: Path, config: str) -> Path:
    return make_repo(path, {"a": "b", CONFIG: config})


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "repo", {"a": "b"})


def test_no_file_is_good_to_know(repo: Path) -> None:
    found = settings(repo)
    assert (found.ok, found.warning) == (None, False)
    assert found.said == f"no {CONFIG}; the defaults are used"


@pytest.mark.parametrize(
    "config",
    [
        GOOD,
        "{}",
        '{"navci": {"agent": "playbook"}}',
        '{"navci": {"agent_command": "my-agent"}}',
        '{"loop_mode": {"never_pause_on_stagnation": true, "max_iterations": 3}}',
        # Which one is on is for the run's options to say.
        '{"loop_mode": {"never_pause_on_stagnation": true}}',
    ],
)
def test_what_is_committed_is_judged_and_named(tmp_path: Path, config: str) -> None:
    found = settings(committed(tmp_path / "repo", config))
    assert (found.ok, found.warning) == (True, False)
    assert found.said == f"{CONFIG} as it is committed, which is what a run reads, is valid"


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        ('{"navci": {"agnet": "command"}}', "`navci.agnet` in"),
        ('{"nativ": {}}', "did you mean `native`?"),
        ('{"navci": {"agent": "playbook", "agent_command": "x"}}', "`agent_command` is given, and"),
    ],
)
def test_what_a_run_would_warn_of_is_not_fine(tmp_path: Path, config: str, warning: str) -> None:
    found = settings(committed(tmp_path / "repo", config))
    assert (found.ok, found.warning) == (None, True)
    assert warning in found.said.split("\n")[1]


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ('{"navci": {"agent": "comand"}}', "there is no agent `comand`; did you mean `command`?"),
        ('{"native": {"max_verify_failures": 0}}', "is 0; allowed: a whole number, 1 or more"),
        ("{", "is not valid JSON (line 1"),
    ],
)
def test_what_a_run_would_refuse_is_wrong(tmp_path: Path, config: str, problem: str) -> None:
    found = settings(committed(tmp_path / "repo", config))
    assert (found.ok, found.warning) == (False, False)
    (said,) = found.said.split("\n")
    assert said.startswith("as it is committed: ") and problem in said


def test_a_file_that_is_not_committed_does_not_count(repo: Path) -> None:
    write_files(repo, {CONFIG: '{"navci": {"agent": "comand", "agnet": 1}}'})
    found = settings(repo)
    assert (found.ok, found.warning) == (None, True)
    first, *more = found.said.split("\n")
    assert first == f"{CONFIG} is not committed, so a run does not use it: commit it first"
    assert more[0].startswith("once committed: there is no agent `comand`")
    # And so it is: the run goes on without it.
    run = run_navci(
        repo, "run", "--task", "x", "--agent", "command", "--agent-command", "true", "--dry-run"
    )
    assert f"`{CONFIG}` is not committed, so its settings do not count" in run.said


@pytest.mark.parametrize("here", ['{"native": {"max_verify_failures": 3}}', None])
def test_a_file_that_differs_stops_a_run_and_doctor_says_so(
    tmp_path: Path, here: str | None
) -> None:
    repo = committed(tmp_path / "repo", GOOD)
    if here is None:
        (repo / CONFIG).unlink()
    else:
        (repo / CONFIG).write_text(here)
    found = settings(repo)
    what = "is deleted" if here is None else "differs"
    assert found.ok is False
    assert found.said.startswith(f"{CONFIG} {what} here, and the committed one counts: commit or")
    run = run_navci(
        repo, "run", "--task", "x", "--agent", "command", "--agent-command", "true", "--dry-run"
    )
    assert run.exit_code == 2
    assert f"uncommitted changes in tracked files: {CONFIG}" in run.said


def test_line_ends_of_the_checkout_are_no_difference(tmp_path: Path) -> None:
    repo = committed(tmp_path / "repo", "{\n}\n")
    (repo / CONFIG).write_bytes(b"{\r\n}\r\n")
    assert settings(repo).ok is True


def test_marks_and_exit_code(tmp_path: Path) -> None:
    repo = committed(tmp_path / "repo", '{"navci": {"agnet": "command", "x": 1}}')
    shown = run_navci(repo, "doctor")
    lines = shown.stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("! settings "))
    assert lines[at + 1].startswith("              `navci.agnet`")
    assert {line[0] for line in lines} == {"✓", "!", "-", " "}
    assert shown.exit_code == 0
    told = json.loads(run_navci(repo, "doctor", "--json").stdout)
    assert [one["warning"] for one in told if one["what"] == "settings"] == [True]
    (repo / CONFIG).write_text("{")
    commit_all(repo, "broken")
    shown = run_navci(repo, "doctor")
    assert shown.exit_code == 1
    assert "✗ settings " in shown.stdout


def test_nothing_is_left_or_changed(tmp_path: Path) -> None:
    repo = committed(tmp_path / "repo", GOOD)
    (tmp_path / "temp").mkdir()
    assert run_navci(repo, "doctor", env={"TMPDIR": str(tmp_path / "temp")}).exit_code == 0
    assert git(repo, "status", "--porcelain", "--ignored") == ""
    assert list((tmp_path / "temp").iterdir()) == []


def test_outside_a_repository_everything_is_still_looked_at(tmp_path: Path) -> None:
    found = {one.what: one.ok for one in examine(tmp_path, {})}
    assert found["repository"] is False
    assert found["git"] is True
    unborn = make_repo(tmp_path / "unborn", {})
    assert {one.what: one.ok for one in examine(unborn, {})}["settings"] is None
