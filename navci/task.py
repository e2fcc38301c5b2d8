"""The task: what to do, and what of it must become true.

A task's text is data written by someone else. It is read as Markdown, the way a person sees it
on the page: what the page hides (comments, invisible characters) does not reach the agent.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from navci.errors import ConfigError
from navci.model import AcceptanceItem, Binding, BindingKind, CheckSpec, Contract, Task
from navci.settings_bindings import unknown_checks
from navci.system.canonical import digest
from navci.task_items import brief, items_of
from navci.task_text import commonmark, normalised, visible

MAX_HEADLINE = 100  # of a text, whose title is its first line
MAX_TITLE = 256  # GitHub's limit for an issue's title

_ONCE = re.compile(r"\bjust\s+do\s+this\s+once\b", re.IGNORECASE)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+|\s+#+\s*$")


# --- where a task comes from ----------------------------------------------------------------


def from_text(text: str) -> Task:
    """A task given as text; its id is made of the exact text, so the same text is the same task.

    Raises :class:`ConfigError` when there is nothing in it to do.
    """
    seen = _something(text, "give the text of what to do with --task")
    return Task(
        id=text_id(text), title=_first_line(seen, MAX_HEADLINE), body=text, items=items_of(text)
    )


def from_issue(number: int, title: str, body: str | None, *, closed: bool = False) -> Task:
    """A task that is a GitHub issue. An issue without a body is its title."""
    _something(f"{title}\n\n{body or ''}", f"write into issue #{number} what to do")
    return Task(
        id=f"issue-{number}",
        title=_first_line(visible(title)) or f"Issue {number}",
        body=body or "",
        items=items_of(body or ""),
        closed=closed,
        has_ticket=True,
    )


def from_document(
    task_id: str,
    title: str,
    body: str,
    *,
    source: str,
    loop_mode: bool | None = None,
    closed: bool = False,
) -> Task:
    """A task that is a document of the repository; the document is its own ticket."""
    _something(body, f"write into {source} what to do")
    return Task(
        id=task_id,
        title=_first_line(visible(title)) or task_id,
        body=body,
        items=items_of(body),
        source=source,
        loop_mode=loop_mode,
        closed=closed,
        has_ticket=True,
    )


def text_id(text: str) -> str:
    """``text-`` and the first 8 hex digits of the text's SHA-256 (DESIGN §1)."""
    return f"text-{hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


# --- what becomes of it ---------------------------------------------------------------------


def text_for_agent(task: Task) -> str:
    """The task as the agent is told it: Markdown, without what people do not see of it."""
    body = visible(task.body).strip("\n")
    if not body:
        return task.title
    if task.id.startswith("text-") or task.title in body.partition("\n")[0]:
        return body
    return f"# {task.title}\n\n{body}"


def build_contract(
    task: Task,
    checks: Sequence[CheckSpec],
    *,
    strict: bool = False,
    acceptance: Mapping[str, Sequence[Binding]] | None = None,
) -> Contract:
    """What must become true, and its hash.

    Ticks, line ends, the order of items and checks, and, where there are items, the prose around
    them are not part of the hash; nor is a check's time limit, which bounds a check without
    changing what it demands. ``acceptance`` is the settings' map: by an item's id, eight or more
    of that id's digits, an id its line gives it, or its text.

    Raises :class:`ConfigError` for an item bound to a check that is not required.
    """
    bindings = _bindings(task.items, acceptance or {})
    _refuse_unknown(task.items, bindings, [check.id for check in checks])
    wanted: dict[str, object] = {"text": normalised(text_for_agent(task))}
    if task.items:
        wanted = {"items": sorted(item.id for item in task.items)}
        if bindings:
            wanted["bindings"] = {
                item: sorted(f"{one.kind}={one.value}" for one in bound)
                for item, bound in bindings.items()
            }
        if strict:
            wanted["strict"] = True
    demanded = [
        {
            "id": check.id,
            "command": check.command.replace("\r\n", "\n").strip(),
            "junit": sorted(set(check.junit)),
            "may_write": sorted(set(check.may_write)),
        }
        for check in sorted(checks, key=lambda check: check.id)
    ]
    return Contract(
        hash=digest({"contract": 1, "task": wanted, "checks": demanded}),
        items=task.items,
        checks=tuple(checks),
        bindings=bindings,
        strict=strict,
        notes=tuple(_contract_notes(task.items, strict)),
    )


def _bindings(
    items: Sequence[AcceptanceItem], mapped: Mapping[str, Sequence[Binding]]
) -> dict[str, tuple[Binding, ...]]:
    """What each item is bound to: by its line, else by the map, else by an id it was given."""
    found: dict[str, tuple[Binding, ...]] = {}
    table = {normalised(key): bindings for key, bindings in mapped.items()}
    for item in items:
        names = [one.value for one in item.bindings if one.kind is BindingKind.ID]
        digits = [item.id[:end] for end in range(len("acc-") + 8, len(item.id) + 1)]
        keys = (item.text, *names, *digits)
        more = tuple(one for key in keys for one in table.get(key, ()))
        bound = _firm(item.bindings) or _firm(more) or (*item.bindings, *more)
        if bound:
            found[item.id] = tuple(dict.fromkeys(bound))
    return found


def _firm(bindings: Sequence[Binding]) -> tuple[Binding, ...]:
    """Those that say themselves what the evidence is; an id waits for evidence to carry it."""
    return tuple(one for one in bindings if one.kind is not BindingKind.ID)


def _refuse_unknown(
    items: Sequence[AcceptanceItem],
    bindings: Mapping[str, Sequence[Binding]],
    checks: Sequence[str],
) -> None:
    problems = [
        f"the acceptance item “{brief(item.text)}” is bound to the check `{name}`, which is not "
        f"there; known: {', '.join(checks) or 'none'}"
        for item in items
        for name in unknown_checks(bindings.get(item.id, ()), checks)
    ]
    if problems:
        raise ConfigError(*problems)


def _contract_notes(items: Sequence[AcceptanceItem], strict: bool) -> Iterator[str]:
    for item in items:
        if item.times > 1:
            yield (
                f"the acceptance item “{brief(item.text)}” stands {item.times} times in the task, "
                "and counts once"
            )
    if strict and not items:
        yield (
            "`acceptance` is strict, but the task has no task list (`- [ ] …`): only the checks "
            "are demanded"
        )


def explicitly_off(task: Task) -> str | None:
    """Why this task must not be looped (DESIGN §9), or ``None``.

    The words count where they are said, not where code quotes them.
    """
    if task.loop_mode is False:
        return f"{task.source or 'the task'} says `loop_mode: false`"
    said = " ".join((*_prose(visible(task.title)), *_prose(visible(task.body))))
    if _ONCE.search(said):
        return 'the task says "just do this once"'
    return None


# --- its words ------------------------------------------------------------------------------


def first_heading(markdown: str) -> str:
    """The text of the first heading people see in ``markdown``, or nothing."""
    tokens = commonmark().parse(visible(markdown))
    for opened, inline in pairwise(tokens):
        if opened.type == "heading_open" and inline.content.strip():
            return normalised(inline.content)
    return ""


def _prose(markdown: str) -> Iterator[str]:
    """The words of ``markdown`` that are not code, block by block."""
    for token in commonmark().parse(markdown):
        parts = token.children or () if token.type == "inline" else ()
        words = [part.content if part.type == "text" else " " for part in parts if not part.nesting]
        if words:
            # A full stop between blocks: words of two blocks make no phrase.
            yield "".join(words) + " ."


def _something(text: str, remedy: str) -> str:
    seen = visible(text)
    if not seen.strip():
        raise ConfigError(f"the task is empty; {remedy}")
    return seen


def _first_line(text: str, limit: int = MAX_TITLE) -> str:
    for line in text.split("\n"):
        if title := normalised(_HEADING.sub("", line)):
            return title if len(title) <= limit else f"{title[: limit - 1].rstrip()}…"
    return ""
