"""The one way to write a file: temporary name, fsync, rename."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
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


def special_files(top: Path, names: frozenset[str]) -> Iterator[Path]:
    """Everything below ``top`` of one of these names that is a pipe, a socket or a device.

    Git opens files of some names wherever they lie, and a pipe there makes it wait for ever.
    """
    for folder, folders, files in os.walk(top):
        if ".git" in folders:
            folders.remove(".git")
        for name in names.intersection(files):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                yield path


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of a regular file, not through a link; anything else could block for ever.

    Raises :class:`OSError`, also for a file of more than ``limit`` bytes.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        if status.st_size > limit:
            raise OSError(errno.EFBIG, f"it is longer than {limit} bytes", str(path))
        return stream.read(limit)


def append_text(path: Path, text: str) -> None:
    """Append to a file other programs append to as well (the runner's files, navci's own log)."""
    with path.open("ab") as stream:
        stream.write(text.encode("utf-8", "replace"))
        stream.flush()
