"""The shape of ``.agent/.nav-config.json``: which keys there are, and what each may hold.

Options go through the same shape, so a value is right or wrong in the same way wherever it is
given. A field's description completes the sentence "allowed: …".
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from navci.model import Binding, CloseIssue, FailOn, PullRequest, Strategy
from navci.settings_bindings import HOW, read_table
from navci.system.clock import parse_duration

LONGEST = 720 * 3600.0  # seconds; longer than any job GitHub lets run

_YES_NO = "true or false"
_TEXT = "text"
_GLOBS = "relative paths or globs, without `..`, in a list or separated by spaces or commas"
_TEST_GLOBS = "globs of test ids, in a list or one a line"
_LABEL = "the name of a label, up to 50 characters"
_LABELS = "names of labels, in a list or one a line"
_NAMES = "names of environment variables, in a list or separated by spaces or commas"
_DURATION = "a duration like 90s, 60m or 5h, at most 720h"
_CHECK_ID = re.compile(r"[a-z0-9][a-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What lets a process set outputs, reach later steps or act as the job (GitHub docs, workflow
# commands; the runner's own tokens).
_RUNNER_ONLY = re.compile(
    r"GITHUB_(?:ENV|OUTPUT|PATH|STEP_SUMMARY|STATE)|ACTIONS_(?:RUNTIME|ID_TOKEN)_.*", re.IGNORECASE
)
# git check-ref-format, and a leading `-`, which a command would take for an option.
_NO_BRANCH = re.compile(
    r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|^[-/]|/$|\.$|(?:^|/)\.|\.lock(?:/|$)|^@$|^HEAD$|^refs/"
)


# --- kinds of values: a ValueError says what is wrong with one ------------------------------


def _words(value: object) -> object:
    if isinstance(value, str):
        return tuple(word for word in re.split(r"[\s,]+", value) if word)
    return tuple(value) if isinstance(value, list) else value


def _lines(value: object) -> object:
    if isinstance(value, str):
        return tuple(line.strip() for line in value.splitlines() if line.strip())
    return tuple(value) if isinstance(value, list) else value


def _label(text: str) -> str:
    if not text.strip() or len(text) > 50 or not text.isprintable():
        raise ValueError("a label's name is one line of at most 50 characters")
    return text.strip()


def _argv(value: object) -> object:
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise ValueError(f"cannot be split into arguments, {str(error).lower()}") from None
    return tuple(value) if isinstance(value, list) else value


def _check_table(value: object) -> object:
    if isinstance(value, str):
        value = _check_lines(value)
    if not isinstance(value, Mapping):
        return value
    return {
        name: {"command": check} if isinstance(check, str) else check
        for name, check in value.items()
    }


def _check_lines(text: str) -> dict[str, str]:
    """``id: command`` a line; blank lines and lines that start with ``#`` are skipped."""
    table: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, command = (part.strip() for part in line.partition(":"))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not colon or not command:
            raise ValueError(f"the line `{line.strip()}` is not `id: command`")
        if name in table:
            raise ValueError(f"the id `{name}` stands twice")
        table[name] = command
    return table


def _check_id(name: str) -> str:
    if not _CHECK_ID.fullmatch(name):
        raise ValueError("a check's id is made of a-z, 0-9, `.`, `_` and `-`")
    if name == "tests":
        raise ValueError("`tests` is the id of test_command; choose another")
    return name


def _text(value: str) -> str:
    if "\0" in value:
        raise ValueError("text cannot hold a NUL")
    return value.strip()


def _command(value: str) -> str:
    if not value.strip():
        raise ValueError("a check without a command checks nothing")
    return _text(value)


def _argv_line(value: str) -> str:
    _argv(value)
    return _text(value)


def _identity(value: str) -> str:
    if not value.strip() or re.search(r"[<>\x00-\x1f\x7f]", value):
        raise ValueError("a name or address of a commit is one line without `<` and `>`")
    return value.strip()


def _relative(value: str) -> str:
    path = _text(value).removeprefix("./")
    if "\\" in path:
        raise ValueError("paths are written with `/`")
    if path.startswith(("/", "~")) or re.match(r"[A-Za-z]:", path):
        raise ValueError("the path must be relative")
    if ".." in path.split("/"):
        raise ValueError("the path must not leave its folder with `..`")
    return path


def _glob(value: str) -> str:
    glob = _relative(value)
    if not glob:
        raise ValueError("an empty glob matches nothing; leave it out")
    return glob


def _folder(value: str) -> str:
    return "/".join(part for part in _relative(value).split("/") if part not in ("", ".")) or "."


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError("not a name of an environment variable (give the name, not NAME=value)")
    if _RUNNER_ONLY.fullmatch(name):
        raise ValueError("this one steers the job itself and is never handed on; leave it out")
    return name


def _branch(name: str) -> str:
    if name and _NO_BRANCH.search(name):
        raise ValueError("git does not accept this name for a branch")
    return name


def _seconds(value: object) -> object:
    seconds = parse_duration(value) if isinstance(value, str) else LONGEST + 1
    if seconds > LONGEST:
        raise ValueError(f"allowed: {_DURATION}")
    return seconds


def _word_of(words: type[StrEnum]) -> Callable[[object], object]:
    table = {word.value: word for word in words}
    return lambda value: table.get(value, value) if isinstance(value, str) else value


Text = Annotated[str, AfterValidator(_text)]
Duration = Annotated[float, BeforeValidator(_seconds)]
Globs = Annotated[tuple[Annotated[str, AfterValidator(_glob)], ...], BeforeValidator(_words)]
TestGlobs = Annotated[tuple[Text, ...], BeforeValidator(_lines)]
Label = Annotated[str, AfterValidator(_label)]
Labels = Annotated[tuple[Label, ...], BeforeValidator(_lines)]
Names = Annotated[tuple[Annotated[str, AfterValidator(_variable)], ...], BeforeValidator(_words)]
Branch = Annotated[str, AfterValidator(_branch)]
CommitIdentity = Annotated[str, AfterValidator(_identity)]


# --- the blocks -----------------------------------------------------------------------------


class Block(BaseModel):
    """One object of the file. ``elsewhere`` are keys that Navigator reads and navci does not."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, allow_inf_nan=False)
    elsewhere: ClassVar[frozenset[str]] = frozenset()


class LoopMode(Block):
    """Navigator's Loop Mode, with its defaults and ranges (nav-loop)."""

    enabled: bool = Field(False, description=_YES_NO)
    max_iterations: int = Field(5, ge=1, le=20, description="a whole number from 1 to 20")
    stagnation_threshold: int = Field(3, ge=2, le=5, description="a whole number from 2 to 5")
    exit_requires_explicit_signal: bool = Field(True, description=_YES_NO)
    show_status_block: bool = Field(True, description=_YES_NO)
    iteration_approval: Literal["none", "strict", "periodic"] = Field(
        "none", description="none, strict or periodic"
    )
    periodic_interval: int = Field(3, ge=1, description="a whole number, 1 or more")
    never_pause_on_stagnation: bool = Field(False, description=_YES_NO)
    stagnation_diversify_strategy: Annotated[Strategy, BeforeValidator(_word_of(Strategy))] = Field(
        Strategy.COMBINE, description="combine, radical, reread or rotate"
    )


class Simplification(Block):
    """nav-simplify; navci reads the switch only, off unless asked for: it costs an agent turn."""

    elsewhere = frozenset(
        {"trigger", "scope", "model", "skip_patterns", "max_file_size", "auto_apply"}
        | {"preserve_comments", "rules", "scoring"}
    )
    enabled: bool = Field(False, description=_YES_NO)


class TomFeatures(Block):
    """Navigator's Theory of Mind features that reach a prompt."""

    elsewhere = frozenset({"confirmation_threshold", "profile_enabled", "belief_anchors"})
    diagnose_enabled: bool = Field(True, description=_YES_NO)
    verification_checkpoints: bool = Field(True, description=_YES_NO)


class Native(Block):
    """Comet's failure budget."""

    max_verify_failures: int = Field(5, ge=1, description="a whole number, 1 or more")


class Check(Block):
    """One entry of ``navci.checks``."""

    command: Annotated[str, AfterValidator(_command)] = Field(description="a command")
    junit: Globs = Field((), description=_GLOBS)
    timeout: Duration | None = Field(None, description=_DURATION)
    may_write: Globs = Field((), description=_GLOBS)


class Navci(Block):
    """navci's own block; its keys are the names of the options, in snake_case."""

    agent: Text = Field("", description="the name of an agent")
    agent_command: Annotated[str, AfterValidator(_argv_line)] = Field("", description=_TEXT)
    agent_args: Annotated[tuple[Text, ...], BeforeValidator(_argv)] = Field(
        (), description="arguments, in a list or one line"
    )
    agent_env: Names = Field((), description=_NAMES)
    playbook: Text = Field("", description="the path of a playbook")
    test_command: Text = Field("", description=_TEXT)
    junit: Globs = Field((), description=_GLOBS)
    checks: Annotated[
        dict[Annotated[str, AfterValidator(_check_id)], Check], BeforeValidator(_check_table)
    ] = Field({}, description="by id, a command or {command, junit, timeout, may_write}")
    check_may_write: Globs = Field((), description=_GLOBS)
    check_timeout: Duration = Field(3600.0, description=_DURATION)
    acceptance: Literal["strict", "lenient"] = Field("lenient", description="strict or lenient")
    acceptance_map: Annotated[dict[Text, tuple[Binding, ...]], BeforeValidator(read_table)] = Field(
        {}, description=f"by an item's id or text, {HOW}, or a list of them"
    )
    original_tests: Literal["report", "require"] = Field("report", description="report or require")
    original_tests_globs: Globs = Field((), description=_GLOBS)
    allow_removed_tests: TestGlobs = Field((), description=_TEST_GLOBS)
    tolerate_baseline_failures: bool = Field(False, description=_YES_NO)
    setup_command: Text = Field("", description=_TEXT)
    check_env: Names = Field((), description=_NAMES)
    iteration_timeout: Duration = Field(3600.0, description=_DURATION)
    time_budget: Duration = Field(330 * 60.0, description=_DURATION)
    max_cost_usd: float | None = Field(None, gt=0, description="a number above 0")
    max_tokens: int | None = Field(None, ge=1, description="a whole number, 1 or more")
    min_heuristics: int = Field(2, ge=0, le=6, description="a whole number from 0 to 6")
    branch: Branch = Field("", description="the name of a branch")
    base: Branch = Field("", description="the name of a branch")
    push: bool = Field(True, description=_YES_NO)
    protect: Globs = Field((), description=_GLOBS)
    docs: Globs = Field(("**/*.md", "**/*.rst", "docs/**"), description=_GLOBS)
    fail_on: Annotated[FailOn, BeforeValidator(_word_of(FailOn))] = Field(
        FailOn.INCOMPLETE, description="incomplete, error or never"
    )
    upload: bool = Field(True, description=_YES_NO)
    transcripts: bool | None = Field(None, description=_YES_NO)
    retention_days: int = Field(30, ge=1, le=400, description="a whole number from 1 to 400")
    working_directory: Annotated[str, AfterValidator(_folder)] = Field(
        ".", description="a folder of the repository"
    )
    allow_dirty: bool = Field(False, description=_YES_NO)
    commit_name: CommitIdentity | None = Field(None, description="one line of text")
    commit_email: CommitIdentity | None = Field(None, description="one line of text")


class GitHubBlock(Block):
    """What happens on GitHub: the ticket, the pull request, and the nightly queue (DESIGN §9)."""

    close_issue: Annotated[CloseIssue, BeforeValidator(_word_of(CloseIssue))] = Field(
        CloseIssue.WHEN_COMPLETE, description="when-complete, when-merged or never"
    )
    pull_request: Annotated[PullRequest, BeforeValidator(_word_of(PullRequest))] = Field(
        PullRequest.DRAFT, description="draft, ready or none"
    )
    label: Label = Field("loop-mode", description=_LABEL)
    label_running: Label = Field("loop-running", description=_LABEL)
    label_complete: Label = Field("loop-complete", description=_LABEL)
    label_aborted: Label = Field("loop-aborted", description=_LABEL)
    label_declined: Label = Field("loop-declined", description=_LABEL)
    label_awaiting: Label = Field("loop-awaiting", description=_LABEL)
    refuse_labels: Labels = Field(("security",), description=_LABELS)
    priority_labels: Labels = Field((), description=_LABELS)
    allow_bots: Labels = Field((), description="logins of bots, in a list or one a line")
    max_per_night: int = Field(20, ge=1, le=256, description="a whole number from 1 to 256")
    max_parallel: int = Field(4, ge=1, le=256, description="a whole number from 1 to 256")


BLOCKS: Mapping[str, type[Block]] = {
    "loop_mode": LoopMode,
    "simplification": Simplification,
    "tom_features": TomFeatures,
    "native": Native,
    "navci": Navci,
    "github": GitHubBlock,
}
