"""Where in a report its reader is: a frame for each element that has begun and not ended."""

from __future__ import annotations

from collections.abc import Mapping

from junitparser.junitparser import Result

from navci.evidence.junit_results import Results

# Of one testcase; a contract has at most 1,024 items.
_ACCEPTANCE_LIMIT = 1024
_VALUE_LIMIT = 4096
_ID_LIMIT = 200


class Suite:
    """A suite, or any wrapper around suites, with what was itemised before it began."""

    __slots__ = ("attrib", "cases", "itemised", "name")

    def __init__(self, name: str, attrib: Mapping[str, str], cases: int, itemised: int) -> None:
        self.name = name
        self.attrib = attrib
        self.cases = cases
        self.itemised = itemised


class Case:
    """A testcase. ``results`` are its direct result children but <skipped>, if it has any."""

    __slots__ = ("acceptance", "attrib", "results", "skipped")

    def __init__(self, attrib: Mapping[str, str]) -> None:
        self.attrib = attrib
        self.skipped = False
        self.results: Results | None = None
        self.acceptance: tuple[str, ...] = ()

    def accept(self, value: str) -> None:
        """It is evidence for the items that ``value`` names, apart by spaces or commas."""
        if len(self.acceptance) < _ACCEPTANCE_LIMIT:
            ids = value[:_VALUE_LIMIT].replace(",", " ").split()
            self.acceptance += tuple(item for item in ids if len(item) <= _ID_LIMIT)


class Properties:
    """The properties of ``case``; of what is in there only one property's value counts."""

    __slots__ = ("case",)

    def __init__(self, case: Case) -> None:
        self.case = case


class ResultText:
    """A result child of a testcase or a suite whose text is wanted, while it arrives."""

    __slots__ = ("result",)

    def __init__(self, result: Result) -> None:
        self.result = result


class Opaque:
    """Output, properties, what is inside a result: quoted text, where no result counts."""

    __slots__ = ()


OPAQUE = Opaque()
Frame = Suite | Case | Properties | ResultText | Opaque
