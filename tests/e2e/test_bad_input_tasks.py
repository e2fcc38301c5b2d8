"""Tasks and events that are none: refused in clear words.

A refused start leaves the checkout as it was, byte for byte.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.navci_run import (
    run_navci,
)
from tests.support.repos import commit_all
from tests.support.small_task import (
    IN_ACTIONS,
    RUN,
    assert_complete,
    assert_refused,
    assert_settings_refused,
    picture,
    small_repo,
)

pytestmark = pytest.mark.e2e


# --- tasks ----------------------------------------------------------------------------------

NO_TASK = ("run", *RUN[3:])
BROKEN: dict[str, str | bytes] = {
    "empty.md": "---\nid: TASK-1\n---\n\n<!-- only this -->\n",
    "unclosed.md": "---\nid: TASK-1\n\nDo it.\n",
    "yaml.md": "---\nid: TASK-1\ntitle: [a\n---\nDo it.\n",
    "list.md": "---\n- a\n---\nDo it.\n",
    "id.md": "---\nid: ../../x\n---\nDo it.\n",
    "taken.md": "---\nid: issue-7\n---\nDo it.\n",
    "loop.md": "---\nloop_mode: maybe\n---\nDo it.\n",
    "bytes.md": b"Do\n\xff it.\n",
}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "there is no task: give --task (a text) or --task-file"),
        (("--task", ""), "there is no task: give --task (a text) or --task-file"),
        (("--task", " \n "), "the task is empty; give the text of what to do with --task"),
        (("--task", "<!-- hidden -->"), "the task is empty"),
        (("--task", "x", "--task-file", "empty.md"), "--task and --task-file were given together"),
        (("--task", "x", "--issue", "7"), "--task and --issue were given together"),
        (("--issue", "7"), "issue 7 was asked for, and this job's event is not about it: to read"),
        (("--issue", "seven"), "--issue is `seven`; give the issue's number"),
        (("--task-file", "empty.md"), "the task is empty; write into empty.md what to do"),
        (("--task-file", "missing.md"), "missing.md; check --task-file"),
        (("--task-file", "."), "is not a file"),
        (("--task-file", "/etc/hostname"), "/etc/hostname is outside the repository"),
        (("--task-file", "out.md"), "is outside the repository; move it inside"),
        (("--task-file", "unclosed.md"), "the front matter of unclosed.md (line 1) is not closed"),
        (("--task-file", "yaml.md"), "the front matter of yaml.md is not valid YAML (line "),
        (("--task-file", "list.md"), "the front matter of list.md must be `key: value` lines"),
        (("--task-file", "id.md"), "`id: ../../x` in id.md cannot name a branch"),
        (("--task-file", "taken.md"), "`id: issue-7` in taken.md is an id navci gives to issues"),
        (("--task-file", "loop.md"), "`loop_mode` in loop.md is 'maybe'; allowed: true or false"),
        (("--task-file", "bytes.md"), "bytes.md is not UTF-8 (line 2); save it as UTF-8"),
    ],
)
def test_a_task_that_is_none(tmp_path: Path, args: tuple[str, ...], says: str) -> None:
    repo = small_repo(tmp_path / "repo", BROKEN)
    (repo / "out.md").symlink_to("/etc/hostname")
    commit_all(repo, "a link")
    assert_settings_refused(repo, says, args=(*NO_TASK, *args))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("---\nloop_mode: false\n---\nDo it.\n", "task.md says `loop_mode: false`"),
        ("---\nstatus: done\n---\nDo it.\n", "task.md is closed already; reopen it"),
        ("Do it. Just do this once.\n", 'the task says "just do this once"'),
    ],
    ids=["off", "closed", "once"],
)
def test_a_task_that_is_not_to_be_looped(tmp_path: Path, text: str, says: str) -> None:
    repo = small_repo(tmp_path / "repo", {"task.md": text})
    before = picture(repo)
    result = run_navci(repo, *NO_TASK, "--task-file", "task.md")
    assert_refused(result, repo, says, end="skipped", code=19)
    assert picture(repo) == before


# --- the event ------------------------------------------------------------------------------

ISSUE = {"action": "labeled", "issue": {"number": 7, "title": "Answer", "body": "Make it 42."}}


def on_issue(tmp_path: Path, payload: object) -> dict[str, str]:
    """The environment of a job for an ``issues`` event."""
    event = tmp_path / "event.json"
    event.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return IN_ACTIONS | {"GITHUB_EVENT_NAME": "issues", "GITHUB_EVENT_PATH": str(event)}


@pytest.mark.parametrize(
    ("payload", "args", "says"),
    [
        ("{", (), "event.json is not JSON"),
        ("", (), "event.json is not JSON"),
        ("[]", (), "is no `issues` event"),
        ({}, (), "is no `issues` event: issue: Field required"),
        ({"issue": {"number": "seven"}}, (), "is no `issues` event: issue.number: "),
        ({"issue": {"number": 7, "title": "", "body": None}}, (), "the task is empty; write into"),
        (ISSUE, ("--issue", "8"), "issue 8 was asked for, and this job's event is not"),
    ],
    ids=["half", "empty", "list", "no-issue", "number", "no-text", "another-issue"],
)
def test_an_event_that_is_none(
    tmp_path: Path, payload: object, args: tuple[str, ...], says: str
) -> None:
    repo = small_repo(tmp_path / "repo")
    before = picture(repo)
    result = run_navci(repo, *NO_TASK, *args, env=on_issue(tmp_path, payload))
    assert_refused(result, repo, says)
    assert "::error title=navci did not start::" in result.stdout
    assert picture(repo) == before


@pytest.mark.parametrize("path", ["", "/no/such/event.json", "/tmp"])
def test_an_event_that_is_not_there(tmp_path: Path, path: str) -> None:
    repo = small_repo(tmp_path / "repo")
    env = IN_ACTIONS | {"GITHUB_EVENT_NAME": "issues", "GITHUB_EVENT_PATH": path}
    result = run_navci(repo, *NO_TASK, env=env)
    assert_refused(
        result, repo, f"the event payload {path}" if path else "GITHUB_EVENT_PATH is not"
    )


def test_a_broken_event_does_not_matter_to_a_task_given_otherwise(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, *RUN, env=on_issue(tmp_path, "{"))
    assert_complete(result)


def test_the_events_issue_is_the_task(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, *NO_TASK, "--issue", "7", env=on_issue(tmp_path, ISSUE))
    assert_complete(result)
    assert result.outputs["branch"] == "navci/issue-7"
