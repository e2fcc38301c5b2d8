"""tests.fake_github: each fault of the queue, as a client meets it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import pytest
import requests
from github import GithubException, RateLimitExceededException
from github.Issue import Issue

from tests.fake_github import Fault
from tests.fake_github.visitor import World, a_world, refused


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with a_world(tmp_path) as made:
        made.repo.add_issue("a title", labels=["loop-mode"])
        yield made


@pytest.fixture
def issue(world: World) -> Issue:
    return world.client().get_issue(1)


def bodies(world: World) -> list[str]:
    return [comment.body for comment in world.repo.issues[1].comments]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "Bad credentials"),
        (403, "Resource not accessible by integration"),
        (404, "Not Found"),
        (410, "This issue was deleted"),
        (422, "Validation Failed"),
        (429, "secondary rate limit"),
        (500, "Server Error"),
        (502, "Bad Gateway"),
        (503, "Unicorn"),
    ],
)
def test_a_status_says_github_s_words_and_nothing_is_carried_out(
    world: World, issue: Issue, status: int, words: str
) -> None:
    fault = world.hub.fail("POST", r"/comments$", status=status)
    refused(lambda: issue.create_comment("one"), status, words)
    assert bodies(world) == []
    issue.create_comment("two")
    assert (bodies(world), fault.hits) == (["two"], 1)
    assert [asked.status for asked in world.hub.requests] == [status, 201]


def test_after_means_carried_out_then_the_fault(world: World, issue: Issue) -> None:
    world.hub.fail("POST", r"/comments$", status=502, after=True)
    world.hub.fail("PATCH", r"/issues/1$", drop=True, after=True)
    refused(lambda: issue.create_comment("one"), 502, "Bad Gateway")
    assert bodies(world) == ["one"]
    with pytest.raises(requests.ConnectionError):
        issue.edit(state="closed")
    assert world.repo.issues[1].state == "closed"


def test_times_skip_and_the_oldest_that_matches_first(world: World, issue: Issue) -> None:
    first = world.hub.fail("POST|PUT", r"/comments$", status=500, times=2, skip=1)
    always = world.hub.fail("POST", r"/comments$", status=503, times=None, skip=3)
    met = []
    for number in range(8):
        try:
            issue.create_comment(str(number))
            met.append(201)
        except GithubException as error:
            met.append(error.status)
    # The second counts only those that the first lets pass: 0, 3 and 4.
    assert met == [201, 500, 500, 201, 201, 503, 503, 503]
    assert (first.hits, always.hits) == (2, 3)


def test_a_dropped_connection(world: World, issue: Issue) -> None:
    world.hub.fail("POST", r"/comments$", drop=True)
    with pytest.raises(requests.ConnectionError) as caught:
        issue.create_comment("one")
    assert any(isinstance(part, RemoteDisconnected) for part in _causes(caught.value))
    assert bodies(world) == []
    assert world.hub.requests[0].status == 0


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        inner = [part for part in error.args if isinstance(part, BaseException)]
        error = error.__context__ or (inner[0] if inner else None)


def test_a_hanging_server(world: World) -> None:
    world.hub.fail("GET", r"/issues/1$", hang=30)
    github = world.github()
    github.requester._Requester__timeout = 0.2  # type: ignore[attr-defined]
    began = time.monotonic()
    with pytest.raises(requests.ReadTimeout):
        _ = github.get_repo("octo/demo").get_issue(1).title
    # Leaving the world does not wait for it either.
    assert time.monotonic() - began < 5


def test_a_slow_answer_is_an_answer(world: World, issue: Issue) -> None:
    world.hub.fail("GET", r"/issues/1$", delay=0.3)
    began = time.monotonic()
    assert issue.title == "a title"
    assert time.monotonic() - began >= 0.3


def test_a_body_cut_in_the_middle(world: World, issue: Issue) -> None:
    world.hub.fail("POST", r"/comments$", truncate=True)
    with pytest.raises(json.JSONDecodeError):
        issue.create_comment("one")
    assert bodies(world) == ["one"]


def test_a_connection_that_ends_in_mid_body(world: World, issue: Issue) -> None:
    world.hub.fail("GET", r"/issues/1$", truncate="connection")
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        _ = issue.title


def test_headers_and_body_of_ones_own(world: World, issue: Issue) -> None:
    world.hub.fail("GET", r"/issues/1$", headers={"x-ratelimit-remaining": "0"})
    assert issue.raw_headers["x-ratelimit-remaining"] == "0"
    world.hub.fail("POST", r"/comments$", body={"id": 7, "body": "not yours"})
    assert issue.create_comment("one").body == "not yours"
    world.hub.fail("POST", r"/comments$", status=418, body="<b>teapot</b>", headers={"A": "b"})
    refused(lambda: issue.create_comment("two"), 418, "<b>teapot</b>")
    assert bodies(world) == ["one"]


@pytest.mark.parametrize(
    ("fault", "remaining"),
    [
        ({"limit": "primary"}, "0"),
        ({"limit": "primary", "status": 429}, "0"),
        ({"limit": "secondary"}, None),
        ({"limit": "secondary", "headers": {"Retry-After": "7"}}, None),
    ],
)
def test_limits_are_known_by_their_words(
    world: World, issue: Issue, fault: dict[str, Any], remaining: str | None
) -> None:
    world.hub.fail("POST", r"/comments$", **fault)
    with pytest.raises(GithubException) as caught:
        issue.create_comment("one")
    assert isinstance(caught.value, RateLimitExceededException) == (caught.value.status == 403)
    headers = caught.value.headers or {}
    if remaining is not None:
        assert headers["x-ratelimit-remaining"] == remaining
        assert 0 < int(headers["x-ratelimit-reset"]) - time.time() < 65
    assert headers.get("retry-after") == fault.get("headers", {}).get("Retry-After")


def test_graphql_and_git_meet_faults_too(world: World) -> None:
    world.hub.fail("POST", r"^/graphql$", status=502)
    refused(lambda: world.edits(1), 502, "Bad Gateway")
    assert world.edits(1)["lastEditedAt"] is None


def test_many_at_once(world: World) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def comment(number: int) -> None:
        world.client().get_issue(1).create_comment(str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(comment, range(40)))
    assert sorted(bodies(world), key=int) == [str(number) for number in range(40)]


@pytest.mark.parametrize(
    "fault",
    [
        {},
        {"after": True},
        {"after": True, "truncate": True},
        {"status": 502, "drop": True},
        {"drop": True, "hang": 1},
    ],
)
def test_faults_that_mean_nothing(fault: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        Fault("GET", "/", **fault)
