"""What GitHub is asked about people and edits, no more than a decision needs."""

from __future__ import annotations

from dataclasses import replace

from navci.model import GitHubRules
from navci.queue.approved import (
    Labelling,
    changes_since,
    labelling,
    refuse_change,
    unseen_edits,
)
from navci.queue.decide import Person, Refused, refuse_person
from navci.queue.refusals import Refusal
from navci.tickets.github import GitHub
from navci.tickets.github_answers import Happened, Issue


def person(github: GitHub, rules: GitHubRules, login: str, *, app: bool = False) -> Person:
    """``login`` and what it may do; one that is listed, or an app, is not asked for. 1 request.

    An app is known by what the event says of it; a ``[bot]`` in the login means nothing.
    """
    listed = login.casefold() in (name.casefold() for name in rules.allow_bots)
    known = Person(login, app=app, listed=listed and bool(login))
    if known.listed or app or not login:
        return known
    return replace(known, permission=github.permission(login))


def refuse_edits(
    github: GitHub,
    rules: GitHubRules,
    issue: Issue,
    timeline: tuple[Happened, ...],
    approved: Labelling,
) -> Refused | None:
    """An edit since the labelling by someone without write access. 1 request, 1 an editor."""
    edits = github.edits(issue.number)
    doubt = unseen_edits(approved, edits)
    for change in changes_since(approved, timeline, edits, issue.author) if doubt is None else ():
        doubt = refuse_change(change, person(github, rules, change.editor), approved)
        if doubt is not None:
            break
    return doubt


def approval(
    github: GitHub, rules: GitHubRules, issue: Issue, timeline: tuple[Happened, ...]
) -> tuple[Labelling | None, Refused | None]:
    """Whose labelling a queued issue stands on, and why it may not. 2 requests and the editors'."""
    found = labelling(timeline, rules)
    if found is None:
        return None, Refused(
            Refusal.NO_WRITE_ACCESS,
            f"GitHub does not tell who put {rules.label} on #{issue.number}; put it on again",
        )
    refused = refuse_person(person(github, rules, found.actor), f"put {rules.label} on")
    return found, refused or refuse_edits(github, rules, issue, timeline, found)
