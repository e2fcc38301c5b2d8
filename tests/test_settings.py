"""Settings: precedence, every wrong value at once, and the safety guard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from navci.errors import ConfigError
from navci.model import Binding, BindingKind, CheckSpec, FailOn, Rules, Strategy
from navci.settings import Settings, load

PATH = ".agent/.nav-config.json"
AGENTS = ("command", "playbook", "claude")
AGENT = {"agent": "claude"}
TRUE_WORDS = ["true", "YES", "1", True]
FALSE_WORDS = ["false", "no", "0", False]
RUNNER_ONLY = [
    *("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_STATE"),
    *("ACTIONS_RUNTIME_TOKEN", "ACTIONS_RUNTIME_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
    "github_output",
]
NO_BRANCHES = [
    *("a b", "a\x7f", "a..b", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "-a", "/a", "a/"),
    *("a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "a@{1}", "@", "HEAD", "refs/heads/a"),
]


def read(
    options: Mapping[str, object] | None = None,
    config: object = None,
    *,
    in_actions: bool = False,
    config_path: str = PATH,
) -> Settings:
    text = config if config is None or isinstance(config, str) else json.dumps(config)
    return load(
        AGENT | dict(options or {}),
        text,
        in_actions=in_actions,
        config_path=config_path,
        known_agents=AGENTS,
    )


def problems(*args: Any, **kwargs: Any) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read(*args, **kwargs)
    assert caught.value.exit_code == 2
    return caught.value.problems


def test_an_unknown_key_is_named_beside_what_its_absence_makes_wrong() -> None:
    said = problems({"agent": ""}, {"navci": {"agnet": "claude"}})
    assert "no agent is named" in said[0]
    assert "`navci.agnet`" in said[1]
    assert "did you mean `agent`?" in said[1]


def navci(**keys: object) -> dict[str, object]:
    return {"navci": keys}


def loop(**keys: object) -> dict[str, object]:
    return {"loop_mode": keys}


# --- defaults and precedence ----------------------------------------------------------------


def test_without_a_config_the_defaults_hold_and_are_said() -> None:
    settings = read()
    assert settings.rules == Rules()
    assert (settings.rules.max_iterations, settings.rules.stagnation_threshold) == (5, 3)
    assert settings.notes == ()
    assert settings.defaults == (
        "Loop mode config not found in .nav-config.json.",
        "Using defaults: max_iterations=5, stagnation_threshold=3",
    )
    assert settings.protect == (".github/workflows/**", PATH)
    assert settings.docs == ("**/*.md", "**/*.rst", "docs/**")
    assert (settings.iteration_timeout, settings.time_budget) == (3600.0, 19800.0)
    assert (settings.push, settings.upload, settings.retention_days) == (True, True, 30)
    assert settings.transcripts is None
    assert settings.fail_on is FailOn.INCOMPLETE
    assert not settings.max_iterations_given
    assert not settings.simplify


def test_the_defaults_that_are_said_are_the_ones_in_force() -> None:
    assert read({"max_iterations": 7}).defaults[1] == (
        "Using defaults: max_iterations=7, stagnation_threshold=3"
    )


def test_a_config_without_a_loop_mode_block_says_so_too() -> None:
    said = read(config={"version": "8.0"}).defaults
    assert said[0].startswith("Loop mode config not found")
    assert read(config=loop()).defaults == ()


def test_every_key_of_navigators_block_is_read() -> None:
    settings = read(
        config=loop(
            enabled=True,
            max_iterations=20,
            stagnation_threshold=2,
            exit_requires_explicit_signal=False,
            show_status_block=False,
            iteration_approval="periodic",
            periodic_interval=4,
            never_pause_on_stagnation=True,
            stagnation_diversify_strategy="rotate",
        )
        | {
            "simplification": {"enabled": True, "trigger": "pre-commit", "rules": {}},
            "tom_features": {"diagnose_enabled": False, "verification_checkpoints": False},
            "native": {"max_verify_failures": 9},
            "project_management": "github",
            "task_mode": {"enabled": True},
        }
    )
    assert settings.rules == Rules(
        max_iterations=20,
        stagnation_threshold=2,
        require_signal=False,
        never_pause=True,
        strategy=Strategy.ROTATE,
        max_verify_failures=9,
        approval="periodic",
        approval_interval=4,
    )
    assert settings.enabled
    assert settings.simplify
    assert not (settings.show_status_block or settings.diagnose)
    assert not settings.verification_checkpoints
    assert settings.notes == ()


def test_every_key_of_navcis_block_is_read() -> None:
    settings = read(
        {"agent": None},
        navci(
            agent="command",
            agent_command="bash 'my fix.sh' {prompt_file}",
            agent_args=["--model", "a b"],
            agent_env=["API_KEY", "HOME"],
            test_command="make test",
            junit="build/*.xml",
            checks={"lint": "ruff check", "unit": {"command": "make u", "timeout": "90s"}},
            acceptance="strict",
            acceptance_map={"AVATAR-1": "test=tests/test_a.py", "b": ["check=lint", "id=B-17"]},
            check_may_write=["*.lock"],
            check_timeout="5m",
            setup_command="make deps",
            check_env="DB_URL",
            iteration_timeout="10m",
            time_budget="2h",
            max_cost_usd=2,
            max_tokens=1000,
            min_heuristics=0,
            branch="bot/fix",
            base="main",
            push=False,
            protect=["secrets/**"],
            docs=["guide/**"],
            fail_on="never",
            upload=False,
            transcripts=True,
            retention_days=3,
            allow_dirty=True,
            commit_name="A Bot",
            commit_email="bot@example.org",
        )
        | loop(),
    )
    assert settings.checks == (
        CheckSpec("tests", "make test", ("build/*.xml",), 300.0, ("*.lock",)),
        CheckSpec("lint", "ruff check", (), 300.0, ("*.lock",)),
        CheckSpec("unit", "make u", (), 90.0, ("*.lock",)),
    )
    assert settings.acceptance_strict
    assert settings.acceptance_map == {
        "AVATAR-1": (Binding(BindingKind.TEST, "tests/test_a.py"),),
        "b": (Binding(BindingKind.CHECK, "lint"), Binding(BindingKind.ID, "B-17")),
    }
    assert settings.agent_command == "bash 'my fix.sh' {prompt_file}"
    assert settings.agent_args == ("--model", "a b")
    assert settings.agent_env == ("API_KEY", "HOME")
    assert settings.check_env == ("DB_URL",)
    assert settings.setup_command == "make deps"
    assert (settings.iteration_timeout, settings.time_budget) == (600.0, 7200.0)
    assert (settings.rules.max_cost_usd, settings.rules.max_tokens) == (2.0, 1000)
    assert settings.rules.min_heuristics == 0
    assert (settings.branch, settings.base, settings.push) == ("bot/fix", "main", False)
    assert settings.protect == (".github/workflows/**", PATH, "secrets/**")
    assert settings.docs == ("guide/**",)
    assert settings.fail_on is FailOn.NEVER
    assert (settings.upload, settings.transcripts, settings.retention_days) == (False, True, 3)
    assert settings.allow_dirty
    assert (settings.commit_name, settings.commit_email) == ("A Bot", "bot@example.org")
    assert settings.notes == ()


@pytest.mark.parametrize(
    ("option", "config", "expected"),
    [
        (None, None, 5),
        (None, 4, 4),
        (3, 4, 3),
        ("3", 4, 3),
        (" 3\n", None, 3),
        ("", 4, 4),
        ("  ", 4, 4),
    ],
)
def test_option_over_config_over_default(option: object, config: object, expected: int) -> None:
    file = loop(max_iterations=config) if config else None
    settings = read({"max_iterations": option}, file)
    assert settings.rules.max_iterations == expected
    assert settings.max_iterations_given == (expected != 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(word, True) for word in TRUE_WORDS] + [(word, False) for word in FALSE_WORDS],
)
def test_switches_in_options_are_words(text: object, expected: bool) -> None:
    settings = read({"push": text, "allow-dirty": text, "dry_run": text})
    assert (settings.push, settings.allow_dirty, settings.dry_run) == (expected,) * 3


def test_options_are_text_as_the_action_hands_it_on() -> None:
    settings = read(
        {
            "test-command": "  make test\n",
            "junit": "build/*.xml, out/**/*.xml\n./r.xml\n",
            "checks": "\n# style\nlint: ruff check: all\n\n types.x : mypy\r\n",
            "agent_args": "--model 'big one' -v",
            "agent_env": "API_KEY,OTHER\nHOME",
            "max_cost_usd": "2.5",
            "max_tokens": "100",
            "iteration_timeout": "90s",
            "retention_days": "7",
            "task": "not a setting",
            "issue": 7,
        }
    )
    assert settings.checks == (
        CheckSpec("tests", "make test", ("build/*.xml", "out/**/*.xml", "r.xml")),
        CheckSpec("lint", "ruff check: all"),
        CheckSpec("types.x", "mypy"),
    )
    assert settings.agent_args == ("--model", "big one", "-v")
    assert settings.agent_env == ("API_KEY", "OTHER", "HOME")
    assert (settings.rules.max_cost_usd, settings.rules.max_tokens) == (2.5, 100)
    assert (settings.iteration_timeout, settings.retention_days) == (90.0, 7)


def test_globs_and_config_of_a_working_directory_are_the_repositorys() -> None:
    settings = read(
        {"working_directory": "./pkg//a/", "protect": "ci/**", "junit": "r.xml", "checks": "a: b"},
        config_path="pkg/a/.agent/.nav-config.json",
    )
    assert settings.working_directory == "pkg/a"
    assert settings.protect == (
        ".github/workflows/**",
        "pkg/a/.agent/.nav-config.json",
        "pkg/a/ci/**",
    )
    assert settings.docs == ("pkg/a/**/*.md", "pkg/a/**/*.rst", "pkg/a/docs/**")
    assert settings.checks == (CheckSpec("a", "b", ("r.xml",)),)


# --- wrong values ---------------------------------------------------------------------------

BAD_IN_FILE = [
    (loop(max_iterations=25), "loop_mode.max_iterations", "25", "a whole number from 1 to 20"),
    (loop(max_iterations=0), "loop_mode.max_iterations", "0", "1 to 20"),
    (loop(max_iterations=True), "loop_mode.max_iterations", "true", "1 to 20"),
    (loop(max_iterations="5"), "loop_mode.max_iterations", '"5"', "1 to 20"),
    (loop(max_iterations=5.0), "loop_mode.max_iterations", "5.0", "1 to 20"),
    (loop(max_iterations=None), "loop_mode.max_iterations", "null", "1 to 20"),
    (loop(stagnation_threshold=1), "loop_mode.stagnation_threshold", "1", "2 to 5"),
    (loop(stagnation_threshold=6), "loop_mode.stagnation_threshold", "6", "2 to 5"),
    (loop(periodic_interval=0), "loop_mode.periodic_interval", "0", "1 or more"),
    (loop(enabled="true"), "loop_mode.enabled", '"true"', "true or false"),
    (loop(enabled=1), "loop_mode.enabled", "1", "true or false"),
    (loop(iteration_approval="always"), "iteration_approval", '"always"', "strict or periodic"),
    (loop(stagnation_diversify_strategy="x"), "diversify_strategy", '"x"', "combine, radical"),
    ({"native": {"max_verify_failures": 0}}, "native.max_verify_failures", "0", "1 or more"),
    ({"native": {"max_verify_failures": 1.5}}, "native.max_verify_failures", "1.5", "whole"),
    ({"simplification": {"enabled": "no"}}, "simplification.enabled", '"no"', "true or false"),
    ({"tom_features": {"diagnose_enabled": []}}, "diagnose_enabled", "a list", "true or false"),
    (navci(acceptance="yes"), "navci.acceptance", '"yes"', "strict or lenient"),
    (navci(acceptance=True), "navci.acceptance", "true", "strict or lenient"),
    (navci(acceptance_map=["a"]), "navci.acceptance_map", "a", "by an item's id or text"),
    (navci(acceptance_map={"a": "t::x"}), "acceptance_map", "t::x", "is written `test=<selector>`"),
    (navci(acceptance_map={"a": 3}), "acceptance_map", "3", "`a` has no binding"),
    (navci(acceptance_map={"a": []}), "acceptance_map", "a", "`a` has no binding"),
    (navci(acceptance_map={"a": ["test="]}), "acceptance_map", "a", "nothing stands behind"),
    (navci(acceptance_map={"a": "check=x"}), "acceptance_map", "`x`", "known: none"),
    (navci(agent=3), "navci.agent", "3", "the name of an agent"),
    (navci(iteration_timeout=60), "navci.iteration_timeout", "60", "like 90s, 60m or 5h"),
    (navci(iteration_timeout="60"), "navci.iteration_timeout", '"60"', "like 90s, 60m or 5h"),
    (navci(time_budget="0s"), "navci.time_budget", '"0s"', "longer than 0"),
    (navci(time_budget="721h"), "navci.time_budget", '"721h"', "at most 720h"),
    (navci(max_cost_usd=0), "navci.max_cost_usd", "0", "above 0"),
    (navci(max_tokens=-1), "navci.max_tokens", "-1", "1 or more"),
    (navci(min_heuristics=7), "navci.min_heuristics", "7", "0 to 6"),
    (navci(retention_days=0), "navci.retention_days", "0", "1 to 400"),
    (navci(fail_on="always"), "navci.fail_on", '"always"', "incomplete, error or never"),
    (navci(push="true"), "navci.push", '"true"', "true or false"),
    (navci(junit=["ok", "/abs.xml"]), "navci.junit[1]", '"/abs.xml"', "relative"),
    (navci(junit="a/../../b.xml"), "navci.junit[0]", "b.xml", "`..`"),
    (navci(junit=["C:/r.xml"]), "navci.junit[0]", "C:/r.xml", "relative"),
    (navci(junit=["build\\*.xml"]), "navci.junit[0]", "*.xml", "`/`"),
    (navci(junit=[""]), "navci.junit[0]", '""', "leave it out"),
    (navci(junit=[1]), "navci.junit[0]", "1", "globs"),
    (navci(junit={}), "navci.junit", "an object", "globs"),
    (navci(protect=["~/x"]), "navci.protect[0]", "~/x", "relative"),
    (navci(working_directory="../x"), "navci.working_directory", "../x", "`..`"),
    (navci(agent_env=["A=b"]), "navci.agent_env[0]", "A=b", "not NAME=value"),
    (navci(agent_env=["1A"]), "navci.agent_env[0]", "1A", "name of an environment variable"),
    (navci(agent_args="'open"), "navci.agent_args", "'open", "no closing quotation"),
    (navci(agent_command='a "b'), "navci.agent_command", 'a \\"b', "no closing quotation"),
    (navci(checks={"tests": "x"}), "navci.checks.tests", "", "test_command"),
    (navci(checks={"Lint": "x"}), "navci.checks.Lint", "", "a-z, 0-9"),
    (navci(checks={"a": ""}), "navci.checks.a.command", '""', "checks nothing"),
    (navci(checks={"a": {}}), "navci.checks.a.command", "missing", "a command"),
    (navci(checks={"a": 5}), "navci.checks.a", "5", "by id, a command"),
    (navci(checks=["a: b"]), "navci.checks", '["a: b"]', "by id"),
    (navci(checks={"a": {"command": "x", "timeout": 5}}), "checks.a.timeout", "5", "like 90s"),
    (navci(checks={"a": {"command": "x", "junit": ["/r"]}}), "a.junit[0]", '"/r"', "relative"),
    (navci(checks={"junit": 5}), "navci.checks.junit", "5", "by id, a command"),
    (navci(checks={"a\nb": "x"}), 'navci.checks."a\\nb"', "", "a-z, 0-9"),
    (navci(commit_name="A <b>"), "navci.commit_name", "A <b>", "one line"),
    (navci(commit_email="a\nb"), "navci.commit_email", "a\\nb", "one line"),
    (navci(test_command="a\0b"), "navci.test_command", "a", "NUL"),
    ({"loop_mode": []}, "loop_mode", "a list", "must be an object"),
    ({"navci": None}, "navci", "null", "must be an object"),
    ({"native": 5}, "native", "a number", "must be an object"),
]


@pytest.mark.parametrize(
    ("config", "path", "value", "allowed"), BAD_IN_FILE, ids=[case[1] for case in BAD_IN_FILE]
)
def test_a_wrong_value_in_the_file_names_path_value_and_what_is_allowed(
    config: object, path: str, value: str, allowed: str
) -> None:
    (said,) = problems(config=config)
    assert path in said
    assert PATH in said
    assert value in said
    assert allowed in said


BAD_OPTIONS: list[tuple[dict[str, object], str, str]] = [
    ({"max_iterations": "25"}, '`--max-iterations` is "25"', "a whole number from 1 to 20"),
    ({"max_iterations": 0}, "`--max-iterations` is 0", "1 to 20"),
    ({"max_iterations": "many"}, '`--max-iterations` is "many"', "1 to 20"),
    ({"push": "maybe"}, '`--push` is "maybe"', "true or false"),
    ({"dry_run": "maybe"}, '`--dry-run` is "maybe"', "true or false"),
    ({"max_cost_usd": "nan"}, '`--max-cost-usd` is "nan"', "above 0"),
    ({"max_cost_usd": "$5"}, "`--max-cost-usd`", "above 0"),
    ({"time_budget": "5 days"}, "`--time-budget`", "90s, 60m or 5h"),
    ({"checks": "lint ruff"}, "`--checks`", "`lint ruff` is not `id: command`"),
    ({"checks": "lint:"}, "`--checks`", "is not `id: command`"),
    ({"checks": "a: x\na: y"}, "`--checks`", "the id `a` stands twice"),
    ({"checks": "tests: x"}, "`--checks.tests`", "test_command"),
    ({"checks": ": x"}, "`--checks.`", "a-z, 0-9"),
    ({"agent_env": "A GITHUB_OUTPUT"}, "`--agent-env[1]`", "never handed on"),
    ({"test_command": "\udcff\0"}, "`--test-command`", "NUL"),
    ({"fail_on": "red"}, "`--fail-on`", "incomplete, error or never"),
]


@pytest.mark.parametrize(
    ("options", "where", "what"), BAD_OPTIONS, ids=[case[1] for case in BAD_OPTIONS]
)
def test_a_wrong_option_is_named_as_the_option(
    options: dict[str, object], where: str, what: str
) -> None:
    (said,) = problems(options)
    assert where in said
    assert what in said


def test_in_actions_an_option_is_an_input() -> None:
    said = problems({"max_iterations": "25"}, in_actions=True)
    assert said == ('the input `max-iterations` is "25"; allowed: a whole number from 1 to 20',)


@pytest.mark.parametrize(
    "name",
    RUNNER_ONLY,
)
@pytest.mark.parametrize("key", ["agent_env", "check_env"])
def test_what_steers_the_job_is_never_handed_on(key: str, name: str) -> None:
    (said,) = problems({key: name})
    assert "never handed on" in said


@pytest.mark.parametrize(
    "name",
    NO_BRANCHES,
)
def test_branches_git_refuses_are_refused(name: str) -> None:
    (said,) = problems({"branch": name})
    assert said.startswith("`--branch` is ")


@pytest.mark.parametrize("name", ["main", "navci/issue-7", "a.b/c_d", "v1.2", "ä", "a@b", "a-"])
def test_branches_git_accepts_are_accepted(name: str) -> None:
    assert read({"branch": name, "base": name}).branch == name


def test_everything_wrong_is_said_at_once() -> None:
    said = problems(
        {"max_iterations": "x", "agent": "claud", "junit": "r.xml"},
        loop(max_iterations=99, stagnation_threshold=9) | navci(time_budget=1) | {"native": []},
    )
    assert len(said) == 7
    assert "there is no agent `claud`; did you mean `claude`?" in said[5]
    assert str(ConfigError(*said)) == "\n".join(said)


# --- the file as JSON -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("\ufeff{}", "byte order mark"),
        ("[]", "not a list"),
        ("null", "not null"),
        ('{"a": 1,}', "line 1, column"),
        ('{"a": [1, ]}', "take the comma"),
        ('{"a": 1,\n}', "take the comma"),
        ('{\n  // why\n  "a": 1}', "line 2, column 3): JSON has no comments"),
        ('{"a": 1 /* x */}', "JSON has no comments"),
        ('# x\n{"a": 1}', "JSON has no comments"),
        ("{'a': 1}", "double quotes"),
        ('{"a": 1', "line 1, column 8"),
        ('{"a": 1} x', "extra data"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": Infinity}', "Infinity"),
        ('{"a": ' + "9" * 5000 + "}", "not usable JSON"),
        ("[" * 200_000, "not usable JSON"),
        ('{"\\ud800": 1}', "surrogates not allowed"),
    ],
    ids=lambda value: value[:20],
)
def test_what_is_not_json_is_located_and_explained(text: str, what: str) -> None:
    (said,) = problems(config=text)
    assert PATH in said
    assert what in said


# --- keys -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        (loop(max_iteration=3), "`loop_mode.max_iteration`"),
        (loop(max_iteration=3), "did you mean `max_iterations`?"),
        (navci(**{"test-command": "x"}), "did you mean `test_command`?"),
        (loop(**{"x\n::error::": 1}), '"x\\n::error::"'),
        (loop(zzzz=1), "known: enabled, max_iterations"),
        ({"simplification": {"enable": True}}, "did you mean `enabled`?"),
        ({"native": {"max_failures": 3}}, "did you mean `max_verify_failures`?"),
        (navci(checks={"a": {"command": "x", "junits": []}}), "`navci.checks.a.junits`"),
        ({"loop-mode": {}}, "did you mean `loop_mode`?"),
        ({"loopMode": {}}, "did you mean `loop_mode`?"),
        ({"max_iterations": 3}, "move it into `loop_mode`"),
        ('{"loop_mode": {"enabled": true, "enabled": false}}', "`enabled` stands twice"),
    ],
)
def test_unknown_keys_are_ignored_with_a_hint(config: object, warning: str) -> None:
    assert any(warning in note for note in read(config=config).notes)


@pytest.mark.parametrize(
    "config",
    [
        {"version": "6.11.0", "project_management": "none", "task_prefix": "TASK"},
        {"task_mode": {"enabled": True}, "knowledge_graph": {"enabled": True}, "multi_agent": {}},
        {"simplification": {"scope": "all", "model": "opus", "skip_patterns": [], "scoring": {}}},
        {"tom_features": {"confirmation_threshold": "x", "belief_anchors": False}},
    ],
)
def test_navigators_own_keys_are_left_alone(config: dict[str, object]) -> None:
    assert read(config=config | loop()).notes == ()


# --- what must fit together -----------------------------------------------------------------

NEVER = loop(never_pause_on_stagnation=True)


@pytest.mark.parametrize(
    ("options", "config", "in_actions", "starts"),
    [
        ({}, None, False, True),
        ({}, NEVER, False, False),
        ({"max_iterations": 3}, NEVER, False, True),
        ({}, loop(never_pause_on_stagnation=True, max_iterations=5), False, True),
        ({}, None, True, False),
        ({}, loop(enabled=True), True, False),
        ({"max_iterations": "5"}, None, True, True),
        ({}, loop(max_iterations=3), True, True),
        ({"max_iterations": ""}, loop(), True, False),
    ],
)
def test_what_never_pauses_needs_a_bound_somebody_chose(
    options: dict[str, object], config: object, in_actions: bool, starts: bool
) -> None:
    if starts:
        assert read(options, config, in_actions=in_actions).rules.never_pause is (
            in_actions or config is not None
        )
    else:
        (said,) = problems(options, config, in_actions=in_actions)
        assert said.startswith("`max_iterations` is not given")


def test_in_actions_a_pause_is_overruled_and_that_is_said() -> None:
    config = loop(never_pause_on_stagnation=False, max_iterations=3)
    settings = read(config=config, in_actions=True)
    assert settings.rules.never_pause
    assert "overruled" in settings.notes[0]
    assert read(config=loop(max_iterations=3), in_actions=True).notes == ()
    assert not read(config=config).rules.never_pause


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"agent": ""}, "no agent is named; give `--agent` or `navci.agent`"),
        ({"agent": None}, "command, playbook, claude"),
        ({"agent": "playbok"}, "did you mean `playbook`?"),
        ({"agent": "zzz"}, "there is no agent `zzz`; known: command, playbook, claude"),
        ({"agent": "command"}, "needs `--agent-command`"),
        ({"agent": "playbook"}, "needs `--playbook`"),
        ({"junit": "r.xml"}, "nothing that writes reports"),
        ({"junit": "r.xml", "checks": "a: x\nb: y"}, "which of them writes the reports"),
    ],
)
def test_settings_that_need_each_other(options: dict[str, object], what: str) -> None:
    (said,) = problems(options)
    assert what in said


def test_an_agents_setting_given_to_another_agent_is_mentioned() -> None:
    notes = read({"agent_command": "x", "playbook": "p.yml"}, loop()).notes
    assert [note.split("`")[1] for note in notes] == ["agent_command", "playbook"]


def test_no_checks_at_all_is_allowed() -> None:
    assert read().checks == ()
