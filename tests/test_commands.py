from __future__ import annotations

import io
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navci.actions.commands import Console, annotation, disarm, endgroup, group

COMMANDS = re.compile(r"^\s*::(?P<name>[^ :]+).*?::|##\[(?P<old>[^\]]+)\]")
HOSTILE = st.text(
    alphabet=st.one_of(
        st.sampled_from(":#[]% \t\r\n\x0b\x1b\u00a0\u2028\u200bgroup::error"), st.characters()
    ),
    max_size=60,
)


def runner_commands(log: str) -> list[str]:
    """The commands the runner would obey in ``log``: it reads lines as .NET does, CR and LF."""
    obeyed, stopped = [], None
    for line in re.split(r"\r\n|\r|\n", log):
        if stopped is not None:
            if line.strip().lower() == f"::{stopped}::":
                stopped = None
            continue
        if found := COMMANDS.search(line):
            name = found["name"] or found["old"]
            obeyed.append(name)
            if name == "stop-commands":
                stopped = line.partition("stop-commands::")[2].lower()
    assert stopped is None, "commands were left stopped"
    return obeyed


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (group("Iteration 1"), "::group::Iteration 1"),
        (group("a\n::error::b%"), "::group::a ::error::b%25"),
        (endgroup(), "::endgroup::"),
        (annotation("error", "50%\nnext"), "::error::50%25%0Anext"),
        (annotation("warning", "x", title="a: b, c"), "::warning title=a%3A b%2C c::x"),
    ],
)
def test_commands_are_escaped(command: str, expected: str) -> None:
    assert command == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("::add-mask::passed", [": :add-mask::passed"], id="at the start"),
        pytest.param("\t \u00a0::error::x", ["\t \u00a0: :error::x"], id="after any whitespace"),
        pytest.param("a ##[error]x", ["a ## [error]x"], id="the old form anywhere"),
        pytest.param(
            "ok\r::set-output name=a::b", ["ok", ": :set-output name=a::b"], id="after CR"
        ),
        pytest.param("#\u200b#[add-mask]x", ["## [add-mask]x"], id="put together by cleaning"),
        pytest.param("\x1b[0m::error::x", [": :error::x"], id="after an escape"),
        pytest.param("std::vector", ["std::vector"], id="no command"),
    ],
)
def test_disarm(text: str, expected: list[str]) -> None:
    assert disarm(text) == expected


@given(HOSTILE)
def test_no_disarmed_line_is_a_command(text: str) -> None:
    assert runner_commands("\n".join(disarm(text))) == []


@given(st.lists(HOSTILE, max_size=5))
def test_untrusted_output_can_do_nothing_and_ours_works_again(lines: list[str]) -> None:
    stream = io.StringIO()
    console = Console(stream, in_actions=True)
    with console.group("Iteration 1"):
        with console.untrusted() as show:
            for line in lines:
                show(line)
        console.line("after " + "".join(lines))
    console.error("ours")
    assert runner_commands(stream.getvalue()) == ["group", "stop-commands", "endgroup", "error"]


def test_commands_work_even_inside_a_block_and_the_token_changes() -> None:
    stream = io.StringIO()
    console = Console(stream, in_actions=True)
    with console.untrusted() as show:
        show("one")
        console.warning("the agent was stopped")
        show("two")
    log = stream.getvalue()
    assert runner_commands(log) == ["stop-commands", "warning", "stop-commands"]
    tokens = re.findall(r"::stop-commands::(\w+)", log)
    assert len(set(tokens)) == 2
    assert all(len(token) >= 32 for token in tokens)


def test_the_block_is_closed_when_the_work_in_it_fails() -> None:
    stream = io.StringIO()
    console = Console(stream, in_actions=True)
    with pytest.raises(KeyboardInterrupt), console.untrusted():
        raise KeyboardInterrupt
    assert runner_commands(stream.getvalue()) == ["stop-commands"]


def test_outside_actions_lines_are_plain_and_indented() -> None:
    stream = io.StringIO()
    console = Console.for_env(stream, {})
    with console.group("Iteration 1"), console.untrusted() as show:
        show("::error::x\n")
    console.error("mend it", title="config")
    assert stream.getvalue() == "Iteration 1\n    : :error::x\nerror: config: mend it\n"


@pytest.mark.parametrize(
    ("lines", "size", "kept"),
    [(3, 1000, 3), (1000, 30, 2)],
)
def test_untrusted_output_is_limited(lines: int, size: int, kept: int) -> None:
    stream = io.StringIO()
    console = Console(stream, max_lines=lines, max_bytes=size)
    with console.untrusted("/run/agent.out") as show:
        said = [show(f"line {number}") for number in range(10_000)]
    assert said == [True] * kept + [False] * (10_000 - kept)
    shown = stream.getvalue().splitlines()
    assert shown[:kept] == [f"    line {number}" for number in range(kept)]
    assert shown[kept:] == [f"    (output cut after {kept} lines; more of it is in /run/agent.out)"]


def test_annotations_the_runner_would_drop_become_lines() -> None:
    stream = io.StringIO()
    console = Console(stream, in_actions=True)
    for number in range(12):
        console.warning(f"w{number}")
    assert runner_commands(stream.getvalue()) == ["warning"] * 10
    assert stream.getvalue().endswith("warning: w10\nwarning: w11\n")


def test_secrets_are_masked_everywhere() -> None:
    stream = io.StringIO()
    console = Console(stream, in_actions=True)
    console.add_mask(["s3cret-key", "second\nlong-line"])
    console.line("key s3cret-key")
    console.error("s3cret\u200b-key")
    with console.group("s3cret-key"), console.untrusted() as show:
        show("x long-line s3\x1b[1mcret-key")
    assert "s3cret" not in stream.getvalue()
    assert "long-line" not in stream.getvalue()


@pytest.mark.parametrize(
    ("env", "colored"),
    [
        ({}, False),
        ({"GITHUB_ACTIONS": "true"}, True),
        ({"GITHUB_ACTIONS": "true", "NO_COLOR": "1"}, False),
        ({"GITHUB_ACTIONS": "true", "NO_COLOR": ""}, True),
    ],
)
def test_color(env: dict[str, str], colored: bool) -> None:
    stream = io.StringIO()
    Console.for_env(stream, env).line("done", style="green")
    assert stream.getvalue() == ("\x1b[32mdone\x1b[0m\n" if colored else "done\n")


def test_a_reader_who_goes_away_does_not_end_the_run() -> None:
    read, write = os.pipe()
    os.close(read)
    stream = os.fdopen(write, "w")
    console = Console(stream)
    console.line("a")
    console.line("b")
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_a_stream_without_unicode_still_prints() -> None:
    raw = io.BytesIO()
    console = Console(io.TextIOWrapper(raw, encoding="ascii"))
    console.line("━━ ✅ done")
    assert raw.getvalue() == b"?? ? done\n"
