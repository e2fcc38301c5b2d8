"""Acceptance items: ids that last, tags that bind, and what becomes of both in a contract."""

from __future__ import annotations

import hashlib

import pytest

from navci.errors import ConfigError
from navci.model import Binding, BindingKind, CheckSpec, Contract
from navci.task import build_contract, from_issue, from_text
from navci.task_items import MAX_ITEMS, items_of

PYTEST = CheckSpec("tests", "pytest -q", ("build/*.xml",))


def texts(markdown: str) -> list[str]:
    return [item.text for item in items_of(markdown)]


# --- acceptance items -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [x] e", ["a", "b", "c", "d", "e"]),
        ("- [ ] a\n  - [x] b\n    1. [ ] c\n", ["a", "b", "c"]),
        ("- [ ] a\n\n- [ ] b\n\n  more of b\n", ["a", "b"]),
        ("- [ ] one\n  line\n- [ ] two\nlines", ["one line", "two lines"]),
        ("- [ ] a\r\n- [x] b\r\n", ["a", "b"]),
        ("- [ ]\tTab `code` **bold**", ["Tab `code` **bold**"]),
        ("> - [ ] quoted", ["quoted"]),
        ("- [ ] same\n- [x]  same", ["same"]),
        ("- [ ] Same\n- [ ] same", ["Same", "same"]),
        ("- [ ] e\u0301\n- [ ] \u00e9", ["\u00e9"]),
        ("- [ ] a <!-- b --> c", ["a c"]),
        ("- [ ] zero\u200bwidth \u202eback", ["zerowidth back"]),
        ("\ufeff- [ ] after a byte order mark", ["after a byte order mark"]),
        ("[x]: http://example.org\n\n- [x] a", ["a"]),
        ("```\n- [ ] a\n```", []),
        ("~~~md\n- [ ] a", []),
        ("para\n\n    - [ ] a", []),
        ("<!-- - [ ] a -->", []),
        ("<!--\n\n- [ ] a\n\n-->\n\n- [ ] b", ["b"]),
        ("<!-- never closed\n\n- [ ] a", []),
        ("\u200b```\n<!--\n- [ ] a\n-->\n\u200b```", []),
        ("<div>\n- [ ] a\n</div>", []),
        ("- [] a\n- [-] b\n- [ ]c\n- \\[ ] d\n- [ ]\n- [y] e\n- **[ ]** f", []),
        ("[ ] no list", []),
        ("- [ ](link)\n- `[ ] code`", []),
        ("- # [ ] heading", []),
        ("", []),
    ],
)
def test_items_are_the_task_list_lines_people_see(markdown: str, expected: list[str]) -> None:
    assert texts(markdown) == expected


def test_an_items_id_is_the_hash_of_its_text() -> None:
    (item,) = items_of("- [x]  Nine is   not prime")
    assert item.id == "acc-" + hashlib.sha256(b"Nine is not prime").hexdigest()[:16]


def test_there_are_at_most_1024_items() -> None:
    lines = [f"- [ ] item {number}" for number in range(MAX_ITEMS + 1)]
    assert len(items_of("\n".join(lines[:-1]))) == 1024
    assert len(items_of("\n".join([*lines[:-1], lines[0]]))) == 1024
    with pytest.raises(ConfigError, match=r"1,025 acceptance items; at most 1,024"):
        from_text("\n".join(lines))


def test_equal_items_are_one_and_keep_all_their_tags() -> None:
    (item,) = items_of("- [ ] same (test=a)\n- [x]  same (check=b)\n- [ ] same (test=a)")
    assert (item.text, item.times) == ("same", 3)
    assert item.bindings == (by_test("a"), by_check("b"))
    notes = build_contract(from_text("- [ ] a\n- [ ] a\n- [ ] b"), [PYTEST]).notes
    assert notes == ("the acceptance item “a” stands 2 times in the task, and counts once",)


# --- tags ---------------------------------------------------------------------------------------


def by_test(selector: str) -> Binding:
    return Binding(BindingKind.TEST, selector)


def by_check(name: str) -> Binding:
    return Binding(BindingKind.CHECK, name)


def by_id(name: str) -> Binding:
    return Binding(BindingKind.ID, name)


@pytest.mark.parametrize(
    ("line", "text", "bindings"),
    [
        ("works (test=tests/test_a.py::test_x)", "works", [by_test("tests/test_a.py::test_x")]),
        ("works (check=lint)", "works", [by_check("lint")]),
        ("(id=AVATAR-1) works", "works", [by_id("AVATAR-1")]),
        ("a (test=x) b (check=lint) c", "a b c", [by_test("x"), by_check("lint")]),
        ("works ( test = a::b )", "works", [by_test("a::b")]),
        ("works (test=t::x[a(1)])", "works", [by_test("t::x[a(1)]")]),
        ("works (test=`t::x[)]`)", "works", [by_test("t::x[)]")]),
        (
            "works (test=`t::x_y_*`) `(check=lint)`",
            "works",
            [by_test("t::x_y_*"), by_check("lint")],
        ),
        ("works (test=a\n  b)", "works", [by_test("a b")]),
        ("(test=only::this)", "(test=only::this)", [by_test("only::this")]),
        ("calls `f(test=None)`", "calls `f(test=None)`", []),
        ("f(test=1) (tests=a) [test=b] test=c", "f(test=1) (tests=a) [test=b] test=c", []),
        ("a <!-- (test=hidden) --> b", "a b", []),
        ("works (testing)", "works (testing)", []),
    ],
)
def test_a_tag_binds_its_item_and_is_no_part_of_its_text(
    line: str, text: str, bindings: list[Binding]
) -> None:
    (item,) = items_of(f"- [ ] {line}")
    assert (item.text, list(item.bindings)) == (text, bindings)
    if text != line:
        assert item.id == items_of(f"- [ ] {text}")[0].id


@pytest.mark.parametrize(
    ("tag", "problem"),
    [
        ("(test=", "is not closed"),
        ("(test=a", "is not closed"),
        ("(test=)", "nothing stands behind `test=`"),
        ("(check= )", "nothing stands behind `check=`"),
        ("(test=*)", "this one would be all there are"),
        ("(id=A)", "an id has 3 to 64 characters"),
        ("(id=1-AVATAR)", "a letter first"),
        ("(id=two words)", "an id has"),
        (f"(test={'x' * 1025})", "longer than 1,024"),
    ],
)
def test_a_tag_that_says_nothing_is_refused(tag: str, problem: str) -> None:
    with pytest.raises(ConfigError, match="“works") as refused:
        from_text(f"- [ ] works {tag}\n- [ ] fine (test=a)")
    assert len(refused.value.problems) == 1 and problem in refused.value.problems[0]


def made(body: str, mapped: dict[str, tuple[Binding, ...]] | None = None) -> Contract:
    checks = (PYTEST, CheckSpec("lint", "ruff check"))
    return build_contract(from_issue(1, "Fix", body), checks, acceptance=mapped)


@pytest.mark.parametrize(
    ("line", "mapped", "expected"),
    [
        ("works", {}, []),
        ("works", {"works": (by_test("a"),)}, [by_test("a")]),
        ("is\n  fine", {" is  fine": (by_test("a"),)}, [by_test("a")]),
        ("works", {items_of("- [ ] works")[0].id: (by_test("a"),)}, [by_test("a")]),
        ("works", {items_of("- [ ] works")[0].id[:12]: (by_test("a"),)}, [by_test("a")]),
        ("works", {items_of("- [ ] works")[0].id[:11]: (by_test("a"),)}, []),
        ("works", {"other": (by_check("nowhere"),)}, []),
        ("works (test=a)", {"works": (by_test("b"),)}, [by_test("a")]),
        ("works (id=AVATAR-1)", {}, [by_id("AVATAR-1")]),
        ("works (id=AVATAR-1)", {"AVATAR-1": (by_test("b"),)}, [by_test("b")]),
        ("works (id=AVATAR-1) (check=lint)", {}, [by_check("lint")]),
        ("works", {"works": (by_id("AVATAR-1"),)}, [by_id("AVATAR-1")]),
        ("works", {"works": (by_test("a"), by_check("lint"))}, [by_test("a"), by_check("lint")]),
    ],
)
def test_the_first_of_tag_map_and_id_binds(
    line: str, mapped: dict[str, tuple[Binding, ...]], expected: list[Binding]
) -> None:
    found = made(f"- [ ] {line}", mapped)
    assert list(found.bindings.get(found.items[0].id, ())) == expected


def test_an_item_bound_to_a_check_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        made("- [ ] works (check=lnt)")
    assert refused.value.problems == (
        "the acceptance item “works” is bound to the check `lnt`, which is not there; "
        "known: tests, lint",
    )


def test_bindings_and_strictness_are_part_of_the_contract() -> None:
    bodies = [
        "- [ ] works",
        "- [ ] works (test=a)",
        "- [ ] works (test=b)",
        "- [ ] works (check=lint)",
    ]
    hashes = {made(body).hash for body in bodies}
    assert len(hashes) == len(bodies)
    assert made("- [ ] works", {"works": (by_test("a"),)}).hash == made(bodies[1]).hash
    assert made("- [ ] works (test=a) (test=c)").hash == made("- [ ] works (test=c) (test=a)").hash
    assert made("- [ ] works", {"other": (by_test("a"),)}).hash == made(bodies[0]).hash
    strict = build_contract(from_text("- [ ] works"), [PYTEST], strict=True)
    assert strict.strict and strict.hash != build_contract(from_text("- [ ] works"), [PYTEST]).hash


def test_the_hash_of_items_alone_has_not_changed() -> None:
    """Journals and failure budgets hang on it."""
    assert build_contract(from_text("- [ ] works"), [PYTEST]).hash == (
        "0256e2c0ac2b536af61e7ccaafc4e2801e26fa2ab8bed22a8af1a10f16aa4d1d"
    )
    assert build_contract(from_text("Fix it"), []).hash == (
        "128d91c886ae6c5629d3a84332bf4515134e10a916759ae7ad143cf8ea0b5761"
    )


def test_strict_without_a_task_list_is_said() -> None:
    (note,) = build_contract(from_text("Fix it"), [PYTEST], strict=True).notes
    assert "strict" in note and "no task list" in note
    assert build_contract(from_text("- [ ] a"), [PYTEST], strict=True).notes == ()
