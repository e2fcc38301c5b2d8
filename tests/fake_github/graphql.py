"""The corner of GitHub's GraphQL that tells who last edited an issue, with a schema of its own.

Written after GitHub's public schema: the same types, nullability and arguments, fewer fields.
"""

from __future__ import annotations

from typing import Any

from graphql import (
    ExecutionResult,
    GraphQLError,
    GraphQLResolveInfo,
    build_schema,
    execute_sync,
    parse,
    validate,
)

from tests.fake_github.calls import Call
from tests.fake_github.records import BodyEdit, Issue
from tests.fake_github.shapes import maybe_stamp, node, stamp
from tests.fake_github.state import Repository

SCHEMA = build_schema(
    """
    scalar DateTime
    scalar URI

    interface Actor { login: String! url: URI! }
    type User implements Actor { id: ID! login: String! url: URI! }
    type Bot implements Actor { id: ID! login: String! url: URI! }

    type PageInfo { hasNextPage: Boolean! endCursor: String }
    type UserContentEdit {
      createdAt: DateTime!
      editedAt: DateTime!
      editor: Actor
      diff: String
      deletedAt: DateTime
    }
    type UserContentEditConnection {
      nodes: [UserContentEdit]
      pageInfo: PageInfo!
      totalCount: Int!
    }

    type Issue {
      id: ID!
      number: Int!
      title: String!
      body: String!
      author: Actor
      createdAt: DateTime!
      lastEditedAt: DateTime
      editor: Actor
      includesCreatedEdit: Boolean!
      userContentEdits(
        after: String, before: String, first: Int, last: Int
      ): UserContentEditConnection
    }
    type Repository {
      id: ID!
      nameWithOwner: String!
      issue("The number for the issue to be returned." number: Int!): Issue
    }
    type Query {
      repository(owner: String!, name: String!, followRenames: Boolean = true): Repository
    }
    """
)


class Refused(Exception):
    """An error of GitHub's own kind, with its ``type``."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def answer(call: Call) -> tuple[dict[str, Any], list[str]]:
    """The answer to a GraphQL request, and what was wrong with the request (nothing, if it was).

    Errors of a query are answered with 200, as GitHub does.
    """
    said = call.body if isinstance(call.body, dict) else {}
    text, variables = said.get("query"), said.get("variables") or {}
    if not isinstance(text, str) or not text:
        return {
            "errors": [{"message": "A query attribute must be specified and must be a string."}]
        }, ["GraphQL: no query"]
    try:
        document = parse(text)
    except GraphQLError as error:
        return _told([error]), [f"GraphQL: {error.message}"]
    if errors := validate(SCHEMA, document):
        return _told(errors), [f"GraphQL: {error.message}" for error in errors]
    result = execute_sync(
        SCHEMA, document, root_value=Root(call), variable_values=variables, type_resolver=_kind
    )
    wrong = [
        f"GraphQL: {error.message}"
        for error in result.errors or ()
        if not isinstance(error.original_error, Refused)
    ]
    return _shaped(result), wrong


def _shaped(result: ExecutionResult) -> dict[str, Any]:
    made: dict[str, Any] = {"data": result.data}
    if result.errors:
        made |= _told(result.errors)
    return made


def _told(errors: list[GraphQLError]) -> dict[str, Any]:
    told = []
    for error in errors:
        shape: dict[str, Any] = {
            "message": error.message,
            "locations": [
                {"line": place.line, "column": place.column} for place in error.locations or ()
            ],
        }
        if isinstance(error.original_error, Refused):
            shape = {"type": error.original_error.kind, "path": error.path, **shape}
        told.append(shape)
    return {"errors": told}


def _kind(value: Any, _info: GraphQLResolveInfo[Any], _abstract: object) -> str:
    return "Bot" if value["is_bot"] else "User"


def _actor(call: Call, login: str) -> dict[str, Any]:
    shape = call.shapes.user(login)
    # GraphQL knows bots without the "[bot]" of the REST API.
    return {
        "is_bot": shape["type"] == "Bot",
        "id": shape["node_id"],
        "login": login.removesuffix("[bot]"),
        "url": shape["html_url"],
    }


class Root:
    """The query type's fields."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def repository(
        self,
        _info: GraphQLResolveInfo[Any],
        owner: str,
        name: str,
        followRenames: bool = True,  # noqa: N803
    ) -> dict[str, Any]:
        call, full_name = self._call, f"{owner}/{name}"
        repo = call.hub.find(full_name)
        hidden = repo is None or not self._sees(repo)
        renamed = repo is not None and repo.full_name.lower() != full_name.lower()
        if repo is None or hidden or (renamed and not followRenames):
            raise Refused(
                "NOT_FOUND", f"Could not resolve to a Repository with the name '{full_name}'."
            )
        return {
            "id": node("R", repo.id),
            "nameWithOwner": repo.full_name,
            "issue": lambda _info, number: self._issue(repo, number),
        }

    def _sees(self, repo: Repository) -> bool:
        token = self._call.token
        return not repo.private or (
            token is not None and (token.is_bot or self._call.role(repo) != "none")
        )

    def _issue(self, repo: Repository, number: int) -> dict[str, Any]:
        call = self._call
        issue = repo.issues.get(number)
        if repo.private and call.token is not None and not call.token.reads("issues"):
            raise Refused("FORBIDDEN", str(call.token.refused()))
        if issue is None or issue.is_pull or issue.deleted or issue.moved_to:
            raise Refused(
                "NOT_FOUND", f"Could not resolve to an Issue with the number of {number}."
            )
        edits = issue.versions[1:]
        return {
            "id": node("I", issue.id),
            "number": issue.number,
            "title": issue.title,
            "body": issue.body or "",
            "author": _actor(call, issue.author),
            "createdAt": stamp(issue.created_at),
            "lastEditedAt": maybe_stamp(edits[-1].at if edits else None),
            "editor": _actor(call, edits[-1].editor) if edits else None,
            "includesCreatedEdit": bool(edits),
            "userContentEdits": lambda _info, **limits: self._edits(issue, **limits),
        }

    def _edits(
        self,
        issue: Issue,
        first: int | None = None,
        last: int | None = None,
        after: str | None = None,
        before: str | None = None,
    ) -> dict[str, Any]:
        # The newest first; a body that was edited shows its creation as the oldest version.
        versions = issue.versions[::-1] if len(issue.versions) > 1 else []
        start = int(after) if after else 0
        stop = int(before) - 1 if before else len(versions)
        chosen = versions[start:stop]
        if first is None and last is None:
            raise Refused(
                "MISSING_PAGINATION_BOUNDARIES",
                "You must provide a `first` or `last` value to properly paginate the "
                "`userContentEdits` connection.",
            )
        if first is not None:
            chosen = chosen[:first]
            end = start + len(chosen)
        else:
            chosen = chosen[len(chosen) - (last or 0) :]
            end = stop
        return {
            "nodes": [self._edit(version) for version in chosen],
            "totalCount": len(versions),
            "pageInfo": {
                "hasNextPage": end < len(versions),
                "endCursor": str(end) if chosen else None,
            },
        }

    def _edit(self, version: BodyEdit) -> dict[str, Any]:
        return {
            "createdAt": stamp(version.at),
            "editedAt": stamp(version.at),
            "editor": _actor(self._call, version.editor),
            "diff": version.body,
            "deletedAt": None,
        }
