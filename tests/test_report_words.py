"""Sentences with code in them for Markdown, and open gaps as lines of a log."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from navci.model import AcceptanceItem, Gaps, ItemState, ItemStatus
from navci.report.gap_lines import gap_lines
from navci.report.prose import prose

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def read(markdown: str) -> list[tuple[str, str]]:
    """What a reader sees of one paragraph: kinds of text and their words, neighbours joined."""
    paragraph, inline, _ = MARKDOWN.parse(markdown)
    assert paragraph.type == "paragraph_open"
    seen: list[tuple[str, str]] = []
    for child in inline.children or ():
        kind = "text" if child.type == "text_special" else child.type
        if seen and seen[-1][0] == kind:
            seen[-1] = kind, seen[-1][1] + child.content
        else:
            seen.append((kind, child.content))
    return [(kind, words.replace("\u200b", "")) for kind, words in seen if words]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("`a` is *b*", [("code_inline", "a"), ("text", " is *b*")]),
        ("give `--agent`: `x_y`, <b>", [
            ("text", "give "), ("code_inline", "--agent"), ("text", ": "), ("code_inline", "x_y"),
            ("text", ", <b>"),
        ]),
        ("# `a`", [("text", "# "), ("code_inline", "a")]),
        ("a ` b", [("text", "a ` b")]),
        ("`` a ` b ``", [("code_inline", "a ` b")]),
        ("a\\`b` c", [("text", "a\\"), ("code_inline", "b"), ("text", " c")]),
        ("``a` b`", [("text", "``a"), ("code_inline", " b")]),
        ("@ada `@ada` #12", [("text", "@ada "), ("code_inline", "@ada"), ("text", " #12")]),
        ("two\nlines `of\nit`", [("text", "two lines "), ("code_inline", "of it")]),
    ],
)  # fmt: skip
def test_code_is_code_and_the_rest_is_words(text: str, seen: list[tuple[str, str]]) -> None:
    assert read(prose(text)) == [(kind, words.strip() if kind == "code_inline" else words)
                                 for kind, words in seen]  # fmt: skip


@given(st.text("`~<>#|*_[]()!\\-+=$\n @x1/&.", min_size=1, max_size=40))
def test_nothing_else_is_markup(text: str) -> None:
    shown = prose(text, 1000)
    kinds = {child.type for token in MARKDOWN.parse(shown) for child in token.children or ()}
    assert kinds <= {"text", "text_special", "code_inline"}
    assert {token.type for token in MARKDOWN.parse(shown)} <= {
        "paragraph_open", "inline", "paragraph_close",
    }  # fmt: skip
    if shown:
        seen = "".join(words for _, words in read(shown))
        assert re.sub(r"[`\s]", "", seen) == re.sub(r"[`\s]", "", text)


def test_it_is_as_long_as_it_may_be() -> None:
    assert prose("`" + "x" * 500, 20) == "\\`" + "x" * 18 + "…"


ITEM = AcceptanceItem("acc-0123456789abcdef", "1 is no `prime`")
GAPS = Gaps(acc=frozenset({ITEM.id}), chk=frozenset({"check:tests", "test:a::b", "guard:x"}))
EXCERPTS = {
    "check:tests": "`make` exited 2\nloud output",
    "test:a::b": "\ntest_a.py:7\nassert 1 == 2\nmore of it",
}


def test_each_gap_says_what_the_evidence_says_first() -> None:
    status = ItemStatus(ItemState.FAILED, "`a::b` is red")
    assert gap_lines(GAPS, EXCERPTS, [ITEM], {ITEM.id: status}) == [
        "`1 is no 'prime'`: `a::b` is red",
        "`check:tests`: `make` exited 2",
        "`guard:x`",
        "`test:a::b`: test_a.py:7: assert 1 == 2",
    ]


def test_of_many_gaps_the_first_and_how_many_more() -> None:
    assert gap_lines(GAPS, {}, limit=1) == [f"`{ITEM.id}`", "and 3 more"]
    assert gap_lines(Gaps(), {}) == []
    many = gap_lines(Gaps(chk=frozenset({"x" * 900})), {"x" * 900: "y" * 900}, width=50)
    assert len(many[0]) == 2 + 50 + 2 + 50
