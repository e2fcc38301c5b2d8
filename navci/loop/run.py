"""A run under way: what the steps of the loop share, and the guard around measuring steps."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from navci.actions.commands import Console
from navci.agents import Agent
from navci.errors import InfraError, NavciError
from navci.evidence.bytecode import Bytecode
from navci.evidence.worktree import Worktree
from navci.journal import ENDED, Journal, State
from navci.marker import MarkerFiles
from navci.model import Baseline, CheckResult, CheckSpec, Contract, End, Iteration, Task
from navci.settings import Settings
from navci.system.checkout import Checkout
from navci.system.clock import Clock
from navci.system.exchange import mirror_ref
from navci.system.files import append_text
from navci.system.git import Git, Identity
from navci.system.process import StopFlag

if TYPE_CHECKING:  # each needs the other's shape
    from navci.loop.ticket import Ticket

Measured = TypeVar("Measured")


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What a caller asks for: plain values, nothing parsed.

    ``options`` are the command line's (an absent or empty value is not given); ``environment``
    is the process's; ``directory`` is where the user stands.
    """

    options: Mapping[str, object]
    directory: Path
    environment: Mapping[str, str]
    clock: Clock
    stop: StopFlag


@dataclass(frozen=True, slots=True)
class Folders:
    """The run directory, outside the checkout. Everything navci needs to trust is below it."""

    top: Path

    @property
    def scratch(self) -> Path:
        return self.top / "scratch"

    @property
    def artifact(self) -> Path:
        return self.top / "artifact"

    @property
    def transcripts(self) -> Path:
        return self.top / "transcripts"

    @property
    def log(self) -> Path:
        return self.top / "navci.log"

    def attempt(self, number: int, attempt: int) -> Path:
        """Prompt, transcripts and check output of one attempt at an iteration."""
        return self.transcripts / f"{number:02d}-{attempt:03d}"


@dataclass(frozen=True, slots=True)
class Around:
    """What lay beside the commits in the checkout ``place`` before the first turn there.

    ``nested`` are repositories inside the repository, ``submodules`` maps each to the tree of its
    files, ``programs`` those that run checks to the digest of their content.
    """

    place: str = ""
    nested: frozenset[str] = frozenset()
    submodules: Mapping[str, str] = field(default_factory=dict)
    programs: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Run:
    """One process's view of a run. The journal's state is the truth; this is the way to it.

    ``found`` is the tree of the checkout as it was found, until the checkout is on the work branch.
    ``originals`` holds what the original-tests run found, by tree: it is not run again for one.
    ``first_refs`` are all refs as the run began, before any agent. ``green`` are, by check, the
    tests whose last verdict was passed.
    ``turns`` counts what was gathered; ``measured_at`` is the tree that checks last ran on, and
    after how many turns. ``said_at_base`` are the words of what was red at base. ``base_cloned``
    says what a fresh clone of base has otherwise than here: empty when nothing, ``None`` while
    nobody tried.
    """

    request: RunRequest
    settings: Settings
    task: Task
    contract: Contract
    checkout: Checkout
    git: Git
    worktree: Worktree
    journal: Journal
    agent: Agent
    console: Console
    folders: Folders
    identity: Identity
    deadline: float
    opened: float
    baseline: Baseline | None = None
    checks: tuple[CheckResult, ...] = ()
    verified_tree: str | None = None
    tests_exit: int | None = None
    tree: str = ""
    found: str | None = None
    known_heads: Mapping[str, str] = field(default_factory=dict)
    first_refs: Mapping[str, str] = field(default_factory=dict)
    untracked: Mapping[str, str] = field(default_factory=dict)
    leave_out: frozenset[str] = frozenset()
    iterations: list[Iteration] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    complaints: tuple[str, ...] = ()
    marker: MarkerFiles | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)
    resumed: bool = False
    mirrored: bool = True
    pushed: bool = False
    originals: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    turns: int = 0
    measured_at: tuple[str, int] | None = None
    around: Around = Around()
    said_at_base: Mapping[str, str] | None = None
    base_cloned: str | None = None
    bytecode: Bytecode = field(init=False)
    green: dict[str, frozenset[str]] = field(default_factory=dict)
    simplified_tree: str | None = None
    simplify_note: str = ""
    ticket: Ticket | None = None
    close_problem: str = ""

    def __post_init__(self) -> None:
        self.bytecode = Bytecode(self.bytecode_folder, self.checkout.top)

    @property
    def bytecode_folder(self) -> Path:
        """Where Python keeps what it compiles for checks; nobody need trust it."""
        return self.folders.top / "bytecode"

    @property
    def state(self) -> State:
        """The journal's projection."""
        return self.journal.state

    @property
    def clock(self) -> Clock:
        return self.request.clock

    @property
    def stop(self) -> StopFlag:
        return self.request.stop

    @property
    def directory(self) -> Path:
        """Where agent and checks work: the working directory inside the checkout."""
        return self.checkout.top / self.settings.working_directory

    @property
    def pushes(self) -> bool:
        """Whether journal and branch go to a remote."""
        return self.settings.push and bool(self.checkout.remote_url)

    @property
    def required(self) -> tuple[CheckSpec, ...]:
        return self.contract.checks

    @property
    def seconds_left(self) -> float:
        """Until the time budget's reserve for closing begins (DESIGN §7)."""
        checks = sum(result.seconds for result in self.checks)
        reserve = min(2 * checks + 300.0, self.settings.time_budget / 4)
        return self.deadline - self.clock.monotonic() - reserve

    def mirror(self) -> None:
        """Copy the journal into the user's repository: to look at, and for a local run to resume.

        Best effort: navci itself never reads it back while the run goes on.
        """
        try:
            if self.journal.tip:
                mirror_ref(self.git, self.checkout, self.journal.ref, self.journal.tip)
                self.mirrored = True
        except InfraError as error:
            self.mirrored = False
            self.note(f"the journal could not be copied into the repository: {error}")

    def journal_refusal(self, why: str) -> None:
        """The run ends before its first iteration: an end event, so that nothing resumes it."""
        state = replace(self.state, end=End.CONFIG_ERROR, reason=why, lease=None)
        self.journal.append(ENDED, state, {"end": End.CONFIG_ERROR, "reason": why})

    def note(self, text: str) -> None:
        """Something people should know at the end: said now, kept for every report."""
        if text not in self.notes:
            self.notes.append(text)
            self.console.warning(text)

    def log(self, text: str) -> None:
        """A line for navci's own log; a log that cannot be written stops nothing."""
        try:
            append_text(self.folders.log, text.rstrip("\n") + "\n")
        except OSError as error:
            self.console.line(f"navci.log cannot be written: {error.strerror}")

    def attempt(self, failed: str, step: Callable[[], None]) -> None:
        """``step()``; what stops it is said behind ``failed``, and the run goes on."""
        try:
            step()
        except NavciError as error:
            self.note(f"{failed}: {error}")
        except OSError as error:
            self.note(f"{failed}: {error.strerror or error}")
        except Exception as error:  # a bug of ours must cost neither the run nor its marker
            self.log(traceback.format_exc())
            self.note(f"{failed}: {type(error).__name__}: {error}")

    def measured(self, what: str, measure: Callable[[], Measured], unmet: Measured) -> Measured:
        """``measure()``; when it fails, say so and go on with ``unmet`` (DESIGN §3).

        No evidence is never good evidence: callers hand in the value that counts as not met.
        """
        try:
            return measure()
        except Exception as error:
            self.log(traceback.format_exc())
            said = (
                str(error) if isinstance(error, NavciError) else f"{type(error).__name__}: {error}"
            )
            self.note(f"{what} could not be measured and counts as not met: {said}")
            return unmet
