"""A real library with its own test suite, one function of it broken: what agents get to mend."""

from __future__ import annotations

import hashlib
import shlex
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.wheelhouse import cached, pip_download

VERSION = "4.12.3"
SHA256 = "8430be3a615106fdfceb0b2c1b41c4c98c6b0fc5cc59663a5539b111dd325fb0"

MODULE = "src/humanize/number.py"
RIGHT = "if value % 100 in (11, 12, 13):"
BROKEN = "if value % 100 in ():"
# What is red while the function is broken; no test of the suite is red otherwise.
RED = {f"tests.test_number::test_ordinal[{n}-{n}th]" for n in (11, 12, 13, 111)}

TEST_COMMAND = (
    f"PYTHONPATH=src {shlex.quote(sys.executable)} -m pytest -q --junitxml=build/junit.xml"
    " tests/test_number.py tests/test_filesize.py tests/test_lists.py"
)
JUNIT = "build/*.xml"


@dataclass(frozen=True)
class Library:
    """The library's source in ``folder``, its one function still right."""

    folder: Path

    def break_it(self) -> None:
        """Make ``ordinal`` forget that 11, 12 and 13 are special."""
        module = self.folder / MODULE
        text = module.read_text("utf-8")
        assert text.count(RIGHT) == 1
        module.write_text(text.replace(RIGHT, BROKEN), "utf-8")


def _fetch(folder: Path) -> None:
    pip_download(folder, "--no-deps", "--no-binary", "humanize", f"humanize=={VERSION}")
    archive = folder / f"humanize-{VERSION}.tar.gz"
    assert hashlib.sha256(archive.read_bytes()).hexdigest() == SHA256, (
        f"{archive} is not the known one"
    )


def unpack(folder: Path) -> Library:
    """Unpack humanize's source distribution as ``folder``, fetching it when it is not cached."""
    archive = cached(f"humanize-{VERSION}", _fetch) / f"humanize-{VERSION}.tar.gz"
    with tarfile.open(archive) as tar:
        tar.extractall(folder.parent, filter="data")
    (folder.parent / f"humanize-{VERSION}").rename(folder)
    return Library(folder)
