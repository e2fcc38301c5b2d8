"""The repository, its people, its branches and refs, its pull requests; the caller itself."""

from __future__ import annotations

import re
from typing import Any

from tests.fake_github.calls import Answer, Call, endpoint
from tests.fake_github.endpoints_issues import check_texts
from tests.fake_github.people import LEGACY
from tests.fake_github.shapes import node
from tests.fake_github.state import Repository
from tests.fake_github.words import NO_PULLS_BY_ACTIONS, Refusal, invalid, not_found

REPO = "/repos/{owner}/{repo}"


@endpoint("GET", REPO)
def get_repository(call: Call) -> Answer:
    repo = call.reading("metadata", "contents", "issues", "pull-requests")
    if call.token is None:
        role = "read"
    elif call.token.is_bot:
        role = "write" if call.token.writes("contents") else "read"
    else:
        role = call.role(repo)
    return Answer(200, call.shapes.repository(repo, role, full=True))


@endpoint("GET", "/rate_limit")
def rate_limit(call: Call) -> Answer:
    if not call.hub.limits:
        raise Refusal(404, "Rate limiting is not enabled.")
    one = {"limit": 1000, "remaining": 999, "reset": int(call.hub.now().timestamp()) + 3600}
    return Answer(
        200,
        {"resources": {name: {**one, "used": 1} for name in ("core", "search", "graphql")}}
        | {"rate": {**one, "used": 1}},
    )


@endpoint("GET", "/user")
def who_am_i(call: Call) -> Answer:
    if call.token is None:
        raise Refusal(401, "Requires authentication")
    if call.token.is_bot:
        raise call.token.refused()
    shape = call.shapes.user(call.login)
    words = dict.fromkeys(("bio", "company", "email", "hireable", "location", "name"))
    counts = dict.fromkeys(("followers", "following", "public_gists", "public_repos"), 0)
    times = {"created_at": "2015-01-02T03:04:05Z", "updated_at": "2025-01-02T03:04:05Z"}
    return Answer(200, {**shape, **words, **counts, **times, "blog": ""})


@endpoint("POST", REPO + "/dispatches")
def dispatch(call: Call) -> Answer:
    repo = call.writing("contents")
    repo.dispatches.append(call.body)
    return Answer(204)


@endpoint("GET", REPO + "/collaborators/{username}")
def is_collaborator(call: Call) -> Answer:
    repo = call.reading("metadata")
    _may_see_people(call, repo)
    if repo.role(call.of["username"]) in (None, "none"):
        raise not_found()
    return Answer(204)


@endpoint("GET", REPO + "/collaborators/{username}/permission")
def permission(call: Call) -> Answer:
    repo = call.reading("metadata")
    _may_see_people(call, repo)
    login = call.of["username"]
    if not call.hub.is_user(login):
        raise Refusal(404, f"{login} is not a user")
    role = call.role(repo, login)
    shape = call.shapes.user(login) | {
        "permissions": call.shapes.permissions(role),
        "role_name": role,
    }
    return Answer(200, {"permission": LEGACY.get(role, role), "user": shape, "role_name": role})


def _may_see_people(call: Call, repo: Repository) -> None:
    if call.token is None:
        raise Refusal(401, "Requires authentication")
    if not call.may_push(repo):
        raise Refusal(403, "Must have push access to view collaborator permission.")


# Branches and refs, out of the real git repository


def _commit(call: Call, repo: Repository, sha: str) -> dict[str, Any]:
    said = repo.git.describe(sha)
    root, page = call.shapes.root(repo), f"{call.shapes.web}/{repo.full_name}/commit"

    def person(role: str) -> dict[str, str]:
        date = re.sub(r"\+00:00$", "Z", said[f"{role}_date"])
        return {"name": said[role], "email": said[f"{role}_email"], "date": date}

    url = f"{root}/commits/{sha}"
    return {
        "sha": sha,
        "node_id": node("C", int(sha[:8], 16)),
        "commit": {
            "author": person("author"),
            "committer": person("committer"),
            "message": said["message"].rstrip("\n"),
            "tree": {"sha": said["tree"], "url": f"{root}/git/trees/{said['tree']}"},
            "url": f"{root}/git/commits/{sha}",
            "comment_count": 0,
            "verification": {
                "verified": False,
                "reason": "unsigned",
                "signature": None,
                "payload": None,
                "verified_at": None,
            },
        },
        "url": url,
        "html_url": f"{page}/{sha}",
        "comments_url": f"{url}/comments",
        "author": None,
        "committer": None,
        "parents": [
            {"sha": parent, "url": f"{root}/commits/{parent}", "html_url": f"{page}/{parent}"}
            for parent in said["parents"].split()
        ],
    }


@endpoint("GET", REPO + "/branches/{branch}")
def get_branch(call: Call) -> Answer:
    repo = call.reading("contents")
    name = call.of["branch"]
    sha = repo.git.branch(name)
    if sha is None:
        raise Refusal(404, "Branch not found")
    url, protected = f"{call.shapes.root(repo)}/branches/{name}", name in repo.protected
    level = "non_admins" if protected else "off"
    return Answer(
        200,
        {
            "name": name,
            "commit": _commit(call, repo, sha),
            "_links": {"self": url, "html": f"{call.shapes.web}/{repo.full_name}/tree/{name}"},
            "protected": protected,
            "protection": {
                "enabled": protected,
                "required_status_checks": {
                    "enforcement_level": level,
                    "contexts": [],
                    "checks": [],
                },
            },
            "protection_url": f"{url}/protection",
        },
    )


@endpoint("GET", REPO + "/git/ref/{ref}")
def get_ref(call: Call) -> Answer:
    repo = call.reading("contents")
    if repo.git.is_empty():
        raise Refusal(409, "Git Repository is empty.")
    name = f"refs/{call.of['ref']}"
    sha = repo.git.ref(name)
    if sha is None:
        raise not_found()
    return Answer(200, call.shapes.ref(repo, name, sha))


@endpoint("POST", REPO + "/git/refs")
def create_ref(call: Call) -> Answer:
    repo = call.writing("contents")
    name, sha = call.body["ref"], call.body["sha"]
    if repo.git.is_empty():
        raise Refusal(409, "Git Repository is empty.")
    if not name.startswith("refs/") or not repo.git.is_ref_name(name):
        raise Refusal(422, "Reference name is invalid")
    if repo.git.ref(name):
        raise Refusal(422, "Reference already exists")
    _object_exists(repo, sha)
    repo.git.set_ref(name, sha)
    return Answer(201, call.shapes.ref(repo, name, sha))


def _object_exists(repo: Repository, sha: str) -> None:
    if not re.fullmatch(r"[0-9a-f]{40}", sha) or repo.git.kind(sha) is None:
        raise Refusal(422, "Object does not exist")


@endpoint("PATCH", REPO + "/git/refs/{ref}")
def update_ref(call: Call) -> Answer:
    repo = call.writing("contents")
    name, sha = f"refs/{call.of['ref']}", call.body["sha"]
    known = repo.git.ref(name)
    if known is None:
        raise Refusal(422, "Reference does not exist")
    _object_exists(repo, sha)
    if not call.body.get("force") and not repo.git.contains(sha, known):
        raise Refusal(422, "Update is not a fast forward")
    repo.git.set_ref(name, sha)
    return Answer(200, call.shapes.ref(repo, name, sha))


@endpoint("DELETE", REPO + "/git/refs/{ref}")
def delete_ref(call: Call) -> Answer:
    repo = call.writing("contents")
    name = f"refs/{call.of['ref']}"
    if repo.git.ref(name) is None:
        raise Refusal(422, "Reference does not exist")
    repo.git.delete_ref(name)
    return Answer(204)


# Pull requests


@endpoint("GET", REPO + "/pulls")
def list_pulls(call: Call) -> Answer:
    repo = call.reading("pull-requests")
    query = call.query
    state, base = query.get("state", "open"), query.get("base")
    # A head without "owner:" in front is no filter at all: GitHub ignores it.
    owner, colon, head = query.get("head", "").partition(":")
    found = [
        pull
        for pull in repo.pulls.values()
        if state in ("all", pull.state)
        and base in (None, pull.base)
        and (not colon or (owner.lower() == repo.owner.lower() and head == pull.head))
    ]
    for pull in found:
        repo.sync(pull)
    key = "updated_at" if query.get("sort") == "updated" else "created_at"
    newest = "desc" if query.get("sort", "created") == "created" else "asc"
    found.sort(
        key=lambda pull: (getattr(pull.issue, key), pull.issue.number),
        reverse=query.get("direction", newest) == "desc",
    )
    return call.paged(repo, found, lambda pull: call.shapes.pull(repo, pull, alone=False))


@endpoint("POST", REPO + "/pulls")
def create_pull(call: Call) -> Answer:
    repo = call.writing("pull-requests", least="read")
    assert call.token is not None
    if call.token.is_bot and not repo.actions_may_open_pulls:
        raise Refusal(403, NO_PULLS_BY_ACTIONS)
    said = call.body
    title, base = said.get("title"), said["base"]
    if not title:
        raise invalid("PullRequest", "title", "missing_field")
    check_texts("PullRequest", title, said.get("body"))
    owner, colon, head = said["head"].rpartition(":")
    if repo.git.branch(base) is None:
        raise invalid("PullRequest", "base")
    if (colon and owner.lower() != repo.owner.lower()) or repo.git.branch(head) is None:
        raise invalid("PullRequest", "head")
    if said.get("draft") and not repo.drafts_supported:
        raise Refusal(422, "Draft pull requests are not supported in this repository.")
    _mergeable(repo, base, head)
    pull = repo.add_pull(
        head, base, title, said.get("body"), by=call.login, draft=bool(said.get("draft"))
    )
    shape = call.shapes.pull(repo, pull, alone=True)
    return Answer(201, shape, {"Location": shape["url"]})


def _mergeable(repo: Repository, base: str, head: str) -> None:
    onto, tip = f"refs/heads/{base}", f"refs/heads/{head}"
    message = ""
    if any(
        pull.state == "open" and pull.head == head and pull.base == base
        for pull in repo.pulls.values()
    ):
        message = f"A pull request already exists for {repo.owner}:{head}."
    elif not repo.git.related(onto, tip):
        message = f"The {head} branch has no history in common with {base}"
    elif repo.git.ahead(onto, tip) == 0:
        message = f"No commits between {base} and {head}"
    if message:
        raise invalid("PullRequest", "", "custom", message)


@endpoint("GET", REPO + "/pulls/{pull_number}")
def get_pull(call: Call) -> Answer:
    repo = call.reading("pull-requests")
    return Answer(200, call.shapes.pull(repo, call.pull(repo), alone=True))


@endpoint("PATCH", REPO + "/pulls/{pull_number}")
def update_pull(call: Call) -> Answer:
    repo = call.writing("pull-requests", least="read")
    pull, said = call.pull(repo), call.body or {}
    number = pull.issue.number
    if pull.issue.author.lower() != call.login.lower():
        call.writing("pull-requests", least="write")
    check_texts("PullRequest", said.get("title"), said.get("body"))
    base = said.get("base", pull.base)
    if base != pull.base:
        if repo.git.branch(base) is None:
            raise invalid("PullRequest", "base")
        pull.base = base
    repo.edit(number, by=call.login, title=said.get("title"), body=said.get("body"))
    if said.get("state") == "closed":
        repo.close(number, by=call.login)
    elif said.get("state") == "open" and pull.state == "closed":
        if pull.merged_at is not None or repo.git.branch(pull.head) is None:
            raise invalid("PullRequest", "state", "invalid", "state cannot be changed.")
        repo.reopen(number, by=call.login)
    return Answer(200, call.shapes.pull(repo, pull, alone=True))
