"""``navci junit``: what a person reads, what a program reads, and every odd way to name a file."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.junit_files import F, P, case, suite
from tests.support.navci_run import PROGRAM, Result, environment, place_of, run_navci
from tests.support.processes import ANYBODY, can

GREEN = suite(P)
SKIPPED = suite(case("s", "<skipped/>"))
RED = suite(
    case("q", "<failure message='assert 1 == 2'>t/q.py:7: AssertionError</failure>"),
    case("r", "<error>boom</error>"),
    case("s", "<skipped/>"),
    case("f", "<flakyFailure/>"),
    attributes='name="s" tests="9"',
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def write(work: Path, **reports: str | bytes) -> None:
    for name, data in reports.items():
        (work / f"{name}.xml").write_bytes(data if isinstance(data, bytes) else data.encode())


def junit(work: Path, *args: str, through: Sequence[str] = (), **env: str) -> Result:
    return run_navci(work, "junit", *args, through=through, env=env)


def totals(tests: int, passed: int, *red: int) -> dict[str, int]:
    numbers = (tests, passed, *red, *(0,) * (4 - len(red)))
    names = ("tests", "passed", "failed", "errored", "skipped", "flaky")
    return dict(zip(names, numbers, strict=True))


FLAKY = "flaky, passed when rerun: c::f"
LIE = "<testsuite> declares 9 tests and holds 4 testcases; the testcases count"


def test_json_is_one_object(work: Path) -> None:
    write(work, a=GREEN, b=RED)
    result = junit(work, "--json", "a.xml", "b.xml")
    assert json.loads(result.stdout) == {
        "verdict": "failing",
        "reasons": ["1 failed and 1 errored of 5 tests, first: c::q in b.xml"],
        **totals(5, 2, 1, 1, 1, 1),
        "oddities": [FLAKY, LIE],
        "files": [
            {
                "path": "a.xml",
                "verdict": "passing",
                "reasons": [],
                **totals(1, 1),
                "failed_ids": [],
                "oddities": [],
            },
            {
                "path": "b.xml",
                "verdict": "failing",
                "reasons": ["1 failed and 1 errored of 4 tests, first: c::q"],
                **totals(4, 1, 1, 1, 1, 1),
                "failed_ids": ["c::q", "c::r"],
                "oddities": [FLAKY, LIE],
            },
        ],
    }
    assert (result.exit_code, result.stderr) == (1, "")


@pytest.mark.parametrize(
    ("reports", "exit_code", "verdict", "counted", "reasons"),
    [
        ([GREEN], 0, "passing", totals(1, 1), []),
        ([GREEN, GREEN], 0, "passing", totals(2, 2), []),
        ([suite(F)], 1, "failing", totals(1, 0, 1), ["1 failed of 1 test, first: c::f"]),
        (["<testsuites/>"], 3, "unusable", totals(0, 0), ["no report holds a testcase"]),
        ([SKIPPED], 3, "unusable", totals(1, 0, 0, 0, 1), ["no test passed"]),
        ([GREEN[:-5]], 3, "unusable", totals(0, 0), ["r0.xml: it ends too early"]),
        (
            [suite(P, F), ""],
            3,
            "unusable",
            totals(2, 1, 1),
            ["r1.xml: it is empty", "1 failed of 2 tests"],
        ),
        (
            [suite(P, "<error message='boom'/>")],
            1,
            "failing",
            totals(1, 1),
            ["r0.xml: <error> outside any testcase, on suite `s`: boom"],
        ),
    ],
)  # fmt: skip
def test_verdicts_totals_and_exit_codes(
    work: Path,
    reports: list[str],
    exit_code: int,
    verdict: str,
    counted: dict[str, int],
    reasons: list[str],
) -> None:
    write(work, **{f"r{n}": data for n, data in enumerate(reports)})
    files = [f"r{n}.xml" for n in range(len(reports))]
    told, read = junit(work, "--json", *files), junit(work, *files)
    value = json.loads(told.stdout)
    assert (told.exit_code, read.exit_code) == (exit_code, exit_code)
    assert value["verdict"] == verdict and counted.items() <= value.items()
    assert len(value["reasons"]) == len(reasons)
    assert all(
        said.startswith(reason) for said, reason in zip(value["reasons"], reasons, strict=True)
    )
    assert [file["path"] for file in value["files"]] == files
    assert read.stdout.startswith(f"{verdict}: ") and all(r in read.stdout for r in reasons)


def test_a_person_reads_which_file_which_test_and_what_next(work: Path) -> None:
    write(work, a=GREEN, b=RED)
    assert junit(work, "*.xml").stdout == (
        """\
failing: 2 files, 5 tests: 2 passed (1 flaky), 1 failed, 1 errored, 1 skipped

Why:
  - 1 failed and 1 errored of 5 tests, first: c::q in b.xml

Red tests:
  c::q  in b.xml
      t/q.py:7
      assert 1 == 2
      t/q.py:7: AssertionError
  c::r  in b.xml
      boom

Files:
  passing   a.xml  1 test: 1 passed
  failing   b.xml  4 tests: 1 passed (1 flaky), 1 failed, 1 errored, 1 skipped

Worth knowing:
  - b.xml: flaky, passed when rerun: c::f
  - b.xml: <testsuite> declares 9 tests and holds 4 testcases; the testcases count

A check with these reports is red, even when its command exits 0: mend what is named above and run \
the tests again.

"""
    )


def test_one_file_is_named_in_the_first_line(work: Path) -> None:
    write(work, a=suite(F, case("f2", "<failure/>")))
    said = junit(work, "a.xml").stdout
    assert said.startswith("failing: a.xml, 2 tests: 0 passed, 2 failed\n") and "Files:" not in said


@pytest.mark.parametrize(
    ("xml", "says"),
    [
        ("<assemblies/>", "it is an xUnit.net v2 report; write JUnit with `dotnet test --logger"),
        ("<test-run/>", "it is an NUnit 3 report; write JUnit with `dotnet test --logger junit`"),
        ("<test-results/>", "it is an NUnit 2 report; convert it with the nunit-to-junit"),
        ('<TestRun xmlns="urn:x"/>', "it is a TRX report; write JUnit with `dotnet test --logger"),
        ("<!DOCTYPE html><html/>", "it is an HTML page; look whether an error page was saved"),
    ],
)
def test_other_formats_are_named_with_what_to_do(work: Path, xml: str, says: str) -> None:
    write(work, a=xml)
    result = junit(work, "a.xml")
    assert result.exit_code == 3
    assert result.stdout.startswith("unusable: a.xml, no tests\n\nWhy:\n  - a.xml: " + says)
    assert "mend what the reasons name and run the tests again" in result.stdout


NOWHERE = "look whether the tests wrote their report somewhere else"


@pytest.mark.parametrize(
    ("args", "exit_code", "says"),
    [
        (["no.xml"], 2, "navci: `no.xml` does not exist; name a report, a folder of reports, or"),
        (["no.xml", "n/*.xml"], 2, f"navci: `no.xml` does not exist; name a report, a folder of"
         f" reports, or a glob\nno file matches `n/*.xml`; {NOWHERE}\n"),
        (["a.xml", "no.xml"], 2, "navci: `no.xml` does not exist"),
        (["a.xml/b.xml"], 2, "navci: `a.xml/b.xml` does not exist"),
        (["no*.xml"], 2, f"navci: no file matches `no*.xml`; {NOWHERE}\n"),
        (["empty"], 2, f"navci: the folder `empty` has no *.xml; {NOWHERE}\n"),
        (["folder.xml"], 2, f"navci: the folder `folder.xml` has no *.xml; {NOWHERE}\n"),
        (["C:\\build\\*.xml"], 2, f"navci: no file matches `C:\\build\\*.xml`; {NOWHERE}\n"),
        (["*/../*.xml"], 2, "navci: junit: `*/../*.xml` has `..` after a wildcard"),
        (["*/deep.xml"], 2, "navci: no file matches `*/deep.xml`: `link` is a symbolic link to a"
         " folder and not followed; name that folder\n"),
        ([""], 2, "navci: an empty name; name a report, a folder of reports, or a glob\n"),
        (["-"], 2, "navci: `-`: a report is not read from standard input; save it as a file"),
        (["\x1b]\n::error::x"], 2, "navci: `\\x1b]\\x0a::error::x` does not exist"),
        ([], 2, "Missing argument 'FILE...'"),
        (["pipe.xml"], 3, "pipe.xml: it is no regular file but a named pipe; a report must be one"),
        (["door.xml"], 3, "door.xml: it is no regular file but a socket; a report must be one"),
        (["/dev/null"], 3, "/dev/null: it is no regular file but a device; a report must be one"),
        (["/dev/zero"], 3, "/dev/zero: it is no regular file but a device; a report must be one"),
        (["loop.xml"], 3, "loop.xml: it is a symbolic link; a report must be a regular file, name"),
        (["to-a.xml"], 3, "to-a.xml: it is a symbolic link; a report must be a regular file, name"),
        (["/proc/self/mem"], 3, "/proc/self/mem: it cannot be read (Input/output error)"),
        (["*.xml"], 3, "pipe.xml: it is no regular file but a named pipe"),
        (["a.xml", "./a.xml", "a.x?l"], 0, "passing: a.xml, 1 test: 1 passed\n"),
        (["sub"], 0, "passing: sub/b.xml, 1 test: 1 passed\n"),
        (["sub\\b.xml"], 0, "passing: sub/b.xml, 1 test: 1 passed\n"),
        (["sub\\**\\*.xml"], 0, "passing: sub/b.xml, 1 test: 1 passed\n"),
        (["sub/../a.xml"], 0, "passing: "),
        (["link"], 0, "passing: link/deep.xml, 1 test: 1 passed\n"),
        (["self/a*.xml"], 0, "passing: self/a.xml, 1 test: 1 passed\n"),
        (["[x].xml"], 0, "passing: [x].xml, 1 test: 1 passed\n"),
        (["--", "-v.xml"], 0, "passing: -v.xml, 1 test: 1 passed\n"),
        (["{work}/a.xml"], 0, "passing: a.xml, 1 test: 1 passed\n"),
    ],
)  # fmt: skip
def test_odd_arguments(work: Path, args: list[str], exit_code: int, says: str) -> None:
    write(work, **dict.fromkeys(("a", "[x]", "-v"), GREEN))
    for folder in ("empty", "folder.xml", "sub/x.xml", "linked"):
        (work / folder).mkdir(parents=True)
    (work / "sub/b.xml").write_text(GREEN)
    (work / "linked/deep.xml").write_text(GREEN)
    for link, to in (("loop.xml", "loop.xml"), ("to-a.xml", "a.xml"), ("self", ".")):
        (work / link).symlink_to(to)
    (work / "linked").rename(work.parent / "linked")
    (work / "link").symlink_to("../linked")
    os.mkfifo(work / "pipe.xml")
    with socket.socket(socket.AF_UNIX) as door:
        here = Path.cwd()
        os.chdir(work)  # the whole path may be too long for a socket
        try:
            door.bind("door.xml")
        finally:
            os.chdir(here)
    result = junit(work, *(arg.format(work=work) if arg == "{work}/a.xml" else arg for arg in args))
    assert result.exit_code == exit_code, result.said
    assert says in (result.stderr if exit_code == 2 else result.stdout)
    assert "Traceback" not in result.said


@pytest.mark.skipif(not can(*ANYBODY), reason="needs setpriv")
@pytest.mark.parametrize(
    ("args", "exit_code", "says"),
    [
        (["closed.xml"], 3, "closed.xml: it must not be read (permission denied); give the user"),
        (["."], 2, "navci: the folder `{work}/closed` cannot be read, and may hold reports; give"),
        (["closed"], 2, "navci: the folder `{work}/closed` cannot be read, and may hold reports"),
        (["closed/a.xml"], 2, "navci: `closed/a.xml` does not exist"),
    ],
)
def test_what_must_not_be_read(work: Path, args: list[str], exit_code: int, says: str) -> None:
    write(work, a=GREEN, closed=GREEN)
    (work / "closed.xml").chmod(0)
    (work / "closed").mkdir()
    (work / "closed/a.xml").write_text(GREEN)
    (work / "closed").chmod(0)
    try:
        result = junit(work, *args, through=ANYBODY)
    finally:
        (work / "closed").chmod(0o700)
    assert result.exit_code == exit_code, result.said
    assert says.format(work=work) in (result.stderr if exit_code == 2 else result.stdout)


def test_a_thousand_files(work: Path) -> None:
    for n in range(1000):
        (work / f"TEST-{n:04}.xml").write_text(suite(case(f"t{n}", "<failure/>" * (n == 998))))
    value: dict[str, Any] = json.loads(junit(work, "--json", "TEST-*.xml").stdout)
    assert totals(1000, 999, 1).items() <= value.items() and len(value["files"]) == 1000
    assert [f["path"] for f in value["files"] if f["failed_ids"]] == ["TEST-0998.xml"]
    said = junit(work, ".").stdout
    assert said.startswith("failing: 1,000 files, 1,000 tests: 999 passed, 1 failed\n")
    assert "  c::t998  in TEST-0998.xml\n" in said
    assert "  failing   TEST-0998.xml  1 test: 0 passed, 1 failed\n" in said
    assert "  … and 999 more, all passing; --json names them\n" in said
    (work / "TEST-0998.xml").unlink()
    assert "Files:\n  999, all passing; --json names them\n" in junit(work, ".").stdout


def test_hostile_words_are_no_commands_and_json_tells_them_exactly(work: Path) -> None:
    name = "::error::x ##[error]y \u202e\u200b[31m"
    write(work, a=suite(case(name, f"<failure message='{name}'>&#10;::stop-commands::t</failure>")))
    told = junit(work, "--json", "a.xml", GITHUB_ACTIONS="true")
    read = junit(work, "a.xml", GITHUB_ACTIONS="true", NO_COLOR="1")
    for line in (told.stdout + read.stdout).split("\n"):
        assert not line.lstrip().startswith("::") and "##[" not in line
    assert "\u202e" not in read.said and "\u200b" not in read.said
    assert json.loads(told.stdout)["files"][0]["failed_ids"] == [f"c::{name}"]


def test_a_name_that_is_not_utf_8(work: Path) -> None:
    (work / os.fsdecode(b"r\xff.xml")).write_text(GREEN)
    assert json.loads(junit(work, "--json", ".").stdout)["files"][0]["path"] == "r\\xff.xml"
    assert junit(work, ".").stdout.startswith("passing: r\\xff.xml, 1 test")


def test_many_red_tests_are_counted_and_json_names_all(work: Path) -> None:
    write(work, a=suite(*(case(f"t{n}", "<failure/>") for n in range(3000))))
    said = junit(work, "a.xml").stdout
    assert "  c::t19\n" in said and "c::t20\n" not in said
    assert "  … and 2,980 more; --json names them all\n" in said
    names = json.loads(junit(work, "--json", "a.xml").stdout)["files"][0]["failed_ids"]
    assert names == [f"c::t{n}" for n in range(3000)]


def test_json_that_cannot_be_written_is_no_verdict(work: Path) -> None:
    write(work, a=GREEN)
    env = environment(place_of(work))
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [PROGRAM, "junit", "--json", "a.xml"],
            cwd=work, env=env, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 18
    assert done.stderr == (
        "navci: the JSON cannot be written to standard output: No space left on device\n"
    )


@pytest.mark.parametrize(("xml", "exit_code"), [(GREEN, 0), (suite(F), 1)])
def test_a_reader_who_goes_away_changes_no_exit_code(work: Path, xml: str, exit_code: int) -> None:
    many = [f"r{n}" for n in range(500)]  # more than a pipe holds
    write(work, **dict.fromkeys(many, xml))
    read, written = os.pipe()
    os.close(read)
    with os.fdopen(written, "wb") as nobody:
        done = subprocess.run(
            [PROGRAM, "junit", "--json", *(f"{name}.xml" for name in many)],
            cwd=work, env=environment(place_of(work)), stdout=nobody, stderr=subprocess.PIPE,
            check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (exit_code, b"")


def test_help_says_what_a_program_needs(work: Path) -> None:
    said = " ".join(junit(work, "--help").stdout.split())
    for word in ("`verdict`", "`reasons`", "`files`", "`failed_ids`", "3 unusable"):
        assert word in said
