"""One process at a time in a folder, by a lock that ends with its process."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

_TAKEN = (errno.EWOULDBLOCK, errno.EACCES)


class FolderLock:
    """An advisory lock on ``folder`` itself, taken at once if it is free; no file is made for it.

    ``taken`` says that another process holds it. A file system without locks leaves it open:
    nobody holds it then, and ``problem`` says why.
    """

    def __init__(self, folder: Path) -> None:
        self.taken = False
        self.problem = ""
        self._handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.taken = error.errno in _TAKEN
            self.problem = "" if self.taken else error.strerror or str(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._handle)
