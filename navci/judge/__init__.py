"""Pure decisions (DESIGN §4): frozen values in, frozen values out, no I/O, no clock, no errors."""

from __future__ import annotations

from navci.judge.verdict import judge

# Grows when the same input would be judged differently: a journal says which judge wrote it.
JUDGE_VERSION = 1

__all__ = ["JUDGE_VERSION", "judge"]
