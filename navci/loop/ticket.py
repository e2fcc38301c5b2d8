"""The issue on GitHub as the run goes on: labels, the comment, the pull request, the close.

Nothing here can end a run or change what it decided: what GitHub does not do is said, kept in the
journal as not done, and done by the next process (DESIGN §3.3, §8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from navci.actions.event import runtime_info
from navci.errors import InfraError, TrackerError
from navci.journal import CLOSING
from navci.loop.push import SPARE_TOKEN
from navci.loop.run import Run
from navci.model import ENDS, CloseIssue, End, GitHubRules, PullRequest
from navci.outcome import RunReport
from navci.report.on_github import (
    issue_comment,
    needs_a_person,
    pull_request_body,
    pull_request_title,
)
from navci.tickets.github import GitHub

NIGHTS = 3
"""So many resumable ends in a row; then a person has to look (DESIGN §4, ends)."""

_BRIEF = 20.0
_QUIET = frozenset({End.COMPLETE, End.USER_ABORTED})


@dataclass(slots=True)
class Ticket:
    """Issue ``number``. ``who`` asked for the run; ``hub`` is patient, ``brief`` is not.

    ``note`` is what a person told the agent by ``/navci adjust``. ``lost``: it does not answer;
    ``spared``: ``hub`` uses the job's own token.
    """

    hub: GitHub
    brief: GitHub
    number: int
    rules: GitHubRules
    who: str = ""
    note: str = ""
    run_url: str = ""
    lost: bool = False
    spared: bool = False

    @property
    def closes(self) -> bool:
        """Whether navci itself is to close the issue."""
        return self.rules.close_issue is CloseIssue.WHEN_COMPLETE


def connect(
    environment: Mapping[str, str], say: Callable[[str], None], stopped: Callable[[], bool]
) -> tuple[GitHub, GitHub] | None:
    """The repository on GitHub, patiently and briefly; ``None`` where there is no token for it."""
    if not (environment.get("NAVCI_GITHUB_TOKEN") and environment.get("GITHUB_REPOSITORY")):
        return None
    hub = GitHub.connect(environment, say=say, stopped=stopped)
    return hub, GitHub.connect(environment, say=say, stopped=stopped, deadline=_BRIEF)


def ticket_of(
    hubs: tuple[GitHub, GitHub], number: int, rules: GitHubRules, environment: Mapping[str, str]
) -> Ticket:
    """The ticket of a task that is an issue."""
    return Ticket(hubs[0], hubs[1], number, rules, run_url=runtime_info(environment).run_url)


def tell_opened(run: Run, report: RunReport) -> None:
    """The labels and the comment of a run that begins, or goes on."""
    ticket = run.ticket
    if ticket is None:
        return
    rules = ticket.rules
    others = (rules.label, *_outcomes(rules))
    run.attempt(
        "the issue was not labelled",
        lambda: ticket.hub.labels(ticket.number, add=[rules.label_running], remove=others),
    )
    tell_progress(run, report)


def tell_progress(run: Run, report: RunReport) -> None:
    """The comment, edited: one request. A GitHub that does not answer is asked again at the end."""
    ticket = run.ticket
    if ticket is None or ticket.lost:
        return
    body = issue_comment(report, ticket.rules, ticket.run_url)
    try:
        ticket.brief.sticky(ticket.number, run.task.id, body)
    except InfraError as error:
        ticket.lost = True
        run.note(f"the issue's comment was not edited: {error}")


def close_ticket(run: Run, end: End, report: Callable[[], RunReport]) -> None:
    """Pull request, close, labels and comments of an end, each once, on the latest ``report``."""
    ticket = run.ticket
    if ticket is None:
        return
    rules, number = ticket.rules, ticket.number
    if end is End.COMPLETE and run.state.head != run.state.base:
        _once(run, "pull request", "no pull request was opened", lambda: _pull(run, report()))
    elif run.state.pull_request:
        _once(run, "pull request", "the pull request was not renewed", lambda: _pull(run, report()))
    if end is End.COMPLETE and ticket.closes:
        run.close_problem = _why_open(run)
        if not run.close_problem:
            _once(run, "closed", "the issue was not closed", lambda: _close(run))
    _once(
        run,
        "labels",
        "the issue was not labelled",
        lambda: ticket.hub.labels(
            number,
            add=[label_after(end, run.state.pauses + 1, rules)],
            remove=[rules.label_running, rules.label],
        ),
    )
    _once(
        run,
        "comment",
        "the issue's comment was not edited",
        lambda: ticket.hub.sticky(
            number, run.task.id, issue_comment(report(), rules, ticket.run_url)
        ),
    )
    if end not in _QUIET:
        key = f"{run.task.id}/{run.state.run}/{run.state.pauses}"
        _once(
            run,
            "call",
            "nobody was told",
            lambda: ticket.hub.say(
                number, key, needs_a_person(report(), rules, ticket.run_url, ticket.who)
            ),
        )


def label_after(end: End, pauses: int, rules: GitHubRules) -> str:
    """The issue's label after ``end`` (DESIGN §4, ends); ``pauses``: with this one."""
    if end is End.COMPLETE:
        return rules.label_complete
    if end in (End.DECLINED, End.NO_OP):
        return rules.label_declined
    if end is End.AWAITING_APPROVAL:
        return rules.label_awaiting
    if ENDS[end].resumable and pauses < NIGHTS:
        return rules.label  # the next night goes on with it
    return rules.label_aborted


def is_finished(run: Run) -> bool:
    """Whether closing did all there was to do on GitHub."""
    return run.ticket is None or not unfinished(run)


def unfinished(run: Run) -> list[str]:
    """The steps of closing that GitHub has not done yet."""
    ticket, done = run.ticket, run.state.closing
    if ticket is None:
        return []
    wanted = ["labels", "comment"]
    if (run.state.end or run.state.deciding) is End.COMPLETE:
        if run.state.head != run.state.base and _wants_pull(run):
            wanted.insert(0, "pull request")
        if ticket.closes:
            wanted.insert(0, "closed")
    return [name for name in wanted if name not in done]


def _outcomes(rules: GitHubRules) -> tuple[str, ...]:
    return (
        rules.label_complete,
        rules.label_aborted,
        rules.label_declined,
        rules.label_awaiting,
    )


def _wants_pull(run: Run) -> bool:
    return (
        run.ticket is not None
        and run.ticket.rules.pull_request is not PullRequest.NONE
        and run.settings.push
    )


def _pull(run: Run, report: RunReport) -> None:
    ticket = run.ticket
    if ticket is None or not _wants_pull(run):
        return
    if not (run.pushed or "pushed" in run.state.closing):
        raise InfraError("the branch is not on the remote")
    rules = ticket.rules
    body = pull_request_body(
        report,
        rules,
        ticket.run_url,
        ticket.number,
        closes=rules.close_issue is CloseIssue.WHEN_MERGED,
    )
    base = run.state.base_branch or run.request.environment.get("GITHUB_REF_NAME", "") or "main"
    pull = ticket.hub.pull(
        run.state.branch,
        base,
        pull_request_title(report),
        body,
        draft=rules.pull_request is PullRequest.DRAFT,
    )
    run.journal.state = replace(run.state, pull_request=pull.url)


def _why_open(run: Run) -> str:
    """Why the issue must stay open for now: its work is not where people can take it up."""
    if run.state.head == run.state.base:
        return ""
    if not (run.pushed or "pushed" in run.state.closing):
        return "the branch is not on the remote, so the issue stays open"
    if _wants_pull(run) and "pull request" not in run.state.closing:
        return "there is no pull request yet, so the issue stays open"
    return ""


def _close(run: Run) -> None:
    ticket = run.ticket
    # One that a person closed meanwhile keeps the reason they gave.
    if ticket is not None and not ticket.hub.issue(ticket.number).closed:
        ticket.hub.close(ticket.number, "completed")


def _tried(run: Run, step: Callable[[], object]) -> None:
    """``step``, with the job's own token where the one that was given has died."""
    environment, ticket = run.request.environment, run.ticket
    spare = environment.get(SPARE_TOKEN)
    try:
        step()
    except TrackerError as error:
        if error.kind != "auth" or not spare or ticket is None or ticket.spared:
            raise
        run.note("the token `github-token` is not valid any more; the job's own token is used")
        ticket.spared = True
        ticket.hub = GitHub.connect(
            environment,
            token=spare,
            say=run.console.line,
            stopped=lambda: run.stop.requested is not None,
        )
        step()


def _once(run: Run, name: str, failed: str, step: Callable[[], object]) -> None:
    """A step of closing that no later process does again; one that fails is left to it."""
    if name in run.state.closing:
        return

    def do() -> None:
        try:
            _tried(run, step)
        except InfraError as error:
            if name == "closed":
                run.close_problem = str(error)
            raise
        state = replace(run.state, closing=(*run.state.closing, name))
        run.journal.append(CLOSING, state, {"step": name})

    run.attempt(failed, do)
