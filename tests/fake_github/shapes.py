"""How GitHub writes things down: the JSON of users, repositories, issues, comments, pulls."""

from __future__ import annotations

import base64
from datetime import datetime
from typing import Any
from urllib.parse import quote

from tests.fake_github.people import Account, at_least
from tests.fake_github.records import Comment, Happening, Issue, Label, Pull
from tests.fake_github.state import Repository

Json = dict[str, Any]
REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
_DEFAULT_LABELS = frozenset({"bug", "documentation", "duplicate", "enhancement", "wontfix"})
_PLAIN = (
    "assignees{/user}|blobs:git/blobs{/sha}|branches{/branch}|collaborators{/collaborator}|"
    "comments{/number}|commits{/sha}|compare:compare/{base}...{head}|contents:contents/{+path}|"
    "contributors|deployments|downloads|events|forks|git_commits:git/commits{/sha}|"
    "git_refs:git/refs{/sha}|git_tags:git/tags{/sha}|hooks|"
    "issue_comment:issues/comments{/number}|issue_events:issues/events{/number}|"
    "issues{/number}|keys{/key_id}|labels{/name}|languages|merges|milestones{/number}|"
    "notifications{?since,all,participating}|pulls{/number}|releases{/id}|stargazers|"
    "statuses/{sha}|subscribers|subscription|tags|teams|trees:git/trees{/sha}|"
    "archive:{archive_format}{/ref}"
)


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def maybe_stamp(moment: datetime | None) -> str | None:
    return None if moment is None else stamp(moment)


def node(kind: str, number: int) -> str:
    return f"{kind}_{base64.b64encode(number.to_bytes(9, 'big')).decode()}"


class Shapes:
    """The JSON of one installation, whose addresses lie under ``api`` and ``web``."""

    def __init__(self, api: str, web: str) -> None:
        self.api, self.web = api, web

    def root(self, repo: Repository) -> str:
        return f"{self.api}/repos/{repo.full_name}"

    def account(self, account: Account) -> Json:
        url = f"{self.api}/users/{quote(account.login)}"
        page = account.login.removesuffix("[bot]")
        return {
            "login": account.login,
            "id": account.id,
            "node_id": node("U", account.id),
            "avatar_url": f"https://avatars.githubusercontent.com/u/{account.id}?v=4",
            "gravatar_id": "",
            "url": url,
            "html_url": f"{self.web}/{'apps/' if account.kind == 'Bot' else ''}{page}",
            "followers_url": f"{url}/followers",
            "following_url": f"{url}/following{{/other_user}}",
            "gists_url": f"{url}/gists{{/gist_id}}",
            "starred_url": f"{url}/starred{{/owner}}{{/repo}}",
            "subscriptions_url": f"{url}/subscriptions",
            "organizations_url": f"{url}/orgs",
            "repos_url": f"{url}/repos",
            "events_url": f"{url}/events{{/privacy}}",
            "received_events_url": f"{url}/received_events",
            "type": account.kind,
            "user_view_type": "public",
            "site_admin": False,
        }

    def user(self, login: str) -> Json:
        return self.account(Account.of(login))

    def maybe_user(self, login: str | None) -> Json | None:
        return None if login is None else self.user(login)

    def app(self, login: str) -> Json | None:
        """The app a bot acted through."""
        if login != "github-actions[bot]":
            return None
        return {
            "id": 15368,
            "slug": "github-actions",
            "node_id": "MDM6QXBwMTUzNjg=",
            "owner": self.account(Account("github", "Organization")),
            "name": "GitHub Actions",
            "description": "Automate your workflow from idea to production",
            "external_url": "https://help.github.com/en/actions",
            "html_url": f"{self.web}/apps/github-actions",
            "created_at": "2018-07-30T09:30:17Z",
            "updated_at": "2024-04-10T20:33:16Z",
            "permissions": {"contents": "write", "issues": "write", "metadata": "read"},
            "events": ["push"],
        }

    def association(self, repo: Repository, login: str) -> str:
        if login.lower() == repo.owner.lower():
            return "OWNER"
        return "COLLABORATOR" if at_least(repo.role(login) or "none", "triage") else "NONE"

    def repository(self, repo: Repository, role: str, *, full: bool) -> Json:
        """``full``: as asked for by name; otherwise as part of a pull request."""
        root = self.root(repo)
        made: Json = {
            "id": repo.id,
            "node_id": node("R", repo.id),
            "name": repo.name,
            "full_name": repo.full_name,
            "private": repo.private,
            "owner": self.account(repo.owner_account),
            "html_url": f"{self.web}/{repo.full_name}",
            "description": None,
            "fork": False,
            "url": root,
        }
        for entry in _PLAIN.split("|"):
            name, _, path = entry.partition(":")
            key = name.partition("{")[0].partition("/")[0]
            made[f"{key}_url"] = f"{root}/{path or name}"
        host = self.web.partition("://")[2]
        made |= {
            "created_at": stamp(repo.created_at),
            "updated_at": stamp(repo.created_at),
            "pushed_at": stamp(repo.created_at),
            "git_url": f"git://{host}/{repo.full_name}.git",
            "ssh_url": f"git@{host.partition(':')[0]}:{repo.full_name}.git",
            "clone_url": f"{self.web}/{repo.full_name}.git",
            "svn_url": f"{self.web}/{repo.full_name}",
            "homepage": None,
            "size": 12,
            "stargazers_count": 0,
            "watchers_count": 0,
            "language": None,
            "has_issues": repo.has_issues,
            "has_projects": True,
            "has_downloads": True,
            "has_wiki": True,
            "has_pages": False,
            "has_discussions": False,
            "forks_count": 0,
            "mirror_url": None,
            "archived": repo.archived,
            "disabled": False,
            "open_issues_count": sum(issue.state == "open" for issue in repo.listed()),
            "license": None,
            "allow_forking": True,
            "is_template": False,
            "web_commit_signoff_required": False,
            "topics": [],
            "visibility": "private" if repo.private else "public",
            "forks": 0,
            "open_issues": sum(issue.state == "open" for issue in repo.listed()),
            "watchers": 0,
            "default_branch": repo.default_branch,
            "permissions": self.permissions(role),
        }
        if full:
            made |= {"network_count": 0, "subscribers_count": 1}
            if repo.owner_is_organization:
                made["organization"] = made["owner"]
        return made

    def permissions(self, role: str) -> dict[str, bool]:
        words = ("admin", "maintain", "push", "triage", "pull")
        needed = ("admin", "maintain", "write", "triage", "read")
        return {word: at_least(role, least) for word, least in zip(words, needed, strict=True)}

    def label(self, repo: Repository, label: Label) -> Json:
        return {
            "id": label.id,
            "node_id": node("LA", label.id),
            "url": f"{self.root(repo)}/labels/{quote(label.name, safe='')}",
            "name": label.name,
            "color": label.color,
            "default": label.name in _DEFAULT_LABELS,
            "description": label.description,
        }

    def labels(self, repo: Repository, issue: Issue) -> list[Json]:
        return [self.label(repo, repo.labels[name.lower()]) for name in issue.labels]

    def reactions(self, url: str, given: list[tuple[str, str]]) -> Json:
        counts = {word: sum(content == word for _, content in given) for word in REACTIONS}
        return {"url": f"{url}/reactions", "total_count": len(given), **counts}

    def issue(self, repo: Repository, issue: Issue, *, alone: bool = False) -> Json:
        """``alone``: asked for by number, with ``closed_by``."""
        url = f"{self.root(repo)}/issues/{issue.number}"
        page = f"{self.web}/{repo.full_name}/{'pull' if issue.is_pull else 'issues'}/{issue.number}"
        made: Json = {
            "url": url,
            "repository_url": self.root(repo),
            "labels_url": f"{url}/labels{{/name}}",
            "comments_url": f"{url}/comments",
            "events_url": f"{url}/events",
            "html_url": page,
            "id": issue.id,
            "node_id": node("PR" if issue.is_pull else "I", issue.id),
            "number": issue.number,
            "title": issue.title,
            "user": self.user(issue.author),
            "labels": self.labels(repo, issue),
            "state": issue.state,
            "locked": issue.locked,
            "assignee": self.user(issue.assignees[0]) if issue.assignees else None,
            "assignees": [self.user(login) for login in issue.assignees],
            "milestone": None,
            "comments": len(issue.comments),
            "created_at": stamp(issue.created_at),
            "updated_at": stamp(issue.updated_at),
            "closed_at": maybe_stamp(issue.closed_at),
            "author_association": self.association(repo, issue.author),
            "active_lock_reason": issue.lock_reason,
            "body": issue.body,
            "reactions": self.reactions(url, issue.reactions),
            "timeline_url": f"{url}/timeline",
            "performed_via_github_app": self.app(issue.author),
            "state_reason": issue.state_reason,
        }
        if alone:
            made["closed_by"] = self.maybe_user(issue.closed_by)
        if issue.is_pull:
            pull = repo.pulls[issue.number]
            made["draft"] = pull.draft
            made["pull_request"] = {
                "url": f"{self.root(repo)}/pulls/{issue.number}",
                "html_url": page,
                "diff_url": f"{page}.diff",
                "patch_url": f"{page}.patch",
                "merged_at": maybe_stamp(pull.merged_at),
            }
        return made

    def comment(self, repo: Repository, issue: Issue, comment: Comment) -> Json:
        url = f"{self.root(repo)}/issues/comments/{comment.id}"
        page = f"{self.web}/{repo.full_name}/{'pull' if issue.is_pull else 'issues'}/{issue.number}"
        return {
            "url": url,
            "html_url": f"{page}#issuecomment-{comment.id}",
            "issue_url": f"{self.root(repo)}/issues/{issue.number}",
            "id": comment.id,
            "node_id": node("IC", comment.id),
            "user": self.user(comment.author),
            "created_at": stamp(comment.created_at),
            "updated_at": stamp(comment.updated_at),
            "author_association": self.association(repo, comment.author),
            "body": comment.body,
            "reactions": self.reactions(url, comment.reactions),
            "performed_via_github_app": self.app(comment.author),
        }

    def happening(self, repo: Repository, issue: Issue, entry: Happening) -> Json:
        """An entry of a timeline."""
        if entry.comment is not None:
            shape = self.comment(repo, issue, entry.comment)
            return {**shape, "event": "commented", "actor": shape["user"]}
        return {
            "id": entry.id,
            "node_id": node("EV", entry.id),
            "url": f"{self.root(repo)}/issues/events/{entry.id}",
            "actor": self.user(entry.actor),
            "event": entry.kind,
            "commit_id": None,
            "commit_url": None,
            "created_at": stamp(entry.at),
            **entry.details,
            "performed_via_github_app": self.app(entry.actor),
        }

    def reaction(self, number: int, login: str, content: str, at: datetime) -> Json:
        return {
            "id": number,
            "node_id": node("REA", number),
            "user": self.user(login),
            "content": content,
            "created_at": stamp(at),
        }

    def ref(self, repo: Repository, name: str, sha: str) -> Json:
        kind = repo.git.kind(sha) or "commit"
        return {
            "ref": name,
            "node_id": node("REF", repo.id),
            "url": f"{self.root(repo)}/git/{quote(name)}",
            "object": {"sha": sha, "type": kind, "url": f"{self.root(repo)}/git/{kind}s/{sha}"},
        }

    def pull(self, repo: Repository, pull: Pull, *, alone: bool) -> Json:
        """``alone``: asked for by number, or just made; otherwise as listed."""
        issue = pull.issue
        url = f"{self.root(repo)}/pulls/{issue.number}"
        issue_url = f"{self.root(repo)}/issues/{issue.number}"
        page = f"{self.web}/{repo.full_name}/pull/{issue.number}"
        made: Json = {
            "url": url,
            "id": pull.id,
            "node_id": node("PR", pull.id),
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "issue_url": issue_url,
            "number": issue.number,
            "state": issue.state,
            "locked": issue.locked,
            "title": issue.title,
            "user": self.user(issue.author),
            "body": issue.body,
            "created_at": stamp(issue.created_at),
            "updated_at": stamp(issue.updated_at),
            "closed_at": maybe_stamp(issue.closed_at),
            "merged_at": maybe_stamp(pull.merged_at),
            "merge_commit_sha": pull.merge_commit,
            "assignee": self.user(issue.assignees[0]) if issue.assignees else None,
            "assignees": [self.user(login) for login in issue.assignees],
            "requested_reviewers": [],
            "requested_teams": [],
            "labels": self.labels(repo, issue),
            "milestone": None,
            "draft": pull.draft,
            "commits_url": f"{url}/commits",
            "review_comments_url": f"{url}/comments",
            "review_comment_url": f"{self.root(repo)}/pulls/comments{{/number}}",
            "comments_url": f"{issue_url}/comments",
            "statuses_url": f"{self.root(repo)}/statuses/{pull.head_sha}",
            "head": self._side(repo, pull.head, pull.head_sha),
            "base": self._side(repo, pull.base, pull.base_sha),
            "author_association": self.association(repo, issue.author),
            "auto_merge": None,
            "active_lock_reason": issue.lock_reason,
        }
        statuses = made["statuses_url"]
        made["_links"] = {
            "self": {"href": url},
            "html": {"href": page},
            "issue": {"href": issue_url},
            "comments": {"href": f"{issue_url}/comments"},
            "review_comments": {"href": f"{url}/comments"},
            "review_comment": {"href": made["review_comment_url"]},
            "commits": {"href": f"{url}/commits"},
            "statuses": {"href": statuses},
        }
        if alone:
            files, added, deleted = repo.git.changes(pull.base_sha, pull.head_sha)
            made |= {
                "merged": pull.merged_at is not None,
                # GitHub works these two out later; a fresh pull request does not know yet.
                "mergeable": None,
                "rebaseable": None,
                "mergeable_state": "unknown",
                "merged_by": self.maybe_user(pull.merged_by),
                "comments": len(issue.comments),
                "review_comments": 0,
                "maintainer_can_modify": False,
                "commits": repo.git.ahead(pull.base_sha, pull.head_sha),
                "additions": added,
                "deletions": deleted,
                "changed_files": files,
            }
        return made

    def _side(self, repo: Repository, branch: str, sha: str) -> Json:
        return {
            "label": f"{repo.owner}:{branch}",
            "ref": branch,
            "sha": sha,
            "user": self.account(repo.owner_account),
            "repo": self.repository(repo, "read", full=False),
        }
