"""The one way to write a file: temporary name, fsync, rename."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def current_folder() -> Path:
    """Where the user stands; when that folder is gone, where it was."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path(os.environ.get("PWD") or "/")


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write ``data`` so that a reader, or a kill, sees the old file or the new one, never half.

    Raises :class:`OSError` as the system gives it (full disk, read-only); nothing is left behind.
    """
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:64]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(raw)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def append_text(path: Path, text: str) -> None:
    """Append to a file other programs append to as well (the runner's files, navci's own log)."""
    with path.open("ab") as stream:
        stream.write(text.encode("utf-8", "replace"))
        stream.flush()
