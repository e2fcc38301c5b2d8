"""The job summary: what a person sees first, on the page of the workflow run (DESIGN §8)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from navci.judge.gaps import ordered
from navci.model import ENDS, CheckResult, End, Iteration
from navci.outcome import RunReport, note_of
from navci.report.prose import prose
from navci.report.status_block import status_block
from navci.system import neutral
from navci.system.clock import show_duration
from navci.system.files import write_atomic
from navci.system.templates import render

# Above 1 MiB, in bytes, GitHub drops a step's whole summary (runner source). The rest is room
# for what other steps of the composite action wrote, and for secrets that masking makes longer.
LIMIT = 900 * 1024
_STEP_LIMIT = 1024 * 1024 - 4096

_ROWS, _GAPS, _BARS = 100, 100, 40
_BAR = 30
_MARKS = {
    None: "⏳",
    End.COMPLETE: "✅",
    End.AWAITING_APPROVAL: "⏳",
}
_FENCE = re.compile(r"(`{3,})([a-z-]*)$")


def job_summary(report: RunReport, *, in_job: bool = False) -> str:
    """The summary of ``report`` as Markdown, verdict first, at most ``LIMIT`` bytes of UTF-8.

    Only a job (``in_job``) has an artifact; elsewhere the folder is named that would be it.
    """
    gaps = ordered(report.gaps)
    last = report.last
    rows = report.iterations[-_ROWS:]
    text = render(
        "job_summary.md.j2",
        r=report,
        mark=mark_of(report),
        headline=neutral.inline(report.headline),
        title=neutral.inline(report.task.title),
        reason=prose(report.why if report.end else report.reason, 1000),
        next_step=ENDS[report.end].next_step if report.end else "",
        block=neutral.fence(status_block(last, report.rules), 8000) if last else "",
        chart=neutral.fence(_chart(rows)) if len(rows) > 1 else "",
        rows=[_row(iteration) for iteration in rows],
        rows_cut=len(report.iterations) - len(rows),
        checks=[(c.passed, neutral.code_span(c.check), prose(c.why)) for c in report.checks],
        gaps=[_gap(report, gap) for gap in gaps[:_GAPS]],
        gaps_cut=max(0, len(gaps) - _GAPS),
        notes=[prose(note, 500) for note in report.notes[:50]],
        duration=show_duration(report.seconds),
        cost=cost_of(report),
        marker=_path(report.marker) if report.marker else "",
        artifact=neutral.code_span(report.artifact) if in_job else "",
        folder=_path(report.run_dir / "artifact"),
        code=neutral.code_span,
    )
    return fit(neutral.mask(text, report.secrets), LIMIT)


def mark_of(report: RunReport) -> str:
    """The verdict as one sign."""
    return _MARKS.get(report.end, "❌")


def _gap(report: RunReport, gap: str) -> tuple[str, str]:
    """A gap's name and its evidence, where there is any; an acceptance item has words, too."""
    status = report.last.observation.acceptance.get(gap) if report.last else None
    words = next((item.text for item in report.task.items if item.id == gap), "")
    name = f"{gap} {neutral.one_line(words, 200)}" if words else gap
    if evidence := status.why if status else report.excerpts.get(gap):
        return neutral.html_escape(neutral.one_line(name, 500)), neutral.fence(evidence)
    return neutral.code_span(name, 500), ""


def _path(path: Path) -> str:
    return neutral.code_span(neutral.show_path(str(path), 1000), 1000)


def write_summary(text: str, env: Mapping[str, str]) -> str | None:
    """Make ``text`` this process's part of the file that ``GITHUB_STEP_SUMMARY`` names.

    Returns a note for people when that was not possible; ``None`` when it was, or when nobody
    asked (variable unset or empty). Never raises: a summary cannot end a run.
    """
    named = env.get("GITHUB_STEP_SUMMARY", "")
    return step_summary(named).write(text) if named else None


def summary_file(env: Mapping[str, str]) -> Path | None:
    """The file that ``GITHUB_STEP_SUMMARY`` names, where this process has its part in it."""
    named = env.get("GITHUB_STEP_SUMMARY", "")
    return step_summary(named).written if named else None


@cache
def step_summary(named: str) -> StepSummary:
    """The one summary of this process in the file ``named``: what was there first is kept."""
    return StepSummary(named)


class StepSummary:
    """A step's summary file. Ours is rewritten as a whole; what was there before us stays.

    ``written`` is where our part stands, once it does.
    """

    def __init__(self, named: str) -> None:
        self.written: Path | None = None
        self._named = named
        self._path = Path(named)
        self._before = b""
        self._problem: str | None = None
        try:
            if named.startswith(("/dev/", "/proc/")):
                # A rename would replace the device, or what our own output is redirected to.
                self._problem = "not a file"
            elif self._path.is_file():
                self._path = self._path.resolve()
                self._before = self._path.read_bytes()
            elif self._path.exists():
                self._problem = "not a file"
            elif not self._path.parent.is_dir():
                self._problem = "its folder does not exist"
        except OSError as error:
            self._problem = error.strerror or str(error)
        if self._before and not self._before.endswith(b"\n"):
            self._before += b"\n"

    def write(self, text: str) -> str | None:
        """Make ``text`` our part; a note for people when that was not possible."""
        problem = self._problem
        room = _STEP_LIMIT - len(self._before)
        if problem is None and room < 1024:
            problem = "other output of this step has used up its 1 MiB"
        if problem is None:
            ours = fit(text, room).encode("utf-8", "replace")
            try:
                write_atomic(self._path, self._before + ours)
                self.written = self._path.absolute()
            except OSError as error:
                problem = error.strerror or str(error)
        if problem is None:
            return None
        where = neutral.show_path(self._named)
        return f"the job summary was not written: GITHUB_STEP_SUMMARY names {where}: {problem}"


def fit(text: str, limit: int) -> str:
    """``text`` cut after a whole line to ``limit`` bytes of UTF-8, saying how much was cut.

    Open fences and ``<details>`` are closed, so that what comes after it in the file, and the cut's
    own line, are shown as what they are.
    """
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    kept, size, fence, details = 0, 0, "", 0
    lines = raw.decode().split("\n")
    for line in lines:
        size += len(line.encode()) + 1
        if size > limit - 400:  # Room for the closing lines below.
            break
        kept += 1
        if fence:
            fence = "" if line == fence else fence
        elif opened := _FENCE.match(line):
            fence = opened[1]
        else:
            details += line.startswith("<details") - line.startswith("</details>")
    head = lines[:kept]
    cut = len(raw) - len("\n".join(head).encode())
    closing = [*([fence] if fence else []), *["</details>"] * details, ""]
    closing.append(f"**Cut here: {cut / 1024:,.0f} KiB more; the marker has the whole list.**")
    return "\n".join([*head, *closing, ""])


def _row(iteration: Iteration) -> tuple[str, ...]:
    judged = iteration.judgement
    return (
        str(iteration.number),
        judged.phase.value,
        f"{judged.progress}%",
        f"{judged.gate.met}/{judged.gate.total}",
        str(len(iteration.observation.gaps)),
        f"`{judged.state_hash}`",
        " ".join(_check(check) for check in iteration.checks[:10]) or "-",
        neutral.table_cell(note_of(iteration)) or "-",
    )


def _check(check: CheckResult) -> str:
    return f"{'✅' if check.passed else '❌'} {neutral.table_code(check.check, 60)}"


def _chart(rows: tuple[Iteration, ...]) -> str:
    """Gaps by iteration as bars of text, which screen readers and ``cat`` can read."""
    counts = [(row.number, len(row.observation.gaps)) for row in rows[-_BARS:]]
    most = max(count for _, count in counts) or 1
    scale = min(1.0, _BAR / most)
    return "\n".join(
        f"{number:>3}  {'█' * max(round(count * scale), 1 if count else 0)} {count}".rstrip()
        for number, count in counts
    )


def cost_of(report: RunReport) -> str:
    """What the agent says it spent."""
    cost, tokens = report.spent.cost_usd, report.spent.tokens
    parts = [] if cost is None else [f"{cost:.2f} USD"]
    parts += [] if tokens is None else [f"{tokens:,} tokens"]
    return ", ".join(parts) or "not reported by the agent"
