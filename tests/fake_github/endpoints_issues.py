"""Issues, their comments, labels, timelines, reactions and assignees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tests.fake_github.calls import Answer, Call, endpoint
from tests.fake_github.records import Comment, Issue, Label
from tests.fake_github.shapes import stamp
from tests.fake_github.state import Repository
from tests.fake_github.words import DOCS, LOCKED, TOO_LONG, Refusal, invalid, not_found

ISSUE = "/repos/{owner}/{repo}/issues/{issue_number}"
COMMENT = "/repos/{owner}/{repo}/issues/comments/{comment_id}"
LONGEST_BODY = 65_536
# Measured by others in 2026: what counts for a comment is bytes, whatever the refusal says.
LONGEST_COMMENT = 262_144
BOTH = ("issues", "pull-requests")


def check_texts(resource: str, title: object, body: object) -> None:
    if isinstance(title, str) and not title.strip():
        raise invalid(resource, "title", "missing_field")
    if isinstance(title, str) and len(title) > 256:
        raise invalid(resource, "title", "custom", "title is too long (maximum is 256 characters)")
    if isinstance(body, str) and len(body) > LONGEST_BODY:
        raise invalid(resource, "body", "custom", f"body {TOO_LONG}")


@endpoint("GET", "/repos/{owner}/{repo}/issues")
def list_issues(call: Call) -> Answer:
    repo = call.reading("issues")
    query = call.query
    wanted = {name.strip().lower() for name in query.get("labels", "").split(",") if name.strip()}
    state, since = query.get("state", "open"), query.get("since", "")
    found = [
        issue
        for issue in repo.listed()
        if (repo.has_issues or issue.is_pull)
        and state in ("all", issue.state)
        and wanted <= {name.lower() for name in issue.labels}
        and query.get("creator", issue.author).lower() == issue.author.lower()
        and (not since or stamp(issue.updated_at) >= since)
        and _assigned(issue, query.get("assignee", ""))
    ]
    keys = {
        "created": lambda issue: (issue.created_at, issue.number),
        "updated": lambda issue: (issue.updated_at, issue.number),
        "comments": lambda issue: (len(issue.comments), issue.number),
    }
    found.sort(
        key=keys[query.get("sort", "created")], reverse=query.get("direction", "desc") == "desc"
    )
    return call.paged(repo, found, lambda issue: call.shapes.issue(repo, issue))


def _assigned(issue: Issue, wanted: str) -> bool:
    match wanted:
        case "":
            return True
        case "none":
            return not issue.assignees
        case "*":
            return bool(issue.assignees)
        case _:
            return wanted.lower() in {login.lower() for login in issue.assignees}


@endpoint("POST", "/repos/{owner}/{repo}/issues")
def create_issue(call: Call) -> Answer:
    repo = call.writing("issues", least="read")
    if not repo.has_issues:
        raise Refusal(410, "Issues has been disabled in this repository.")
    said = call.body
    check_texts("Issue", said["title"], said.get("body"))
    # Labels of people who may not push are dropped without a word.
    labels = _names(said.get("labels", ())) if call.may_push(repo) else []
    issue = repo.add_issue(said["title"], said.get("body"), call.login, labels)
    return Answer(201, call.shapes.issue(repo, issue, alone=True))


@endpoint("GET", ISSUE)
def get_issue(call: Call) -> Answer:
    repo = call.reading(*BOTH)
    return Answer(200, call.shapes.issue(repo, call.issue(repo), alone=True))


@endpoint("PATCH", ISSUE)
def update_issue(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="read")
    issue, said = call.issue(repo), call.body or {}
    _own_or_triage(call, repo, issue.author)
    check_texts("Issue", said.get("title"), said.get("body"))
    repo.edit(issue.number, by=call.login, title=said.get("title"), body=said.get("body"))
    if "labels" in said and call.may_push(repo):
        _replace_labels(call, repo, issue, _names(said["labels"]))
    if "assignees" in said and call.may_push(repo):
        issue.assignees = list(said["assignees"])
    if said.get("state") == "closed" or (said.get("state_reason") and issue.state == "closed"):
        repo.close(issue.number, by=call.login, reason=said.get("state_reason") or "completed")
    elif said.get("state") == "open":
        repo.reopen(issue.number, by=call.login)
    return Answer(200, call.shapes.issue(repo, issue, alone=True))


def _own_or_triage(call: Call, repo: Repository, author: str) -> None:
    if author.lower() != call.login.lower():
        call.writing(*BOTH, least="triage")


def _names(labels: Sequence[Any]) -> list[str]:
    return [label if isinstance(label, str) else label["name"] for label in labels]


@endpoint("GET", ISSUE + "/comments")
def list_comments(call: Call) -> Answer:
    repo = call.reading(*BOTH)
    issue, since = call.issue(repo), call.query.get("since", "")
    found = [comment for comment in issue.comments if stamp(comment.updated_at) >= since]
    return call.paged(repo, found, lambda comment: call.shapes.comment(repo, issue, comment))


@endpoint("POST", ISSUE + "/comments")
def create_comment(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="read")
    issue, body = call.issue(repo), call.body["body"]
    assert call.token is not None
    # A workflow's token is no collaborator: what is locked is closed to it too.
    if issue.is_discussion or (issue.locked and (call.token.is_bot or not call.may_push(repo))):
        raise Refusal(403, LOCKED, docs="https://docs.github.com/articles/locking-conversations/")
    if not body.strip():
        raise invalid("IssueComment", "data", "unprocessable", "Body cannot be blank")
    if len(body.encode()) > LONGEST_COMMENT:
        raise invalid("IssueComment", "data", "unprocessable", f"Body {TOO_LONG}")
    comment = repo.comment(issue.number, body, by=call.login)
    shape = call.shapes.comment(repo, issue, comment)
    return Answer(201, shape, {"Location": shape["url"]})


def _comment(call: Call, repo: Repository) -> tuple[Issue, Comment]:
    found = repo.find_comment(int(call.of["comment_id"]))
    if found is None:
        raise not_found()
    return found


@endpoint("GET", COMMENT)
def get_comment(call: Call) -> Answer:
    repo = call.reading(*BOTH)
    return Answer(200, call.shapes.comment(repo, *_comment(call, repo)))


@endpoint("PATCH", COMMENT)
def update_comment(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="read")
    issue, comment = _comment(call, repo)
    _own_or_triage(call, repo, comment.author)
    if len(call.body["body"].encode()) > LONGEST_COMMENT:
        raise invalid("IssueComment", "body", "custom", f"body {TOO_LONG}")
    comment.body, comment.updated_at = call.body["body"], call.hub.now()
    issue.updated_at = max(issue.updated_at, comment.updated_at)
    return Answer(200, call.shapes.comment(repo, issue, comment))


@endpoint("DELETE", COMMENT)
def delete_comment(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="read")
    _, comment = _comment(call, repo)
    _own_or_triage(call, repo, comment.author)
    repo.remove_comment(comment)
    return Answer(204)


@endpoint("GET", ISSUE + "/timeline")
def timeline(call: Call) -> Answer:
    repo = call.reading(*BOTH)
    issue = call.issue(repo)
    entries = sorted(issue.timeline, key=lambda entry: entry.at)
    return call.paged(repo, entries, lambda entry: call.shapes.happening(repo, issue, entry))


# Labels of an issue


def _shown(call: Call, repo: Repository, issue: Issue) -> Answer:
    return Answer(200, call.shapes.labels(repo, issue))


def _replace_labels(call: Call, repo: Repository, issue: Issue, names: list[str]) -> None:
    for name in names:
        check_label_name(name)
    kept = {name.lower() for name in names}
    for name in [name for name in issue.labels if name.lower() not in kept]:
        repo.unlabel(issue.number, name, by=call.login)
    for name in names:
        repo.label(issue.number, name, by=call.login)


def _sent_names(call: Call) -> list[str]:
    said = call.body if call.body is not None else []
    return _names(said["labels"] if isinstance(said, dict) else said)


def check_label_name(name: str) -> None:
    if not name.strip():
        raise invalid("Label", "name", "missing_field")
    if len(name) > 50:
        raise invalid("Label", "name", "custom", "name is too long (maximum is 50 characters)")


@endpoint("GET", ISSUE + "/labels")
def list_labels_on(call: Call) -> Answer:
    repo = call.reading(*BOTH)
    issue = call.issue(repo)
    chosen = [repo.labels[name.lower()] for name in issue.labels]
    return call.paged(repo, chosen, lambda label: call.shapes.label(repo, label))


@endpoint("POST", ISSUE + "/labels")
def add_labels(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="triage")
    issue, names = call.issue(repo), _sent_names(call)
    for name in names:
        check_label_name(name)
    for name in names:
        repo.label(issue.number, name, by=call.login)
    return _shown(call, repo, issue)


@endpoint("PUT", ISSUE + "/labels")
def set_labels(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="triage")
    issue = call.issue(repo)
    _replace_labels(call, repo, issue, _sent_names(call))
    return _shown(call, repo, issue)


@endpoint("DELETE", ISSUE + "/labels")
def remove_all_labels(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="triage")
    _replace_labels(call, repo, call.issue(repo), [])
    return Answer(204)


@endpoint("DELETE", ISSUE + "/labels/{name}")
def remove_label(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="triage")
    issue = call.issue(repo)
    if not repo.unlabel(issue.number, call.of["name"], by=call.login):
        raise Refusal(
            404, "Label does not exist", docs=f"{DOCS}/issues/labels#remove-a-label-from-an-issue"
        )
    return _shown(call, repo, issue)


# Labels of the repository


def _label(call: Call, repo: Repository) -> Label:
    label = repo.known_label(call.of["name"])
    if label is None:
        raise not_found()
    return label


def _check_colour(said: dict[str, Any]) -> None:
    if not re.fullmatch(r"[0-9a-fA-F]{6}", said.get("color", "ededed")):
        raise invalid("Label", "color")


@endpoint("GET", "/repos/{owner}/{repo}/labels")
def list_labels(call: Call) -> Answer:
    repo = call.reading(*BOTH)
    ordered = sorted(repo.labels.values(), key=lambda label: label.name.lower())
    return call.paged(repo, ordered, lambda label: call.shapes.label(repo, label))


@endpoint("POST", "/repos/{owner}/{repo}/labels")
def create_label(call: Call) -> Answer:
    repo = call.writing(*BOTH)
    said = call.body
    check_label_name(said["name"])
    _check_colour(said)
    if repo.known_label(said["name"]):
        raise invalid("Label", "name", "already_exists")
    label = repo.add_label(said["name"], said.get("color", "ededed"), said.get("description"))
    return Answer(201, call.shapes.label(repo, label))


@endpoint("GET", "/repos/{owner}/{repo}/labels/{name}")
def get_label(call: Call) -> Answer:
    repo = call.reading(*BOTH)
    return Answer(200, call.shapes.label(repo, _label(call, repo)))


@endpoint("PATCH", "/repos/{owner}/{repo}/labels/{name}")
def update_label(call: Call) -> Answer:
    repo = call.writing(*BOTH)
    label, said = _label(call, repo), call.body or {}
    _check_colour(said)
    label.color = said.get("color", label.color)
    label.description = said.get("description", label.description)
    if "new_name" in said:
        check_label_name(said["new_name"])
        repo.rename_label(label, said["new_name"])
    return Answer(200, call.shapes.label(repo, label))


@endpoint("DELETE", "/repos/{owner}/{repo}/labels/{name}")
def delete_label(call: Call) -> Answer:
    repo = call.writing(*BOTH)
    repo.remove_label(_label(call, repo))
    return Answer(204)


# Reactions and assignees


def _react(call: Call, given: list[tuple[str, str]]) -> Answer:
    entry = (call.login, call.body["content"])
    known = entry in given
    if not known:
        given.append(entry)
    number = 300_000_000 + given.index(entry)
    return Answer(200 if known else 201, call.shapes.reaction(number, *entry, call.hub.now()))


@endpoint("POST", ISSUE + "/reactions")
def react_to_issue(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="read")
    return _react(call, call.issue(repo).reactions)


@endpoint("POST", COMMENT + "/reactions")
def react_to_comment(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="read")
    return _react(call, _comment(call, repo)[1].reactions)


@endpoint("POST", ISSUE + "/assignees")
def assign(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="triage")
    issue = call.issue(repo)
    issue.assignees += [
        login for login in call.body.get("assignees", ()) if login not in issue.assignees
    ]
    return Answer(201, call.shapes.issue(repo, issue, alone=True))


@endpoint("DELETE", ISSUE + "/assignees")
def unassign(call: Call) -> Answer:
    repo = call.writing(*BOTH, least="triage")
    issue, gone = call.issue(repo), call.body.get("assignees", ())
    issue.assignees = [login for login in issue.assignees if login not in gone]
    return Answer(200, call.shapes.issue(repo, issue, alone=True))
