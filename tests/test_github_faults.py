"""Each request that navci makes of GitHub, with each fault: the right end, and nothing twice.

After every fault a second process does the same without one, and finds or makes what is missing.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from navci.errors import TrackerError
from navci.tickets.github import GitHub
from tests.fake_github import Request
from tests.support.github_hub import Hub

HEAD = "navci/issue-7"
SILENCE = 0.25
HANG = 3 * SILENCE


@dataclass(frozen=True)
class Job:
    """Something that is asked of GitHub, and what there must be before."""

    call: Callable[[GitHub], object]
    prepare: Callable[[Hub], object] = lambda hub: None


def _many_events(hub: Hub) -> None:
    for number in range(101):
        hub.repo.label(1, f"l{number}", by="mona")


def _many_issues(hub: Hub) -> None:
    for _ in range(101):
        hub.repo.add_issue(labels=["loop-mode"])


def _edited(hub: Hub) -> None:
    hub.repo.edit(1, body="other", by="eve")


def _pushed(hub: Hub) -> None:
    hub.branch(HEAD)


def _opened(hub: Hub) -> None:
    hub.branch(HEAD)
    _pull(hub.github())


def _pull(github: GitHub) -> object:
    pull = github.pull(HEAD, "main", "new title", "new text", draft=True)
    return pull.number, pull.url, pull.draft


def _labels(github: GitHub) -> None:
    github.labels(1, add=["loop-running"], remove=["loop-mode"])


JOBS = {
    "issue": Job(lambda github: github.issue(1)),
    "timeline": Job(lambda github: github.timeline(1), _many_events),
    "edits": Job(lambda github: github.edits(1), _edited),
    "permission": Job(lambda github: github.permission("mona")),
    "labelled": Job(lambda github: list(github.labelled("loop-mode")), _many_issues),
    "sticky, new": Job(lambda github: github.sticky(1, "status", "text")),
    "sticky, there": Job(
        lambda github: github.sticky(1, "status", "text"),
        lambda hub: hub.github().sticky(1, "status", "old text"),
    ),
    "say": Job(lambda github: github.say(1, "end/run-1", "text")),
    "labels": Job(_labels),
    "close": Job(lambda github: github.close(1, "completed")),
    "pull, new": Job(_pull, _pushed),
    "pull, there": Job(_pull, _opened),
}

ELSEWHERE = {"Location": "https://api.github.com/repositories/1/issues/1"}
# What the fault is, and the error it may end in; None: it must end well.
FAULTS: dict[str, tuple[dict[str, Any], str | None]] = {
    "500": ({"status": 500}, None),
    "502 before": ({"status": 502}, None),
    "502 after": ({"status": 502, "after": True}, None),
    "502 five times, after": ({"status": 502, "after": True, "times": 5}, None),
    "503": ({"status": 503}, None),
    "drop before": ({"drop": True}, None),
    "drop after": ({"drop": True, "after": True}, None),
    "hang before": ({"hang": HANG}, None),
    "hang after": ({"hang": HANG, "after": True}, None),
    "slow": ({"delay": SILENCE / 5}, None),
    "JSON broken off": ({"truncate": True}, None),
    "connection broken off": ({"truncate": "connection"}, None),
    "429, said when": ({"status": 429, "headers": {"Retry-After": "7"}}, None),
    "429, said nothing": ({"status": 429}, None),
    "secondary limit": ({"limit": "secondary"}, None),
    "primary limit": ({"limit": "primary"}, None),
    "primary limit as 429": ({"limit": "primary", "status": 429}, None),
    "429, in an hour": ({"status": 429, "headers": {"Retry-After": "3600"}}, "limit"),
    "401": ({"status": 401}, "auth"),
    "403": ({"status": 403}, "permission"),
    "404": ({"status": 404}, "gone"),
    "410": ({"status": 410}, "gone"),
    "422": ({"status": 422}, "refused"),
    "301": ({"status": 301, "headers": ELSEWHERE}, "moved"),
    "307": ({"status": 307, "headers": ELSEWHERE}, "moved"),
    "down": ({"status": 502, "times": None}, "unreachable"),
    "down after": ({"status": 502, "times": None, "after": True}, "unreachable"),
}


def told(hub: Hub) -> object:
    """Everything that somebody would see on GitHub."""
    return [
        (
            issue.number,
            issue.state,
            issue.state_reason,
            sorted(issue.labels),
            [comment.body for comment in issue.comments],
        )
        for issue in hub.repo.issues.values()
    ], [(pull.head, pull.title, pull.body, pull.draft) for pull in hub.repo.pulls.values()]


def begin(hub: Hub, job: Job) -> int:
    """Make what the job needs; how many requests that took."""
    hub.repo.add_issue("t", "b", "mona", ["loop-mode"])
    hub.repo.permissions["mona"] = "write"
    job.prepare(hub)
    return hub.count()


def plain(result: object, hub: Hub) -> str:
    """A result without what differs from one server, or moment, to the next."""
    return re.sub(r"datetime\([^)]*\)", "then", repr(result).replace(hub.fake.server_url, ""))


@dataclass(frozen=True)
class Good:
    """How a job goes without a fault."""

    requests: list[Request]
    result: str
    told: object


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Good]:
    @functools.cache
    def without_fault(name: str) -> Good:
        with Hub.start(tmp_path_factory.mktemp("good")) as hub:
            before = begin(hub, JOBS[name])
            result = plain(JOBS[name].call(hub.github()), hub)
            return Good(hub.fake.requests[before:], result, told(hub))

    return without_fault


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", JOBS)
def test_a_fault_in_each_request(
    tmp_path: Path, good: Callable[[str], Good], name: str, fault: str
) -> None:
    job, (how, kind) = JOBS[name], FAULTS[fault]
    expected = good(name)
    for number, request in enumerate(expected.requests):
        alike = [each for each in expected.requests[:number] if each.path == request.path]
        skip = sum(each.method == request.method for each in alike)
        where = f"{fault} in {request.method} {request.path}"
        with Hub.start(tmp_path / str(number)) as hub:
            begin(hub, job)
            injected = hub.fake.fail(request.method, f"^{request.path}$", skip=skip, **how)
            ended, said = "well", ""
            try:
                assert plain(job.call(hub.github(timeout=SILENCE)), hub) == expected.result, where
            except TrackerError as error:
                ended, said = error.kind, str(error)
            assert injected.hits, where
            # What must be made once is looked for, and found where it had been made.
            found = fault == "down after" and request.path.endswith(("/comments", "/pulls"))
            assert ended == ("well" if found and request.method == "POST" else kind or "well"), said
            hub.fake.faults.waiting.clear()
            assert plain(job.call(hub.github()), hub) == expected.result, where
            assert told(hub) == expected.told, where
