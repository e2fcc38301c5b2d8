"""tests.fake_github: what GitHub refuses, in its words; moved, gone, locked, too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from github import GithubException

from tests.fake_github.visitor import World, a_world, refused


@pytest.fixture(params=["", "/api/v3"], ids=["github.com", "enterprise"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with a_world(tmp_path, request.param) as made:
        made.repo.add_issue("a title", "a body", "mona", ["loop-mode"])
        yield made


def test_a_renamed_repository_redirects_what_reads(world: World) -> None:
    world.repo.rename("octo/renamed")
    answer = world.raw("GET", "/repos/octo/demo/issues?state=all", "good")
    place = f"{world.hub.api_url}/repositories/{world.repo.id}"
    assert (answer.status, answer.headers["Location"]) == (301, f"{place}/issues?state=all")
    assert b'"message": "Moved Permanently"' in answer.body

    assert world.client().get_issue(1).title == "a title"
    assert [asked.path for asked in world.hub.requests[1:]] == [
        "/repos/octo/demo/issues/1",
        f"/repositories/{world.repo.id}/issues/1",
    ]


def test_a_renamed_repository_does_not_carry_out_what_writes(world: World) -> None:
    world.repo.rename("octo/renamed")
    # The trap: no exception, and nothing was written.
    world.client().get_issue(1).edit(state="closed")
    comment = world.client().get_issue(1).create_comment("hello")
    assert "Moved Permanently" in str(comment._rawData)
    assert [asked.status for asked in world.hub.requests] == [307, 307]
    assert (world.repo.issues[1].state, world.repo.issues[1].comments) == ("open", [])


def test_a_transferred_issue_redirects_but_not_what_lies_under_it(world: World) -> None:
    other = world.hub.repository("octo/other")
    other.add_issue()
    world.repo.comment(1, "hello", by="mona")
    moved = world.repo.transfer(1, other, by="mona")
    assert (moved.number, [comment.body for comment in moved.comments]) == (2, ["hello"])

    issue = world.client().get_issue(1)
    assert (issue.title, issue.number) == ("a title", 2)
    assert issue.html_url == f"{world.hub.server_url}/octo/other/issues/2"
    assert not list(world.client().get_issues())
    for sub in ("comments", "timeline", "labels"):
        path = f"/repos/octo/demo/issues/1/{sub}"
        refused(lambda path=path: world.ask("GET", path), 404, "Not Found")  # type: ignore[misc]


def test_a_deleted_issue_is_gone(world: World) -> None:
    world.repo.delete_issue(1)
    issue = world.client().get_issue(1)
    refused(lambda: issue.title, 410, "This issue was deleted")
    refused(lambda: issue.create_comment("x"), 410, "This issue was deleted")
    assert not list(world.client().get_issues(state="all"))
    refused(lambda: world.edits(1), 404, "Could not resolve to an Issue with the number of 1.")


def test_issues_switched_off(world: World) -> None:
    world.repo.add_pull("navci/issue-1")
    world.repo.has_issues = False
    words = "Issues has been disabled in this repository."
    refused(lambda: world.client().get_issue(1).title, 410, words)
    refused(lambda: world.client().create_issue("x"), 410, words)
    assert [issue.number for issue in world.client().get_issues()] == [2]


def test_a_locked_conversation(world: World) -> None:
    words = "Unable to create comment because issue is locked."
    world.repo.permissions |= {"mona": "write", "eve": "read"}
    for login in ("mona", "eve"):
        world.hub.token(login, login=login)
    world.repo.lock(1, by="mona", reason="spam")
    assert world.client().get_issue(1).active_lock_reason == "spam"
    refused(lambda: world.client().get_issue(1).create_comment("x"), 403, words)
    refused(lambda: world.client("eve").get_issue(1).create_comment("x"), 403, words)
    world.client("mona").get_issue(1).create_comment("x")
    assert [event.event for event in world.client().get_issue(1).get_timeline()] == [
        *("labeled", "locked", "commented")
    ]


def test_an_issue_turned_into_a_discussion(world: World) -> None:
    world.repo.convert_to_discussion(1, by="mona")
    issue = world.client().get_issue(1)
    assert (issue.state, issue.locked) == ("closed", True)
    assert "converted_to_discussion" in [event.event for event in issue.get_timeline()]
    refused(lambda: issue.create_comment("x"), 403, "issue is locked")


@pytest.mark.parametrize("reason", ["completed", "not_planned", "duplicate"])
def test_reasons_of_closing_and_reopening(world: World, reason: str) -> None:
    issue = world.client().get_issue(1)
    issue.edit(state="closed", state_reason=reason)
    assert (issue.state, issue.state_reason) == ("closed", reason)
    said = world.ask("GET", "/repos/octo/demo/issues/1")
    assert said["closed_by"]["login"] == "github-actions[bot]"
    issue.edit(state="open")
    assert (issue.state, issue.state_reason) == ("open", "reopened")
    assert world.ask("GET", "/repos/octo/demo/issues/1")["closed_by"] is None


def test_lengths(world: World) -> None:
    issue = world.client().get_issue(1)
    # Measured on the real one: what counts for a comment is bytes, not what the words say.
    comment = issue.create_comment("é" * 131_072)
    words = "is too long (maximum is 65536 characters)"
    refused(lambda: issue.create_comment("é" * 131_073), 422, f"Body {words}")
    refused(lambda: comment.edit("a" * 262_145), 422, f"body {words}")
    refused(lambda: issue.edit(body="a" * 65_537), 422, f"body {words}")
    refused(lambda: issue.edit(title="a" * 257), 422, "title is too long")
    refused(lambda: issue.create_comment(" \n"), 422, "Body cannot be blank")
    refused(lambda: issue.add_to_labels("a" * 51), 422, "name is too long")
    assert world.repo.issues[1].labels == ["loop-mode"]


def test_labels_of_the_repository(world: World) -> None:
    client = world.client()
    refused(lambda: client.create_label("LOOP-mode", "ffffff"), 422, "already_exists")
    refused(lambda: client.create_label("x", "red"), 422, '"field": "color"')
    refused(lambda: client.get_label("x").color, 404, "Not Found")
    client.get_issue(1).add_to_labels("grüße 🙂/x y")
    assert client.get_label("grüße 🙂/x y").color == "ededed"
    client.get_issue(1).remove_from_labels("grüße 🙂/x y")
    assert (
        world.raw("GET", "/repos/octo/demo/labels/gr%C3%BC%C3%9Fe%20%F0%9F%99%82/x%20y").status
        == 200
    )


def test_an_archived_repository_is_read_only(world: World) -> None:
    world.repo.archived = True
    assert world.client().get_issue(1).title == "a title"
    words = "Repository was archived so is read-only."
    refused(lambda: world.client().get_issue(1).create_comment("x"), 403, words)


# Pull requests


def test_pull_requests_that_cannot_be(world: World) -> None:
    client, repo = world.client(), world.repo
    repo.git.set_ref("refs/heads/same", repo.git.branch("main") or "")
    repo.commit("unrelated", {"x": "y"})

    def open_one(head: str, base: str = "main") -> Callable[[], object]:
        return lambda: client.create_pull(base, head, title="t")

    refused(open_one("same"), 422, "No commits between main and same")
    refused(open_one("none"), 422, '"field": "head"')
    refused(open_one("navci/issue-1", "none"), 422, '"field": "base"')
    refused(open_one("eve:navci/issue-1"), 422, '"field": "head"')
    refused(open_one("unrelated"), 422, "The unrelated branch has no history in common with main")
    open_one("octo:navci/issue-1")()
    refused(open_one("navci/issue-1"), 422, "A pull request already exists for octo:navci/issue-1.")
    client.get_pull(2).edit(state="closed")
    assert client.create_pull("main", "navci/issue-1", title="t").number == 3
    with pytest.raises(GithubException, match="422"):
        client.create_pull("main", "same", title="")


def test_pull_requests_by_actions_switched_off(world: World) -> None:
    world.repo.actions_may_open_pulls = False
    world.repo.permissions["mona"] = "write"
    world.hub.token("mona", login="mona")
    refused(
        lambda: world.client().create_pull("main", "navci/issue-1", title="t"),
        403,
        "GitHub Actions is not permitted to create or approve pull requests.",
    )
    assert world.client("mona").create_pull("main", "navci/issue-1", title="t").number == 2


def test_drafts_that_a_plan_does_not_have(world: World) -> None:
    world.repo.drafts_supported = False
    create = world.client().create_pull
    refused(
        lambda: create("main", "navci/issue-1", title="t", draft=True),
        422,
        "Draft pull requests are not supported in this repository.",
    )
    assert not create("main", "navci/issue-1", title="t").draft


def test_a_pull_request_follows_its_branch_and_is_merged_for_real(world: World) -> None:
    client, repo = world.client(), world.repo
    pull = client.create_pull("main", "navci/issue-1", title="t")
    tip = repo.commit("navci/issue-1", {"more.py": "1\n2\n"})
    seen = client.get_pull(pull.number)
    assert (seen.head.sha, seen.commits, seen.additions) == (tip, 2, 3)
    merged = repo.merge(pull.number, by="mona")
    assert repo.git.branch("main") == merged
    assert repo.git.contains(merged, tip)
    seen = client.get_pull(pull.number)
    assert (seen.merged, seen.state) == (True, "closed")
    assert seen.raw_data["merged_by"]["login"] == "mona"
    refused(lambda: seen.edit(state="open"), 422, "state cannot be changed.")


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({}, [3, 2]),
        ({"head": "octo:navci/issue-1"}, [2]),
        ({"head": "octo:none"}, []),
        ({"head": "navci/issue-1"}, [3, 2]),  # no owner in front: GitHub ignores it
        ({"base": "navci/issue-1"}, []),
        ({"state": "closed"}, [4]),
        ({"sort": "created", "direction": "asc", "state": "all"}, [2, 3, 4]),
    ],
)
def test_pull_requests_are_filtered(
    world: World, asked: dict[str, str], numbers: list[int]
) -> None:
    world.repo.git.set_ref("refs/heads/two", world.repo.git.branch("navci/issue-1") or "")
    for head in ("navci/issue-1", "two", "two"):
        world.repo.add_pull(head)
    world.repo.close(4, by="mona")
    assert [pull.number for pull in world.client().get_pulls(**asked)] == numbers


# Refs, which are git's


def test_refs_that_cannot_be(world: World) -> None:
    client, git = world.client(), world.repo.git
    start, tip = git.branch("main") or "", git.branch("navci/issue-1") or ""
    create = client.create_git_ref
    refused(lambda: create("refs/heads/main", start), 422, "Reference already exists")
    refused(lambda: create("refs/heads/x", "0" * 40), 422, "Object does not exist")
    refused(lambda: create("refs/heads/a..b", start), 422, "Reference name is invalid")
    refused(lambda: create("heads/x", start), 422, "Reference name is invalid")
    ref = client.get_git_ref("heads/navci/issue-1")
    assert ref.object.sha == tip
    refused(lambda: ref.edit(start), 422, "Update is not a fast forward")
    ref.edit(start, force=True)
    ref.edit(tip)
    ref.delete()
    refused(lambda: ref.edit(start), 422, "Reference does not exist")
    refused(ref.delete, 422, "Reference does not exist")
    refused(lambda: client.get_git_ref("heads/none").object, 404, "Not Found")
    refused(lambda: client.get_branch("none").commit, 404, "Branch not found")
    world.hub.repository("octo/empty")
    empty = world.github().get_repo("octo/empty")
    refused(lambda: empty.get_git_ref("heads/main").object, 409, "Git Repository is empty.")


def test_graphql_in_its_own_words(world: World) -> None:
    world.repo.add_pull("navci/issue-1")
    refused(lambda: world.edits(2), 404, "Could not resolve to an Issue with the number of 2.")
    world.repo.private = True
    world.hub.token("eve", login="eve")
    world.hub.token("weak", can={"contents"})
    words = "Could not resolve to a Repository with the name 'octo/demo'."
    refused(lambda: world.edits(1, "eve"), 404, words)
    refused(lambda: world.edits(1, "weak"), 400, "Resource not accessible by integration")
    refused(lambda: world.edits(1, "who?"), 401, "Bad credentials")
