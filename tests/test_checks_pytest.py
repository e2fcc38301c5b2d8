"""Checks that run the real pytest, which writes the real JUnit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from navci.evidence.checks import baseline_must_pass, to_facts
from tests.support.check_bench import Bench
from tests.support.junit_files import P, suite

PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider --junitxml=build/junit.xml"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_stale_green_report_does_not_count(bench: Bench) -> None:
    bench.write(
        {
            "build/junit.xml": suite(P),
            "test_a.py": "import os\ndef test_a():\n    os._exit(0)\n",
        }
    )
    result = bench(PYTEST, "build/*.xml")
    assert result.receipt.exit_code == 0
    assert not result.passed
    assert result.why.startswith("no JUnit report matched `build/*.xml` after")
    assert not (bench.repo / "build/junit.xml").exists()


SUITE = {
    "test_a.py": """
import pytest, warnings
def test_good(): pass
@pytest.mark.parametrize("n", [1, 2])
def test_some(n): assert n == 1
@pytest.mark.skip
def test_skipped(): pass
@pytest.mark.xfail
def test_xfail(): assert 0
class TestX:
    def test_in_class(self): pass
"""
}


def test_real_pytest(bench: Bench) -> None:
    bench.write(SUITE)
    result = bench(PYTEST, "build/*.xml")
    assert not result.passed
    assert result.why.endswith("exited 1: 1 failed of 6 tests, first: test_a::test_some[2]")
    assert "1 failed, 3 passed, 1 skipped, 1 xfailed" in result.excerpt
    assert result.report is not None
    assert result.report.red["test_a::test_some[2]"].startswith("test_a.py:5\nassert 2 == 1")
    assert result.report.skipped == {"test_a::test_skipped", "test_a::test_xfail"}
    good = {"test_a::test_good", "test_a::test_some[1]", "test_a.TestX::test_in_class"}
    facts = to_facts(result)
    assert (facts.passed, facts.why) == (False, result.why)
    assert facts.passing == good and facts.red == {"test_a::test_some[2]"}
    assert baseline_must_pass(result) == good | facts.red
    assert list(result.receipt.report_digests) == ["build/junit.xml"]

    bench.write({"test_a.py": SUITE["test_a.py"].replace("n == 1", "n")})
    green = bench(PYTEST, "build/*.xml")
    assert green.passed and green.why.endswith("exited 0, 4 tests passed")


def test_real_pytest_module_that_does_not_load(bench: Bench) -> None:
    bench.write(SUITE | {"test_b.py": "import nosuch\ndef test_b(): pass\n"})
    result = bench(PYTEST, "build/*.xml")
    assert not result.passed and result.receipt.exit_code == 2
    facts = to_facts(result)
    assert facts.unloaded == {"test_b"} and not facts.red
    assert baseline_must_pass(result) == set()
    assert result.report is not None and "No module named 'nosuch'" in result.report.red["test_b"]


@pytest.mark.parametrize(
    ("files", "options", "why"),
    [
        ({"test_a.py": "import pytest\ndef test_a(): pytest.exit('x')\n"}, "", "exited "),
        ({"test_a.py": "def test_a(): pass\n"}, " -k none", "exited 5, and its JUnit report"),
        ({"test_a.py": "def test_a(): pass\n"}, " --collect-only", "nothing ran"),
        ({"test_a.py": "def test_a(): pass\n"}, " --nosuch", "exited 4, and no JUnit report"),
        (
            {
                "test_a.py": "def test_a(): pass\n",
                "conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 1\n",
            },
            "",
            "exited 1, although its report is green (1 test passed)",
        ),
        (
            {
                "test_a.py": "def test_a(): assert 0\n",
                "conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 0\n",
            },
            "",
            "exited 0, but its report says otherwise: 1 failed of 1 test",
        ),
    ],
    ids=["exit", "deselected", "collect-only", "usage", "plugin-red", "plugin-green"],
)
def test_real_pytest_that_proves_nothing(
    bench: Bench, files: dict[str, str], options: str, why: str
) -> None:
    bench.write(files)
    result = bench(PYTEST + options, "build/*.xml")
    assert not result.passed
    assert why in result.why
