"""What becomes a gap, and that its id stays the same from run to run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navci.judge.gaps import derive, normalise, one_line, ordered, summary
from navci.model import Baseline, CheckFacts, Gaps
from tests.support.observations import gaps

A, B, C = "tests.test_m::a", "tests.test_m::b", "tests.test_m.TestC::c"


def facts(
    passed: bool = False, *, red: str = "", passing: str = "", unloaded: str = ""
) -> CheckFacts:
    """Facts of the check ``t``; test ids separated by blanks."""
    return CheckFacts(
        "t",
        passed,
        "why",
        red=frozenset(red.split()),
        passing=frozenset(passing.split()),
        unloaded=frozenset(unloaded.split()),
    )


def base(must_pass: str) -> Baseline:
    return Baseline("c", "k", (facts(),), {"t": frozenset(must_pass.split())})


@pytest.mark.parametrize(
    ("baseline", "now", "expected"),
    [
        pytest.param(None, facts(True, passing=A), [], id="green"),
        pytest.param(None, facts(), ["check:t"], id="red by exit code only"),
        pytest.param(None, facts(red=A), ["check:t", f"test:{A}"], id="red test"),
        pytest.param(base(f"{A} {B}"), facts(True, passing=f"{A} {B} x::new"), [], id="more"),
        pytest.param(base(f"{A} {B}"), facts(True, passing=A), [f"test:{B}"], id="vanished"),
        pytest.param(
            base(A), facts(red=A), ["check:t", f"test:{A}"], id="red at baseline, still red"
        ),
        pytest.param(
            base(f"{A} {B}"),
            facts(),
            ["check:t", f"test:{A}", f"test:{B}"],
            id="a report that says nothing is not fewer gaps",
        ),
        pytest.param(
            base(f"{A} {B} {C} o::x"),
            facts(red="::tests.test_m", passing="o::x", unloaded="tests.test_m"),
            ["check:t", "test:tests.test_m"],
            id="a module that did not load stands for its tests",
        ),
        pytest.param(
            base("tests/m.py::::tests.m"),
            facts(unloaded="tests/m.py"),
            ["check:t", "test:tests/m.py"],
            id="module named by its file",
        ),
        pytest.param(
            base("tests.test_mo::a"),
            facts(unloaded="tests.test_m"),
            ["check:t", "test:tests.test_m", "test:tests.test_mo::a"],
            id="a longer name is another module",
        ),
        pytest.param(
            base("t::x[0x7f00aa11] t::x[0x7f00aa22]"),
            facts(True, passing="t::x[0x55bb0011] t::x[0x55bb0022]"),
            [],
            id="addresses differ",
        ),
        pytest.param(
            base("t::x[0x7f00aa11] t::x[0x7f00aa22]"),
            facts(True, passing="t::x[0x55bb0011]"),
            ["test:t::x[<address>]"],
            id="one of two that share a name vanished",
        ),
    ],
)
def test_derive(baseline: Baseline | None, now: CheckFacts, expected: list[str]) -> None:
    found = derive(baseline, [now])
    assert (sorted(found.chk), found.acc) == (expected, frozenset())


def test_breaking_an_import_is_never_a_smaller_set() -> None:
    red = derive(base(f"{A} {B}"), [facts(red=f"{A} {B}")])
    broken = derive(base(f"{A} {B}"), [facts(red="::tests.test_m", unloaded="tests.test_m")])
    assert not broken.chk <= red.chk


def test_guards_and_what_could_not_be_measured() -> None:
    found = derive(None, [], guards=["ci.yml", ".git"], errors=["lint"])
    assert found.chk == {"guard:ci.yml", "guard:.git", "check:lint"}


def test_a_check_of_the_baseline_without_facts_is_a_gap() -> None:
    assert derive(base(A), []).chk == {"check:t"}


@pytest.mark.parametrize(
    ("raw", "stable"),
    [
        ("t::x[<f at 0x7f3c5e2a1b40>]", "t::x[<f at <address>>]"),
        ("t::x[0xff]", "t::x[0xff]"),
        ("t::x[6f9619ff-8b86-d011-b42d-00c04fc964ff]", "t::x[<uuid>]"),
        ("t::x[2026-11-30T22:15:00.123Z]", "t::x[<time>]"),
        ("t::x[2026-11-30 22:15+01:00]", "t::x[<time>]"),
        ("t::x[2024-02-29]", "t::x[2024-02-29]"),
        ("t::x[/tmp/pytest-of-me/pytest-3/a.txt]", "t::x[<tmp>]"),
        ("t::x[/private/var/folders/zz/T/a-b]", "t::x[<tmp>]"),
        ("src/tmp/a::x", "src/tmp/a::x"),
        ("t::x[http://localhost:54321/a]", "t::x[http://localhost:<port>/a]"),
        ("t::x[10.0.0.7:8080]", "t::x[10.0.0.7:<port>]"),
        ("t::x[port=54321]", "t::x[port=<port>]"),
        ("t::export_2024", "t::export_2024"),
        ("t::x[ratio 1:2000]", "t::x[ratio 1:2000]"),
    ],
)
def test_normalise(raw: str, stable: str) -> None:
    assert normalise(raw) == stable


PIECES = [
    "0x7f3c5e2a",
    "6f9619ff-8b86-d011-b42d-00c04fc964ff",
    "port",
    "8080",
    "/tmp/a",
    "localhost:80",
    "2026-11-30T22:15",
    "::",
    "-",
    " ",
    "é",
    "\udcff",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map("".join))
def test_normalise_is_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


IDS = st.frozensets(st.sampled_from([A, B, C, "::tests.test_m", "x::0x7f3c5e2a", ""]))


@given(IDS, IDS, IDS, st.frozensets(st.sampled_from(["tests.test_m", "", "x"])))
def test_total_and_more_passing_is_never_more_gaps(
    must: frozenset[str], red: frozenset[str], passing: frozenset[str], unloaded: frozenset[str]
) -> None:
    baseline = Baseline("c", "k", (), {"t": must})

    def found(passing: frozenset[str]) -> frozenset[str]:
        return derive(baseline, [CheckFacts("t", True, "", red, passing, unloaded)]).chk

    assert found(passing | must) <= found(passing)
    assert all(gap.startswith("test:") for gap in found(passing))


def test_order_and_summary() -> None:
    found = gaps("B", "A", "test:x", "guard:y", "check:t")
    assert ordered(found) == ("A", "B", "check:t", "guard:y", "test:x")
    assert summary(found) == "5 gaps, first A"
    assert summary(gaps("test:" + "x" * 200)) == f"1 gap, first test:{'x' * 114}…"
    assert summary(Gaps()) == "no gaps"


def test_one_line() -> None:
    assert one_line("a\n```\t\x1b[31m\u202eb\udcff c\r\n") == "a ``` [31m b c"
    assert one_line("abcdef", 4) == "abc…"
