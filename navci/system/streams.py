"""The three standard streams, whatever whoever started navci made of them.

A closed one is not there for Python either, and the next file opened would take its place; one
that cannot be written makes Python end with an exit code of its own.
"""

from __future__ import annotations

import contextlib
import os
import sys


def open_streams() -> None:
    """Give every standard stream that is closed the null device."""
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            name = ("stdin", "stdout", "stderr")[number]
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def settle_streams() -> None:
    """Write out what is still held back; what nobody takes is dropped, and changes no exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with contextlib.suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)
