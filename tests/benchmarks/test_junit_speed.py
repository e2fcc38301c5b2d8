"""What ``navci junit`` costs on a report of a million tests, against bare lxml (DESIGN §12).

Printed at the end of the tests, not asserted; that the right thing was read is.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = 1_000_000
RUNS = 3
WANTED = 1.5
WANTED_MIB = 100

# The peak of this process alone: what the parent had before the exec is not in it.
PEAK = """
import atexit, re, sys
status = "/proc/self/status"
atexit.register(lambda: sys.stderr.write(re.search(r"VmHWM:\\s+(\\d+) kB", open(status).read())[1]))
"""
NAVCI = f"{PEAK}from navci.cli.main import main\nmain()"
BARE = f"""{PEAK}from lxml import etree
for _, element in etree.iterparse(sys.argv[1]):
    element.clear()
"""


@dataclass(frozen=True)
class Measured:
    """One run: seconds of processor time, MiB at its peak, and what it printed."""

    seconds: float
    mib: float
    printed: str


def measure(*args: str) -> Measured:
    """Run this Python with ``args``; compiled files are kept, as in an installed navci."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *args], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Measured(seconds, int(done.stderr) / 1024, done.stdout.decode())


def cases() -> Iterator[str]:
    """Of a hundred testcases two fail, three are skipped, two printed something."""
    for n in range(TESTS):
        match n % 100:
            case 1 | 51:
                inside = (
                    '<failure message="assert 1 == 2">def test():\n&gt;   assert 1 == 2\n\n'
                    "tests/test_x.py:2: AssertionError</failure>"
                )
            case 2 | 22 | 42:
                inside = '<skipped type="pytest.skip" message="not here"/>'
            case 3 | 33:
                inside = "<system-out>" + "a line of log\n" * 20 + "</system-out>"
            case _:
                inside = ""
        yield (
            f'<testcase classname="tests.pkg{n // 5000}.test_mod{n // 100}" '
            f'name="test_case_{n}[{n % 7}]" time="0.001">{inside}</testcase>\n'
        )


def test_a_million_tests_against_bare_lxml(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    report = tmp_path / "report.xml"
    with report.open("w") as file:
        file.write(f'<testsuites><testsuite name="pytest" tests="{TESTS}">\n')
        file.writelines(cases())
        file.write("</testsuite></testsuites>\n")
    try:
        # Turn and turn about, the best of each: what else this machine does only ever adds.
        ours, bare = [], []
        for _ in range(RUNS):
            ours.append(measure("-c", NAVCI, "junit", str(report)))
            bare.append(measure("-c", BARE, str(report)))
    finally:
        report.unlink()
    counted = "1,000,000 tests: 950,000 passed, 20,000 failed, 30,000 skipped"
    assert all(counted in run.printed for run in ours)
    navci, lxml = (min(run.seconds for run in runs) for runs in (ours, bare))
    peak, bare_peak = (max(run.mib for run in runs) for runs in (ours, bare))
    record_property(
        "benchmark",
        f"navci junit, {TESTS:,} tests: {navci:.2f} s, bare iterparse {lxml:.2f} s:"
        f" {navci / lxml:.2f}x (wanted: <= {WANTED}); peak {peak:.0f} MiB"
        f" (wanted: < {WANTED_MIB}), bare {bare_peak:.0f} MiB",
    )
