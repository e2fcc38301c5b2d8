"""One hierarchy of errors, one exit code per class.

A message says what happened, where, and what to do next. Errors are caught once, in ``cli``.
"""

from __future__ import annotations

from typing import ClassVar


class NavciError(Exception):
    """Anything navci itself reports to a person; ``exit_code`` is the process's (DESIGN §4)."""

    exit_code: ClassVar[int] = 1


class ConfigError(NavciError):
    """A setting, an input or the state of the checkout that navci refuses to start with."""

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class Skipped(NavciError):
    """The run was asked for, but must not start: nested loop, living lease, explicitly off."""

    exit_code = 19


class InfraError(NavciError):
    """Something around the agent's work is unusable: git, the disk, the agent's program."""

    exit_code = 18


class GitError(InfraError):
    """A git command failed. Carries the command, its exit code and the last line git said."""

    def __init__(self, command: str, exit_code: int, stderr: str) -> None:
        self.command = command
        self.git_exit = exit_code
        self.stderr = stderr.strip()
        said = self.stderr.splitlines()[-1] if self.stderr else "git said nothing"
        super().__init__(f"git {command} failed (exit {exit_code}): {said}")


class JournalDamaged(NavciError):
    """The journal of a task cannot be trusted: a fork, a forged event, an unreadable record."""

    exit_code = 20
