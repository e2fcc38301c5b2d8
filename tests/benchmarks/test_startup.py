"""What starting navci costs, against the library its command line is made with (DESIGN §12).

Printed at the end of the tests, not asserted.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

RUNS = 10
WANTED = 1.5


def seconds(*args: str) -> float:
    """One start of this Python with ``args``; compiled files are kept, as in an installed navci."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, *args], env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    return time.perf_counter() - started


def test_help_against_importing_click(record_property: Callable[[str, object], None]) -> None:
    ours = (
        "-c",
        "import sys; sys.argv = ['navci', '--help']; from navci.cli.main import main; main()",
    )
    theirs = ("-c", "import click")
    seconds(*ours), seconds(*theirs)
    # Turn and turn about: a busy machine slows both.
    pairs = [(seconds(*ours), seconds(*theirs)) for _ in range(RUNS)]
    navci, click = (statistics.median(column) for column in zip(*pairs, strict=True))
    record_property(
        "benchmark",
        f"navci --help {navci * 1000:.0f} ms, import click {click * 1000:.0f} ms:"
        f" {navci / click:.2f}x (wanted: <= {WANTED})",
    )
