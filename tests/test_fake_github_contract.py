"""tests.fake_github.contract: wrong requests and wrong answers are heard of."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github import GithubException
from hypothesis import given
from hypothesis import strategies as st

from tests.fake_github import FakeGitHub
from tests.fake_github.contract import Contract, as_json_schema
from tests.fake_github.visitor import World, a_world

ISSUE = "/repos/octo/demo/issues/1"


@pytest.fixture
def contract() -> Contract:
    return Contract.load("api.github.com")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with a_world(tmp_path) as made:
        made.repo.add_issue("a title", "a body", labels=["loop-mode"])
        yield made
        made.hub.problems.clear()


@pytest.mark.parametrize(
    ("method", "path", "query", "body", "complaint"),
    [
        ("PATCH", ISSUE, {}, {"state": "closed", "state_reason": "completed"}, None),
        ("PATCH", ISSUE, {}, {"state": "closed", "state_reason": None}, None),
        ("PATCH", ISSUE, {}, {"state": "shut"}, "state"),
        ("PATCH", ISSUE, {}, {"state": 7}, "state"),
        ("PATCH", ISSUE, {}, {"state_reason": "done"}, "state_reason"),
        ("PATCH", ISSUE, {}, {"status": "closed"}, "'status' was unexpected"),
        ("POST", f"{ISSUE}/comments", {}, {"body": "x"}, None),
        ("POST", f"{ISSUE}/comments", {}, {"text": "x"}, '"body" is a required property'),
        ("POST", f"{ISSUE}/comments", {}, None, "the body is missing"),
        ("POST", f"{ISSUE}/labels", {}, ["a", "b"], None),
        ("POST", f"{ISSUE}/labels", {}, {"labels": ["a"]}, None),
        ("POST", f"{ISSUE}/labels", {}, [7], "not valid"),
        ("PUT", f"{ISSUE}/labels", {}, ["a"], None),
        ("DELETE", f"{ISSUE}/labels/a/b c", {}, None, None),
        ("DELETE", f"{ISSUE}/labels/a", {}, {"x": 1}, "a body where the description has none"),
        ("GET", f"{ISSUE}/comments", {"per_page": "100", "page": "2"}, None, None),
        ("GET", f"{ISSUE}/comments", {"per_page": "many"}, None, "per_page"),
        ("GET", f"{ISSUE}/comments", {"perpage": "100"}, None, "'perpage' is not"),
        ("GET", f"{ISSUE}/comments", {"since": "2026-01-02T03:04:05Z"}, None, None),
        ("GET", f"{ISSUE}/comments", {"since": "yesterday"}, None, "date-time"),
        ("GET", "/repos/octo/demo/issues", {"state": "shut"}, None, "state"),
        ("GET", "/repos/octo/demo/git/ref/heads/a/b", {}, None, None),
        ("GET", "/repos/octo/demo/branches/a/b", {}, None, None),
        ("PATCH", "/repos/octo/demo/git/ref/heads/a", {}, {"sha": "x"}, "no such operation"),
        ("GET", "/repos/octo/demo/issues/one", {}, None, "no such operation"),
        ("GET", "/repos/octo/demo/issues/1/", {}, None, "no such operation"),
    ],
)
def test_requests(
    contract: Contract,
    method: str,
    path: str,
    query: dict[str, str],
    body: Any,
    complaint: str | None,
) -> None:
    found = contract.request(method, path, query, body)
    assert (complaint is None) == (not found)
    assert complaint is None or complaint in str(found)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({}, None),
        ({"number": "1"}, "number"),
        ({"state_reason": "done"}, "state_reason"),
        ({"created_at": "2026-01-02T03:04:05.678Z"}, "created_at"),
        ({"html_url": "/octo/demo"}, "html_url"),
        ({"user": {"login": "mona"}}, "user"),
        ({"state_reasons": None}, "'state_reasons' was unexpected"),
        ({"title": ...}, '"title" is a required property'),
        ({"body": None}, None),
    ],
)
def test_answers(
    world: World, contract: Contract, change: dict[str, Any], complaint: str | None
) -> None:
    said = {**world.ask("GET", ISSUE), **change}
    said = {key: value for key, value in said.items() if value is not ...}
    found = contract.answer("GET", ISSUE, 200, said)
    assert (complaint is None) == (not found)
    assert complaint is None or complaint in str(found)


@pytest.mark.parametrize(
    ("method", "path", "status", "body", "complaint"),
    [
        ("GET", ISSUE, 418, {"message": "x"}, "this status is not in the description"),
        ("GET", ISSUE, 403, {"message": "x"}, None),
        ("GET", ISSUE, 403, {"massage": "x"}, "'massage' was unexpected"),
        ("GET", ISSUE, 403, None, "not of type"),
        ("DELETE", "/repos/octo/demo/labels/x", 204, None, None),
        ("DELETE", "/repos/octo/demo/labels/x", 204, {}, "a body where"),
        ("POST", f"{ISSUE}/comments", 200, {}, "this status is not in the description"),
    ],
)
def test_statuses(
    contract: Contract, method: str, path: str, status: int, body: Any, complaint: str | None
) -> None:
    found = contract.answer(method, path, status, body)
    assert (complaint is None) == (not found)
    assert complaint is None or complaint in str(found)


def test_a_permission_is_a_legacy_word(world: World, contract: Contract) -> None:
    world.repo.permissions["mona"] = "maintain"
    path = "/repos/octo/demo/collaborators/mona/permission"
    said = json.loads(world.raw("GET", path, "good").body)
    assert contract.answer("GET", path, 200, said) == []
    assert "'maintain'" in contract.answer("GET", path, 200, said | {"permission": "maintain"})[0]


# Through the server


def test_a_wrong_request_is_a_problem_and_is_not_carried_out(world: World) -> None:
    with pytest.raises(GithubException, match="422"):
        world.ask("PATCH", ISSUE, body={"state": "shut"})
    assert (
        "PATCH /repos/{owner}/{repo}/issues/{issue_number}: request: state"
        in (world.hub.problems[0])
    )
    with pytest.raises(GithubException, match="404"):
        world.ask("GET", "/repos/octo/demo/stargazers")
    assert "no such operation" in world.hub.problems[-1]


def test_a_wrong_answer_is_a_problem(world: World) -> None:
    world.repo.issues[1].title = 7  # type: ignore[assignment]
    world.ask("GET", ISSUE)
    assert "answer 200: title: 7 is not of type" in world.hub.problems[0]


def test_a_body_that_is_no_json_is_a_problem(world: World) -> None:
    answer = world.raw("PATCH", ISSUE, "good", b"{")
    assert (answer.status, b"Problems parsing JSON" in answer.body) == (400, True)
    assert len(world.hub.problems) == 1


def test_an_error_of_the_fake_itself_is_a_problem(world: World) -> None:
    world.repo.labels.clear()
    assert world.raw("GET", ISSUE, "good").status == 500
    assert "KeyError: 'loop-mode'" in world.hub.problems[0]


def test_a_query_that_github_s_schema_does_not_have_is_a_problem(world: World) -> None:
    query = '{repository(owner: "octo", name: "demo") {issue(number: 1) {lastEditted}}}'
    with pytest.raises(GithubException, match="Cannot query field 'lastEditted'"):
        world.github().requester.graphql_query(query, {})
    assert "Cannot query field 'lastEditted'" in world.hub.problems[0]


def test_variables_of_the_wrong_type_are_a_problem(world: World) -> None:
    with pytest.raises(GithubException, match="number"):
        world.edits("one")  # type: ignore[arg-type]
    assert "$number" in world.hub.problems[0]


def test_the_wrong_prefix_is_a_problem(tmp_path: Path) -> None:
    with a_world(tmp_path, "/api/v3") as world:
        assert world.raw("GET", world.hub.server_url + ISSUE).status == 404
        assert "not under /api/v3" in world.hub.problems.pop()


def test_problems_end_the_test_that_made_them(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no such operation"), FakeGitHub(tmp_path) as hub:
        World(hub, hub.repository("octo/demo")).raw("GET", "/zen")


def test_problems_do_not_hide_what_failed_first(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught, FakeGitHub(tmp_path) as hub:
        World(hub, hub.repository("octo/demo")).raw("GET", "/zen")
        _ = 1 / 0
    assert "no such operation" in caught.value.__notes__[0]


# Reading OpenAPI as JSON Schema

SCALARS = st.sampled_from([{"type": "string"}, {"type": "integer"}, {"type": "boolean"}])


@given(SCALARS)
def test_nullable_adds_null_and_nothing_else(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    assert as_json_schema({**schema, "nullable": True}) == {"type": [schema["type"], "null"]}
    assert as_json_schema(schema) == schema == before


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"nullable": True}, {"anyOf": [{}, {"type": "null"}]}),
        (
            {"nullable": True, "oneOf": [{"type": "string"}]},
            {"anyOf": [{"oneOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        ({"$ref": "#/components/schemas/x"}, {"$ref": "urn:github#/components/schemas/x"}),
        (
            {"type": "object", "properties": {"nullable": {"type": "string", "nullable": True}}},
            {
                "type": "object",
                "properties": {"nullable": {"type": ["string", "null"]}},
                "additionalProperties": False,
            },
        ),
        (
            {"properties": {}, "additionalProperties": True},
            {"properties": {}, "additionalProperties": True},
        ),
        (
            {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
            {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        ),
    ],
)
def test_openapi_as_json_schema(schema: dict[str, Any], made: dict[str, Any]) -> None:
    assert as_json_schema(schema) == made


def test_the_descriptions_are_small() -> None:
    folder = Path(__file__).parent / "data" / "github-openapi"
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    assert set(sizes) == {"README.md", "api.github.com.json.gz", "ghes-3.17.json.gz"}
    assert max(sizes.values()) < 60_000
    assert "MIT" in (folder / "README.md").read_text("utf-8")


def test_json_of_the_answers_survives(world: World) -> None:
    world.repo.comment(1, "\x00\u202e🙂 ::set-output", by="mona")
    said = json.loads(world.raw("GET", f"{ISSUE}/comments").body)
    assert said[0]["body"] == "\x00\u202e🙂 ::set-output"
    assert world.hub.problems == []
