"""Faults in a queue: what a network and a busy GitHub do to one request, or to many."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from tests.fake_github.calls import Answer
from tests.fake_github.words import (
    BAD_GATEWAY,
    PRIMARY_LIMIT,
    SECONDARY_LIMIT,
    UNICORN,
    USUAL,
    Refusal,
)

Limit = Literal["primary", "secondary"]
Cut = Literal["", "body", "connection"]


@dataclass
class Fault:
    """One injected fault.

    ``method`` and ``path`` are regular expressions: the method matches whole, the path (without
    prefix and query; ``/graphql`` for GraphQL) is searched. ``skip`` matching requests pass
    first, then ``times`` are hit (None: all). Unless ``after``, a fault that answers by itself
    keeps the request from being carried out; ``delay``, ``truncate`` and bare ``headers`` or
    ``body`` spoil the real answer.
    """

    method: str
    path: str
    status: int | None = None
    times: int | None = 1
    skip: int = 0
    after: bool = False
    headers: dict[str, str] | None = None
    body: Any = None
    drop: bool = False
    hang: float = 0.0
    delay: float = 0.0
    truncate: bool | Literal["connection"] = False
    limit: Limit | None = None
    hits: int = 0

    def __post_init__(self) -> None:
        chosen = [self.status is not None or self.limit is not None, self.drop, bool(self.hang)]
        assert sum(chosen) <= 1, "a fault is one of a status, a drop, a hang"
        assert any(chosen) or self.delay or self.truncate or self.headers or self.body is not None
        assert not (self.after and not any(chosen)), "after: what is answered instead?"

    @property
    def answers(self) -> bool:
        """Whether it answers, or stays silent, in GitHub's stead."""
        return self.status is not None or self.limit is not None or self.drop or bool(self.hang)

    def matches(self, method: str, path: str) -> bool:
        return bool(re.fullmatch(self.method, method) and re.search(self.path, path))

    def answer(self, reset: int) -> Answer:
        """What is said instead of the real answer; ``reset``: when a primary limit ends."""
        headers = dict(self.headers or {})
        status = self.status or 403
        if self.limit == "primary":
            headers = {
                "x-ratelimit-limit": "1000",
                "x-ratelimit-remaining": "0",
                "x-ratelimit-used": "1000",
                "x-ratelimit-reset": str(reset),
                "x-ratelimit-resource": "core",
            } | headers
        if self.body is not None:
            return Answer(status, self.body, headers)
        if self.limit is not None:
            text = PRIMARY_LIMIT if self.limit == "primary" else SECONDARY_LIMIT
            return Answer(status, Refusal(status, text).body, headers)
        if status in (502, 504):
            return Answer(status, BAD_GATEWAY, {"Content-Type": "text/html"} | headers)
        if status == 503:
            return Answer(status, UNICORN, {"Content-Type": "text/html; charset=utf-8"} | headers)
        return Answer(status, Refusal(status, USUAL.get(status, "Error")).body, headers)

    def spoil(self, answer: Answer) -> Answer:
        """The real answer with this fault's headers and body."""
        body = answer.body if self.body is None else self.body
        return Answer(answer.status, body, answer.headers | (self.headers or {}))


class Faults:
    """The faults that wait; each request meets at most one, the oldest that matches."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []

    def take(self, method: str, path: str) -> Fault | None:
        for fault in self.waiting:
            if not fault.matches(method, path):
                continue
            if fault.skip:
                fault.skip -= 1
                continue
            fault.hits += 1
            if fault.times is not None:
                fault.times -= 1
                if fault.times <= 0:
                    self.waiting.remove(fault)
            return fault
        return None
