"""The task: ids, acceptance items, the contract's hash, and what the agent is shown of it."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navci.errors import ConfigError
from navci.model import CheckSpec, Task
from navci.task import (
    build_contract,
    explicitly_off,
    first_heading,
    from_document,
    from_issue,
    from_text,
    text_for_agent,
    text_id,
)
from navci.task_items import items_of
from navci.task_text import visible

PYTEST = CheckSpec("tests", "pytest -q", ("build/*.xml",))


# --- where tasks come from ------------------------------------------------------------------


def test_a_texts_id_is_made_of_the_exact_text() -> None:
    assert from_text("Fix is_prime").id == "text-" + hashlib.sha256(b"Fix is_prime").hexdigest()[:8]
    assert from_text("Fix is_prime\n").id != from_text("Fix is_prime").id
    assert text_id("\udcff") == "text-" + hashlib.sha256(b"\xff").hexdigest()[:8]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Fix is_prime", "Fix is_prime"),
        ("\n\n  ## Fix   it ##\nmore", "Fix it"),
        ("<!-- note -->\nFix it", "Fix it"),
        ("x" * 300, "x" * 99 + "…"),
        ("C#\nmore", "C#"),
    ],
)
def test_a_texts_title_is_its_first_line(text: str, title: str) -> None:
    task = from_text(text)
    assert task.title == title
    assert task.body == text
    assert (task.has_ticket, task.closed, task.source) == (False, False, None)


def test_an_issue_is_its_own_ticket() -> None:
    task = from_issue(7, "Fix is_prime", "- [ ] nine is not prime", closed=True)
    assert (task.id, task.title, task.closed, task.has_ticket) == (
        "issue-7",
        "Fix is_prime",
        True,
        True,
    )
    assert [item.text for item in task.items] == ["nine is not prime"]


def test_an_issue_without_a_body_is_its_title() -> None:
    assert text_for_agent(from_issue(7, "Fix is_prime", None)) == "Fix is_prime"


def test_an_issue_without_a_title_people_see_is_named_by_its_number() -> None:
    assert from_issue(7, "\u200b", "do it").title == "Issue 7"


@pytest.mark.parametrize("text", ["", " \n\t", "\0", "\u200b\u202e", "<!-- only this -->", "<!--"])
def test_nothing_to_do_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="the task is empty; give the text"):
        from_text(text)
    with pytest.raises(ConfigError, match="the task is empty; write into issue #7"):
        from_issue(7, text, text)
    with pytest.raises(ConfigError, match=r"the task is empty; write into t\.md"):
        from_document("TASK-1", "x", text, source="t.md")


# --- the contract ---------------------------------------------------------------------------

LIST = "Fix is_prime.\n\n- [ ] nine is not prime\n- [ ] two is prime\n"


def contract(body: str, *checks: CheckSpec) -> str:
    return build_contract(from_issue(1, "Fix", body), checks or (PYTEST,)).hash


@pytest.mark.parametrize(
    "other",
    [
        LIST.replace("[ ]", "[x]"),
        LIST.replace("\n", "\r\n"),
        LIST.replace("Fix is_prime.", "Please, please fix it.\n\nIt is urgent."),
        "- [ ] two is prime\n- [ ] nine is not prime",
        LIST.replace("nine is", "nine\n  is"),
        LIST + "\n<!-- seen by nobody -->",
        LIST + "- [x] two is prime\n",
    ],
)
def test_what_does_not_change_the_demand_does_not_change_the_hash(other: str) -> None:
    assert contract(other) == contract(LIST)


@pytest.mark.parametrize(
    "other",
    [
        LIST.replace("nine", "Nine"),
        LIST + "- [ ] one is not prime\n",
        "- [ ] nine is not prime",
        "no list",
    ],
)
def test_another_demand_has_another_hash(other: str) -> None:
    assert contract(other) != contract(LIST)


def test_without_items_the_text_is_the_contract() -> None:
    assert contract("Fix it\r\nnow") == contract("Fix  it now\n")
    assert contract("Fix it now") != contract("Fix it")


def test_checks_are_part_of_the_contract() -> None:
    lint = CheckSpec("lint", "ruff check")
    assert contract(LIST, PYTEST, lint) == contract(LIST, lint, PYTEST)
    others = [
        contract(LIST, PYTEST, lint),
        contract(LIST, lint),
        contract(LIST, dataclasses.replace(PYTEST, command="true")),
        contract(LIST, dataclasses.replace(PYTEST, junit=())),
        contract(LIST, dataclasses.replace(PYTEST, may_write=("a",))),
        contract(LIST),
    ]
    assert len(set(others)) == len(others)
    assert contract(LIST, dataclasses.replace(PYTEST, timeout=1.0)) == contract(LIST)


def test_a_contract_carries_what_it_is_made_of() -> None:
    task = from_text(LIST)
    made = build_contract(task, [PYTEST])
    assert (made.items, made.checks) == (task.items, (PYTEST,))
    assert len(made.hash) == 64


# --- explicitly off -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("Please just do this once.", True),
        ("JUST  DO\nTHIS ONCE", True),
        ("just *do* this once", True),
        ("adjust do this once", False),
        ("just do this oncemore", False),
        ("Document `just do this once`", False),
        ("```\njust do this once\n```", False),
        ("<!-- just do this once -->\nwork", False),
        ("just do\n\nthis once", False),
    ],
)
def test_just_do_this_once_is_off_where_it_is_said(text: str, off: bool) -> None:
    assert bool(explicitly_off(from_text(text))) is off
    assert bool(explicitly_off(from_issue(1, "x", text))) is off


def test_it_may_stand_in_the_title() -> None:
    assert explicitly_off(from_issue(1, "Just do this once", None))


@pytest.mark.parametrize(("said", "off"), [(False, True), (True, False), (None, False)])
def test_a_document_may_say_loop_mode_false(said: bool | None, off: bool) -> None:
    task = from_document("TASK-1", "x", "x", source="tasks/TASK-1.md", loop_mode=said)
    reason = explicitly_off(task)
    assert bool(reason) is off
    assert reason is None or "tasks/TASK-1.md" in reason


# --- what the agent sees --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (from_text("Fix it\n\nSoon."), "Fix it\n\nSoon."),
        (from_issue(1, "Fix it", "Soon."), "# Fix it\n\nSoon."),
        (from_issue(1, "Fix it", "# Fix it\n\nSoon."), "# Fix it\n\nSoon."),
        (from_document("T-1", "Fix it", "Soon.", source="t.md"), "# Fix it\n\nSoon."),
    ],
)
def test_the_agent_is_told_the_title_once(task: Task, expected: str) -> None:
    assert text_for_agent(task) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("a <!-- hidden --> b", "a  b"),
        ("a <!-- hidden\nstill --> b", "a  b"),
        ("> a <!-- hidden\n> still --> b", "> a  b"),
        ("<!-- hidden -->\nseen", "\nseen"),
        ("<!-->seen -->", "seen -->"),
        ("<!-- hidden\n\n\n# hidden\n", ""),
        ("seen\n\n<div>\n<!-- hidden\n</div>\n\nhidden", "seen\n\n<div>\n"),
        ("`<!-- code -->`", "`<!-- code -->`"),
        ("```html\n<!-- code -->\n```", "```html\n<!-- code -->\n```"),
        ("    <!-- code -->", "    <!-- code -->"),
        ("a <!-- never closed", "a <!-- never closed"),
        ("a <!-- b <?hidden?> c", "a <!-- b  c"),
        ("\\` <!-- hidden --> `", "\\`  `"),
        ('<a title="`"> <!-- hidden --> `', '<a title="`">  `'),
        ("`\n\n<!-- hidden -->\n\n`", "`\n\n\n\n`"),
        ("\u200b```\n<!-- hidden -->\n\u200b```", "```\n\n```"),
        ("a <!X hidden> b <?php hidden ?> c", "a  b  c"),
        ("a < b and b > a; x <- y", "a < b and b > a; x <- y"),
        ("nul\0 bell\a esc\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link", "nul bell escred link"),
        ("tab\tand\r\nlines\rhere", "tab\tand\nlines\nhere"),
        ("bidi\u202e\u2066\u200f zero\u200b\u200d\ufeff soft\u00ad", "bidi zero soft"),
        ("tags\U000e0041\U000e0042 vs\ufe0f\U000e0101 fill\u3164\u2800", "tags vs fill"),
        ("line\u2028sep\u2029", "line\nsep\n"),
        ("bytes \udcff", "bytes \ufffd"),
        ("naïve 日本語 🎉 ±", "naïve 日本語 🎉 ±"),
    ],
)
def test_what_people_do_not_see_the_agent_does_not_see(markdown: str, expected: str) -> None:
    assert visible(markdown) == expected


@given(st.text())
def test_any_text_is_readable_and_encodable(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert "\0" not in shown
    items_of(text)


@pytest.mark.parametrize(
    "hostile",
    [
        "<!--" * 50_000,
        "<?" * 50_000,
        "a <!-- x --> " * 20_000,
        "- [ ] x\n" * 20_000,
        "> " * 20_000 + "<!--",
        "`" * 100_000,
        "<div>\n\n" * 20_000,
        "- [ ] x " + "(test=a) " * 20_000,
        "- [ ] x " + "(test=" * 20_000 + ")" * 20_000,
        "- [ ] x " + "(test=`" * 20_000,
    ],
    ids=["opened", "pi", "closed", "items", "quotes", "ticks", "blocks", "tags", "nested", "open"],
)
def test_hostile_text_takes_no_quadratic_time(hostile: str) -> None:
    started = time.monotonic()
    with contextlib.suppress(ConfigError):
        items_of(hostile)
    assert time.monotonic() - started < 8


def test_the_first_heading_is_one_people_see() -> None:
    assert (
        first_heading("<!-- # no -->\n```\n# no\n```\n\nYes *it* is\n===\n# later") == "Yes *it* is"
    )
    assert first_heading("no heading") == ""
