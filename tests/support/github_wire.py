"""A GitHub that is a script, byte by byte, and navci connected to it; waits pass at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from navci.errors import TrackerError
from navci.tickets.github import GitHub
from tests.support.scripted_server import ScriptedServer
from tests.support.waiting_clock import WaitingClock

TOKEN = "ghs_thetokenofthejob"
GOOD = {
    "GITHUB_REPOSITORY": "octo/demo",
    "GITHUB_API_URL": "http://127.0.0.1:1/api/v3",
    "NAVCI_GITHUB_TOKEN": TOKEN,
}
COMMENT = {
    "id": 11,
    "html_url": "https://github.com/octo/demo/issues/7#issuecomment-11",
    "body": "<!-- navci:status -->\nhello",
    "user": {"login": "github-actions[bot]", "type": "Bot"},
}
ISSUE = {
    "number": 7,
    "title": "Broken",
    "body": None,
    "state": "open",
    "html_url": "https://github.com/octo/demo/issues/7",
    "labels": [{"name": "loop-mode"}, "bug"],
    "user": None,
}
CLOSED = ISSUE | {"state": "closed", "state_reason": "completed"}
LIMIT = {
    "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you"
}


@dataclass
class Wire:
    """A GitHub that is a script; waits pass at once."""

    server: ScriptedServer
    clock: WaitingClock = field(default_factory=WaitingClock)
    said: list[str] = field(default_factory=list)

    def hub(self, *, deadline: float = 600, prefix: str = "", timeout: float = 0.3) -> GitHub:
        environment = {
            "GITHUB_REPOSITORY": "octo/demo",
            "GITHUB_API_URL": self.server.url + prefix,
            "NAVCI_GITHUB_TOKEN": TOKEN,
        }
        return GitHub.connect(
            environment, say=self.said.append, clock=self.clock, deadline=deadline, timeout=timeout
        )

    @property
    def asked(self) -> list[str]:
        return [f"{seen.method} {seen.target}" for seen in self.server.seen]


def failing(call: Callable[[], object]) -> TrackerError:
    with pytest.raises(TrackerError) as caught:
        call()
    assert TOKEN not in str(caught.value) + caught.value.said
    assert "\n" not in str(caught.value)
    return caught.value
