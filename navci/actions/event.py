"""What GitHub hands a job: the event's payload and the names of the run."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from navci.actions.slash import Command, command_of_words, read_command
from navci.errors import ConfigError

_WITH_ISSUE = frozenset({"issues", "issue_comment"})
_DISPATCHES = frozenset({"workflow_dispatch", "repository_dispatch"})
_M = TypeVar("_M", bound=BaseModel)


class _Tolerant(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Label(_Tolerant):
    name: str = ""


class _User(_Tolerant):
    login: str = ""
    type: str = ""


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
    user: _User | None = None
    created_at: datetime | None = None


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


class _Dispatch(_Tolerant):
    action: str = ""
    inputs: dict[str, object] | None = None
    client_payload: dict[str, object] | None = None
    sender: _User | None = None


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
class Asked:
    """What a job was started for: which issue, by whom, to do what.

    ``issue`` is ``None`` for a schedule, and for a dispatch that names none. ``by`` is who asks:
    the sender, a comment's author; nobody for a schedule. ``by_app``: GitHub says that it is no
    person. ``rerun_by`` is who started the job again. ``event``: the payload's issue, where it
    has one. ``comment``: its id.
    """

    name: str
    action: str = ""
    issue: int | None = None
    by: str = ""
    by_app: bool = False
    command: Command | None = None
    event: Event | None = None
    comment: int = 0
    rerun_by: str = ""


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
        if not (self.repository and self.run_id):
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
    return _event(name, _read(env, name, _Payload), env)


def read_asked(env: Mapping[str, str]) -> Asked:
    """What this job was started for, whatever the event. Raises :class:`ConfigError` as above."""
    name = env.get("GITHUB_EVENT_NAME", "")
    rerun = env.get("GITHUB_TRIGGERING_ACTOR", "") if runtime_info(env).run_attempt > 1 else ""
    if env.get("GITHUB_ACTIONS") == "true" and name in _WITH_ISSUE:
        payload = _read(env, name, _Payload)
        comment, sender = payload.comment, payload.sender
        by = sender if comment is None else comment.user or sender
        return Asked(
            name=name,
            action=payload.action,
            issue=payload.issue.number,
            by=by.login,
            by_app=by.type == "Bot",
            command=read_command(comment.body or "") if comment else None,
            event=_event(name, payload, env),
            comment=comment.id if comment else 0,
            rerun_by=rerun,
        )
    if env.get("GITHUB_ACTIONS") == "true" and name in _DISPATCHES:
        dispatch = _read(env, name, _Dispatch)
        given = dispatch.inputs if name == "workflow_dispatch" else dispatch.client_payload
        given = given or {}
        who = dispatch.sender or _User()
        return Asked(
            name=name,
            action=dispatch.action,
            issue=issue_number(given.get("issue"), f"the `{name}` event's `issue`"),
            by=who.login,
            by_app=who.type == "Bot",
            command=command_of_words(str(given.get("command") or "run")),
            rerun_by=rerun,
        )
    return Asked(name=name, rerun_by=rerun)


def _event(name: str, payload: _Payload, env: Mapping[str, str]) -> Event:
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


def issue_number(given: object, where: str) -> int | None:
    """The number of an issue as people write it, ``7`` or ``#7``; ``None`` for nothing.

    Raises :class:`ConfigError`, which says ``where`` it stands.
    """
    text = str(given if given is not None else "").strip().removeprefix("#")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise ConfigError(f"{where} is {text[:40]!r}; give the number of an issue, like 7")
    return int(text)


def _read(env: Mapping[str, str], name: str, model: type[_M]) -> _M:
    """The payload the runner wrote. Raises :class:`ConfigError`."""
    where = env.get("GITHUB_EVENT_PATH", "")
    if not where:
        raise ConfigError(
            f"GITHUB_EVENT_PATH is not set in a job for `{name}`; run navci as a step of the job, "
            "or pass `issue`, `task` or `task-file`"
        )
    try:
        if not stat.S_ISREG(Path(where).stat().st_mode):
            raise OSError(errno.EINVAL, "it is no file")  # and might never end
        return model.model_validate(json.loads(Path(where).read_bytes()))
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
