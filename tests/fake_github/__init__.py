"""A stateful GitHub on loopback: REST, one corner of GraphQL, and a real git repository behind it.

Written for tests, after GitHub's OpenAPI description and recorded answers; every exchange is
held against that description. What the real GitHub does that this one does not: see
``tests/data/github-openapi/README.md`` for the description's flaws, and the modules' docstrings.
"""

from tests.fake_github.faults import Fault
from tests.fake_github.people import ALL as ALL_PERMISSIONS
from tests.fake_github.server import FakeGitHub
from tests.fake_github.state import Repository
from tests.fake_github.wire import Request

__all__ = ["ALL_PERMISSIONS", "FakeGitHub", "Fault", "Repository", "Request"]
