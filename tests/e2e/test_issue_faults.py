"""Each request of a run, and each fault in its place: nothing twice, nothing lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.issue_job import DONE, RIGHT, IssueJob
from tests.support.repos import git

pytestmark = pytest.mark.e2e

# Every request of a complete run: what it is, and how many like it come before it.
REQUESTS = {
    "permission": ("GET", r"/permission$", 0),
    "issue": ("GET", r"/issues/1$", 0),
    "label-running": ("POST", r"/issues/1/labels$", 0),
    "unlabel-mode": ("DELETE", r"/labels/loop-mode$", 0),
    "look-for-comment": ("GET", r"/issues/1/comments", 0),
    "comment": ("POST", r"/issues/1/comments$", 0),
    "edit-comment": ("PATCH", r"/issues/comments/", 0),
    "look-for-pull": ("GET", r"/pulls", 0),
    "pull": ("POST", r"/pulls$", 0),
    "close": ("PATCH", r"/issues/1$", 0),
    "label-complete": ("POST", r"/issues/1/labels$", 1),
    "unlabel-running": ("DELETE", r"/labels/loop-running$", 0),
    "look-again": ("GET", r"/issues/1/comments", 1),
    "last-edit": ("PATCH", r"/issues/comments/", 1),
}
ONCE: dict[str, dict[str, Any]] = {
    "502": {"status": 502},
    "502-but-done": {"status": 502, "after": True},
    "drop": {"drop": True},
    "truncated": {"truncate": True},
    "429": {"status": 429, "headers": {"Retry-After": "1"}},
}


def finished(job: IssueJob) -> None:
    """Everything once, whatever happened on the way."""
    issue = job.repo.issues[1]
    assert issue.state == "closed"
    assert set(issue.labels) == {"bug", "loop-complete"}
    assert len(issue.comments) == 1
    assert "LOOP COMPLETE" in issue.comments[0].body
    assert len(job.repo.pulls) == 1
    assert git(job.repo.bare, "show", "navci/issue-1:answer.txt") == "42"


# What only reads can neither be done nor be done twice.
CASES = [
    (request, fault)
    for request, (method, _, _) in REQUESTS.items()
    for fault in (("502", "truncated") if method == "GET" else ONCE)
]


@pytest.mark.parametrize(("request_", "fault"), CASES)
def test_a_fault_that_passes(request_: str, fault: str, tmp_path: Path) -> None:
    """One bad answer: the run is as without it, or the comment is late, but nothing comes twice."""
    method, path, skip = REQUESTS[request_]
    with IssueJob.start(tmp_path) as job:
        struck = job.fake.fail(method, path, skip=skip, **ONCE[fault])
        result = job.run([RIGHT, DONE])
        assert struck.hits == 1
        assert (result.exit_code, result.outputs["outcome"]) == (0, "complete"), result.said
        assert result.kind == "complete"
        finished(job)


@pytest.mark.parametrize("status", [403, 410])
@pytest.mark.parametrize("request_", REQUESTS)
def test_a_refusal_that_stays(request_: str, status: int, tmp_path: Path) -> None:
    """GitHub says no, and goes on saying it: the work is kept, and a later run does the rest."""
    method, path, skip = REQUESTS[request_]
    with IssueJob.start(tmp_path) as job:
        struck = job.fake.fail(method, path, skip=skip, status=status, times=None)
        result = job.run([RIGHT, DONE])
        assert struck.hits
        if request_ in ("permission", "issue"):  # nobody could be asked, so nothing was begun
            assert result.outputs["outcome"] in ("infra_error", "skipped"), result.said
            assert git(job.repo.bare, "for-each-ref", "refs/heads/navci", "refs/navci") == ""
        else:
            assert (result.exit_code, result.outputs["outcome"]) == (0, "complete"), result.said
            assert result.kind == "complete"
            assert git(job.repo.bare, "show", "navci/issue-1:answer.txt") == "42"
        job.fake.faults.waiting.clear()
        if job.repo.issues[1].state == "open":
            if "loop-mode" not in job.repo.issues[1].labels:
                job.repo.label(1, "loop-mode", by="mona")
            again = job.run([RIGHT, DONE])
            assert again.outputs["outcome"] in ("complete", "skipped"), again.said
            finished(job)
