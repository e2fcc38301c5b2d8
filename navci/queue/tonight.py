"""Tonight's issues: those that may have a run, in order, and why the others wait (DESIGN §9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from navci.errors import InfraError, TrackerError
from navci.queue import decide, order
from navci.queue.approved import labelling
from navci.queue.asking import approval
from navci.queue.blockers import blockers, refuse_blocked
from navci.queue.chosen import contract_of
from navci.queue.decide import Past, Refused
from navci.queue.journals import Journals
from navci.queue.order import Candidate
from navci.queue.refusals import Refusal
from navci.settings import Settings
from navci.system.clock import iso
from navci.tickets.github import GitHub
from navci.tickets.github_answers import Happened, Issue

MOST_EXAMINED = 400
"""So many issues are asked about in a night: a job's token has 1,000 requests an hour."""

DELETED = 410
"""What GitHub answers for an issue that was deleted."""

_ISSUE = "issue-"


@dataclass(frozen=True, slots=True)
class Row:
    """An issue, and what was decided about it; ``refusal`` is ``None`` where it was taken."""

    number: int
    title: str
    why: str
    refusal: Refusal | None = None


@dataclass(slots=True)
class Night:
    """What was decided. ``later``: how many wait for another night without being looked at.

    ``recovered``: labels put right; ``dropped``: tasks whose journals are deleted; ``notes``:
    what could not be done.
    """

    taken: list[Row] = field(default_factory=list)
    skipped: list[Row] = field(default_factory=list)
    recovered: list[Row] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    later: int = 0
    examined: int = 0

    def take(self, issue: Issue, why: str) -> None:
        """A run tonight."""
        self.taken.append(Row(issue.number, issue.title, why))

    def skip(self, issue: Issue, refused: Refused) -> None:
        """No run tonight."""
        self.skipped.append(Row(issue.number, issue.title, refused.why, refused.reason))

    @contextmanager
    def attempt(self, what: str) -> Iterator[None]:
        """Housekeeping: what of it fails is said, and keeps no issue waiting."""
        try:
            yield
        except InfraError as error:
            self.notes.append(f"{what}: {error}")


class Tonight:
    """One night's choice."""

    def __init__(self, github: GitHub, chosen: Settings, journals: Journals, now: datetime) -> None:
        self.night = Night()
        self._github = github
        self._chosen = chosen
        self._rules = chosen.github
        self._journals = journals
        self._now = now
        self._timelines: dict[int, tuple[Happened, ...]] = {}
        self._open: dict[int, bool | None] = {}

    def choose(self) -> Night:
        """Look at as many issues as tonight needs, and keep house.

        Raises :class:`TrackerError` when GitHub cannot be asked.
        """
        rules, night = self._rules, self.night
        found = {issue.number: issue for issue in self._github.labelled(rules.label)}
        for issue in self._github.labelled(rules.label_running):
            if self._recover(issue):
                found[issue.number] = issue
        self._open = dict.fromkeys(found, True)
        at = self._journals.at
        queue = order.ordered((Candidate(one, at.get(_task(one))) for one in found.values()), rules)
        most = order.limit(rules)
        for place, candidate in enumerate(queue):
            if len(night.taken) == most or night.examined == MOST_EXAMINED:
                night.later = len(queue) - place
                break
            self._examine(candidate)
        if night.examined == MOST_EXAMINED:
            night.notes.append(
                f"no more than {MOST_EXAMINED} issues are asked about in a night; {night.later} "
                "wait for another one. Take the label off those that are skipped every night"
            )
        with night.attempt("requests to stop of earlier runs could not be removed"):
            self._journals.forget_stops(f"{_ISSUE}{row.number}" for row in night.taken)
        self._drop_old(found)
        return night

    # --- one issue ------------------------------------------------------------------------

    def _examine(self, candidate: Candidate) -> None:
        issue, night = candidate.issue, self.night
        past = self._journals.past(_task(issue))
        try:
            refused = self._known(issue, past) or self._blocked(issue)
            if refused is None:
                night.examined += 1
                refused = self._approved(issue, past)
        except TrackerError as error:
            if error.kind not in ("gone", "moved"):
                raise
            refused = Refused(Refusal.GONE, str(error))
        if refused is not None:
            night.skip(issue, refused)
            return
        tried = f"last tried at {iso(candidate.at)}" if candidate.at else "never tried"
        night.take(issue, tried if not past.under_way else f"goes on; {tried}")

    def _known(self, issue: Issue, past: Past) -> Refused | None:
        """What can be said without asking GitHub again."""
        return (
            decide.refuse_issue(issue, self._rules, labelled=False)
            or decide.refuse_busy(past)
            or decide.refuse_text(issue)
            or decide.refuse_spent(
                past, contract_of(issue, self._chosen), self._chosen.rules.max_verify_failures
            )
        )

    def _blocked(self, issue: Issue) -> Refused | None:
        for number in blockers(issue, self._github.name):
            if number is None:
                return refuse_blocked(None, readable=False)
            if number not in self._open:
                self._open[number] = self._is_open(number)
            state = self._open[number]
            if state is not False:
                return refuse_blocked(number, readable=state is True)
        return None

    def _is_open(self, number: int) -> bool | None:
        """``None`` for an issue that cannot be read."""
        try:
            return not self._github.issue(number).closed
        except TrackerError as error:
            if error.passing or error.kind == "auth":
                raise
            return None

    def _approved(self, issue: Issue, past: Past) -> Refused | None:
        timeline = self._timeline(issue)
        found = labelling(timeline, self._rules)
        unarmed = decide.refuse_unarmed(past, found.at) if found else None
        return unarmed or approval(self._github, self._rules, issue, timeline)[1]

    def _timeline(self, issue: Issue) -> tuple[Happened, ...]:
        if issue.number not in self._timelines:
            self._timelines[issue.number] = self._github.timeline(issue.number)
        return self._timelines[issue.number]

    # --- keeping house --------------------------------------------------------------------

    def _recover(self, issue: Issue) -> bool:
        """Put the label of an issue right that says a loop works on it; whether it asks for one."""
        rules, night = self._rules, self.night
        past = self._journals.past(_task(issue))
        busy = decide.refuse_busy(past)
        if busy is None and order.starting(self._timeline(issue), rules, self._now):
            busy = Refused(Refusal.RUNNING, f"{rules.label_running} is new; a loop may just begin")
        if busy is not None:
            if not issue.has_label(rules.label):  # otherwise it is skipped with the others
                night.skip(issue, busy)
            return False
        asks = issue.has_label(rules.label)
        label = rules.label if asks else order.label_after(past, rules)
        with night.attempt(f"the labels of #{issue.number} could not be put right"):
            self._github.labels(
                issue.number, add=() if asks else (label,), remove=(rules.label_running,)
            )
            said = f"its run ended {past.ended}" if past.ended else "its run died"
            night.recovered.append(
                Row(issue.number, issue.title, f"{said}: {rules.label_running} → {label}")
            )
        return asks or label == rules.label

    def _drop_old(self, found: Iterable[int]) -> None:
        tasks = {f"{_ISSUE}{number}" for number in found}
        chosen = []
        with self.night.attempt("whether the tasks of old journals are closed could not be asked"):
            for task in order.worth_a_look(self._journals.at, tasks, self._now):
                if self._is_over(task):
                    chosen.append(task)
        with self.night.attempt("old journals could not be deleted"):
            if chosen:
                self._journals.drop(chosen)
                self.night.dropped += chosen

    def _is_over(self, task: str) -> bool:
        number = task.removeprefix(_ISSUE)
        if not (task.startswith(_ISSUE) and number.isascii() and number.isdigit()):
            return order.done_long_ago(self._journals.past(task))
        try:
            issue = self._github.issue(int(number))
        except TrackerError as error:
            # 404 is also what a token is told that may not see it.
            if error.kind in ("gone", "moved"):
                return error.status == DELETED
            raise
        return issue.closed and order.closed_long_ago(
            issue, self._github.timeline(issue.number), self._now
        )


def _task(issue: Issue) -> str:
    return f"{_ISSUE}{issue.number}"
