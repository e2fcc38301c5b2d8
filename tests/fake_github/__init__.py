"""A stateful GitHub on loopback: REST, one corner of GraphQL, and real git behind it.

Written for tests, after GitHub's OpenAPI description, recorded answers and what others measured;
every exchange is held against the description (``contract``), whatever does not fit ends the test.

What the real GitHub does and this one does not: organisations, teams and forks; milestones,
sub-issues, reviews and checks; conditional requests (ETag); counting requests until a limit is
met (queue a fault with ``limit=``); working out ``mergeable``; closing issues by ``Closes #1``;
events and webhooks (``payloads`` makes what a job would find); Markdown; cleaning up texts.
"""

from tests.fake_github.faults import Fault
from tests.fake_github.people import ALL as ALL_PERMISSIONS
from tests.fake_github.server import FakeGitHub
from tests.fake_github.state import Repository
from tests.fake_github.wire import Request

__all__ = ["ALL_PERMISSIONS", "FakeGitHub", "Fault", "Repository", "Request"]
