"""An issue on GitHub, from the label to the close: what people find there in the morning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.issue_job import DONE, RIGHT, WRONG, IssueJob
from tests.support.navci_run import journal_state
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
