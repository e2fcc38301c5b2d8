"""What it means when GitHub does not do what it was asked, and the setting that mends it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from navci.errors import TrackerError, TrackerFault
from navci.system.clock import show_duration
from navci.system.neutral import one_line
from navci.tickets.retry import Trouble

_LATER = "what was not done is done by the next run"


@dataclass(frozen=True, slots=True)
class Errand:
    """What is asked of GitHub: ``doing`` completes "could not …", ``needs`` is the permission."""

    doing: str
    repository: str
    needs: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """One way GitHub refuses. ``words`` is looked for in what it says, lower case."""

    statuses: tuple[int, ...]
    words: str
    kind: TrackerFault
    means: str
    do: str


# The first that fits. The words are GitHub's own; where a rule has none its status is enough.
REFUSALS = (
    Refusal(
        (401,),
        "",
        "auth",
        "GitHub does not know the token",
        "it is wrong, revoked or expired (an app's lives one hour, a job's as long as the job); "
        "give `github-token` one that is valid",
    ),
    Refusal(
        (403,),
        "not permitted to create or approve pull requests",
        "permission",
        "the repository's settings do not let GitHub Actions open pull requests",
        "allow it under Settings, Actions, General, Workflow permissions, or give `github-token` "
        "the token of an app or a person, or set `pull-request: none`",
    ),
    Refusal(
        (403,),
        "is locked",
        "locked",
        "the conversation is locked, or became a discussion",
        "unlock it, or give `github-token` a token that may write there all the same",
    ),
    Refusal(
        (403,),
        "locked for migration",
        "locked",
        "{repository} is being migrated",
        "run again when it is through",
    ),
    Refusal(
        (403,),
        "archived",
        "locked",
        "{repository} is archived, and nothing in it can change",
        "unarchive it, or take the label off",
    ),
    Refusal(
        (403,),
        "saml",
        "permission",
        "the organization demands single sign-on of this token",
        "authorize the token for the organization, or use `github.token`",
    ),
    Refusal(
        (403,),
        "ip allow list",
        "permission",
        "the organization's IP allow list does not have this runner",
        "run on a runner that is on it",
    ),
    Refusal(
        (403,),
        "push access",
        "permission",
        "only a token with write access may ask for that",
        "give the job `permissions: contents: write`",
    ),
    Refusal(
        (403,),
        "personal access token",
        "permission",
        "the personal access token may not do that",
        "give it access to {repository} with `{needs}`",
    ),
    Refusal(
        (403,),
        "",
        "permission",
        "the token may not do that",
        "give the job `permissions: {needs}`; a read-only default is under Settings, Actions, "
        "General",
    ),
    Refusal(
        (404,),
        "",
        "gone",
        "GitHub has no such thing, or does not show it to this token",
        "see whether it was deleted, transferred or turned into a discussion; else give the job "
        "`permissions: {needs}`",
    ),
    Refusal(
        (410,),
        "disabled",
        "gone",
        "issues are switched off in {repository}",
        "switch them on under Settings, General, Features",
    ),
    Refusal(
        (410,),
        "",
        "gone",
        "it was deleted, or turned into a discussion",
        "open a new issue if the task still stands",
    ),
    Refusal(
        (451,), "", "gone", "GitHub has blocked access to {repository}", "see the notice there"
    ),
    Refusal(
        (422,),
        "no commits between",
        "refused",
        "the branch has nothing that its base does not have",
        "there is nothing to review; see whether it was merged already",
    ),
    Refusal(
        (422,),
        "head invalid",
        "refused",
        "the branch is not on GitHub",
        "see why it was not pushed",
    ),
    Refusal(
        (422,),
        "base invalid",
        "refused",
        "the branch to merge into is not on GitHub",
        "name another with `base`",
    ),
    Refusal(
        (422,),
        "too long",
        "refused",
        "the text is longer than GitHub takes",
        "this is a fault of navci's; please report it",
    ),
)
_GRAPHQL = {"NOT_FOUND": 404, "FORBIDDEN": 403, "INSUFFICIENT_SCOPES": 403}
_ANY_OTHER = Refusal(
    (), "", "refused", "GitHub refused it", "mend what it names, or report it as a fault of navci's"
)


def refused(errand: Errand, status: int, data: object) -> TrackerError:
    """An answer that is a refusal: 4xx, or errors in a GraphQL answer."""
    said = words_of(data)
    lower = said.lower()
    rule = next(
        (rule for rule in REFUSALS if status in rule.statuses and rule.words in lower), _ANY_OTHER
    )
    means, do = (
        text.format(repository=errand.repository, needs=errand.needs)
        for text in (rule.means, rule.do)
    )
    quoted = f"{status}: {said}" if said else str(status)
    message = f"could not {errand.doing}: {means} ({quoted}); {do}"
    return TrackerError(rule.kind, message, status=status, said=said)


def graphql(errand: Errand, answer: object) -> TrackerError | None:
    """The refusal in an answer to GraphQL, which comes as a 200; ``None``: there is none."""
    errors = answer.get("errors") if isinstance(answer, Mapping) else None
    if not isinstance(errors, list) or not errors:
        return None
    types = {error.get("type") for error in errors if isinstance(error, Mapping)}
    status = next((code for kind, code in _GRAPHQL.items() if kind in types), 400)
    return refused(errand, status, {"errors": errors})


def words_of(data: object) -> str:
    """What GitHub says in a refusal, its details too, on one line."""
    if not isinstance(data, Mapping):
        return ""
    errors = data.get("errors")
    parts = [data.get("message") or data.get("data")]
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, str):
            parts.append(error)
        elif isinstance(error, Mapping):
            named = f"{error.get('field', '')} {error.get('code', '')}".strip()
            parts.append(error.get("message") or named)
    kept = dict.fromkeys(re.sub(r"<[^>]*>", " ", part) for part in parts if isinstance(part, str))
    return one_line("; ".join(part for part in kept if part), 240)


def moved(errand: Errand, status: int, location: str) -> TrackerError:
    """A redirect. Followed, a write would be lost (307), and a list would lose its filter (301)."""
    there = one_line(location, 120) or "no address"
    if "/discussions/" in location:
        what, do = "it was turned into a discussion", "open a new issue if the task still stands"
    else:
        what = f"{errand.repository} was renamed, or the issue was transferred"
        do = "the next run starts under the new name; a transferred issue is labelled anew there"
    return TrackerError(
        "moved", f"could not {errand.doing}: {what} ({status}, now at {there}); {do}"
    )


def gave_up(errand: Errand, trouble: Trouble, *, waited: float, wait: float) -> TrackerError:
    """GitHub did not answer, or not yet: after ``waited`` seconds, with ``wait`` more to wait."""
    what = one_line(trouble.what, 240)
    if trouble.hopeless:
        do = "see whether GITHUB_API_URL, the proxy and the certificates are right"
        return TrackerError("unreachable", f"could not {errand.doing}: GitHub: {what}; {do}")
    kind: TrackerFault = "limit" if trouble.limit else "unreachable"
    tried = f" for {show_duration(waited)}" if waited >= 1 else ""
    again = f", and the next try would be in {show_duration(wait)}" if trouble.limit else ""
    return TrackerError(kind, f"could not {errand.doing}: GitHub: {what}{tried}{again}; {_LATER}")


def unclear(errand: Errand, trouble: Trouble) -> TrackerError:
    """A request that may have been carried out, and must not be sent again unlooked."""
    what = one_line(trouble.what, 240)
    return TrackerError(
        "unreachable",
        f"could not {errand.doing} for sure: GitHub: {what}; the next run looks before it tries"
        " again",
        unsure=True,
    )


def odd(errand: Errand, what: str) -> TrackerError:
    """An answer that is none of GitHub's."""
    return TrackerError(
        "unreachable",
        f"could not {errand.doing}: GitHub's answer makes no sense ({one_line(what, 200)}); see "
        "whether GITHUB_API_URL is right",
    )
