"""Reading JUnit reports: what counts, what is refused, what tests are called."""

from __future__ import annotations

import hashlib
import os
import socket
import time
from pathlib import Path

import pytest

from navci.evidence.junit import read_reports
from navci.model import TestReport
from tests.support.junit_files import REPORTS, F, P, Sample, case, suite
from tests.support.junit_refused import UNUSABLE


def read(folder: Path, *reports: str | bytes) -> TestReport:
    paths = []
    for number, data in enumerate(reports):
        path = folder / f"r{number}.xml"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        paths.append(path)
    return read_reports(paths, folder)


def totals(report: TestReport) -> tuple[int, int, int, int, int]:
    t = report.totals
    return t.tests, t.passed, t.failed, t.errored, t.skipped


@pytest.mark.parametrize("sample", REPORTS.values(), ids=REPORTS.keys())
def test_verdict_and_totals(tmp_path: Path, sample: Sample) -> None:
    report = read(tmp_path, sample.data)
    assert (report.verdict, totals(report)) == (sample.verdict, sample.totals), report.reasons
    assert bool(report.reasons) == (sample.verdict != "passing")
    assert sample.says in " ".join(report.reasons)
    assert report.digests == {"r0.xml": hashlib.sha256(sample.data).hexdigest()}
    assert not report.passed & report.red.keys() and not report.passed & report.skipped


@pytest.mark.parametrize(("data", "says"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_unusable_says_why(tmp_path: Path, data: str | bytes, says: str) -> None:
    report = read(tmp_path, data)
    assert (report.verdict, totals(report)) == ("unusable", (0, 0, 0, 0, 0))
    assert report.reasons[0].startswith("r0.xml: ") and says in report.reasons[0], report.reasons
    assert len(report.reasons[0]) < 400
    # A good report beside it does not help, but what it says is kept.
    both = read(tmp_path, data, suite(P, F))
    assert (both.verdict, totals(both)) == ("unusable", (2, 1, 1, 0, 0))
    assert says in both.reasons[0] and "1 failed of 2 tests" in both.reasons[1]


def test_no_report_is_unusable(tmp_path: Path) -> None:
    assert read_reports([], tmp_path).verdict == "unusable"


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("missing", "it does not exist"),
        ("link", "it is a symbolic link; a report must be a regular file, name that"),
        ("dangling", "it is a symbolic link; a report must be a regular file, name that"),
        ("loop", "it is a symbolic link; a report must be a regular file, name that"),
        ("fifo", "it is no regular file but a named pipe; a report must be one"),
        ("folder", "it is no regular file but a folder; a report must be one"),
        ("socket", "it is no regular file but a socket; a report must be one"),
        ("below-a-file", "it does not exist"),
    ],
)
def test_only_regular_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, says: str
) -> None:
    good, path = tmp_path / "good.xml", tmp_path / "x.xml"
    good.write_text(suite(P))
    monkeypatch.chdir(tmp_path)
    match kind:
        case "link":
            path.symlink_to(good)
        case "dangling":
            path.symlink_to(tmp_path / "nowhere")
        case "loop":
            path.symlink_to("x.xml")
        case "below-a-file":
            path = good / "x.xml"
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as door:
                door.bind("x.xml")
    report = read_reports([path], tmp_path)
    assert (report.verdict, report.reasons) == (
        "unusable",
        (f"{path.relative_to(tmp_path)}: {says}",),
    )


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
        (case("n", classname="a.B"), "a.B::n"),
        (case(" n\t&#10;m", classname=" a"), " a:: n \nm"),
        (case("n", classname="", more='file="t/a.py"'), "t/a.py::::n"),
        (case("n", classname="n", more='file="./t/a.js"'), "t/a.js::n::n"),
        (case("n", classname="", more='file="t\\a.cs"'), "t/a.cs::::n"),
        (case("n", classname="a.B", more='file="t/a.py"'), "a.B::n"),
        (case("n", classname="", more='file="{root}/t/a.py"'), "t/a.py::::n"),
        (case("n", classname="", more='file="file://{root}/t/a.py"'), "t/a.py::::n"),
        (case("n", classname="", more='file="/elsewhere/t/a.py"'), "a.py::::n"),
        (case("n", classname="", more='file="C:\\x\\a.cs"'), "a.cs::::n"),
        (case("{root}/t/a.mjs", classname="test"), "test::t/a.mjs"),
        (case("n[{root}/data]", classname="c"), "c::n[data]"),
        ('<testcase name="n"/>', "::n"),
        ('<testcase classname="c"/>', "c::"),
        (case("cafe\u0301"), "c::cafe\u0301"),
        (case("\u202eevil\u200b"), "c::\u202eevil\u200b"),
        (case("t[0x7f00aa11bb22]"), "c::t[0x7f00aa11bb22]"),
    ],
)
def test_ids(tmp_path: Path, xml: str, expected: str) -> None:
    report = read(tmp_path, suite(xml.replace("{root}", str(tmp_path))))
    assert report.passed == {expected}


def test_file_of_the_suite_helps_where_the_class_says_nothing(tmp_path: Path) -> None:
    inner = f'<testsuite file="t/a.js">{case("n", classname="")}</testsuite>'
    assert read(tmp_path, suite(inner)).passed == {"t/a.js::::n"}


def test_long_names_are_cut_and_stay_different(tmp_path: Path) -> None:
    report = read(tmp_path, suite(case("x" * 5000 + "a"), case("x" * 5000 + "b")))
    assert len(report.passed) == 2 and all(len(test) <= 1024 for test in report.passed)


def test_the_worst_of_duplicates_counts_in_any_order_and_over_files(tmp_path: Path) -> None:
    one = suite(case("x"), case("x", "<failure/>"), case("y", "<skipped/>"), case("y"), case("z"))
    two = suite(case("x", "<skipped/>"), case("z"), case("w"), case("w"))
    for reports in ((one, two), (two, one)):
        report = read(tmp_path, *reports)
        assert report.passed == {"c::z", "c::w"} and report.skipped == {"c::y"}
        assert set(report.red) == {"c::x"}
        assert report.repeated == {"c::x": 3, "c::y": 2, "c::z": 2, "c::w": 2}
        assert totals(report) == (9, 6, 1, 0, 2)
        assert "4 ids occur more than once" in report.oddities[-1]


def test_flaky_is_passed_and_named(tmp_path: Path) -> None:
    report = read(tmp_path, suite(case("x", "<flakyFailure message='1'/>")))
    assert report.totals.flaky == 1 and report.passed == {"c::x"}
    assert report.oddities == ("flaky, passed when rerun: c::x",)
    xml = suite(case("x", "<flakyFailure/>"))
    assert read(tmp_path, xml, xml).totals.flaky == 2


def test_totals_that_lie_are_named(tmp_path: Path) -> None:
    report = read(tmp_path, suite(P, attributes='tests="40" failures="n/a"'))
    assert report.oddities == (
        'failures="n/a" is no number; it is ignored',
        "<testsuite> declares 40 tests and holds 1 testcases; the testcases count",
    )


def test_red_tests_stay_in_the_order_of_the_report(tmp_path: Path) -> None:
    report = read(
        tmp_path,
        suite(case("z", "<failure/>"), case("m", more='status="failed"'), case("a", "<error/>")),
    )
    assert list(report.red) == ["c::z", "c::m", "c::a"]
    assert report.reasons[0].endswith("first: c::z")


def test_what_a_suite_counts_is_said_once_not_by_every_parent(tmp_path: Path) -> None:
    inner = f'<testsuite name="inner" failures="1">{P}</testsuite>'
    report = read(
        tmp_path, f'<testsuites failures="1"><testsuite errors="1">{inner}</testsuite></testsuites>'
    )
    assert len(report.reasons) == 1 and "<testsuite> counts 1" in report.reasons[0]


COLLECTION = '<error message="collection failure">E   ModuleNotFoundError: no</error>'


@pytest.mark.parametrize(
    ("xml", "module"),
    [
        (case("tests.test_a", COLLECTION, classname=""), "tests.test_a"),
        (case("TestX", COLLECTION, classname="tests.test_a"), "tests.test_a.TestX"),
        (case("test_a", "<error/>", classname="unittest.loader._FailedTest"), "test_a"),
        (case("setUpClass (test_x.U)", "<error/>", classname=""), "test_x.U"),
        (case("a/b.test.js", "<error/>", classname="Test suite failed to run"), "a/b.test.js"),
        (case("a/b.test.js", "<failure/>", classname="a/b.test.js"), "a/b.test.js"),
        (case("{root}/t/b.test.mjs", "<failure/>", classname="test"), "t/b.test.mjs"),
        (case("initializationError", "<error/>", classname="com.x.FooTest"), "com.x.FooTest"),
        (case("", "<error/>", classname="com.x.FooTest"), "com.x.FooTest"),
        (case("test_a", "<error/>", classname="tests.test_a"), None),
        (case("ok", "<failure/>", classname="ok"), None),
    ],
)
def test_modules_that_did_not_load(tmp_path: Path, xml: str, module: str | None) -> None:
    report = read(tmp_path, suite(P, xml.replace("{root}", str(tmp_path))))
    assert report.verdict == "failing"
    assert report.unloaded == ({module} if module else set())
    assert len(report.red) == 1 and (module is None or module in report.red)


def test_a_module_that_did_not_load_shows_its_error(tmp_path: Path) -> None:
    report = read(tmp_path, suite(case("tests.test_a", COLLECTION, classname="")))
    assert report.red["tests.test_a"] == "collection failure\nE   ModuleNotFoundError: no"


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("<failure message='assert 1 == 2'>E  1 != 2\n\nt/a.py:7: AssertionError</failure>",
         "t/a.py:7\nassert 1 == 2\nE  1 != 2\n\nt/a.py:7: AssertionError"),
        ('<error message="boom">  File "{root}/t/a.py", line 16, in x</error>',
         't/a.py:16\nboom\n  File "{root}/t/a.py", line 16, in x'),
        ("<failure message='m'>m\n at x (src/a.test.js:2:62)</failure>",
         "src/a.test.js:2\nm\n at x (src/a.test.js:2:62)"),
        ("<failure message='m'/>", "t/z.py:3\nm"),
        ("<skipped/><failure message='yes'/><error message='most'/>", "t/z.py:3\nmost"),
        ("<failure>a<!-- b -->c<b>d</b>&lt;<![CDATA[e]]></failure>", "t/z.py:3\nacd<e"),
        ("<failure message='[31mred[0m \u202e\u200b'>a\r\nb</failure>", "t/z.py:3\nred\na\nb"),
    ],
)  # fmt: skip
def test_excerpt(tmp_path: Path, inside: str, expected: str) -> None:
    xml = case("x", inside, more='file="t/z.py" line="3"').replace("{root}", str(tmp_path))
    report = read(tmp_path, suite(xml))
    assert report.red["c::x"] == expected.replace("{root}", str(tmp_path))


def test_excerpts_are_small(tmp_path: Path) -> None:
    report = read(tmp_path, suite(case("x", f"<failure message='é'>{'é' * 300_000}</failure>")))
    assert 100 < len(report.red["c::x"].encode()) <= 2048


def test_an_excerpt_begins_where_the_text_does_however_long(tmp_path: Path) -> None:
    report = read(tmp_path, suite(case("x", f"<failure>the begin{' y' * 100_000}</failure>")))
    assert report.red["c::x"].startswith("the begin y y")


@pytest.mark.parametrize("text", ["a" * 60_000, "a." * 30_000, "a.b:" * 15_000, "x\n" * 30_000])
def test_hostile_text_costs_no_time(tmp_path: Path, text: str) -> None:
    started = time.perf_counter()
    read(tmp_path, suite(*(case(f"x{n}", f"<failure>{text}</failure>") for n in range(20))))
    assert time.perf_counter() - started < 4


def test_reasons_name_the_file_and_stay_few(tmp_path: Path) -> None:
    report = read(tmp_path, suite(P, "<error/>"))
    assert report.reasons == ("r0.xml: <error> outside any testcase, on suite `s`: without a word",)
    report = read(tmp_path, *[suite(P, "<error message='b'/>")] * 30)
    assert report.reasons[0].startswith("r0.xml: <error> outside any testcase, on suite `s`: b")
    assert len(report.reasons) == 21 and report.reasons[-1] == "… and 10 more of this kind"


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"r\xff.xml")
    path.write_text(suite(P))
    assert list(read_reports([path], tmp_path).digests) == ["r\\xff.xml"]
