"""Where Python keeps what it compiled for checks: outside of the checkout, never trusted.

An agent, or a test it wrote, can leave byte code that stands for another source. So each state of
the files starts without any for the checkout; what was compiled for the installed libraries stays.
"""

from __future__ import annotations

import shutil
from pathlib import Path


class Bytecode:
    """One folder for the checks on ``top``, for as long as that is measured.

    A command that must not have it says ``env -u PYTHONPYCACHEPREFIX`` itself.
    """

    def __init__(self, folder: Path, top: Path) -> None:
        self._folder, self._top = folder, top
        self._state: object = None
        self._spoiled = 0

    def distrust(self) -> None:
        """Something ran that could have written there."""
        self._state = None

    def environment(self, state: object) -> dict[str, str]:
        """What checks on ``state`` get; checks on one state share what they compile."""
        if self._state is None or state != self._state:
            self._forget()
            self._state = state
        return {"PYTHONPYCACHEPREFIX": str(self._place)}

    @property
    def _place(self) -> Path:
        return self._folder / str(self._spoiled)

    def _forget(self) -> None:
        """Without the checkout's byte code; where that resists, in another folder."""
        for top in {self._top, self._top.resolve()}:
            try:
                shutil.rmtree(self._place / top.relative_to(top.anchor))
            except FileNotFoundError:
                continue
            except OSError:
                self._spoiled += 1
                while self._place.exists():
                    self._spoiled += 1
                return
