"""What navci writes on GitHub: the issue's one comment, the call for a person, the pull request.

Everything that comes from an issue, an agent or a test is neutral before it gets here: no markup,
HTML, mention or reference of theirs works. The one mention is navci's own, of a login.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from navci.model import ENDS, AcceptanceItem, CheckResult, End, GitHubRules, ItemState
from navci.outcome import RunReport, note_of
from navci.report.gap_lines import gap_lines
from navci.report.job_summary import cost_of, fit, mark_of
from navci.report.prose import prose
from navci.system import neutral
from navci.system.clock import show_duration
from navci.system.templates import render

LIMIT = 60_000
"""Bytes; GitHub takes 65,536 characters of a comment."""

_LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})")
_ROWS, _GAPS, _NOTES, _ITEMS = 30, 20, 20, 100
_TO_LOOK_AT = ("edited ", "as they were at base", "unverified", "flaky", "no test command")


def issue_comment(report: RunReport, rules: GitHubRules, run_url: str) -> str:
    """The comment that is edited as the run goes on."""
    rows = report.iterations[-_ROWS:]
    text = render(
        "issue_comment.md.j2",
        r=report,
        mark=mark_of(report),
        headline=neutral.inline(report.headline),
        reason=prose(report.reason, 1000),
        next_step=ENDS[report.end].next_step if report.end and not report.complete else "",
        run_url=run_url,
        checks=_checks(report),
        gaps=_gaps(report),
        notes=[prose(note, 500) for note in report.notes[:_NOTES]],
        rows=[
            (
                str(one.number),
                one.judgement.phase.value,
                f"{one.judgement.progress}%",
                str(len(one.observation.gaps)),
                neutral.table_cell(note_of(one)) or "-",
            )
            for one in rows
        ],
        how=how_to_go_on(report.end, rules),
        duration=show_duration(report.seconds),
        cost=cost_of(report),
        code=neutral.code_span,
    )
    return fit(neutral.mask(text, report.secrets), LIMIT)


def needs_a_person(report: RunReport, rules: GitHubRules, run_url: str, who: str) -> str:
    """The new comment of an end that a person has to look at; ``who`` is the login to mention."""
    end = report.outcome
    text = render(
        "issue_mention.md.j2",
        who=who if _LOGIN.fullmatch(who) else "",
        headline=neutral.inline(report.headline),
        reason=prose(report.why, 1000),
        next_step=ENDS[end].next_step,
        how=how_to_go_on(report.end, rules),
        run_url=run_url,
    )
    return fit(neutral.mask(text, report.secrets), LIMIT)


def pull_request_title(report: RunReport) -> str:
    """The task's title as one plain line."""
    title = neutral.one_line(report.task.title, 200)
    return neutral.mask(title, report.secrets) or report.task.id


def pull_request_body(
    report: RunReport, rules: GitHubRules, run_url: str, number: int, *, closes: bool
) -> str:
    """What the pull request says: what was done, on which evidence, and what to look at.

    ``closes``: its merge closes the issue.
    """
    text = render(
        "pull_request.md.j2",
        r=report,
        number=number,
        closes=closes,
        mark=mark_of(report),
        headline=neutral.inline(report.headline),
        reason=prose(report.why, 1000),
        checks=[
            (
                neutral.table_code(c.check),
                f"{sign(c.passed)} {neutral.table_cell(c.why)}",
            )
            for c in report.checks[:50]
        ]
        if report.has_checks
        else [],
        items=[_item(item, report) for item in report.task.items[:_ITEMS]],
        gaps=_gaps(report),
        notes=[prose(n, 500) for n in report.notes if n.startswith(_TO_LOOK_AT)][:_NOTES],
        run_url=run_url,
        how=how_to_go_on(report.end, rules),
        duration=show_duration(report.seconds),
        cost=cost_of(report),
        code=neutral.code_span,
    )
    return fit(neutral.mask(text, report.secrets), LIMIT)


def how_to_go_on(end: End | None, rules: GitHubRules) -> str:
    """How a person stops, resumes or starts again (DESIGN §8: no dead ends)."""
    label = neutral.code_span(rules.label)
    if end is None:
        return "Write `/navci stop` in a comment to end the run; its work is kept."
    if end is End.AWAITING_APPROVAL:
        return (
            "Write `/navci continue`, `/navci adjust` and what to do otherwise, or `/navci abort` "
            "in a comment."
        )
    if end is End.COMPLETE:
        return f"To have more done, say what in the issue, reopen it, and put {label} on again."
    return f"To start it again, put the label {label} on, or write `/navci run` in a comment."


def sign(passed: bool) -> str:
    """Green or red."""
    return "✅" if passed else "❌"


def _checks(report: RunReport) -> list[str]:
    if not report.has_checks:
        return ["No check is configured: only the agent's word and git stand behind this."]
    return [
        f"{sign(check.passed)} {neutral.code_span(check.check)}: {prose(check.why, 300)}"
        for check in report.checks[:20]
        if isinstance(check, CheckResult) or report.iterations
    ]


def _gaps(report: RunReport) -> list[str]:
    known = report.last.observation.acceptance if report.last else {}
    items: Sequence[AcceptanceItem] = report.task.items
    lines = gap_lines(report.gaps, report.excerpts, items, known, limit=_GAPS)
    return [prose(line, 500) for line in lines]


def _item(item: AcceptanceItem, report: RunReport) -> tuple[str, str]:
    known = report.last.observation.acceptance if report.last else {}
    status = known.get(item.id)
    marks = {ItemState.SATISFIED: "✅", ItemState.UNVERIFIED: "❔"}
    mark = marks.get(status.state, "❌") if status else "❔"
    return neutral.table_cell(
        item.text
    ), f"{mark} {neutral.table_cell(status.why if status else '')}"
