"""When a request to GitHub is sent again, and after how long: decisions, and one purse of time.

GitHub's rule for limits ("Best practices for using the REST API"): what ``retry-after`` says, else
wait for ``x-ratelimit-reset`` when nothing remains, else a minute, doubled each time. A limit comes
as 403 or as 429; among the 403s its words tell it from other refusals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from navci.system.clock import Clock, show_duration
from navci.system.neutral import one_line

LONGEST_PAUSE = 30.0
"""Seconds between two tries at most, while nobody says how long to wait."""

SECONDARY_PAUSE = 60.0

SETTLED = 10.0
"""Seconds after which GitHub is through with a request, carried out or not (GitHub docs)."""

_TOLD_EVERY = 60.0
_TOLD_FROM = 5.0
_STEP = 1.0

# POSTs that do no harm twice: GraphQL is only read with, and neither an issue nor a repository
# has a label twice.
_HARMLESS_POSTS = re.compile(r"/graphql$|/labels$")
_PRIMARY = "api rate limit exceeded"
_LIMITS = (
    "rate limit",
    "please wait a few minutes before you try again",
    "please retry your request again later",
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """What came instead of an answer.

    ``happened``: whether the request was carried out; ``None`` when nobody can tell. ``settled``:
    seconds from its start after which looking would show it. ``pause``: what GitHub asks for.
    ``hopeless``: the next try would end the same way.
    """

    what: str
    happened: bool | None = None
    settled: float = 0.0
    limit: bool = False
    pause: float | None = None
    hopeless: bool = False


def harmless(verb: str, path: str) -> bool:
    """Whether a request may be sent again without asking if the first was carried out."""
    return verb != "POST" or _HARMLESS_POSTS.search(path) is not None


def backoff(tries: int) -> float:
    """Seconds to wait after so many tries when nobody says how long: 1, 2, 4, … 30."""
    return min(2.0 ** min(tries - 1, 10), LONGEST_PAUSE)


def trouble_in(status: int, headers: Mapping[str, str], text: str, now: datetime) -> Trouble | None:
    """What is wrong with an answer that should be asked for again; ``None``: it is the answer.

    ``headers`` have lower-case names; ``now`` stands in for a missing ``date``.
    """
    if status >= 500:
        return Trouble(f"it answered {status}", pause=_retry_after(headers, now))
    if not text:
        data = None
    elif text.lstrip().startswith(("{", "[")):
        try:
            data = json.loads(text)
        except ValueError:
            return Trouble(f"its answer ({status}) broke off", happened=status < 300)
    elif status < 300:
        return Trouble("what answered is not GitHub's API (no JSON)", hopeless=True)
    else:
        data = {"message": text}
    words = _limit_in(status, headers, data)
    if words is None:
        return Trouble("it could not work out the answer") if _gave_up(status, data) else None
    said = one_line(words, 160)
    return Trouble(
        f"its rate limit is reached ({said})" if said else "its rate limit is reached",
        happened=False,
        limit=True,
        pause=_pause_named(headers, words, now),
    )


def _limit_in(status: int, headers: Mapping[str, str], data: object) -> str | None:
    """The words of a limit; ``None``: this is none."""
    said = data if isinstance(data, dict) else {}
    words = str(said.get("message") or "")
    if status == 429 or (status == 403 and "retry-after" in headers):
        return words
    if status == 403:
        return words if any(limit in words.lower() for limit in _LIMITS) else None
    errors = said.get("errors") if status == 200 else None  # GraphQL's way to refuse
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, dict) and error.get("type") == "RATE_LIMITED":
            return str(error.get("message") or _PRIMARY)
    return None


def _gave_up(status: int, data: object) -> bool:
    """GraphQL's own 500, which comes as a 200."""
    errors = data.get("errors") if status == 200 and isinstance(data, dict) else None
    return any(
        isinstance(error, dict) and str(error.get("message")).startswith("Something went wrong")
        for error in (errors if isinstance(errors, list) else ())
    )


def _pause_named(headers: Mapping[str, str], words: str, now: datetime) -> float | None:
    """What GitHub itself says about the wait, by its own clock."""
    said = _retry_after(headers, now)
    if said is not None:
        return said
    remaining, reset = headers.get("x-ratelimit-remaining"), headers.get("x-ratelimit-reset", "")
    primary = remaining == "0" or (remaining is None and words.lower().startswith(_PRIMARY))
    if not primary or not re.fullmatch(r"\d{1,12}(\.\d*)?", reset):
        return None
    # A second more: it is not said when in its second the reset occurs.
    return max(0.0, float(reset) - _server_time(headers, now).timestamp() + 1)


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    said = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,9}", said):
        return float(said)
    moment = _http_date(said)
    return (
        None if moment is None else max(0.0, (moment - _server_time(headers, now)).total_seconds())
    )


def _server_time(headers: Mapping[str, str], now: datetime) -> datetime:
    return _http_date(headers.get("date", "")) or now


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def wait_for(trouble: Trouble, tries: int) -> float:
    """Seconds until the next try, after ``tries`` of them."""
    if trouble.pause is not None:
        # The first pause is as said; one that led nowhere is not believed a second time.
        return max(trouble.pause, backoff(tries - 1) if tries > 1 else 0.0)
    return SECONDARY_PAUSE * 2.0 ** min(tries - 1, 10) if trouble.limit else backoff(tries)


class Patience:
    """How long GitHub may keep navci waiting: ``deadline`` seconds a spell of trouble, all told.

    The purse is one for all requests, so that a GitHub that is down costs a run its deadline once
    and not once a request; an answer fills it again. ``stopped`` says that nothing may be waited
    for any more; ``say`` gets a line at most once a minute.
    """

    def __init__(
        self,
        deadline: float,
        *,
        clock: Clock,
        say: Callable[[str], None],
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.deadline = deadline
        self._clock = clock
        self._say = say
        self._stopped = stopped
        self._spent = 0.0
        self._told: float | None = None

    def answered(self) -> None:
        """GitHub is there."""
        self._spent = 0.0
        self._told = None

    def failed(self, seconds: float) -> None:
        """A try took ``seconds`` and led nowhere."""
        self._spent += seconds

    def wait(self, seconds: float, what: str) -> bool:
        """Wait because of ``what``; false, and at once, when that is longer than may be waited."""
        if self._stopped() or self._spent + seconds > self.deadline:
            self._spent = self.deadline  # from now on one try each, until there is an answer
            return False
        began = self._clock.monotonic()
        while (left := seconds - (self._clock.monotonic() - began)) > 0:
            self._tell(left, what)
            # In steps: a signal does not end a sleep.
            self._clock.sleep(min(left, _STEP))
            if self._stopped():
                return False
        self._spent += seconds
        return True

    def _tell(self, left: float, what: str) -> None:
        now = self._clock.monotonic()
        if now - self._told >= _TOLD_EVERY if self._told is not None else left >= _TOLD_FROM:
            self._told = now
            self._say(f"waiting for GitHub: {what}; the next try is in {show_duration(left)}")
