"""Signals: every accepted form, and none of the look-alikes (DESIGN §5; Navigator cases 26-36)."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from navci.evidence.signals import MAX_TEXT, read_signals
from navci.model import ExitSignal, Hypothesis, Signals

F = "```"
EXIT = '{"v":2,"type":"exit","success":true,"reason":"done"}'
DONE = ExitSignal(success=True, no_op=False, reason="done")
FENCE = f"{F}pilot-signal\n{EXIT}\n{F}"
V3 = '<!-- nav-signal:v3:{"type":"exit","reason":"done"} -->'


def fence(text: str) -> str:
    return f"{F}pilot-signal\n{text}\n{F}\n"


ACCEPTED = {
    "fence": FENCE,
    "fence after prose, without a blank line": f"All green.\n{FENCE}",
    "fence, trailing spaces on both fence lines": f"{F}pilot-signal  \n{EXIT}\n{F}  ",
    "fence, a space before the word": f"{F} pilot-signal\n{EXIT}\n{F}",
    "fence, more words": f"{F}pilot-signal json\n{EXIT}\n{F}",
    "fence, indented by three": f"   {F}pilot-signal\n   {EXIT}\n   {F}",
    "fence of tildes": f"~~~pilot-signal\n{EXIT}\n~~~",
    "fence, longer": f"{F}``pilot-signal\n{EXIT}\n{F}``",
    "fence, CRLF (case 26)": FENCE.replace("\n", "\r\n"),
    "fence, lone CR": FENCE.replace("\n", "\r"),
    "fence, pretty-printed": fence('{\n  "v": 2,\n  "type": "exit",\n  "reason": "done"\n}'),
    "fence, success absent": fence('{"v":2,"type":"exit","reason":"done"}'),
    "fence, v absent": fence('{"type":"exit","reason":"done"}'),
    "fence, another v": fence('{"v":99,"type":"exit","reason":"done"}'),
    "fence, unknown field": fence('{"type":"exit","reason":"done","x":[1,{"y":null}]}'),
    "fence after a byte order mark": f"\ufeff{FENCE}",
    "fence after a zero-width space": f"\u200b{FENCE}",
    "fence, coloured": f"\x1b[32m{F}pilot-signal\x1b[0m\n{EXIT}\n\x1b[1m{F}\x1b[0m",
    "fence below an open <details>": f"<details>\n\n{FENCE}\n\n</details>",
    "fence after a closed example": f"{F}md\nx\n{F}\n{FENCE}",
    "fence after an unpaired comment in a fence": f"{F}\n<!--\n{F}\n\n{FENCE}",
    "fence in a comment": f"<!--\n{FENCE}\n-->",
    "fence in a comment, after prose": f"Bye.\n<!--\n{FENCE}\n-->\nMore.",
    "v3": V3,
    "v3 between paragraphs' lines": f"before\n{V3}\nafter",
    "v3, indented, spaces": '  <!--  nav-signal:v3: {"type":"exit","reason":"done"}-->  ',
    "bare line": EXIT,
    "bare line, spaces": '{ "v" : 2, "type": "exit", "reason": "done" }  ',
    "bare line in a paragraph": f"All done.\n{EXIT}\nBye.",
    "bare line after one-line code spans": f"`a` ``b`` <!-- c -->\n{EXIT}\n`d`",
}

NOTHING = {
    "empty": "",
    "prose (case 34)": "I will set EXIT_SIGNAL: true when the type is exit; signal follows.",
    "legacy word": "EXIT_SIGNAL: true\n\nLOOP COMPLETE",
    "in another fence (case 35)": f"````md\n{FENCE}\n````",
    "in a tilde fence": f"~~~\n{FENCE}\n~~~",
    "nested fences of one length": f"{F}markdown\n{FENCE}\n{F}",
    "in a quote": "\n".join(f"> {line}" for line in FENCE.split("\n")),
    "in a list": f"- so:\n\n  {F}pilot-signal\n  {EXIT}\n  {F}",
    "on a bullet": f"- {F}pilot-signal\n  {EXIT}\n  {F}",
    "in a numbered list": f"1. so\n   {F}pilot-signal\n   {EXIT}\n   {F}",
    "indented code": "\n".join(f"    {line}" for line in FENCE.split("\n")),
    "tab-indented code": "\n".join(f"\t{line}" for line in FENCE.split("\n")),
    "unfenced": f"pilot-signal {EXIT}",
    "another word": f"{F}pilot-signals\n{EXIT}\n{F}",
    "not the first word": f"{F}json pilot-signal\n{EXIT}\n{F}",
    "capitals": f"{F}Pilot-Signal\n{EXIT}\n{F}",
    "entity in the word": f"{F}pilot&#45;signal\n{EXIT}\n{F}",
    "inline code": f"`{F}pilot-signal {EXIT}`",
    "in <details> without blank lines": f"<details>\n{FENCE}\n</details>",
    "in <pre>": f"<pre>\n{FENCE}\n</pre>",
    "example fence in a comment": f"<!--\n````\n{FENCE}\n````\n-->",
    "quoted fence in a comment": f"<!--\n> {F}pilot-signal\n> {EXIT}\n> {F}\n-->",
    "comment never closed": f"<!--\n{FENCE}",
    "comment with text after it": f"<!--\n{FENCE}\n--> and more",
    "v3 with prose before (case 30)": f"Done {V3}",
    "v3 with prose after": f"{V3} done",
    "v3 after another comment": f"<!-- a --> {V3}",
    "v3 in a fence": f"{F}\n{V3}\n{F}",
    "v3 in a quote": f"> {V3}",
    "v3 in a list": f"- {V3}",
    "v3 indented by four": f"    {V3}",
    "v3 inside a longer comment": f"<!-- see\n{V3}",
    "v3 in a <div>": f"<div>\n{V3}\n</div>",
    "v3 without comment": 'nav-signal:v3:{"type":"exit"}',
    "v3 over two lines": '<!-- nav-signal:v3:{"type":\n"exit"} -->',
    "bare line in prose": f"It prints {EXIT} at the end.",
    "bare line, text after it": f"{EXIT}.",
    "bare line of another v": '{"v":3,"type":"exit"}',
    "bare line, v 20": '{"v":20,"type":"exit"}',
    "bare line, v not first": '{"type":"exit","v":2}',
    "bare line in a fence": f"{F}json\n{EXIT}\n{F}",
    "bare line in a quote": f"> {EXIT}",
    "bare line, lazy quote": f"> for example\n{EXIT}",
    "bare line in a list": f"- {EXIT}",
    "bare line, lazy list": f"- for example\n{EXIT}",
    "bare line in a table": f"a | b\n--|--\n{EXIT}",
    "bare line as a heading": f"{EXIT}\n===",
    "bare line as a # heading": f"# {EXIT}",
    "bare line indented by four": f"text\n    {EXIT}",
    "bare line in a code span": f"It prints `\n{EXIT}\n` then.",
    "bare line in a longer code span": f"It prints ``\n{EXIT}\n ` ``.",
    "bare line in an inline comment": f"text <!--\n{EXIT}\n-->",
    "bare line in HTML": f"<div>\n{EXIT}\n</div>",
    "unknown type (case 31)": fence('{"v":2,"type":"heartbeat","progress":"50"}'),
    "status": fence('{"v":2,"type":"status","progress":50}'),
}


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(text: str) -> None:
    assert read_signals(text) == Signals(exit=DONE)


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_a_quoted_or_indented_message_signals_nothing(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert read_signals("\n".join(f"> {line}" for line in lines)).exit is None
    assert read_signals("\n\n" + "\n".join(f"    {line}" for line in lines)).exit is None


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_ignores(text: str) -> None:
    found = read_signals(text)
    assert found.exit is None
    assert found.complaints == ()


REFUSED = {
    "unclosed fence (case 27)": (f"{F}pilot-signal\n{EXIT}", "not closed"),
    "unclosed, a deep closing line": (f"{F}pilot-signal\n{EXIT}\n    {F}", "not closed"),
    "no JSON": (fence("{invalid json}"), "not valid JSON"),
    "nothing": (fence(""), "not valid JSON"),
    "two objects": (fence(f"{EXIT}\n{EXIT}"), "exactly one JSON object"),
    "a list": (fence("[1,2]"), "not an object"),
    "a number": (fence("1"), "not an object"),
    "progress as text (case 28)": (fence('{"type":"status","progress":"50"}'), "`progress`"),
    "progress with a fraction": (fence('{"type":"status","progress":50.5}'), "whole number"),
    "progress as a boolean": (fence('{"type":"exit","progress":true}'), "`progress`"),
    "success as text": (fence('{"type":"exit","success":"yes"}'), "true or false"),
    "success null": (fence('{"type":"exit","success":null}'), "`success`"),
    "exit_signal as 1": (fence('{"type":"exit","exit_signal":1}'), "`exit_signal`"),
    "reason as a number": (fence('{"type":"exit","reason":7}'), "double quotes"),
    "type as a number": (fence('{"type":2}'), "`type`"),
    "v as text": (fence('{"v":"2","type":"exit"}'), "`v`"),
    "indicator as text": (fence('{"type":"exit","indicators":{"a":"yes"}}'), "`indicators`"),
    "a key twice": (fence('{"type":"exit","success":false,"success":true}'), "twice"),
    "a nested key twice": (fence('{"type":"exit","x":{"a":1,"a":2}}'), "twice"),
    "a huge number": (fence('{"type":"exit","iteration":' + "9" * 5000 + "}"), "too large"),
    "NaN": (fence('{"type":"exit","progress":NaN}'), "NaN"),
    "Infinity": (fence('{"type":"exit","progress":-Infinity}'), "Infinity"),
    "deep nesting": (fence('{"type":"exit","x":' + "[" * 60_000), "not valid JSON"),
    "too long": (fence('{"type":"exit","reason":"' + "x" * 70_000 + '"}'), "KiB"),
    "v3, wrong type": ('<!-- nav-signal:v3:{"type":"exit","success":0} -->', "`success`"),
    "bare, wrong type": ('{"v":2,"type":"exit","success":0}', "`success`"),
    "status with exit_signal": (fence('{"v":2,"type":"status","exit_signal":true}'), "no exit"),
    "exit_signal without type": (fence('{"v":2,"exit_signal":true}'), "no exit"),
}


@pytest.mark.parametrize(("text", "complaint"), REFUSED.values(), ids=REFUSED)
def test_drops_a_wrong_block_and_says_so(text: str, complaint: str) -> None:
    found = read_signals(text)
    assert found.exit is None
    assert len(found.complaints) == 1
    assert complaint in found.complaints[0]


GUESSED = '{"v":2,"type":"hypothesis","gap":"check:t","cause":"stale cache","change":"clear it"}'
GUESS = Hypothesis("check:t", "stale cache", "clear it")


@pytest.mark.parametrize(
    "text",
    [
        fence(GUESSED),
        GUESSED,
        f"<!--\n{fence(GUESSED)}-->",
        f"<!-- nav-signal:v3:{GUESSED} -->",
        fence(GUESSED.replace('"v":2,', '"success":true,"exit_signal":true,')),
        f"{fence(GUESSED.replace('clear it', 'no'))}\n{fence(GUESSED)}",
    ],
)
def test_a_hypothesis_is_no_exit_and_the_last_one_wins(text: str) -> None:
    assert read_signals(text) == Signals(hypothesis=GUESS)


def test_hypothesis_and_exit_stand_side_by_side() -> None:
    for text in (f"{FENCE}\n\n{fence(GUESSED)}", f"{fence(GUESSED)}\n{FENCE}"):
        assert read_signals(text) == Signals(exit=DONE, hypothesis=GUESS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GUESSED.replace('"check:t"', "7"), "`gap` has the wrong JSON type; it must be text"),
        (GUESSED.replace('"stale cache"', "null"), "`cause` has the wrong JSON type"),
        (GUESSED.replace('"clear it"', '["clear it"]'), "`change` has the wrong JSON type"),
        (GUESSED.replace('"change"', '"changes"'), "`change` is missing"),
        (GUESSED.replace('"v":2', '"v":"2"'), "`v` has the wrong JSON type"),
        ('{"v":2,"type":"hypothesis","gap":<a>,"cause":<b>,"change":<c>}', "not valid JSON"),
    ],
)
def test_a_wrong_hypothesis_is_dropped_and_said(text: str, complaint: str) -> None:
    found = read_signals(f"{fence(GUESSED)}\n{fence(text)}")
    assert found.hypothesis == GUESS
    assert len(found.complaints) == 1 and complaint in found.complaints[0]


@pytest.mark.parametrize("quote", ["> ", "    ", "- ", "1. "])
def test_a_quoted_hypothesis_is_none(quote: str) -> None:
    quoted = "\n".join(quote + line for line in fence(GUESSED).split("\n"))
    assert read_signals(quoted).hypothesis is None
    assert read_signals(f"````md\n{fence(GUESSED)}````").hypothesis is None


def test_a_hypothesis_is_clean_and_too_long_a_one_stays_too_long() -> None:
    said = read_signals(fence(GUESSED.replace("clear it", r"clear\n\u0007it" + "x" * 9000)))
    assert said.hypothesis is not None
    assert said.hypothesis.change.startswith("clear itx")
    assert len(said.hypothesis.change) == 2001


def test_a_dropped_block_does_not_hide_a_good_one() -> None:
    bad = fence('{"v":2,"type":"status","progress":"50"}')
    for text in (f"{bad}\n{FENCE}", f"{FENCE}\n\n{bad}"):
        found = read_signals(text)
        assert found.exit == DONE
        assert len(found.complaints) == 1


def test_the_last_exit_wins_across_forms_in_document_order() -> None:
    decline = '{"v":2,"type":"exit","success":false,"reason":"blocked: need key"}'
    declined = ExitSignal(success=False, no_op=False, reason="blocked: need key")
    assert read_signals(f"{FENCE}\n\n{decline}").exit == declined
    assert read_signals(f"{decline}\n\n{FENCE}\n").exit == DONE
    assert read_signals(f"{fence(decline)}\n{V3}").exit == DONE


@pytest.mark.parametrize(
    ("fields", "no_op", "complaints"),
    [
        ('"success":true,"no_op":true,"reason":"nothing to do"', True, 0),
        ('"no_op":true,"reason":"nothing to do"', True, 0),
        ('"success":true,"no_op":true,"reason":"   "', False, 1),
        ('"success":true,"no_op":true', False, 1),
        ('"success":false,"no_op":true,"reason":"no"', False, 1),
        ('"success":true,"reason":"done"', False, 0),
    ],
)
def test_no_op_needs_success_and_a_reason(fields: str, no_op: bool, complaints: int) -> None:
    found = read_signals(fence(f'{{"type":"exit",{fields}}}'))
    assert found.exit is not None
    assert found.exit.no_op is no_op
    assert len(found.complaints) == complaints


def test_a_plain_exit_after_a_no_op_is_no_no_op() -> None:
    first = fence('{"type":"exit","no_op":true,"reason":"nothing"}')
    assert read_signals(f"{first}\n{FENCE}").exit == DONE


def test_status_gives_the_last_phase() -> None:
    text = fence('{"v":2,"type":"status","phase":"IMPL"}') + fence('{"phase":"VERIFY"}')
    assert read_signals(text + fence('{"progress":150}')) == Signals(status_phase="VERIFY")


def test_the_reason_is_one_clean_bounded_line() -> None:
    found = read_signals(fence(r'{"type":"exit","reason":"a\n\u0007b\u202e' + "c" * 9000 + '"}'))
    assert found.exit is not None
    assert found.exit.reason.startswith("a bccc")
    assert len(found.exit.reason) <= 2000


def test_complaints_are_few_short_and_hold_nothing_of_the_message() -> None:
    fields = ["v", "phase", "progress", "iteration", "max_iterations", "success", "no_op", "reason"]
    text = "".join(fence(f'{{"type":"exit","{field}":["HUSH"]}}') for field in fields * 50)
    complaints = read_signals(text).complaints
    assert len(complaints) == 6
    assert "more kinds" in complaints[-1]
    assert all(len(complaint) < 200 for complaint in complaints)
    assert "HUSH" not in "".join(complaints)


def test_of_a_long_message_the_end_counts() -> None:
    filler = "a line of prose\n" * (MAX_TEXT // 16 + 10)
    assert read_signals(f"{filler}\n{FENCE}").exit == DONE
    assert read_signals(f"{FENCE}\n\n{filler}").exit is None
    cut = f"x{V3}\n".ljust(MAX_TEXT + 1, "-")  # the cut is right after the x
    assert read_signals(cut).exit is None


PIECES = st.sampled_from(
    (
        *(F, "~~~", "````", "pilot-signal", EXIT, V3, FENCE, "nav-signal:v3:", '{"v":2', "EXIT"),
        *("\n", "\n\n", "\r", "\r\n", "\u2028", "> ", "- ", "1. ", "    ", "\t", "|", "--|--"),
        *("<!--", "-->", "<div>", "`", "{", "}", '"', "[a]: b", '"\\ud800"', "\ud800", "="),
        *("\x00", "\ufeff", "\x1b[31m", "\x1b]"),
    )
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=5))).map("".join)))
def test_never_raises_and_always_encodes(text: str) -> None:
    found = read_signals(text)
    said = [*found.complaints, found.status_phase or "", found.exit.reason if found.exit else ""]
    "".join(said).encode()


@pytest.mark.parametrize(
    "piece",
    ['{"v":2 `\n', "<!--\n", "a<!--", "[", "`", "> ", f"{F}pilot-signal\n", "<a ", "\x1b]0;", "\t"],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (MAX_TEXT // 4 // len(piece)) + '\n{"v":2}\nsignal'
    started = time.monotonic()
    read_signals(text)
    assert time.monotonic() - started < 10
