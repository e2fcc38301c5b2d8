"""Why a check is red, in the words that stay the same from run to run and from place to place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from navci.model import CheckResult

_LINES = 3


def said_of(results: Iterable[CheckResult]) -> Mapping[str, str]:
    """Why what is red is red, without what differs from run to run: numbers and places.

    A test can be red here for what the task is about, and in a clone for a file it lacks.
    """
    said = {}
    for result in results:
        if result.passed:
            continue
        red = result.report.red if result.report and not result.blind else {}
        for test, text in red.items():
            said[f"{result.check}: {test}"] = "\n".join(essence(text)[:_LINES])
        if not red:
            lines = sorted(set(essence(f"{result.why}\n{result.excerpt}")))
            said[result.check] = "\n".join(lines)
    return said


def essence(text: str) -> list[str]:
    """The words of each line."""
    lines = (" ".join(_words(line)) for line in text.splitlines())
    return [line for line in lines if line]


def _words(line: str) -> list[str]:
    without_places = re.sub(r"\S*/\S*|\b0x[0-9a-fA-F]+\b", " ", line)
    return re.findall(r"[^\W\d_]+", without_places)
