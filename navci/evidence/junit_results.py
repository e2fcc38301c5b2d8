"""One testcase's results, as junitparser's classes: which of them counts, what it shows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
_STATUS: Mapping[type[Result], Status] = {
    Error: Status.ERRORED,
    Failure: Status.FAILED,
    Skipped: Status.SKIPPED,
}
# What gtest, ctest, behave, tst and NUnit's converters say in an attribute (R4).
_SAID = {
    "status": {
        "failed": Status.FAILED,
        "failure": Status.FAILED,
        "fail": Status.FAILED,
        "error": Status.ERRORED,
        "errored": Status.ERRORED,
        "disabled": Status.SKIPPED,
        "notrun": Status.SKIPPED,
        "notrunnable": Status.SKIPPED,
        "ignored": Status.SKIPPED,
        "skipped": Status.SKIPPED,
    },
    "result": {"suppressed": Status.SKIPPED, "failed": Status.FAILED, "error": Status.ERRORED},
}
_SEVERITY = (Error, Failure, RerunError, RerunFailure, Skipped, FlakyError, FlakyFailure)
_PYTEST_PLACE = re.compile(r"^([^\s:][^\n:]*\.\w{1,5}):(\d+): \w", re.MULTILINE)
# Only from where a word begins: hostile text must not make it start again at every letter.
_PLACE = re.compile(
    r"(?<![\w.@+/\\-])([\w.@+/\\-]{1,300}\.[A-Za-z]\w{0,5})(?::|\", line )(\d{1,9})"
)
_EXCERPT_BYTES = 2048
_VALUE_LIMIT = 4096
_ACCEPTANCE_LIMIT = 200


class Outcome(NamedTuple):
    """A testcase's status; ``itemised`` results of it that a suite may have counted as red."""

    status: Status
    itemised: int
    flaky: bool


def read_case(attrib: Mapping[str, str], results: Sequence[Result]) -> Outcome:
    """The worst of a testcase's direct results, or what its attributes say without one (R3-R5).

    A case is flaky only when its producer says so and nothing else is wrong with it. A rerun
    without a failure is a failure: nothing says that any attempt passed.
    """
    worst: Status | None = None
    red = reruns = flaky = 0
    for result in results:
        kind = type(result)
        if (status := _STATUS.get(kind)) is not None:
            red += status >= Status.FAILED
            worst = status if worst is None else max(worst, status)
        elif kind is RerunFailure or kind is RerunError:
            reruns += 1
        else:
            flaky += 1
    if worst is None:
        worst = max(
            said.get(attrib.get(key, "").strip().lower(), Status.PASSED)
            for key, said in _SAID.items()
        )
    if reruns and worst < Status.FAILED:
        worst = Status.FAILED
    itemised = max(red, int(worst >= Status.FAILED)) + flaky
    return Outcome(worst, itemised, flaky > 0 and worst is Status.PASSED)


def worst_words(results: Sequence[Result]) -> tuple[str, str]:
    """Message and text of the worst result."""
    if not results:
        return "", ""
    worst = (
        results[0]
        if len(results) == 1
        else min(results, key=lambda result: _SEVERITY.index(type(result)))
    )
    return worst.message or "", worst.text or ""


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


def acceptance_ids(value: str) -> tuple[str, ...]:
    """The acceptance items that a property's value names, apart by spaces or commas."""
    ids = value[:_VALUE_LIMIT].replace(",", " ").split()
    return tuple(item for item in ids if len(item) <= _ACCEPTANCE_LIMIT)
