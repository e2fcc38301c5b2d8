"""navci.system.streams: standard streams that are closed, full, or read by nobody."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = (
    "import os, sys; from navci.system.streams import *; open_streams(); "
    "opened = os.open(os.devnull, os.O_RDONLY); print(opened > 2, file=sys.stderr); "
    "print('said'); sys.stdin.read(); settle_streams(); sys.exit(7)"
)


@pytest.mark.parametrize(
    "line",
    ['"$@"', '"$@" >&-', '"$@" <&-', '"$@" <&- >&- 2>&-', '"$@" >/dev/full', '"$@" 1</dev/null',
     '"$@" >&- <&-', '"$@" | true; exit ${PIPESTATUS[0]}'],
)  # fmt: skip
def test_the_exit_code_is_the_programs_own(line: str) -> None:
    done = subprocess.run(
        ["bash", "-c", line, "bash", sys.executable, "-c", PROGRAM],
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 7, done.stderr
    assert done.stderr in ("", "True\n"), "a file that was opened took a stream's place"


@pytest.mark.parametrize("line", ['"$@" --version >&-', '"$@" --help <&- 2>&-'])
def test_the_command_line_needs_no_streams(line: str) -> None:
    command = ["bash", "-c", line, "bash", sys.executable, "-c"]
    program = "from navci.cli.main import main; main()"
    done = subprocess.run([*command, program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
