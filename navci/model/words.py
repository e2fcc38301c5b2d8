"""The words of the loop: phases, indicators, strategies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Where the work stands (Navigator nav-loop)."""

    INIT = "INIT"
    RESEARCH = "RESEARCH"
    IMPL = "IMPL"
    VERIFY = "VERIFY"
    COMPLETE = "COMPLETE"


class Indicator(StrEnum):
    """The six completion indicators, in the order people see them (Navigator nav-loop)."""

    CODE_COMMITTED = "code_committed"
    TESTS_PASSING = "tests_passing"
    CODE_SIMPLIFIED = "code_simplified"
    DOCS_UPDATED = "docs_updated"
    TICKET_CLOSED = "ticket_closed"
    MARKER_CREATED = "marker_created"


CLOSING = frozenset({Indicator.TICKET_CLOSED, Indicator.MARKER_CREATED})
"""What only navci's own closing makes true: nothing an agent can be asked for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one indicator says: ``True`` met, ``False`` unmet, ``None`` not applicable; and why."""

    met: bool | None
    why: str


Indicators = Mapping[Indicator, Reading]


class Strategy(StrEnum):
    """How a diversification changes the approach (Navigator nav-loop; ``rotate`` is navci's)."""

    COMBINE = "combine"
    RADICAL = "radical"
    REREAD = "reread"
    ROTATE = "rotate"
