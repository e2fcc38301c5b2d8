"""navci.tickets.retry: what is asked for again, after how long, and when it is enough."""

from __future__ import annotations

import json
from datetime import timedelta
from email.utils import format_datetime

import pytest

from navci.tickets.retry import (
    LONGEST_PAUSE,
    SECONDARY_PAUSE,
    Patience,
    Trouble,
    backoff,
    harmless,
    trouble_in,
    wait_for,
)
from tests.support.waiting_clock import START, WaitingClock

PRIMARY = "API rate limit exceeded for installation ID 42."
SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
)
FORBIDDEN = "Resource not accessible by integration"
RESET = {"x-ratelimit-reset": str(int(START.timestamp()) + 90)}


def trouble(
    status: int, body: object = None, headers: dict[str, str] | None = None
) -> Trouble | None:
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    return trouble_in(status, headers or {}, text, START)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"number": 7}),
        (200, []),
        (204, None),
        (201, {"id": 1, "message": "You have exceeded a secondary rate limit."}),
        (401, {"message": "Bad credentials"}),
        (403, {"message": FORBIDDEN}),
        (404, "<html>no such page</html>"),
        (410, {"message": "This issue was deleted"}),
        (422, {"message": "Validation Failed", "errors": [{"code": "invalid"}]}),
        (200, {"data": None, "errors": [{"type": "FORBIDDEN", "message": "no"}]}),
        (200, {"data": None, "errors": "odd"}),
    ],
)
def test_an_answer_is_an_answer(status: int, body: object) -> None:
    assert trouble(status, body) is None


def test_a_refusal_is_none_the_less_one_when_it_was_the_last_request_of_the_hour() -> None:
    assert trouble(403, {"message": FORBIDDEN}, {"x-ratelimit-remaining": "0"} | RESET) is None


@pytest.mark.parametrize(
    ("status", "headers", "words", "pause"),
    [
        pytest.param(429, {"retry-after": "7"}, SECONDARY, 7, id="429, seconds said"),
        pytest.param(403, {"retry-after": "9"}, SECONDARY, 9, id="403, seconds said"),
        pytest.param(403, {"retry-after": "9"}, "slow down", 9, id="403, in other words"),
        pytest.param(403, {}, SECONDARY, None, id="secondary, nothing said"),
        pytest.param(429, {}, SECONDARY, None, id="429, nothing said"),
        pytest.param(
            403, {"x-ratelimit-remaining": "12"} | RESET, SECONDARY, None, id="the reset is not its"
        ),
        pytest.param(403, RESET, PRIMARY, 91, id="primary, until the reset and a second"),
        pytest.param(429, {"x-ratelimit-remaining": "0"} | RESET, "", 91, id="nothing remains"),
        pytest.param(403, {"x-ratelimit-reset": "1"}, PRIMARY, 0, id="a reset that was"),
        pytest.param(403, {"x-ratelimit-reset": "soon"}, PRIMARY, None, id="a reset that is none"),
        pytest.param(429, {"retry-after": "soon"}, SECONDARY, None, id="seconds that are none"),
        pytest.param(
            429,
            {"retry-after": format_datetime(START + timedelta(seconds=40), usegmt=True)},
            SECONDARY,
            40,
            id="a date said",
        ),
        pytest.param(
            403,
            {"date": format_datetime(START + timedelta(seconds=60), usegmt=True)} | RESET,
            PRIMARY,
            31,
            id="by GitHub's clock, not by ours",
        ),
        pytest.param(
            403,
            {},
            "You have triggered an abuse detection mechanism. Please wait a few minutes before "
            "you try again.",
            None,
            id="an older wording",
        ),
    ],
)  # fmt: skip
def test_a_limit_is_known_and_its_pause_is_githubs_own(
    status: int, headers: dict[str, str], words: str, pause: float | None
) -> None:
    found = trouble(status, {"message": words}, headers)
    assert found is not None
    assert (found.limit, found.happened, found.pause) == (True, False, pause)


def test_a_limit_of_graphql_comes_as_a_200() -> None:
    errors = {"errors": [{"type": "RATE_LIMITED", "message": PRIMARY}]}
    found = trouble(200, errors, {"x-ratelimit-remaining": "0"} | RESET)
    assert found is not None
    assert (found.limit, found.pause) == (True, 91)


def test_graphql_that_went_wrong_is_asked_again() -> None:
    said = "Something went wrong while executing your query on 2026-03-01. Please include `A1:B2`"
    found = trouble(200, {"data": None, "errors": [{"message": said}]})
    assert found is not None
    assert not found.hopeless


@pytest.mark.parametrize(
    ("status", "body", "happened"),
    [
        (500, None, None),
        (502, "<html>Bad gateway</html>", None),
        (504, '{"message": "half', None),
        (201, '{"id": 1, "body": "ha', True),
        (403, '{"message": "half', False),
    ],
)
def test_whether_it_happened(status: int, body: object, happened: bool | None) -> None:
    found = trouble(status, body)
    assert found is not None
    assert (found.happened, found.hopeless, found.limit) == (happened, False, False)


def test_a_page_of_something_else_is_not_asked_for_again() -> None:
    found = trouble(200, "<html>log in to the hotel's network</html>")
    assert found is not None
    assert found.hopeless


def test_a_server_that_says_when_it_is_back_is_believed() -> None:
    found = trouble(503, "", {"retry-after": "20"})
    assert found is not None
    assert wait_for(found, 1) == 20


def test_the_words_of_a_limit_are_shown_on_one_line() -> None:
    found = trouble(429, {"message": "slow\n::error::down\x1b[31m" + "x" * 9000})
    assert found is not None
    assert "\n" not in found.what
    assert "\x1b" not in found.what
    assert len(found.what) < 300


@pytest.mark.parametrize(
    ("verb", "path", "again"),
    [
        ("GET", "/repos/o/r/issues", True),
        ("PATCH", "/repos/o/r/issues/1", True),
        ("PATCH", "/repos/o/r/issues/comments/9", True),
        ("DELETE", "/repos/o/r/issues/1/labels/a%2Fb", True),
        ("POST", "/graphql", True),
        ("POST", "/api/graphql", True),
        ("POST", "/api/v3/repos/o/r/issues/1/labels", True),
        ("POST", "/repos/o/r/labels", True),
        ("POST", "/repos/o/r/issues/1/comments", False),
        ("POST", "/repos/o/r/pulls", False),
        ("POST", "/repos/o/r/issues", False),
        ("POST", "/repos/labels/graphql/pulls", False),
    ],
)
def test_what_may_be_sent_twice(verb: str, path: str, again: bool) -> None:
    assert harmless(verb, path) is again


def test_the_waits() -> None:
    assert [backoff(tries) for tries in (1, 2, 3, 6, 99)] == [1, 2, 4, LONGEST_PAUSE, LONGEST_PAUSE]
    limit = Trouble("limit", False, limit=True)
    assert [wait_for(limit, tries) for tries in (1, 2, 3)] == [
        SECONDARY_PAUSE,
        2 * SECONDARY_PAUSE,
        4 * SECONDARY_PAUSE,
    ]
    at_once = Trouble("limit", False, limit=True, pause=0.0)
    assert [wait_for(at_once, tries) for tries in (1, 2, 3)] == [0, 1, 2]
    long = Trouble("limit", False, limit=True, pause=3600.0)
    assert wait_for(long, 1) == 3600


class Waits:
    """A patience of ``deadline`` seconds with what it said, on a clock that passes at once."""

    def __init__(self, deadline: float) -> None:
        self.clock = WaitingClock()
        self.said: list[str] = []
        self.stop_after = float("inf")
        self.patience = Patience(
            deadline,
            clock=self.clock,
            say=self.said.append,
            stopped=lambda: self.clock.slept >= self.stop_after,
        )

    def until_it_ends(self, seconds: float) -> int:
        count = 0
        while self.patience.wait(seconds, "it answered 502"):
            count += 1
        return count


def test_a_wait_longer_than_the_purse_is_not_begun() -> None:
    waits = Waits(600)
    assert waits.patience.wait(600, "a limit")
    waits.patience.answered()
    assert not waits.patience.wait(601, "a limit")
    assert waits.clock.slept == pytest.approx(600)
    assert not waits.patience.wait(1, "it answered 502"), "the others have one try each"


def test_waits_and_tries_empty_the_purse_and_an_answer_fills_it() -> None:
    waits = Waits(100)
    waits.patience.failed(35)
    assert waits.until_it_ends(30) == 2
    assert waits.until_it_ends(30) == 0, "the next request has no purse of its own"
    waits.patience.answered()
    assert waits.until_it_ends(30) == 3


def test_time_that_passes_between_requests_costs_nothing() -> None:
    waits = Waits(100)
    assert waits.patience.wait(40, "it answered 502")
    waits.clock.pass_(5000)
    assert waits.patience.wait(40, "it answered 502")


def test_a_wait_ends_when_the_run_is_stopped() -> None:
    waits = Waits(600)
    waits.stop_after = 3
    assert not waits.patience.wait(300, "a limit")
    assert waits.clock.slept == pytest.approx(3, abs=1.01)
    assert waits.clock.longest <= 1
    assert not waits.patience.wait(1, "a limit")


def test_waits_are_told_once_a_minute() -> None:
    waits = Waits(600)
    assert waits.patience.wait(185, "its rate limit is reached")
    assert waits.said == [
        "waiting for GitHub: its rate limit is reached; the next try is in 3m 5s",
        "waiting for GitHub: its rate limit is reached; the next try is in 2m 5s",
        "waiting for GitHub: its rate limit is reached; the next try is in 1m 5s",
        "waiting for GitHub: its rate limit is reached; the next try is in 5s",
    ]


def test_many_short_waits_are_told_once_a_minute_too() -> None:
    waits = Waits(600)
    assert waits.patience.wait(4, "it answered 502")
    assert waits.said == [], "nobody needs to know of four seconds"
    assert waits.until_it_ends(30) == 19
    assert 9 <= len(waits.said) <= 10


def test_a_new_spell_of_trouble_is_told_at_once() -> None:
    waits = Waits(600)
    assert waits.patience.wait(10, "it answered 502")
    waits.patience.answered()
    assert waits.patience.wait(10, "it answered 503")
    assert len(waits.said) == 2
