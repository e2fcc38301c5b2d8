"""Checks: when they pass, and the one sentence that says why not."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from navci.evidence.checks import (
    OUTPUT_LIMIT,
    definition,
    receipt_stands,
)
from navci.model import CheckSpec, Receipt
from navci.system.process import StopFlag
from tests.support.check_bench import Bench
from tests.support.junit_files import F, P, suite

GREEN, RED = suite(P), suite(P, F)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def put(xml: str, path: str = "build/junit.xml") -> str:
    """A command that writes a report."""
    return f"mkdir -p {Path(path).parent}; cat > {path} <<'END'\n{xml}\nEND\n"


@pytest.mark.parametrize(
    ("command", "passed", "why"),
    [
        ("true", True, "`true` exited 0"),
        ("false", False, "`false` exited 1"),
        ("false | true", False, "`false | true` exited 1"),
        ("false; true", False, "`false; true` exited 1"),
        ("nosuch --x", False, "`nosuch --x` exited 127: a command in it was not found"),
        ("./x", False, "`./x` exited 126: a command in it is not executable"),
        ("kill -9 $$", False, "`kill -9 $$` exited 137: killed by signal 9 (SIGKILL)"),
        ("kill -TERM 0", False, "`kill -TERM 0` exited 143: killed by signal 15 (SIGTERM)"),
        ("exit 200", False, "`exit 200` exited 200"),
    ],
)
def test_without_reports_the_exit_code_decides(
    bench: Bench, command: str, passed: bool, why: str
) -> None:
    bench.write({"x": "#!/bin/sh\n"})
    result = bench(command)
    assert (result.passed, result.why) == (passed, why)
    assert result.report is None
    assert result.receipt.exit_code == int((why.split("exited ")[1]).split(":")[0])


NONE = "no JUnit report matched `build/*.xml`"


@pytest.mark.parametrize(
    ("command", "passed", "why"),
    [
        (put(GREEN), True, "exited 0, 1 test passed"),
        (
            "true",
            False,
            f"{NONE} after `true` exited 0; set `junit:` or remove it to judge by exit code",
        ),
        ("nosuch", False, f"`nosuch` exited 127: a command in it was not found, and {NONE}"),
        (put(GREEN) + "exit 3", False, "exited 3, although its report is green (1 test passed)"),
        (put(RED), False, "exited 0, but its report says otherwise: 1 failed of 2 tests"),
        (put(RED) + "exit 1", False, "exited 1: 1 failed of 2 tests, first: c::f"),
        (put(GREEN[:-20]), False, "exited 0, but its JUnit report proves nothing: build/junit.xml"),
        (put(GREEN[:-20]) + "exit 1", False, "exited 1, and its JUnit report proves nothing"),
        ("mkdir build; : > build/junit.xml", False, "it is empty"),
        (put(suite()), False, "no report holds a testcase: nothing ran"),
        (
            put(suite('<testcase classname="c" name="s"><skipped/></testcase>')),
            False,
            "no test passed: 1 of 1 were skipped",
        ),
        (put(GREEN) + put(RED, "build/b.xml"), False, "report says otherwise: 1 failed of 3"),
        (put(GREEN) + put("x", "build/b.xml"), False, "build/b.xml: it is not XML"),
        ("mkdir build; mkfifo build/j.xml", False, "build/j.xml: it is no regular file"),
        (put(GREEN, "g.xml") + "mkdir build; ln -s ../g.xml build/j.xml", False, "symbolic link"),
        (put(GREEN, "x/j.xml") + "ln -s x build", False, "(build is a symbolic link to a folder"),
    ],
)
def test_with_reports_both_must_agree(bench: Bench, command: str, passed: bool, why: str) -> None:
    result = bench(command, "build/*.xml")
    assert result.passed is passed
    assert why in result.why
    assert "\n" not in result.why and len(result.why) < 500


@pytest.mark.parametrize("kind", ["link", "dangling", "fifo", "future", "second"])
def test_every_kind_of_stale_report_is_deleted(bench: Bench, tmp_path: Path, kind: str) -> None:
    outside = tmp_path / "outside.xml"
    outside.write_text(GREEN)
    bench.write({"build/other.txt": ""})
    path = bench.repo / "build/j.xml"
    match kind:
        case "link":
            path.symlink_to(outside)
        case "dangling":
            path.symlink_to(tmp_path / "nowhere")
        case "fifo":
            os.mkfifo(path)
        case "future":
            path.write_text(GREEN)
            os.utime(path, (4e9, 4e9))
        case "second":
            bench.write({"build/deep/er/j.xml": GREEN})
    result = bench("true", "build/**/*.xml")
    assert not result.passed and "no JUnit report matched" in result.why
    assert not os.path.lexists(path)
    assert outside.read_text() == GREEN


def test_a_folder_that_matches_stays(bench: Bench) -> None:
    bench.write({"build/a.xml/keep.txt": "x"})
    assert bench(put(GREEN), "build/*.xml").passed
    assert (bench.repo / "build/a.xml/keep.txt").exists()


def test_a_tracked_report_is_neither_deleted_nor_read(bench: Bench) -> None:
    bench.write({"build/junit.xml": GREEN, "build/old.xml": RED})
    bench.tracked = frozenset({"build/junit.xml"})
    result = bench("true", "build/*.xml")
    assert not result.passed
    assert "(build/junit.xml is tracked by git and therefore no report)" in result.why
    assert (bench.repo / "build/junit.xml").read_text() == GREEN
    assert not (bench.repo / "build/old.xml").exists()
    assert bench(put(GREEN, "build/new.xml"), "build/*.xml").receipt.report_digests.keys() == {
        "build/new.xml"
    }


def test_a_stale_report_that_cannot_be_deleted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write({"build/junit.xml": GREEN})

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    result = bench("touch ran", "build/*.xml")
    assert not result.passed and result.receipt.exit_code is None
    assert result.why.startswith(
        "reports of an earlier run cannot be deleted: build/junit.xml (Permission denied)"
    )
    assert not (bench.repo / "ran").exists()


def test_timeouts(bench: Bench) -> None:
    result = bench(put(GREEN) + "sleep 30", "build/*.xml", deadline=1.0)
    assert not result.passed and result.receipt.timed_out
    assert result.why.endswith("timed out after 1s; its processes were ended")
    assert result.seconds < 8
    assert bench("sleep 30", spec={"timeout": 0.3}).receipt.timed_out


def test_interrupted(bench: Bench) -> None:
    stop = StopFlag()
    result = bench("echo x; sleep 30", on_line=lambda _: stop.request("SIGINT"), stop=stop)
    assert not result.passed and "was interrupted" in result.why
    assert result.receipt.exit_code is None


def test_a_working_directory_that_is_gone(bench: Bench) -> None:
    bench.cwd = bench.repo / "gone"
    result = bench("true")
    assert not result.passed and "could not start" in result.why and "gone" in result.why
    assert result.receipt.exit_code is None and result.receipt.ended


def test_a_check_that_kills_its_parents_group(bench: Bench) -> None:
    result = bench(put(GREEN) + "kill -9 -- -$PPID; sleep 30", "build/*.xml", deadline=5.0)
    assert not result.passed
    assert result.receipt.exit_code == 137
    assert "exited 137: killed by signal 9 (SIGKILL), although its report is green" in result.why
    assert "[navci: the step killed its own supervisor" in result.excerpt


def test_much_output(bench: Bench) -> None:
    lines: list[str] = []
    result = bench(
        f"{sys.executable} -c 'for n in range(200_000): print(n, \"x\" * 20)';"
        "printf '\\033[31mlast'",
        on_line=lines.append,
    )
    assert result.passed
    assert result.excerpt.endswith("199999 xxxxxxxxxxxxxxxxxxxx\nlast")
    assert len(result.excerpt.splitlines()) == 30
    assert len(lines) == 200_001
    assert (bench.output / "check-tests.out").stat().st_size > 5_000_000


@pytest.mark.parametrize(
    ("changed", "may_write", "passed", "voids"),
    [
        ((), (), True, ()),
        (("a.lock", "b/c.lock"), ("**/*.lock",), True, ()),
        (("a.lock", "src/x.py"), ("**/*.lock",), False, ("src/x.py",)),
        (("a b\n.py",), (), False, ("a b\n.py",)),
    ],
)
def test_a_check_that_changes_the_tree_is_void(
    bench: Bench,
    changed: tuple[str, ...],
    may_write: tuple[str, ...],
    passed: bool,
    voids: tuple[str, ...],
) -> None:
    result = bench("true", spec={"may_write": may_write}, changed_files=lambda: changed)
    assert (result.passed, result.changed) == (passed, voids)
    if voids:
        assert "it changed files of the repository, which makes it void: " in result.why
        assert "\n" not in result.why
    red = bench("false", changed_files=lambda: ("x.py",))
    assert red.why.startswith("`false` exited 1; also, it changed files of the repository")


def test_receipts() -> None:
    spec = CheckSpec("tests", "make test", ("build/*.xml",))
    receipt = Receipt("tests", "k", definition(spec), "t", "c", "", "", 1)
    assert receipt_stands(receipt, "k", "t", spec)
    assert not receipt_stands(receipt, "other", "t", spec)
    assert not receipt_stands(receipt, "k", "other", spec)
    for other in (
        replace(spec, id="x"),
        replace(spec, command="true"),
        replace(spec, junit=()),
        replace(spec, timeout=1.0),
        replace(spec, may_write=("x",)),
    ):
        assert not receipt_stands(receipt, "k", "t", other)
    assert not receipt_stands(replace(receipt, exit_code=None), "k", "t", spec)
    assert not receipt_stands(replace(receipt, timed_out=True), "k", "t", spec)


def test_a_receipt_says_what_was_run_and_when(bench: Bench) -> None:
    result = bench("true")
    receipt = result.receipt
    assert (receipt.check, receipt.contract, receipt.tree, receipt.commit) == (
        "tests",
        "k",
        "t",
        "c",
    )
    assert receipt.started <= receipt.ended and receipt.ended.endswith("Z")
    assert receipt.definition == definition(CheckSpec("tests", "true", (), 20.0))


def test_of_a_flood_the_start_and_the_end_are_kept(bench: Bench) -> None:
    """The start is as long as the limit, the end is what the check's excerpt is made of."""
    over = OUTPUT_LIMIT + 100_000
    result = bench(f"head -c {over} /dev/zero | tr '\\0' x; echo; echo the very end; exit 1")
    kept = (bench.output / "check-tests.out").read_bytes()
    assert OUTPUT_LIMIT < len(kept) < OUTPUT_LIMIT + 70_000
    assert kept.endswith(b"\nthe very end\n")
    assert b"[navci: cut here; the end follows]" in kept
    assert "the very end\n[navci: the output was too long to be kept whole]" in result.excerpt
