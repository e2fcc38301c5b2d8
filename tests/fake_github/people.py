"""Accounts, tokens, and what each may do: who asks, and what GitHub lets them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

from tests.fake_github.words import Refusal

ROLES = ("none", "read", "triage", "write", "maintain", "admin")
LEGACY = {"maintain": "write", "triage": "read"}
ALL = frozenset(
    {"actions", "contents", "issues", "metadata", "pull-requests", "statuses", "workflows"}
)


@dataclass(frozen=True)
class Account:
    """A user, a bot or an organisation; logins compare case-insensitively."""

    login: str
    kind: str

    @classmethod
    def of(cls, login: str, kind: str | None = None) -> Account:
        return cls(login, kind or ("Bot" if login.endswith("[bot]") else "User"))

    @property
    def id(self) -> int:
        if self.login == "github-actions[bot]":
            return 41898282
        digest = hashlib.sha256(self.login.lower().encode()).digest()
        return 500_000 + int.from_bytes(digest[:4], "big") % 180_000_000


@dataclass(frozen=True)
class Token:
    """``can``: permissions as a workflow writes them; a bare name is write, ``issues:read`` read.

    A bot's token is an installation's (``GITHUB_TOKEN``): it has what ``can`` says, whatever roles
    there are. A person's token is bounded by ``can`` *and* by the person's role.
    """

    login: str
    can: frozenset[str]

    @classmethod
    def make(cls, login: str, can: Collection[str] | None) -> Token:
        chosen = ALL if can is None else frozenset(can)
        unknown = {name.partition(":")[0] for name in chosen} - ALL
        assert not unknown, f"no such permissions: {sorted(unknown)}"
        return cls(login, chosen)

    @property
    def is_bot(self) -> bool:
        return self.login.endswith("[bot]")

    def writes(self, *permissions: str) -> bool:
        return any(name in self.can for name in permissions)

    def reads(self, *permissions: str) -> bool:
        return self.writes(*permissions) or any(f"{name}:read" in self.can for name in permissions)

    def refused(self) -> Refusal:
        what = "integration" if self.is_bot else "personal access token"
        return Refusal(403, f"Resource not accessible by {what}")


def at_least(role: str, needed: str) -> bool:
    return ROLES.index(role) >= ROLES.index(needed)
