"""One hierarchy of errors, one exit code per class.

A message says what happened, where, and what to do next. Errors are caught once, in ``cli``.
"""

from __future__ import annotations

from typing import ClassVar, Literal


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


TrackerFault = Literal[
    "auth", "permission", "gone", "moved", "locked", "limit", "unreachable", "refused"
]


class TrackerError(InfraError):
    """The ticket system did not do what it was asked.

    ``kind`` says what stands in the way: the token (``auth``), its rights (``permission``), the
    thing is not there (``gone``) or elsewhere (``moved``), it takes no changes (``locked``), a rate
    limit (``limit``), no answer (``unreachable``), or the request itself (``refused``). ``unsure``:
    it may have been done all the same. ``status`` and ``said``: the refusal's number and words.
    """

    def __init__(
        self,
        kind: TrackerFault,
        message: str,
        *,
        unsure: bool = False,
        status: int | None = None,
        said: str = "",
    ) -> None:
        self.kind = kind
        self.unsure = unsure
        self.status = status
        self.said = said
        super().__init__(message)

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later, without anyone changing anything."""
        return self.kind in ("limit", "unreachable")


class JournalDamaged(NavciError):
    """The journal of a task cannot be trusted: a fork, a forged event, an unreadable record."""

    exit_code = 20
