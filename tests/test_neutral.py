from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from navci.system import neutral

HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from("`*_[]()<>#|\\&@-+=~!.:/ \t\n\r\x1b\x9b\u2028\u200b\u202e1aGH"),
        st.characters(),
    ),
    max_size=80,
)


def markdown(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def inner(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in token.children or ()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "red", id="CSI"),
        pytest.param("\x9b31mred", "red", id="CSI as one C1 byte"),
        pytest.param("\x1b]8;;https://evil\x1b\\link\x1b]8;;\x07", "link", id="OSC hyperlink"),
        pytest.param("\x1bPq#0\x1b\\x", "x", id="DCS"),
        pytest.param("\x1b(Bx\x1bc", "x", id="other escapes"),
        pytest.param("[31mred[39;49m", "red", id="remnants of colours"),
        pytest.param("rate(x[5m]) a[i] [200ms]", "rate(x[5m]) a[i] [200ms]", id="no remnants"),
        pytest.param("\x1b", "", id="a lone escape"),
    ],
)
def test_no_ansi(text: str, expected: str) -> None:
    assert neutral.no_ansi(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\r\nb\rc\u2028d\x0be", "a\nb\nc\nd\ne", id="every newline is LF"),
        pytest.param("a\x00b\x07\x08c\x7f", "abc", id="controls"),
        pytest.param("a\u202eb\u2066c\u200fd", "abcd", id="bidirectional"),
        pytest.param("a\u200bb\ufeffc\u00add", "abcd", id="zero width"),
        pytest.param("a\U000e0041b", "ab", id="tag characters"),
        pytest.param("a\udcffb", "a\ufffdb", id="bytes that were not UTF-8"),
        pytest.param("naïve 日本 🎉\tx", "naïve 日本 🎉\tx", id="real text stays"),
    ],
)
def test_plain(text: str, expected: str) -> None:
    assert neutral.plain(text) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a b.py", "src/a b.py"),
        ("a\nb", "a\\x0ab"),
        ("a\udcff", "a\\xff"),
        ("a\u202eb", "a\\u202eb"),
        ("é/日本", "é/日本"),
    ],
)
def test_show_path(path: str, expected: str) -> None:
    assert neutral.show_path(path) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("**x** _y_ `z`", r"\*\*x\*\* \_y\_ \`z\`", id="emphasis and code"),
        pytest.param("snake_case", "snake_case", id="no needless escapes"),
        pytest.param("<img src=x>", r"\<img src=x\>", id="HTML"),
        pytest.param("&lt;b&gt;", "&amp;lt;b&amp;gt;", id="entities"),
        pytest.param("# head", r"\# head", id="heading"),
        pytest.param("1. item", r"1\. item", id="list item"),
        pytest.param("hi @ada", "hi @\u200bada", id="mention"),
        pytest.param("see #12 and GH-12", "see #\u200b12 and GH-\u200b12", id="issues"),
        pytest.param("deadbeef1", "d\u200beadbeef1", id="commit"),
        pytest.param("https://x.y", "https:\u200b//x.y", id="address"),
        pytest.param("a\n\n# b", "a # b", id="one line"),
    ],
)
def test_inline(text: str, expected: str) -> None:
    assert neutral.inline(text) == expected


@given(HOSTILE)
def test_inline_is_only_text(text: str) -> None:
    tokens = markdown(f"- before\n- {neutral.inline(text)}\n")
    assert {token.type for token in tokens} <= {
        "bullet_list_open",
        "list_item_open",
        "paragraph_open",
        "inline",
        "paragraph_close",
        "list_item_close",
        "bullet_list_close",
    }
    assert {token.type for token in inner(tokens)} <= {"text", "text_special"}


@given(HOSTILE)
def test_inline_shows_the_text_itself(text: str) -> None:
    tokens = markdown(f"x {neutral.inline(text)}")
    shown = "".join(token.content for token in inner(tokens)).replace("\u200b", "")
    assert shown.strip() == f"x {neutral.one_line(text)}".strip()


@given(HOSTILE, HOSTILE)
def test_a_table_keeps_its_shape(one: str, two: str) -> None:
    row = f"| {neutral.table_cell(one)} | {neutral.table_code(two)} | end |"
    tokens = markdown(f"| a | b | c |\n|---|---|---|\n{row}\n")
    cells = [
        tokens[i + 1].content.strip() for i, token in enumerate(tokens) if token.type == "td_open"
    ]
    assert len(cells) == 3
    assert cells[-1] == "end"
    assert not [token for token in inner(tokens) if token.type.startswith(("html", "link", "em"))]


@given(HOSTILE)
def test_code_span_holds_all_of_its_text(text: str) -> None:
    span = neutral.code_span(text)
    kinds = [token.type for token in inner(markdown(f"x {span}"))]
    assert kinds == ["text", "code_inline"] if span else kinds == ["text"]


@given(HOSTILE, st.integers(3, 200))
def test_nothing_closes_a_fence(text: str, limit: int) -> None:
    tokens = markdown(f"before\n\n{neutral.fence(text, limit)}\n\nafter\n")
    assert [token.type for token in tokens] == [
        "paragraph_open",
        "inline",
        "paragraph_close",
        "fence",
        "paragraph_open",
        "inline",
        "paragraph_close",
    ]


@given(HOSTILE)
def test_plain_can_always_be_encoded_and_is_stable(text: str) -> None:
    clean = neutral.plain(text)
    clean.encode()
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u200b]", clean)


def test_fence_leaves_out_the_middle_and_says_so() -> None:
    text = neutral.fence("head\n" + "x\n" * 5000 + "tail", limit=300)
    assert "head" in text
    assert "tail" in text
    assert re.search(r"… 9,\d{3} characters left out …", text)
    assert len(text) < 400


def test_one_line_says_that_it_was_cut() -> None:
    assert neutral.one_line("x" * 50, 10) == "x" * 9 + "…"


def test_html_escape() -> None:
    assert (
        neutral.html_escape("<a title='\"'>&\x1b[1m") == "&lt;a title=&#x27;&quot;&#x27;&gt;&amp;"
    )


@pytest.mark.parametrize(
    ("text", "secrets", "expected"),
    [
        pytest.param("key=hunter22!", ["hunter22"], "key=***!", id="a value"),
        pytest.param("line-two-x", ["line-one-x\nline-two-x"], "***", id="a line of one"),
        pytest.param("abcdefgh", ["abcd", "abcdefgh"], "***", id="the longest first"),
        pytest.param("1 of 3", ["1", ""], "1 of 3", id="too short to mask"),
    ],
)
def test_mask(text: str, secrets: list[str], expected: str) -> None:
    assert neutral.mask(text, secrets) == expected
