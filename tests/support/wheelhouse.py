"""Packages that tests need as files, fetched once and kept outside the repository.

This is the only place where tests use a network: the first run fills the cache with ``pip``,
later runs read it. A fetch that fails is an error of the test, never a skip.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

TOP = Path(__file__).parents[2]
LOCK = TOP / ".github" / "requirements.lock"


def cached(name: str, fill: Callable[[Path], None]) -> Path:
    """The cache's folder ``name``, filled by ``fill`` when it is not there; safe under xdist.

    ``fill`` gets an empty folder; the folder takes its name only when ``fill`` came back, so a
    killed run leaves no half-filled cache.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "navci-tests"
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            filling = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=cache))
            try:
                fill(filling)
                filling.rename(folder)
            finally:
                shutil.rmtree(filling, ignore_errors=True)
    return folder


def pip_download(folder: Path, *args: str | Path) -> None:
    """``pip download`` into ``folder``; what pip said is in the error when it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "-d", folder, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, f"pip could not fetch {args}:\n{done.stdout}"


def wheelhouse() -> Path:
    """A folder with every wheel of the action's lock, for ``PIP_FIND_LINKS``."""
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    python = f"{sys.implementation.cache_tag}-{os.uname().machine}"
    return cached(
        f"wheelhouse-{python}-{digest}",
        lambda folder: pip_download(
            folder, "--require-hashes", "--only-binary", ":all:", "-r", LOCK
        ),
    )
