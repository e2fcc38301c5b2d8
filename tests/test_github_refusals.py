"""navci.tickets.github: what GitHub's refusals mean, and environments nobody can work in."""

from __future__ import annotations

import subprocess
import sys

import pytest

from navci.errors import ConfigError, TrackerFault
from navci.tickets.github import GitHub
from tests.support.github_wire import GOOD, ISSUE, TOKEN, Wire, failing
from tests.support.scripted_server import Reply, ScriptedServer

# --- refusals in words ----------------------------------------------------------------------

_REFUSED: list[tuple[int, str, TrackerFault, str]] = [
    (401, "Bad credentials", "auth", "github-token"),
    (401, "Requires authentication", "auth", "github-token"),
    (403, "Resource not accessible by integration", "permission", "issues: write"),
    (403, "Resource not accessible by personal access token", "permission", "issues: write"),
    (403, "Repository was archived so is read-only.", "locked", "unarchive"),
    (403, "Unable to create comment because issue is locked.", "locked", "unlock"),
    (403, "Resource protected by organization SAML enforcement. You must…", "permission", "author"),
    (403, "the `octo` organization has an IP allow list enabled", "permission", "IP allow list"),
    (404, "Not Found", "gone", "deleted"),
    (410, "This issue was deleted", "gone", "discussion"),
    (410, "Issues are disabled for this repo", "gone", "Settings"),
    (422, "Validation Failed", "refused", "Validation Failed"),
    (451, "Repository access blocked", "gone", "blocked"),
    (400, "Problems parsing JSON", "refused", "Problems parsing JSON"),
]


@pytest.mark.parametrize(("status", "words", "kind", "says"), _REFUSED)
def test_refusals(status: int, words: str, kind: TrackerFault, says: str) -> None:
    with ScriptedServer([Reply(status, {"message": words})]) as server:
        error = failing(lambda: Wire(server).hub().close(7, "completed"))
        assert len(server.seen) == 1, "it is not asked again"
    assert (error.kind, error.status, error.said) == (kind, status, words)
    assert str(error).startswith("could not close octo/demo#7: ")
    assert says in str(error)
    assert not error.passing


def test_a_validation_error_tells_its_details() -> None:
    body = {
        "message": "Validation Failed",
        "errors": [
            {"resource": "Label", "code": "already_exists", "field": "name"},
            {"message": "a\nb\x1b[31m"},
            "and a word",
            7,
        ],
    }
    with ScriptedServer([Reply(422, body)]) as server:
        error = failing(lambda: Wire(server).hub().close(7, "completed"))
    assert error.said == "Validation Failed; name already_exists; a b; and a word"


@pytest.mark.parametrize("body", ["<html><h1>Not here</h1></html>", "", None, [], "[1]", '"x"'])
def test_a_refusal_of_any_form(body: object) -> None:
    with ScriptedServer([Reply(404, body)]) as server:
        assert failing(lambda: Wire(server).hub().issue(7)).kind == "gone"


def test_a_token_that_github_repeats_is_not_shown() -> None:
    with ScriptedServer([Reply(401, {"message": f"Bad token {TOKEN}"})]) as server:
        assert "***" in failing(lambda: Wire(server).hub().issue(7)).said


# --- connecting -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("GITHUB_REPOSITORY", "", "GITHUB_REPOSITORY is not set"),
        ("GITHUB_REPOSITORY", "demo", "must name the repository"),
        ("GITHUB_REPOSITORY", "octo/demo/x", "must name the repository"),
        ("GITHUB_REPOSITORY", "octo/..", "must name the repository"),
        ("GITHUB_REPOSITORY", "octo/de mo", "must name the repository"),
        ("GITHUB_API_URL", "api.github.com", "must be an address"),
        ("GITHUB_API_URL", "ftp://api.github.com", "must be an address"),
        ("GITHUB_API_URL", "https://", "must be an address"),
        ("GITHUB_API_URL", "https://[::1", "must be an address"),
        ("GITHUB_API_URL", "https://ghe:port/api/v3", "must be an address"),
        ("GITHUB_API_URL", "https://who@ghe/api/v3", "must be an address"),
        ("NAVCI_GITHUB_TOKEN", "", "no token"),
        ("NAVCI_GITHUB_TOKEN", " \n", "no token"),
        ("NAVCI_GITHUB_TOKEN", "ghs_a\nghs_b", "no token has"),
        ("NAVCI_GITHUB_TOKEN", "ghs_ä", "no token has"),
    ],
)
def test_an_environment_that_cannot_be(name: str, value: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        GitHub.connect(GOOD | {name: value})
    assert "ghs_" not in str(caught.value)
    assert GitHub.connect(GOOD).name == "octo/demo"


def test_a_token_with_a_line_end_around_it_is_a_token() -> None:
    with ScriptedServer([Reply(body=ISSUE)]) as server:
        environment = GOOD | {"GITHUB_API_URL": server.url}
        GitHub.connect(environment, token=f" {TOKEN}\n").issue(7)
        assert server.seen[0].headers["authorization"] == f"token {TOKEN}"


def test_all_is_loaded_by_connecting_and_nothing_before() -> None:
    program = """
import sys
from navci.tickets.github import GitHub
assert not {"github", "requests", "urllib3"} & sys.modules.keys(), "too early"
import json
from tests.support.scripted_server import Reply, ScriptedServer
from tests.support.github_wire import COMMENT, GOOD, ISSUE
refusal = Reply(404, {"message": "x"})
script = [Reply(body=ISSUE), Reply(body=[COMMENT]), Reply(body=COMMENT), refusal]
with ScriptedServer(script) as server:
    hub = GitHub.connect(GOOD | {"GITHUB_API_URL": server.url.replace("127.0.0.1", "localhost")})
    before = set(sys.modules)
    hub.issue(7)
    hub.sticky(7, "status", "hello")
    try:
        hub.permission("mona")
    except Exception as error:
        str(error)
    print(sorted(set(sys.modules) - before))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
