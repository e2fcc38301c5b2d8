"""tests.fake_github: real git behind refs and branches, over the path and over HTTP; payloads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fake_github import FakeGitHub, Repository, payloads
from tests.fake_github.contract import Contract
from tests.fake_github.git_http import basic
from tests.fake_github.visitor import GOOD, World
from tests.support.repos import clean_env, commit_all, git, make_repo, write_files


@dataclass
class Place:
    """A fake with one repository, and a clone with a commit that was not pushed."""

    hub: FakeGitHub
    repo: Repository
    clone: Path

    @property
    def url(self) -> str:
        return f"{self.hub.server_url}/octo/demo.git"

    def push(self, *refs: str, secret: str = GOOD, url: str = "") -> tuple[int, str]:
        """The exit code and what git said."""
        header = f"http.extraHeader=Authorization: {basic(secret)}"
        done = subprocess.run(
            ["git", *(["-c", header] if secret else []), "push", url or self.url, *refs],
            cwd=self.clone,
            env=clean_env(GIT_ASKPASS="true", no_proxy="*"),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with FakeGitHub(tmp_path / "hub") as hub:
        hub.token(GOOD)
        yield Place(hub, hub.repository("octo/demo"), make_repo(tmp_path / "clone", {"a": "1"}))


def test_a_branch_pushed_to_the_path_exists(place: Place) -> None:
    git(place.clone, "push", "-q", str(place.repo.bare), "main", "main:refs/navci/issue-1")
    sha = git(place.clone, "rev-parse", "HEAD")
    client = World(place.hub, place.repo).client()
    branch = client.get_branch("main")
    assert (branch.commit.sha, branch.protected) == (sha, False)
    assert branch.commit.commit.message == "start"
    assert branch.commit.commit.author.name == "Ada Tester"
    assert client.get_git_ref("navci/issue-1").object.sha == sha

    client.create_git_ref("refs/navci-stop/issue-1", sha)
    seen = git(place.clone, "ls-remote", str(place.repo.bare), "refs/navci-stop/*")
    assert seen == f"{sha}\trefs/navci-stop/issue-1"
    place.repo.protected.add("main")
    assert client.get_branch("main").protected


def test_a_pull_request_of_a_pushed_branch(place: Place) -> None:
    git(place.clone, "push", "-q", str(place.repo.bare), "main")
    write_files(place.clone, {"a": "2\n", "b.bin": b"\0"})
    commit_all(place.clone, "more")
    git(place.clone, "push", "-q", str(place.repo.bare), "main:navci/issue-1")
    pull = World(place.hub, place.repo).client().create_pull("main", "navci/issue-1", title="t")
    assert (pull.commits, pull.changed_files, pull.additions, pull.deletions) == (1, 2, 1, 1)


def test_a_push_over_http(place: Place) -> None:
    write_files(place.clone, {"large": os.urandom(3_000_000)})  # sent in chunks
    sha = commit_all(place.clone, "large")
    code, said = place.push("main", "main:refs/navci/issue-1")
    assert code == 0, said
    assert place.repo.git.ref("refs/navci/issue-1") == place.repo.git.branch("main") == sha
    assert [asked.path for asked in place.hub.git_requests] == [
        "/octo/demo.git/info/refs",
        *["/octo/demo.git/git-receive-pack"] * 2,
    ]
    assert place.hub.requests == []
    git(place.clone, "clone", "-q", place.url, "copy")
    assert (place.clone / "copy" / "large").stat().st_size == 3_000_000


BAD_TOKEN = "Authentication failed for"
DENIED = "Permission to octo/demo.git denied to github-actions[bot]."


@pytest.mark.parametrize(
    ("secret", "can", "words"),
    [
        ("who?", None, BAD_TOKEN),
        ("", None, BAD_TOKEN),
        ("weak", {"contents:read", "issues"}, DENIED),
        ("weak", {"issues"}, DENIED),
    ],
)
def test_pushes_without_permission(
    place: Place, secret: str, can: set[str] | None, words: str
) -> None:
    place.hub.token("weak", can=can)
    code, said = place.push("main", secret=secret)
    assert code == 128
    assert words in said
    assert place.repo.git.is_empty()


def test_a_token_that_dies_between_two_pushes(place: Place) -> None:
    assert place.push("main")[0] == 0
    place.hub.revoke(GOOD)
    code, said = place.push("main:other")
    assert (code, BAD_TOKEN in said) == (128, True)


def test_a_person_pushes_with_the_role_for_it(place: Place) -> None:
    place.repo.permissions |= {"mona": "write", "eve": "triage"}
    for login in place.repo.permissions:
        place.hub.token(login, login=login)
    code, said = place.push("main", secret="eve")
    assert (code, "denied to eve." in said) == (128, True)
    assert place.push("main", secret="mona")[0] == 0


def test_a_private_repository_is_not_found(place: Place) -> None:
    place.repo.private = True
    place.hub.token("eve", login="eve")
    code, said = place.push("main", secret="eve")
    assert (code, "remote: Repository not found." in said) == (128, True)
    code, said = place.push("main", url=f"{place.hub.server_url}/octo/none.git")
    assert (code, "remote: Repository not found." in said) == (128, True)
    assert place.push("main")[0] == 0


def test_a_protected_branch(place: Place) -> None:
    place.repo.protected.add("main")
    code, said = place.push("main", "main:other")
    assert code == 1
    assert "GH006: Protected branch update failed for refs/heads/main." in said
    assert "! [remote rejected] main -> main (protected branch hook declined)" in said
    assert (place.repo.git.branch("main"), place.repo.git.branch("other") is None) == (None, False)


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ("github-actions[bot]", "a GitHub App to create or update workflow `.github/workflows/x"),
        ("mona", "a Personal Access Token to create or update workflow `.github/workflows/x"),
    ],
)
def test_workflow_files_need_a_permission_of_their_own(
    place: Place, login: str, words: str
) -> None:
    place.repo.permissions["mona"] = "admin"
    place.hub.token("weak", login=login, can={"contents"})
    assert place.push("main", secret="weak")[0] == 0
    write_files(place.clone, {".github/workflows/x.yml": "on: push\n"})
    commit_all(place.clone, "a workflow")
    code, said = place.push("main", secret="weak")
    assert (code, words in said) == (1, True)
    assert place.push("main")[0] == 0
    # What the repository knows already may be pushed by anyone.
    assert place.push("main:again", secret="weak")[0] == 0
    assert place.push(":again", secret="weak")[0] == 0


def test_what_is_not_a_fast_forward(place: Place) -> None:
    place.push("main")
    place.repo.commit("main", {"b": "1"})
    write_files(place.clone, {"c": "1"})
    commit_all(place.clone, "mine")
    code, said = place.push("main")
    assert code == 1
    assert "rejected" in said


def test_archived_and_renamed_repositories(place: Place) -> None:
    place.repo.archived = True
    code, said = place.push("main")
    assert (code, "This repository was archived so it is read-only." in said) == (128, True)
    place.repo.archived = False
    place.repo.rename("octo/renamed")
    code, said = place.push("main")
    assert (code, "warning: redirecting to" in said) == (0, True)


def test_git_meets_faults(place: Place) -> None:
    place.hub.fail("POST", r"git-receive-pack$", status=502)
    code, said = place.push("main")
    assert (code, "HTTP 502" in said) == (1, True)
    place.hub.fail("POST", r"git-receive-pack$", drop=True, after=True)
    assert place.push("main")[0] != 0
    assert place.repo.git.branch("main") == git(place.clone, "rev-parse", "HEAD")


# Payloads


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("issues.labeled", {"action", "issue", "label", "organization"}),
        ("issue_comment.created", {"action", "comment", "issue", "organization"}),
        ("workflow_dispatch", {"inputs", "organization", "ref", "workflow"}),
        (
            "repository_dispatch",
            {"action", "branch", "client_payload", "installation", "organization"},
        ),
    ],
)
def test_recorded_payloads(name: str, keys: set[str]) -> None:
    payload = payloads.recorded(name)
    assert payload.keys() == keys | {"repository", "sender"}
    assert payload["sender"]["login"] in ("Codertocat", "octocat")
    assert (payloads.WEBHOOKS / f"{name}.json").stat().st_size < 6_000


def test_payloads_of_what_is_in_the_fake(place: Place) -> None:
    hub, repo = place.hub, place.repo
    repo.add_issue("a title", "a body", "eve", ["loop-mode"])
    labeled = payloads.labeled(hub, repo, 1, "Loop-Mode", sender="mona")
    assert (labeled["action"], labeled["label"]["name"]) == ("labeled", "loop-mode")
    assert (labeled["issue"]["user"]["login"], labeled["sender"]["login"]) == ("eve", "mona")
    assert labeled["repository"]["full_name"] == "octo/demo"
    said = payloads.commented(hub, repo, 1, "/navci run", sender="eve")
    assert (said["comment"]["body"], said["comment"]["user"]["login"]) == ("/navci run", "eve")
    assert repo.issues[1].comments[0].id == said["comment"]["id"]
    contract = Contract.load("api.github.com")
    path = "/repos/octo/demo/issues/comments/1"
    assert contract.answer("GET", path, 200, said["comment"]) == []
    assert contract.answer("GET", "/repos/octo/demo/issues/1", 200, said["issue"]) == []
    asked = payloads.dispatched(hub, repo, {"issue": "1"}, sender="mona")
    assert (asked["inputs"], asked["ref"]) == ({"issue": "1"}, "refs/heads/main")
    sent = payloads.repository_dispatched(hub, repo, "go", {"issue": 1}, sender="mona")
    assert (sent["action"], sent["client_payload"]) == ("go", {"issue": 1})
    repo.owner_is_organization = False
    assert "organization" not in payloads.labeled(hub, repo, 1, "loop-mode", sender="mona")
