"""Wrong settings and working directories: all of it said at once, nothing left behind.

A refused start leaves the checkout as it was, byte for byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.navci_run import (
    run_navci,
)
from tests.support.repos import commit_all, git, write_files
from tests.support.small_task import (
    AGENT,
    CONFIG,
    FIX,
    GOOD_REPORT,
    IN_ACTIONS,
    LIMIT,
    RUN,
    TEST,
    UNTESTED,
    assert_complete,
    assert_refused,
    assert_settings_refused,
    committed,
    picture,
    small_repo,
)

pytestmark = pytest.mark.e2e


NO_CONFIG = "Loop mode config not found in .nav-config.json."


# --- the working directory ------------------------------------------------------------------

SUB_CONFIG = {
    "loop_mode": {"max_iterations": 2},
    "navci": {
        "agent": "command",
        "agent_command": "bash fix.sh",
        "test_command": f"mkdir -p build; echo '{GOOD_REPORT}' > build/r.xml; {TEST}",
        "junit": "build/*.xml",
        "docs": ["notes/**"],
        "push": False,
    },
}


def sub_project(path: Path) -> Path:
    """The task is in ``packages/one``, with settings of its own; those at the top are broken."""
    fix = f"mkdir -p notes; echo n > notes/n.txt; touch ../seen; {FIX}"
    files: dict[str, str | bytes] = {
        CONFIG: "broken",
        f"packages/one/{CONFIG}": json.dumps(SUB_CONFIG),
        "packages/one/answer.txt": "41\n",
        "packages/one/fix.sh": fix,
    }
    return small_repo(path, files)


def test_a_sub_project_has_settings_globs_and_markers_of_its_own(tmp_path: Path) -> None:
    repo = sub_project(tmp_path / "repo")
    result = run_navci(repo, "run", "--task", "Do it", "--working-directory", "./packages//one/")
    assert_complete(result)
    assert NO_CONFIG not in result.said
    files = committed(repo)
    assert files["packages/one/answer.txt"] == "42"
    assert files["answer.txt"] == "41"
    assert "packages/seen" in files
    assert not [name for name in files if "context-markers" in name or "build" in name]
    assert result.marker is not None
    assert result.marker["indicators"]["docs_updated"]["met"] is True
    assert result.marker["tests"]["passed"] == 1
    marker = Path(result.outputs["marker"])
    assert marker.parent == repo / "packages/one/.agent/.context-markers"
    assert git(repo, "status", "--short") == "?? packages/one/build/"


def test_documents_elsewhere_are_not_the_sub_projects(tmp_path: Path) -> None:
    """Least of all the markers, which are Markdown too."""
    repo = sub_project(tmp_path / "repo")
    write_files(repo, {"packages/one/fix.sh": f"echo > ../../README.md; {FIX}"})
    commit_all(repo, "without notes")
    result = run_navci(repo, "run", "--task", "Do it", "--working-directory", "packages/one")
    assert_complete(result)
    assert result.marker is not None
    assert result.marker["indicators"]["docs_updated"]["met"] is False


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("packages/two", "the working directory `packages/two` is no folder of the repository"),
        ("answer.txt", "the working directory `answer.txt` is no folder of the repository"),
        ("../repo/packages", '`--working-directory` is "../repo/packages": the path must not'),
        ("/tmp", '`--working-directory` is "/tmp": the path must be relative'),
        ("out", "the working directory `out` is reached through a symbolic link, which leads to /"),
        ("in", "the working directory `in` is reached through a symbolic link"),
        ("inner", "the working directory `inner` is a repository of its own"),
    ],
)
def test_a_working_directory_that_is_none(tmp_path: Path, folder: str, says: str) -> None:
    repo = small_repo(tmp_path / "repo", {"packages/one/file": ""})
    (repo / "out").symlink_to("/")
    (repo / "in").symlink_to("packages/one")
    commit_all(repo, "links")
    small_repo(repo / "inner")
    before = picture(repo)
    result = run_navci(repo, *RUN, "--working-directory", folder)
    assert_refused(result, repo, says)
    assert picture(repo) == before
    assert git(repo, "for-each-ref", "refs/navci") == ""


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "`.agent/.nav-config.json` is empty"),
        (b"{ // no\n}", "is not valid JSON (line 1, column 3): JSON has no comments"),
        (b'{"navci": {},}', "take the comma before the closing bracket out"),
        (b"[]", "must hold an object, `{\u2026}`, not a list"),
        (b'{"navci": []}', "`navci` in `.agent/.nav-config.json` must be an object"),
        (b'{"navci": {"agent": "\xff"}}', "is not UTF-8 at byte 21; save it as UTF-8"),
        (b"\xef\xbb\xbf{}", "starts with a byte order mark"),
        (b'{"a": ' + b"[" * 100_000, "is not usable JSON"),
    ],
    ids=["empty", "comment", "comma", "list", "block", "bytes", "bom", "deep"],
)
def test_a_config_file_that_is_none(tmp_path: Path, text: bytes, says: str) -> None:
    says = says.encode("latin-1", "ignore").decode() if "\u2026" not in says else says
    assert_settings_refused(small_repo(tmp_path / "repo", {CONFIG: text}), says)


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    config = {
        "loop_mode": {
            "enabled": 1,
            "max_iterations": "many",
            "stagnation_threshold": 9,
            "stagnation_diversify_strategy": "dance",
            "maxiterations": 3,
        },
        "simplification": {"enabled": "yes"},
        "tom_features": {"diagnose_enabled": None},
        "native": {"max_verify_failures": 0},
        "navci": {
            "checks": {"A B": "x", "tests": "y", "c": {"timeout": "1s"}},
            "docs": ["../a"],
            "push": "no",
            "time_budget": "forever",
            "agnet": "command",
        },
    }
    repo = small_repo(tmp_path / "repo", config=config)
    options = ("--agent-env", "GITHUB_ENV a-b", "--check-env", "ACTIONS_RUNTIME_TOKEN,NAME=x")
    more = ("--branch", "a..b", "--working-directory", "../x", "--max-iterations", "21")
    result = assert_settings_refused(
        repo,
        "`loop_mode.enabled` in `.agent/.nav-config.json` is 1; allowed: true or false",
        '`loop_mode.max_iterations` in `.agent/.nav-config.json` is "many"; allowed: a whole',
        "`loop_mode.stagnation_threshold` in `.agent/.nav-config.json` is 9; allowed: a whole",
        '`loop_mode.stagnation_diversify_strategy` in `.agent/.nav-config.json` is "dance"',
        "`loop_mode.maxiterations` in `.agent/.nav-config.json` is unknown and ignored; did you "
        "mean `max_iterations`?",
        '`simplification.enabled` in `.agent/.nav-config.json` is "yes"',
        "`tom_features.diagnose_enabled` in `.agent/.nav-config.json` is null",
        "`native.max_verify_failures` in `.agent/.nav-config.json` is 0; allowed: a whole number",
        "`navci.checks.A B` in `.agent/.nav-config.json`",
        "`tests` is the id of test_command; choose another",
        "`navci.checks.c.command` in `.agent/.nav-config.json` is missing",
        '`navci.docs[0]` in `.agent/.nav-config.json` is "../a"',
        '`navci.push` in `.agent/.nav-config.json` is "no"; allowed: true or false',
        '`navci.time_budget` in `.agent/.nav-config.json` is "forever"',
        "`navci.agnet` in `.agent/.nav-config.json` is unknown and ignored; did you mean `agent`?",
        '`--agent-env[0]` is "GITHUB_ENV": this one steers the job itself',
        '`--agent-env[1]` is "a-b": not a name of an environment variable',
        '`--check-env[0]` is "ACTIONS_RUNTIME_TOKEN": this one steers the job itself',
        '`--check-env[1]` is "NAME=x": not a name of an environment variable',
        '`--branch` is "a..b": git does not accept this name',
        '`--working-directory` is "../x": the path must not leave its folder',
        '`--max-iterations` is "21"; allowed: a whole number from 1 to 20',
        args=(*RUN[:-2], *options, *more),
    )
    assert result.summary.count("\n- ") >= 20


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--test-command", TEST, "--junit", "/tmp/*.xml"), "the path must be relative"),
        (("--test-command", TEST, "--junit", "../*.xml"), "the path must not leave its folder"),
        (("--junit", "*.xml"), "`junit` is given, but nothing that writes reports"),
        (("--checks", "lint"), "the line `lint` is not `id: command`"),
        (("--checks", "a: x\na: y"), "the id `a` stands twice"),
        (("--agent", "clade"), "there is no agent `clade`"),
        (("--agent", "playbook"), "the agent `playbook` needs `--playbook`"),
        (("--agent", "playbook", "--playbook", "none.yml"), "--playbook: cannot read none.yml"),
        (("--agent", "playbook", "--playbook", "fix.sh"), "fix.sh: "),
        (("--agent-command", 'sh "x'), "cannot be split into arguments"),
        (("--time-budget", "1"), "a duration is written like 90s, 60m or 5h"),
        (("--max-cost-usd", "-1"), "allowed: a number above 0"),
        (("--allow-dirty", "--push", "--fail-on", "error", "--max-tokens", "x"), "--max-tokens"),
    ],
)
def test_options_that_fit_nowhere(tmp_path: Path, args: tuple[str, ...], says: str) -> None:
    assert_settings_refused(small_repo(tmp_path / "repo"), says, args=(*UNTESTED, *args))


@pytest.mark.parametrize("name", ["GITHUB_TOKEN_X", "HOME", "MY_KEY"])
def test_other_names_are_handed_on(tmp_path: Path, name: str) -> None:
    repo = small_repo(tmp_path / "repo", {"fix.sh": f'echo "${name}" > value.txt; {FIX}'})
    result = run_navci(repo, *RUN, "--agent-env", name, env={name: str(tmp_path)})
    assert_complete(result)
    assert committed(repo)["value.txt"] == str(tmp_path)
    # A folder is no secret: masked, it would spoil the outputs.
    assert Path(result.outputs["artifact-path"]).is_dir()
    assert "***" not in result.said + result.summary


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("../settings.json", "--config: `../settings.json` is no file inside the working"),
        ("/etc/passwd", "--config: `/etc/passwd` is no file inside the working directory"),
        (".", "--config: `.` is no file inside the working directory"),
        ("missing.json", "--config: there is no file `missing.json` in "),
        ("folder", "--config: there is no file `folder` in "),
        ("mine.json", "--config: there is no file `mine.json` in "),
    ],
)
def test_a_config_path_that_is_none(tmp_path: Path, path: str, says: str) -> None:
    repo = small_repo(tmp_path / "repo", {"folder/file": ""})
    (repo / "mine.json").write_text("{}")
    assert_settings_refused(repo, says, args=(*RUN, "--config", path))


def test_without_a_config_navigators_two_lines_are_printed(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, "run", "--task", "x", *AGENT, "--no-push", "--test-command", TEST)
    assert_complete(result)
    lines = result.stdout.splitlines()
    assert lines.count(NO_CONFIG) == 1  # a line of the log, no warning in every report
    assert "Using defaults: max_iterations=5, stagnation_threshold=3" in lines
    assert "Using defaults" not in json.dumps(result.marker)


@pytest.mark.parametrize(
    ("committed_text", "standing", "says"),
    [
        (None, "{}", f"`{CONFIG}` is not committed, so its settings do not count"),
        ("{}", '{"loop_mode": {}}', f"`{CONFIG}` in the checkout differs from the committed one"),
        ("{}", "{}", ""),
    ],
    ids=["only-there", "other-branch", "same"],
)
def test_a_config_in_the_checkout_does_not_count_and_is_mentioned_once(
    tmp_path: Path, committed_text: str | None, standing: str, says: str
) -> None:
    base = {} if committed_text is None else {CONFIG: committed_text}
    repo = small_repo(tmp_path / "repo", base)
    if committed_text is not None:
        git(repo, "checkout", "-q", "-b", "mine")
    write_files(repo, {CONFIG: standing})
    if committed_text is not None:
        commit_all(repo, "mine")
    result = run_navci(repo, *RUN, "--base", "main")
    assert_complete(result)
    warned = [line for line in result.stdout.splitlines() if line.startswith(f"warning: `{CONFIG}")]
    assert len(warned) == bool(says)
    assert says in "".join(warned)


def test_unknown_keys_warn_with_the_nearest_known_one(tmp_path: Path) -> None:
    config = {
        "loop_mode": {"max_iteration": 7, "colour": 1},
        "tom_feature": {},
        "max_iterations": 3,
        "project_name": "navigator's own",
        "navci": {"test_comand": "false"},
    }
    repo = small_repo(tmp_path / "repo", config=config)
    result = run_navci(repo, *RUN)
    assert_complete(result)
    for says in (
        f"`loop_mode.max_iteration` in `{CONFIG}` is unknown and ignored; did you mean `max_iter",
        f"`loop_mode.colour` in `{CONFIG}` is unknown and ignored; known: enabled, max_iterations",
        f"`tom_feature` in `{CONFIG}` is unknown and ignored; did you mean `tom_features`?",
        f"`max_iterations` in `{CONFIG}` is ignored at the top; move it into `loop_mode`",
        f"`navci.test_comand` in `{CONFIG}` is unknown and ignored; did you mean `test_command`?",
    ):
        assert says in result.stdout
    assert "project_name" not in result.said


@pytest.mark.parametrize(
    ("config", "args", "env", "says"),
    [
        ({"loop_mode": {"never_pause_on_stagnation": True}}, (), {}, "with `never_pause_on_stag"),
        (None, ("--never-pause-on-stagnation",), {}, "with `never_pause_on_stagnation` on"),
        (None, (), IN_ACTIONS, "in GitHub Actions the loop never pauses"),
    ],
    ids=["config", "option", "actions"],
)
def test_a_loop_that_never_pauses_needs_a_limit(
    tmp_path: Path,
    config: object,
    args: tuple[str, ...],
    env: Mapping[str, str],
    says: str,
) -> None:
    repo = small_repo(tmp_path / "repo", config=config)
    before = picture(repo)
    line = [word for word in RUN if word not in LIMIT]
    result = run_navci(repo, *line, *args, env=env)
    assert_refused(result, repo, "`max_iterations` is not given", says, "how often it may try")
    assert picture(repo) == before


def test_in_actions_never_pause_cannot_be_switched_off(tmp_path: Path) -> None:
    config = {"loop_mode": {"never_pause_on_stagnation": False, "stagnation_threshold": 2}}
    repo = small_repo(tmp_path / "repo", {"fix.sh": "echo I am thinking"}, config)
    result = run_navci(repo, *RUN, "--max-iterations", "4", env=IN_ACTIONS)
    note = "`loop_mode.never_pause_on_stagnation` is false, and overruled"
    assert f"::warning::{note}" in result.stdout
    assert "never_pause_on_stagnation" in result.summary
    assert "AUTO-DIVERSIFY" in result.stdout
    assert (result.exit_code, result.outputs["outcome"]) == (10, "max_iterations")
