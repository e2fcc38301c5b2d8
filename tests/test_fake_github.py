"""tests.fake_github: GitHub's answers through PyGithub, for every operation of the description."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fake_github.calls import ENDPOINTS
from tests.fake_github.contract import Contract
from tests.fake_github.git_http import is_git
from tests.fake_github.visitor import World, a_world, refused


@pytest.fixture(params=["", "/api/v3"], ids=["github.com", "enterprise"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with a_world(tmp_path, request.param) as made:
        yield made


def test_every_operation_has_an_endpoint() -> None:
    offered = {f"{method} {template}" for method, template, _ in ENDPOINTS}
    for product in ("api.github.com", "ghes-3.17"):
        assert Contract.load(product).names() == offered


def test_every_operation_answers_as_the_description_says(world: World) -> None:
    hub, repo = world.hub, world.repo
    repo.permissions |= {"mona": "maintain", "eve": "read"}
    hub.token("mona's", login="mona")
    client, mona = world.client(), world.github("mona's")

    assert client.get_issues(state="all").totalCount == 0
    made = client.create_issue("a title", "a body", labels=["loop-mode", "area/ui"])
    issue = client.get_issue(made.number)
    assert (issue.title, issue.user.login) == ("a title", "github-actions[bot]")
    assert [found.number for found in client.get_issues(labels=["LOOP-MODE"])] == [1]

    comment = issue.create_comment("hello")
    comment.edit("goodbye")
    assert issue.get_comment(comment.id).body == "goodbye"
    assert [found.id for found in issue.get_comments()] == [comment.id]
    assert comment.create_reaction("eyes").content == "eyes"
    assert comment.create_reaction("eyes").id == comment.create_reaction("eyes").id
    assert issue.create_reaction("rocket").content == "rocket"
    comment.delete()
    refused(lambda: issue.get_comment(comment.id).body, 404, "Not Found")

    issue.add_to_labels("Bug", "loop-mode")
    assert [label.name for label in issue.get_labels()] == ["loop-mode", "area/ui", "Bug"]
    issue.remove_from_labels("area/ui")
    refused(lambda: issue.remove_from_labels("area/ui"), 404, "Label does not exist")
    issue.set_labels("loop-running", "bug")
    assert repo.issues[1].labels == ["Bug", "loop-running"]
    issue.remove_from_labels("BUG")
    issue.delete_labels()
    assert repo.issues[1].labels == []

    client.create_label("loop-aborted", "b60205")
    label = client.get_label("area/ui")
    label.edit("area/web", "0e8a16", "what is seen")
    assert {found.name for found in client.get_labels()} == {
        *("Bug", "area/web", "loop-aborted", "loop-mode", "loop-running")
    }
    client.get_label("Bug").delete()
    refused(lambda: client.get_label("bug").color, 404, "Not Found")

    issue.add_to_assignees("mona")
    assert [user.login for user in client.get_issue(1).assignees] == ["mona"]
    issue.remove_from_assignees("mona")
    issue.edit(title="another", state="closed", state_reason="not_planned")
    assert (issue.state, issue.state_reason) == ("closed", "not_planned")
    kinds = [event.event for event in issue.get_timeline()]
    assert kinds == [
        *["labeled"] * 3,
        *["unlabeled"] * 2,
        "labeled",
        *["unlabeled"] * 2,
        "renamed",
        "closed",
    ]

    tip = client.get_branch("navci/issue-1").commit.sha
    assert tip == repo.git.branch("navci/issue-1")
    assert client.get_git_ref("heads/main").object.sha == repo.git.branch("main")
    ref = client.create_git_ref("refs/navci/issue-1", tip)
    ref.edit(repo.git.branch("main") or "", force=True)
    assert repo.git.ref("refs/navci/issue-1") == repo.git.branch("main")
    ref.delete()
    assert repo.git.ref("refs/navci/issue-1") is None

    pull = client.create_pull("main", "navci/issue-1", title="t", body="b", draft=True)
    assert [found.number for found in client.get_pulls(head="octo:navci/issue-1")] == [2]
    client.get_pull(2).edit(title="u", body="c")
    assert client.get_pull(2).title == "u"
    assert (pull.draft, pull.commits, pull.additions, pull.changed_files) == (True, 1, 1, 1)

    assert client.get_collaborator_permission("mona") == "write"
    assert client.has_in_collaborators("mona")
    assert not client.has_in_collaborators("nobody")
    assert client.create_repository_dispatch("go", {"issue": 1})
    assert repo.dispatches == [{"event_type": "go", "client_payload": {"issue": 1}}]
    assert (client.default_branch, client.permissions.push) == ("main", True)
    assert mona.get_user().login == "mona"
    if hub.limits:
        assert world.github().get_rate_limit().resources.core.limit == 1000
    else:
        refused(world.github().get_rate_limit, 404, "Rate limiting is not enabled.")

    contract = Contract.load("api.github.com")
    seen = [contract.operation(asked.method, asked.path) for asked in hub.requests]
    assert {found.name for found in seen if found} == contract.names()


def test_what_a_person_does_shows(world: World) -> None:
    issue = world.repo.add_issue("a title", "first", "mona", ["loop-mode"])
    assert world.edits(1)["lastEditedAt"] is None
    world.hub.later(60)
    world.repo.edit(1, body="second", title="another", by="eve")
    world.hub.later(60)
    world.client().get_issue(1).edit(body="third")

    told = world.edits(1)
    assert told["editor"] == {"login": "github-actions"}
    assert [edit["editor"]["login"] for edit in told["userContentEdits"]["nodes"]] == [
        "github-actions",
        "eve",
    ]
    assert told["userContentEdits"]["totalCount"] == 3
    seen = world.client().get_issue(1)
    assert [(event.event, event.actor.login) for event in seen.get_timeline()] == [
        ("labeled", "mona"),
        ("renamed", "eve"),
    ]
    assert issue.versions[-1].at - issue.created_at >= timedelta(seconds=120)


@pytest.mark.parametrize(
    ("role", "legacy", "named"),
    [
        ("admin", "admin", "admin"),
        ("maintain", "write", "maintain"),
        ("write", "write", "write"),
        ("triage", "read", "triage"),
        ("read", "read", "read"),
        ("none", "none", "none"),
    ],
)
def test_permissions_are_legacy_words(world: World, role: str, legacy: str, named: str) -> None:
    world.repo.permissions["Mona"] = role
    said = world.ask("GET", "/repos/octo/demo/collaborators/mona/permission")
    assert (said["permission"], said["role_name"]) == (legacy, named)


def test_permissions_of_strangers_bots_and_for_strangers(world: World) -> None:
    world.repo.add_issue(author="eve")
    world.hub.token("eve's", login="eve")
    ask = world.client().get_collaborator_permission
    assert ask("eve") == "read"
    world.repo.private = True
    assert ask("eve") == "none"
    refused(lambda: ask("nobody"), 404, "nobody is not a user")
    refused(lambda: ask("dependabot[bot]"), 404, "dependabot[bot] is not a user")
    refused(lambda: ask("Copilot"), 404, "Copilot is not a user")
    world.repo.private = False
    seen = world.client("eve's")
    refused(lambda: seen.get_collaborator_permission("mona"), 403, "Must have push access")


@pytest.mark.parametrize(
    ("can", "private", "read", "write"),
    [
        ({"issues"}, True, "", ""),
        ({"issues:read"}, True, "", "Resource not accessible by integration"),
        ({"contents"}, True, *["Resource not accessible by integration"] * 2),
        ({"contents"}, False, "", "Resource not accessible by integration"),
        (set(), False, "", "Resource not accessible by integration"),
    ],
)
def test_a_workflow_s_token_does_what_its_permissions_say(
    world: World, can: set[str], private: bool, read: str, write: str
) -> None:
    world.repo.private = private
    world.repo.add_issue()
    world.hub.token("a job's", can=can)
    issue = world.client("a job's").get_issue(1)
    for call, words in ((lambda: issue.title, read), (lambda: issue.create_comment("x"), write)):
        if words:
            refused(call, 403, words)
        else:
            call()


def test_a_person_s_token_is_bounded_by_the_role(world: World) -> None:
    world.repo.add_issue()
    world.hub.token("eve's", login="eve")
    issue = world.client("eve's").get_issue(1)
    issue.create_comment("anyone may")
    refused(lambda: issue.add_to_labels("bug"), 403, "Must have admin rights to Repository.")
    refused(lambda: issue.edit(state="closed"), 403, "Must have admin rights to Repository.")
    world.repo.private = True
    refused(lambda: issue.create_comment("x"), 404, "Not Found")
    refused(lambda: world.client("eve's").get_issue(1).title, 404, "Not Found")


def test_tokens_that_are_unknown_dead_or_none(world: World) -> None:
    world.repo.add_issue()
    refused(lambda: world.client("who?").get_issue(1).title, 401, "Bad credentials")
    world.hub.revoke("good")
    refused(lambda: world.client().get_issue(1).title, 401, "Bad credentials")
    answer = world.raw("GET", "/repos/octo/demo/issues/1")
    assert json.loads(answer.body)["number"] == 1
    answer = world.raw("POST", "/repos/octo/demo/issues/1/comments", body=b'{"body": "x"}')
    assert (answer.status, b"Requires authentication" in answer.body) == (401, True)
    world.repo.private = True
    assert world.raw("GET", "/repos/octo/demo/issues/1").status == 404


def test_a_workflow_s_token_is_nobody(world: World) -> None:
    refused(lambda: world.github().get_user().login, 403, "Resource not accessible by integration")


def test_pull_requests_are_in_the_list_of_issues(world: World) -> None:
    world.repo.add_issue(labels=["loop-mode"])
    world.repo.add_pull("navci/issue-1")
    world.repo.label(2, "loop-mode", by="mona")
    found = list(world.client().get_issues(labels=["loop-mode"]))
    assert [(issue.number, issue.pull_request is not None) for issue in found] == [
        (2, True),
        (1, False),
    ]
    pull = world.client().get_pull(2)
    assert pull.id != found[0].id
    assert pull.id > 1_000_000_000


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({}, [3, 1]),
        ({"state": "all"}, [3, 2, 1]),
        ({"state": "closed"}, [2]),
        ({"labels": ["a/b", "C D"]}, [3]),
        ({"creator": "EVE"}, [3]),
        ({"sort": "updated", "direction": "asc", "state": "all"}, [3, 2, 1]),
        ({"sort": "comments"}, [1, 3]),
        ({"assignee": "mona"}, [1]),
        ({"assignee": "none"}, [3]),
        ({"assignee": "*"}, [1]),
    ],
)
def test_issues_are_filtered_and_sorted(
    world: World, asked: dict[str, Any], numbers: list[int]
) -> None:
    world.repo.add_issue(labels=["a/b"]).assignees.append("mona")
    world.repo.add_issue()
    world.repo.add_issue(author="eve", labels=["A/B", "c d"])
    world.hub.later(60)
    world.repo.close(2, by="mona")
    world.hub.later(60)
    world.repo.comment(1, "x", by="mona")
    assert [issue.number for issue in world.client().get_issues(**asked)] == numbers


def test_three_thousand_issues_are_paged_by_links_with_the_number_of_the_repository(
    world: World,
) -> None:
    for number in range(3000):
        world.repo.add_issue(f"issue {number}", labels=["loop-mode"])
    began = time.monotonic()
    found = {issue.number for issue in world.client().get_issues(labels=["loop-mode"])}
    took = time.monotonic() - began
    assert found == set(range(1, 3001))
    assert [asked.path for asked in world.hub.requests] == [
        "/repos/octo/demo/issues",
        *[f"/repositories/{world.repo.id}/issues"] * 29,
    ]
    # About 2 s on one slow core, of which PyGithub takes the half.
    assert took < 20


def test_the_links(world: World) -> None:
    for _ in range(5):
        world.repo.add_issue()
    below = f"/repositories/{world.repo.id}/issues"
    place = world.hub.api_url + below
    assert world.raw("GET", f"{below}?per_page=2&page=2").headers["Link"] == (
        f'<{place}?per_page=2&page=1>; rel="prev", <{place}?per_page=2&page=3>; rel="next", '
        f'<{place}?per_page=2&page=3>; rel="last", <{place}?per_page=2&page=1>; rel="first"'
    )
    assert "Link" not in world.raw("GET", f"{below}?per_page=250").headers


def test_git_paths_are_told_from_those_of_the_interface() -> None:
    assert is_git("/octo/demo.git/info/refs")
    assert not is_git("/repos/octo/demo/git/ref/heads/main")


def test_names_are_compared_without_case(world: World) -> None:
    world.repo.add_issue(labels=["Loop-Mode"])
    client = world.github().get_repo("OCTO/Demo")
    client.get_issue(1).add_to_labels("loop-mode", "LOOP-MODE")
    assert world.repo.issues[1].labels == ["Loop-Mode"]
    client.get_issue(1).remove_from_labels("lOOP-mODE")
    assert world.repo.issues[1].labels == []
