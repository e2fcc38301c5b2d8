"""An issue on GitHub, from the label to the close: what people find there in the morning."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fake_github import payloads
from tests.support.issue_job import BOT, DONE, RIGHT, TEST, TOKEN, WRONG, IssueJob
from tests.support.navci_run import journal_state, run_navci, start_navci, write_playbook
from tests.support.processes import wait_until
from tests.support.repos import git

pytestmark = pytest.mark.e2e


@pytest.fixture
def job(tmp_path: Path) -> Iterator[IssueJob]:
    with IssueJob.start(tmp_path) as started:
        yield started


def test_a_complete_run(job: IssueJob) -> None:
    before = len(job.fake.requests)
    result = job.run([WRONG], [RIGHT, DONE])
    assert result.exit_code == 0, result.said
    issue = job.repo.issues[job.number]
    assert (issue.state, issue.state_reason) == ("closed", "completed")
    assert set(issue.labels) == {"bug", "loop-complete"}
    (comment,) = issue.comments
    assert "LOOP COMPLETE after 2 iterations" in comment.body
    ((number, pull),) = job.repo.pulls.items()
    said = job.repo.issues[number].body or ""
    assert (pull.draft, pull.head, pull.base) == (True, f"navci/issue-{job.number}", "main")
    assert job.repo.issues[number].title == "Write the answer"
    assert f"For #{job.number}" in said
    assert "Closes" not in said
    assert "✅" in said
    assert result.outputs["pull-request-url"].endswith(f"/pull/{number}")
    assert result.marker and result.marker["indicators"]["ticket_closed"]["met"] is True
    assert git(job.repo.bare, "show", f"navci/issue-{job.number}:answer.txt") == "42"
    assert journal_state(job.repo.bare, f"issue-{job.number}")["end"] == "complete"
    asked = [f"{one.method} {one.path}" for one in job.fake.requests[before:]]
    asked = [one for one in asked if ".git/" not in one]
    assert len(asked) <= 14 + 2, asked


def test_an_aborted_run(job: IssueJob) -> None:
    result = job.run([WRONG], [{"write": {"path": "answer.txt", "text": "40\n"}}],
                     args=("--max-iterations", "2"))  # fmt: skip
    assert result.exit_code == 10, result.said
    issue = job.repo.issues[job.number]
    assert issue.state == "open"
    assert set(issue.labels) == {"bug", "loop-aborted"}
    story, call = issue.comments
    assert "LOOP ABORTED: max iterations reached after 2 iterations" in story.body
    assert re.search(r"^@mona: \*\*LOOP ABORTED", call.body, re.MULTILINE)
    assert "put the label `loop-mode` on, or write `/navci run`" in call.body
    assert not job.repo.pulls
    assert git(job.repo.bare, "show", f"navci/issue-{job.number}:answer.txt") == "40"


@pytest.mark.parametrize(("close", "reads"), [("never", "a person"), ("when-merged", "the merge")])
def test_an_issue_that_navci_does_not_close(tmp_path: Path, close: str, reads: str) -> None:
    config = json.dumps({"github": {"close_issue": close, "pull_request": "ready"}})
    with IssueJob.start(tmp_path, files={".agent/.nav-config.json": config}) as job:
        result = job.run([RIGHT, DONE])
        assert result.exit_code == 0, result.said
        assert job.repo.issues[job.number].state == "open"
        ((number, pull),) = job.repo.pulls.items()
        assert pull.draft is False
        body = job.repo.issues[number].body or ""
        assert (f"Closes #{job.number}" in body) is (close == "when-merged")
        assert result.marker
        closed = result.marker["indicators"]["ticket_closed"]
        assert (closed["met"], reads in closed["why"]) == (None, True)


def test_who_may_not_write_starts_nothing(job: IssueJob) -> None:
    payload = payloads.labeled(job.fake, job.repo, job.number, "loop-mode", sender="eve")
    result = job.run([RIGHT, DONE], payload=payload)
    assert result.outputs["outcome"] == "skipped", result.said
    assert "eve" in result.said
    assert not job.repo.issues[job.number].comments
    assert set(job.repo.issues[job.number].labels) == {"bug", "loop-mode"}


def test_an_issue_by_its_number_alone(job: IssueJob) -> None:
    """A job of the nightly matrix: no issue in the event, its text from GitHub."""
    payload = {"schedule": "17 3 * * *"}
    args = ("--issue", str(job.number))
    result = job.run([RIGHT, DONE], args=args, event="schedule", payload=payload)
    assert result.exit_code == 0, result.said
    assert job.repo.issues[job.number].state == "closed"


def test_without_a_token_the_issue_is_left_to_a_person(job: IssueJob) -> None:
    result = job.run([RIGHT, DONE], args=("--no-push",), NAVCI_GITHUB_TOKEN="")
    assert result.exit_code == 0, result.said
    assert "there is no token for GitHub" in result.said
    assert job.repo.issues[job.number].state == "open"
    assert not job.repo.issues[job.number].comments


def test_github_away_at_the_end_loses_nothing_and_the_next_run_finishes(job: IssueJob) -> None:
    refused = {"message": "Resource not accessible by integration"}
    job.fake.fail("PATCH", rf"/issues/{job.number}$", status=403, times=1000, body=refused)
    result = job.run([RIGHT, DONE])
    assert result.outputs["outcome"] == "complete", result.said
    assert result.exit_code == 0
    assert result.marker and result.marker["indicators"]["ticket_closed"]["met"] is False
    assert "issues: write" in result.marker["indicators"]["ticket_closed"]["why"]
    assert job.repo.issues[job.number].state == "open"
    job.fake.faults.waiting.clear()
    job.repo.label(job.number, "loop-mode", by="mona")
    again = job.run([{"say": "never reached"}])
    assert again.outputs["outcome"] == "skipped", again.said
    assert "what was left of closing it was done now: closed" in again.said
    assert job.repo.issues[job.number].state == "closed"
    assert len(job.repo.pulls) == 1
    assert len(job.repo.issues[job.number].comments) == 1


def test_navci_close_finishes_too(job: IssueJob) -> None:
    said = "GitHub Actions is not permitted to create or approve pull requests."
    job.fake.fail("POST", r"/pulls$", status=403, times=1000, body={"message": said})
    result = job.run([RIGHT, DONE])
    assert result.outputs["outcome"] == "complete", result.said
    assert "do not let GitHub Actions open pull requests" in result.said
    assert job.repo.issues[job.number].state == "open"
    job.fake.faults.waiting.clear()
    top = job.clone()
    done = run_navci(top, "close", f"issue-{job.number}", env=job.environment())
    assert done.exit_code == 0, done.said
    assert (len(job.repo.pulls), job.repo.issues[job.number].state) == (1, "closed")
    once_more = run_navci(top, "close", f"issue-{job.number}", env=job.environment())
    assert "everything was done already" in once_more.said


def test_a_token_that_dies_is_replaced_by_the_jobs_own(job: IssueJob, tmp_path: Path) -> None:
    job.fake.token("ghs_spare", login=BOT, can={"issues", "contents", "pull-requests", "metadata"})
    kill = tmp_path / "kill"
    wait = [{"run": f"touch {kill}; while [ -e {kill} ]; do sleep 0.1; done"}, RIGHT, DONE]
    top = job.clone()
    book = write_playbook(top, wait)
    started = start_navci(
        top, "run", "--agent", "playbook", "--playbook", str(book), "--test-command", TEST,
        "--max-iterations", "1", env=job.environment(NAVCI_SPARE_TOKEN="ghs_spare"),
    )  # fmt: skip
    assert wait_until(kill.exists, 30), started.said
    job.fake.revoke(TOKEN)
    kill.unlink()
    result = started.wait()
    assert result.exit_code == 0, result.said
    assert "`github-token` is not valid any more" in result.said
    assert job.repo.issues[job.number].state == "closed"
    assert "ghs_" not in result.said


def test_a_comment_stops_the_run(job: IssueJob, tmp_path: Path) -> None:
    often = tmp_path / "often"
    often.mkdir()
    (often / "sitecustomize.py").write_text(
        "import importlib.abc, sys\n"
        "class Often(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name == 'navci.loop.main':\n"
        "            sys.meta_path.remove(self)\n"
        "            import navci.loop.stopping\n"
        "            navci.loop.stopping.SECONDS = 0.3\n"
        "sys.meta_path.insert(0, Often())\n"
    )
    begun = tmp_path / "begun"
    top = job.clone()
    book = write_playbook(top, [WRONG, {"run": f"touch {begun}; sleep 30"}, DONE])
    started = start_navci(
        top, "run", "--agent", "playbook", "--playbook", str(book), "--test-command", TEST,
        "--max-iterations", "2", env=job.environment(PYTHONPATH=str(often)),
    )  # fmt: skip
    assert wait_until(begun.exists, 30), started.said
    task = f"issue-{job.number}"
    git(job.repo.bare, "update-ref", f"refs/navci-stop/{task}", "refs/heads/main")
    result = started.wait()
    assert (result.exit_code, result.outputs["outcome"]) == (130, "user_aborted"), result.said
    assert "stopped on request (/navci stop)" in result.said
    assert git(job.repo.bare, "for-each-ref", "refs/navci-stop/") == ""
    assert git(job.repo.bare, "show", f"navci/{task}:answer.txt") == "41"
