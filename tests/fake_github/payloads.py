"""Event payloads as GitHub would send them for what is in the fake."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fake_github.server import FakeGitHub
from tests.fake_github.state import Repository

WEBHOOKS = Path(__file__).parent.parent / "data" / "webhooks"


def recorded(name: str) -> dict[str, Any]:
    """A payload as it was recorded: ``issues.labeled``, ``workflow_dispatch`` …"""
    payload: dict[str, Any] = json.loads((WEBHOOKS / f"{name}.json").read_text("utf-8"))
    return payload


def labeled(
    hub: FakeGitHub, repo: Repository, number: int, label: str, *, sender: str
) -> dict[str, Any]:
    """``issues``, action ``labeled``: the label that ``sender`` has just added."""
    known = repo.known_label(label)
    assert known is not None, f"no label {label}"
    payload = _about(hub, repo, "issues.labeled", sender)
    payload["issue"] = hub.shapes.issue(repo, repo.issues[number])
    payload["label"] = hub.shapes.label(repo, known)
    return payload


def commented(
    hub: FakeGitHub, repo: Repository, number: int, body: str, *, sender: str
) -> dict[str, Any]:
    """``issue_comment``, action ``created``; the comment is written, on an issue or a pull."""
    comment = repo.comment(number, body, by=sender)
    payload = _about(hub, repo, "issue_comment.created", sender)
    payload["issue"] = hub.shapes.issue(repo, repo.issues[number])
    payload["comment"] = hub.shapes.comment(repo, repo.issues[number], comment)
    return payload


def dispatched(
    hub: FakeGitHub, repo: Repository, inputs: dict[str, str] | None = None, *, sender: str
) -> dict[str, Any]:
    """``workflow_dispatch`` with what was typed into the form."""
    payload = _about(hub, repo, "workflow_dispatch", sender)
    return payload | {"inputs": inputs, "ref": f"refs/heads/{repo.default_branch}"}


def repository_dispatched(
    hub: FakeGitHub, repo: Repository, kind: str, client: dict[str, Any], *, sender: str
) -> dict[str, Any]:
    """``repository_dispatch``; its action is the ``event_type`` that was sent."""
    payload = _about(hub, repo, "repository_dispatch", sender)
    return payload | {"action": kind, "client_payload": client, "branch": repo.default_branch}


def _about(hub: FakeGitHub, repo: Repository, name: str, sender: str) -> dict[str, Any]:
    payload = recorded(name)
    payload["repository"] = hub.shapes.repository(repo, "read", full=False)
    payload["sender"] = hub.shapes.user(sender)
    if repo.owner_is_organization:
        payload["organization"] = {"login": repo.owner, "id": repo.owner_account.id}
    else:
        payload.pop("organization", None)
    return payload
