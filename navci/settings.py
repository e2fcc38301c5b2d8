"""Settings: command line and environment over the config file over defaults, checked once.

Everything wrong is reported at once, each with where it stands, its value, and what is allowed.
"""

from __future__ import annotations

import difflib
import glob
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from navci.errors import ConfigError
from navci.model import Binding, CheckSpec, FailOn, GitHubRules, Rules
from navci.settings_bindings import unknown_checks
from navci.settings_file import Given
from navci.settings_shape import GitHubBlock, LoopMode, Native, Navci, Simplification, TomFeatures

CONFIG_PATH = ".agent/.nav-config.json"
ALWAYS_PROTECTED = (".github/workflows/**",)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run is told. Times are seconds.

    ``protect`` and ``docs`` are globs relative to the repository's top; the globs and commands
    of ``checks`` are relative to ``working_directory``, ``config_path`` to the top. ``branch``
    '' is ``navci/<task>``, ``base`` '' the default branch. ``acceptance_map`` binds acceptance
    items, by id or text; with ``acceptance_strict`` those without evidence are missing.
    ``original_tests`` says what becomes of tests in files that the agent edited,
    ``original_tests_globs`` which more files control testing; ``allow_removed_tests`` are globs of
    baseline tests that may vanish, and with ``tolerate_baseline_failures`` red ones may stay red.
    ``transcripts`` ``None`` means: only in private repositories. ``notes`` are warnings for people;
    ``defaults`` are lines for the log, which say that defaults are used.
    """

    rules: Rules
    enabled: bool
    show_status_block: bool
    agent: str
    agent_command: str
    agent_args: tuple[str, ...]
    agent_env: tuple[str, ...]
    playbook: str
    checks: tuple[CheckSpec, ...]
    acceptance_strict: bool
    acceptance_map: Mapping[str, tuple[Binding, ...]]
    setup_command: str
    check_env: tuple[str, ...]
    config_path: str
    iteration_timeout: float
    time_budget: float
    branch: str
    base: str
    push: bool
    protect: tuple[str, ...]
    docs: tuple[str, ...]
    fail_on: FailOn
    upload: bool
    transcripts: bool | None
    retention_days: int
    working_directory: str
    dry_run: bool
    allow_dirty: bool
    simplify: bool
    diagnose: bool
    verification_checkpoints: bool
    max_iterations_given: bool
    commit_name: str | None
    commit_email: str | None
    notes: tuple[str, ...]
    in_actions: bool
    defaults: tuple[str, ...] = ()
    original_tests: Literal["report", "require"] = "report"
    original_tests_globs: tuple[str, ...] = ()
    allow_removed_tests: tuple[str, ...] = ()
    tolerate_baseline_failures: bool = False
    github: GitHubRules = field(default_factory=GitHubRules)


def load(
    options: Mapping[str, object],
    config_text: str | None,
    *,
    in_actions: bool,
    config_path: str = CONFIG_PATH,
    known_agents: Collection[str],
) -> Settings:
    """Settings from ``options`` over the file's text (``None``: there is no file).

    ``options`` are named as on the command line, with ``_`` or ``-``; ``None``, blank text and
    empty lists are not given, and names that are no settings (``task``, ``json``) are left alone.
    ``config_path`` is relative to the repository's top. Raises :class:`ConfigError` with every
    problem.
    """
    given = Given(options, config_text, in_actions=in_actions, config_path=config_path)
    loop = given.block("loop_mode", LoopMode)
    simplification = given.block("simplification", Simplification)
    tom = given.block("tom_features", TomFeatures)
    native = given.block("native", Native)
    own = given.block("navci", Navci)
    github = given.block("github", GitHubBlock)
    dry_run = given.switch("dry_run")

    never_pause = loop.never_pause_on_stagnation or in_actions
    max_iterations_given = given.has("loop_mode", "max_iterations")
    given.problems += [
        *_unbounded(never_pause, max_iterations_given, in_actions),
        *_agent_problems(own, known_agents, given),
        *_junit_problems(own, given),
        *_acceptance_problems(own, given),
    ]
    if given.problems:
        # A misspelt key may be why another is missing.
        raise ConfigError(*given.problems, *given.warnings)
    return Settings(
        rules=Rules(
            max_iterations=loop.max_iterations,
            stagnation_threshold=loop.stagnation_threshold,
            min_heuristics=own.min_heuristics,
            require_signal=loop.exit_requires_explicit_signal,
            never_pause=never_pause,
            strategy=loop.stagnation_diversify_strategy,
            max_verify_failures=native.max_verify_failures,
            max_cost_usd=own.max_cost_usd,
            max_tokens=own.max_tokens,
            approval=loop.iteration_approval,
            approval_interval=loop.periodic_interval,
        ),
        enabled=loop.enabled,
        show_status_block=loop.show_status_block,
        agent=own.agent,
        agent_command=own.agent_command,
        agent_args=own.agent_args,
        agent_env=own.agent_env,
        playbook=own.playbook,
        checks=_check_specs(own),
        acceptance_strict=own.acceptance == "strict",
        acceptance_map=own.acceptance_map,
        setup_command=own.setup_command,
        check_env=own.check_env,
        config_path=config_path,
        iteration_timeout=own.iteration_timeout,
        time_budget=own.time_budget,
        branch=own.branch,
        base=own.base,
        push=own.push,
        protect=_unique((*ALWAYS_PROTECTED, config_path, *_from_top(own, own.protect))),
        docs=_unique(_from_top(own, own.docs)),
        fail_on=own.fail_on,
        upload=own.upload,
        transcripts=own.transcripts,
        retention_days=own.retention_days,
        working_directory=own.working_directory,
        dry_run=dry_run,
        allow_dirty=own.allow_dirty,
        simplify=simplification.enabled,
        diagnose=tom.diagnose_enabled,
        verification_checkpoints=tom.verification_checkpoints,
        max_iterations_given=max_iterations_given,
        commit_name=own.commit_name,
        commit_email=own.commit_email,
        notes=(*given.warnings, *_ignored(given, own)),
        in_actions=in_actions,
        defaults=tuple(_defaults(given, loop)),
        original_tests=own.original_tests,
        original_tests_globs=_unique(_controls(own)),
        allow_removed_tests=own.allow_removed_tests,
        tolerate_baseline_failures=own.tolerate_baseline_failures,
        github=GitHubRules(**dict(github)),
    )


# --- what must fit together -----------------------------------------------------------------


def _unbounded(never_pause: bool, bounded: bool, in_actions: bool) -> Iterator[str]:
    """Navigator's safety guard: what never pauses needs a bound somebody chose."""
    if never_pause and not bounded:
        why = (
            "in GitHub Actions the loop never pauses"
            if in_actions
            else "with `never_pause_on_stagnation` on the loop never pauses"
        )
        yield (
            f"`max_iterations` is not given, and {why}: say how often it may try (1 to 20), with "
            f"{'the input `max-iterations`' if in_actions else '`--max-iterations`'} "
            "or `loop_mode.max_iterations`"
        )


def _agent_problems(own: Navci, known: Collection[str], given: Given) -> Iterator[str]:
    names = ", ".join(known)
    if not own.agent:
        if "agent" not in given.refused:
            yield (
                f"no agent is named; give {given.option('agent')} or `navci.agent` in "
                f"`{given.config_path}`: {names}"
            )
    elif own.agent not in known:
        near = difflib.get_close_matches(own.agent, known, 1)
        hint = f"did you mean `{near[0]}`? " if near else ""
        yield f"there is no agent `{own.agent}`; {hint}known: {names}"
    for agent, key, needed in (
        ("command", "agent_command", own.agent_command),
        ("playbook", "playbook", own.playbook),
    ):
        if own.agent == agent and not needed and key not in given.refused:
            yield f"the agent `{agent}` needs {given.option(key)} or `navci.{key}`"


def _junit_problems(own: Navci, given: Given) -> Iterator[str]:
    if not own.junit or own.test_command or given.refused & {"test_command", "checks"}:
        return
    if not own.checks:
        yield (
            "`junit` is given, but nothing that writes reports; "
            f"give {given.option('test_command')} or leave it out"
        )
    elif len(own.checks) > 1:
        yield (
            "`junit` is given without `test_command` and with several checks; say in "
            "`navci.checks` which of them writes the reports: {command, junit}"
        )


def _acceptance_problems(own: Navci, given: Given) -> Iterator[str]:
    if given.refused & {"test_command", "checks"}:
        return
    checks = [*(("tests",) if own.test_command else ()), *own.checks]
    for item, bindings in own.acceptance_map.items():
        for name in unknown_checks(bindings, checks):
            yield (
                f"`navci.acceptance_map` in `{given.config_path}` binds `{item}` to the check "
                f"`{name}`, which is not there; known: {', '.join(checks) or 'none'}"
            )


def _check_specs(own: Navci) -> tuple[CheckSpec, ...]:
    """The required checks; ``junit`` belongs to the test command, or to the only check."""
    specs = [
        CheckSpec(
            id=name,
            command=check.command,
            junit=_unique(check.junit or (() if own.test_command else own.junit)),
            timeout=check.timeout or own.check_timeout,
            may_write=_unique((*own.check_may_write, *check.may_write)),
        )
        for name, check in own.checks.items()
    ]
    if own.test_command:
        tests = CheckSpec(
            id="tests",
            command=own.test_command,
            junit=_unique(own.junit),
            timeout=own.check_timeout,
            may_write=_unique(own.check_may_write),
        )
        specs.insert(0, tests)
    return tuple(specs)


def _defaults(given: Given, loop: LoopMode) -> Iterator[str]:
    """What Navigator prints without a ``loop_mode`` block, with the numbers in force."""
    if "loop_mode" not in given.file:
        yield "Loop mode config not found in .nav-config.json."
        yield (
            f"Using defaults: max_iterations={loop.max_iterations}, "
            f"stagnation_threshold={loop.stagnation_threshold}"
        )


def _ignored(given: Given, own: Navci) -> Iterator[str]:
    """What was said and does not hold."""
    if given.in_actions and given.said_false("loop_mode", "never_pause_on_stagnation"):
        yield (
            "`loop_mode.never_pause_on_stagnation` is false, and overruled: "
            "in GitHub Actions nobody is there to answer, so it is on"
        )
    for agent, key in (("command", "agent_command"), ("playbook", "playbook")):
        if getattr(own, key) and own.agent != agent:
            yield f"`{key}` is given, and ignored: only the agent `{agent}` reads it"


def _from_top(own: Navci, globs: Iterable[str]) -> tuple[str, ...]:
    """Globs of the working directory as globs of the repository."""
    if own.working_directory == ".":
        return tuple(globs)
    return tuple(f"{glob.escape(own.working_directory)}/{one}" for one in globs)


def _controls(own: Navci) -> Iterator[str]:
    """Those of the original-tests run, where a leading ``!`` takes files away."""
    for glob_ in own.original_tests_globs:
        bare = glob_.removeprefix("!")
        yield glob_[: len(glob_) - len(bare)] + _from_top(own, (bare,))[0]


def _unique(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
