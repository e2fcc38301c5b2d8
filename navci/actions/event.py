"""What GitHub hands a job: the event's payload and the names of the run."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from navci.errors import ConfigError

_WITH_ISSUE = frozenset({"issues", "issue_comment"})


class _Tolerant(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Label(_Tolerant):
    name: str = ""


class _User(_Tolerant):
    login: str = ""


class _Issue(_Tolerant):
    number: int
    title: str | None = None
    body: str | None = None
    state: str = "open"
    labels: tuple[_Label, ...] = ()
    pull_request: dict[str, object] | None = None


class _Comment(_Tolerant):
    id: int = 0
    body: str | None = None


class _Repository(_Tolerant):
    full_name: str = ""
    private: bool = False


class _Payload(_Tolerant):
    action: str = ""
    issue: _Issue
    label: _Label | None = None
    comment: _Comment | None = None
    repository: _Repository = _Repository()
    sender: _User = _User()


@dataclass(frozen=True, slots=True)
class Event:
    """An ``issues`` or ``issue_comment`` event. ``title``, ``body``, ``comment``: raw, untrusted.

    ``label`` is the label that was just added or removed, ``labels`` all the issue has now.
    """

    name: str
    action: str
    number: int
    title: str
    body: str
    labels: tuple[str, ...]
    label: str | None
    comment: str | None
    repository: str
    sender: str
    closed: bool = False
    pull_request: bool = False
    private: bool = False


@dataclass(frozen=True, slots=True)
class RuntimeInfo:
    """Where navci runs. Outside Actions everything but ``in_actions`` may be empty."""

    in_actions: bool
    event_name: str
    run_id: str
    run_attempt: int
    repository: str
    server_url: str

    @property
    def run_url(self) -> str:
        """The page of this workflow run; empty outside Actions."""
        if not (self.in_actions and self.run_id and self.repository):
            return ""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"


def runtime_info(env: Mapping[str, str]) -> RuntimeInfo:
    """The runner's ``GITHUB_*`` variables, whichever of them there are."""
    attempt = env.get("GITHUB_RUN_ATTEMPT", "")
    return RuntimeInfo(
        in_actions=env.get("GITHUB_ACTIONS") == "true",
        event_name=env.get("GITHUB_EVENT_NAME", ""),
        run_id=env.get("GITHUB_RUN_ID", ""),
        run_attempt=int(attempt) if attempt.isascii() and attempt.isdigit() else 1,
        repository=env.get("GITHUB_REPOSITORY", ""),
        server_url=(env.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/"),
    )


def read_event(env: Mapping[str, str]) -> Event | None:
    """The event this job runs for; ``None`` outside Actions and for events without an issue.

    Raises :class:`ConfigError` when an event with an issue has no readable payload: the task, the
    sender and the label all come from it.
    """
    name = env.get("GITHUB_EVENT_NAME", "")
    if env.get("GITHUB_ACTIONS") != "true" or name not in _WITH_ISSUE:
        return None
    where = env.get("GITHUB_EVENT_PATH", "")
    if not where:
        raise ConfigError(
            f"GITHUB_EVENT_PATH is not set in a job for `{name}`; run navci as a step of the job, "
            "or pass `issue`, `task` or `task-file`"
        )
    try:
        if not stat.S_ISREG(Path(where).stat().st_mode):
            raise OSError(errno.EINVAL, "it is no file")  # and might never end
        payload = _Payload.model_validate(json.loads(Path(where).read_bytes()))
    except OSError as error:
        raise ConfigError(
            f"cannot read the event payload {where} ({error.strerror or error}); GITHUB_EVENT_PATH "
            "must name the file the runner wrote"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the payload"
        raise ConfigError(
            f"the event payload {where} is no `{name}` event: {place}: {first['msg']}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the event payload {where} is not JSON: {error}") from error
    issue = payload.issue
    return Event(
        name=name,
        action=payload.action,
        number=issue.number,
        title=issue.title or "",
        body=issue.body or "",
        labels=tuple(label.name for label in issue.labels if label.name),
        label=payload.label.name if payload.label else None,
        comment=(payload.comment.body or "") if payload.comment else None,
        repository=payload.repository.full_name or env.get("GITHUB_REPOSITORY", ""),
        sender=payload.sender.login,
        closed=issue.state == "closed",
        pull_request=issue.pull_request is not None,
        private=payload.repository.private,
    )
