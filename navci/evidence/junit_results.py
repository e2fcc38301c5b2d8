"""One testcase's results, as junitparser's classes: which of them counts, what it shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from junitparser import Error, Failure, Skipped
from junitparser.junitparser import Result
from junitparser.xunit2 import FlakyError, FlakyFailure, RerunError, RerunFailure

from navci.evidence.junit_ids import Namer
from navci.evidence.junit_occurrences import Status
from navci.system import neutral

# Local names of result elements, in lower case: not all producers keep to the schema's.
RESULTS: Mapping[str, type[Result]] = {
    "error": Error,
    "failure": Failure,
    "skipped": Skipped,
    "disabled": Skipped,
    "ignored": Skipped,
    "flakyerror": FlakyError,
    "flakyfailure": FlakyFailure,
    "rerunerror": RerunError,
    "rerunfailure": RerunFailure,
}
_STATUS: Mapping[type[Result], Status] = {Error: Status.ERRORED, Failure: Status.FAILED}
# What gtest, ctest, behave, tst and converters say in an attribute (R4): letters, in lower case.
_SAYING = ("status", "result")
_WORDS = {
    Status.FAILED: "fail failed failure",
    Status.ERRORED: "error errored broken crashed aborted timeout timedout",
    Status.SKIPPED: "skip skipped ignored disabled suppressed pending todo notrun notrunnable "
    "notexecuted untested inconclusive",
}
_SAID = {word: status for status, words in _WORDS.items() for word in words.split()}
_SEVERITY = (Error, Failure, RerunError, RerunFailure, FlakyError, FlakyFailure)
_PYTEST_PLACE = re.compile(r"^([^\s:][^\n:]*\.\w{1,5}):(\d+): \w", re.MULTILINE)
# Only from where a word begins: hostile text must not make it start again at every letter.
_PLACE = re.compile(
    r"(?<![\w.@+/\\-])([\w.@+/\\-]{1,300}\.[A-Za-z]\w{0,5})(?::|\", line )(\d{1,9})"
)
_EXCERPT_BYTES = 2048


class Outcome(NamedTuple):
    """A testcase's status; ``itemised`` results of it that a suite may have counted as red."""

    status: Status
    itemised: int
    flaky: bool


class Results:
    """What a testcase's direct result children other than skips come to, one after another.

    ``status`` is the worst of them; ``worst`` the one whose words are shown if the case is red.
    Of any number of results only that one is kept.
    """

    __slots__ = ("flaky", "red", "reruns", "status", "worst")

    def __init__(self) -> None:
        self.status = Status.PASSED
        self.red = self.reruns = self.flaky = 0
        self.worst: Result | None = None

    def take(self, kind: type[Result], message: str | None) -> Result | None:
        """One more; it is given back if its words are the worst so far."""
        if kind is Error or kind is Failure:
            self.red += 1
            self.status = max(self.status, _STATUS[kind])
        elif kind is RerunFailure or kind is RerunError:
            self.reruns += 1
        else:
            self.flaky += 1
        if self.worst is not None and not _worse(kind, type(self.worst)):
            return None
        self.worst = kind(message)
        return self.worst


def _worse(one: type[Result], other: type[Result]) -> bool:
    return _SEVERITY.index(one) < _SEVERITY.index(other)


def said(attrib: Mapping[str, str]) -> Status:
    """What a testcase's attributes say (R4); passed when they say nothing."""
    return max(_said(attrib.get(key, "")) for key in _SAYING)


@lru_cache(maxsize=256)
def _said(word: str) -> Status:
    return _SAID.get("".join(filter(str.isalpha, word[:40].lower())), Status.PASSED)


def outcome(attrib: Mapping[str, str], results: Results | None, *, skipped: bool) -> Outcome:
    """The worst of a testcase's results, or what its attributes say without one (R3-R5).

    A case is flaky only when its producer says so and nothing else is wrong with it. A rerun
    without a failure is a failure: nothing says that any attempt passed.
    """
    results = results or _NO_RESULTS
    status = results.status
    if status is Status.PASSED:
        status = Status.SKIPPED if skipped else said(attrib)
        if results.reruns and status < Status.FAILED:
            status = Status.FAILED
    itemised = max(results.red, int(status >= Status.FAILED)) + results.flaky
    return Outcome(status, itemised, results.flaky > 0 and status is Status.PASSED)


_NO_RESULTS = Results()


def excerpt(attrib: Mapping[str, str], message: str, text: str, namer: Namer) -> str:
    """Where, the message, the first lines: for a person and for the agent, at most 2 kB."""
    if places := _PYTEST_PLACE.findall(text):
        place = ":".join(places[-1])
    elif match := _PLACE.search(text):
        place = f"{match[1]}:{match[2]}"
    else:
        place = attrib.get("file", "")
        place += f":{attrib['line']}" if place and attrib.get("line") else ""
    parts = [namer.stable(place)]
    if not text.lstrip().startswith(message.strip()):
        parts.append(message.strip())
    parts.append(text.strip("\n"))
    shown = neutral.excerpt("\n".join(part for part in parts if part), 1_800, 300)
    return shown.encode()[:_EXCERPT_BYTES].decode(errors="ignore").strip()
