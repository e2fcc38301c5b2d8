"""Which tests a selector means, and which carry an item's id."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navci.judge.selectors import Carriers, TestNames, one_form

SUITE = (
    "tests.test_a::test_x",
    "tests.test_a::test_x[a/b.py-(1)]",
    "tests.test_a::test_xy",
    "tests.test_a.TestC::test_x",
    "tests.test_ab::test_x",
    "com.acme.AvatarTest::deletes()",
    "com.acme.AvatarTest::deletes twice [1]",
    "src/app/[id]/page.test.tsx::adds::adds",
    "example.com/pkg::TestSum/negative",
    "src/sum.test.js::sum adds::sum adds",
)


@pytest.mark.parametrize(
    ("selector", "numbers"),
    [
        ("tests.test_a::test_x", [0, 1]),
        ("tests/test_a.py::test_x", [0, 1]),
        ("./tests/test_a.py::test_x", [0, 1]),
        ("tests.test_a::test_x[a/b.py-(1)]", [1]),
        ("tests/test_a.py::test_x[a/b.py-(1)]", [1]),
        ("tests/test_a.py::TestC", [3]),
        ("tests/test_a.py::TestC::test_x", [3]),
        ("tests/test_a.py", [0, 1, 2, 3]),
        ("tests/test_a.py::", [0, 1, 2, 3]),
        ("tests/", [0, 1, 2, 3, 4]),
        ("tests", [0, 1, 2, 3, 4]),
        ("test_a", []),
        ("test_x", []),
        ("*::test_x", [0, 1, 3, 4]),
        ("tests/test_a.py::test_x*", [0, 1, 2]),
        ("tests/*.py::test_xy", [2]),
        ("tests/*::test_xy", [2]),
        ("com.acme.AvatarTest", [5, 6]),
        ("com.acme.AvatarTest::deletes", [5]),
        ("com.acme.AvatarTest::deletes twice", [6]),
        ("*AvatarTest::deletes()", [5]),
        ("src/app/[id]/page.test.tsx", [7]),
        ("src/app/*", [7]),
        ("src/sum.test.js::sum adds::sum adds", [9]),
        ("example.com/pkg::TestSum", [8]),
        ("example.com/pkg::TestSum/negative", [8]),
        ("TESTS/test_a.py", []),
        ("tests.test_a::test_?", []),
        ("tests.test_a::test_[x]", []),
    ],
)
def test_a_selector_means_what_it_names_and_all_below(selector: str, numbers: list[int]) -> None:
    assert set(TestNames(SUITE).select(selector)) == {SUITE[number] for number in numbers}


def test_what_stands_above_a_selector() -> None:
    modules = TestNames(["tests.test_a", "tests.test_ab", "tests/test_b.py"])
    assert list(modules.above("tests/test_a.py::TestC::test_x")) == ["tests.test_a"]
    assert list(modules.above("tests.test_b::test_y")) == ["tests/test_b.py"]
    assert list(modules.above("tests")) == []


@given(st.text(max_size=30), st.text(max_size=30))
def test_every_id_selects_itself_and_its_parameters(test: str, parameter: str) -> None:
    form = one_form(test).rstrip(".")
    if "*" in test or not form:
        return
    assert list(TestNames([test]).select(test)) == [test]
    if " " not in test and "." not in test[-1:] and "[" not in test and "(" not in test:
        below = f"{test}[{parameter}]"
        assert list(TestNames([below]).select(test)) == [below]


@pytest.mark.parametrize("selector", ["*a" * 40 + "b", "*" * 300 + "x", "[" * 300, "a.*.a" * 60])
def test_hostile_selectors_take_no_quadratic_time(selector: str) -> None:
    names = TestNames(["a" * 1000 + str(n) for n in range(200)])
    started = time.monotonic()
    list(names.select(selector))
    assert time.monotonic() - started < 5


def test_a_thousand_selectors_on_twenty_thousand_tests_are_quick() -> None:
    names = TestNames(f"tests.test_{n % 200}::test_{n}" for n in range(20_000))
    started = time.monotonic()
    assert all(list(names.select(f"tests/test_{n % 200}.py::test_{n}")) for n in range(1024))
    assert time.monotonic() - started < 5


# --- ids that tests carry -------------------------------------------------------------------

ITEM = "acc-12ab34cd56ef7890"


@pytest.mark.parametrize(
    ("test", "carries"),
    [
        ("t::test_acc_12ab34cd_deletes", True),
        ("t::test_acc_12ab34cd56ef7890", True),
        ("t::test_acc-12AB34CD5", True),
        ("t::test acc12ab34cd deletes", True),
        ("t.TestAcc_12ab34cd::x", False),
        ("t.acc_12ab34cd.Test::x", True),
        ("t::test_acc_12ab34c", False),
        ("t::test_acc_12ab34ce", False),
        ("t::test_acc_12ab34cd56ef78901", False),
        ("t::test_12ab34cd", False),
        ("t::test_avatar_1_deletes", True),
        ("t::AVATAR-1", True),
        ("t::[AVATAR-1] is gone", True),
        ("t::test_avatar_12", False),
        ("t::test_avatar_1a", False),
        ("t::test_my_avatar_1_2", True),
        ("t::testAvatar1", False),
        ("t::avatar", False),
        ("t::a", False),
    ],
)
def test_a_test_carries_an_id_in_its_name(test: str, carries: bool) -> None:
    found = Carriers({ITEM: ("AVATAR-1",), "acc-ffff": ()}, [test], [])
    assert list(found.of(ITEM)) == ([test] if carries else [])


@pytest.mark.parametrize("value", [ITEM, ITEM[:12], "acc_12ab34cd", "AVATAR-1", "avatar_1"])
def test_a_property_names_the_item(value: str) -> None:
    found = Carriers({ITEM: ("AVATAR-1",)}, [], [{value: {"t::a"}, "other": {"t::b"}}])
    assert set(found.of(ITEM)) == {"t::a"}


def test_ids_that_begin_alike_are_told_apart() -> None:
    items = {"acc-1": ("LOG-1",), "acc-2": ("LOG-1-B",)}
    found = Carriers(items, ["t::log_1_b", "t::log_1_c"], [])
    assert set(found.of("acc-1")) == {"t::log_1_b", "t::log_1_c"}
    assert set(found.of("acc-2")) == {"t::log_1_b"}
