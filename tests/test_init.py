"""``navci init``: what it finds out, what it writes, and what it leaves alone."""

from __future__ import annotations

import json
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from navci import agents, settings
from navci.settings_shape import BLOCKS
from navci.setup.init_files import cron_of, known_agents
from tests.support.navci_run import PROGRAM
from tests.support.repos import clean_env, commit_all, git, make_repo

SCRIPTS = Path(sysconfig.get_path("scripts"))
PIN = "5" * 40
CONFIG = ".agent/.nav-config.json"
LOOP, NIGHT = ".github/workflows/loop-mode.yml", ".github/workflows/nightly.yml"
WRITTEN = [CONFIG, LOOP, NIGHT]

KINDS: dict[str, dict[str, str]] = {
    "pytest": {
        "pyproject.toml": '[project]\nname = "x"\nversion = "1"\n[tool.pytest.ini_options]\n',
        "test_x.py": "def test_x(): pass\n",
        ".gitignore": ".venv/\n",
    },
    "npm": {
        "package.json": '{"scripts": {"test": "vitest"}, "devDependencies": {"vitest": "^3"}}',
        "package-lock.json": "{}",
        ".nvmrc": "v22.11.0\n",
    },
    "maven": {"pom.xml": "<project><maven.compiler.release>21</maven.compiler.release></project>"},
    "go": {"go.mod": "module example.org/x\n\ngo 1.24\n"},
    "cargo": {
        "Cargo.toml": '[package]\nname = "x"\nversion = "1.0.0"\n',
        ".config/nextest.toml": '[profile.ci.junit]\npath = "junit.xml"\n',
    },
}


def init(repository: Path, *args: str, code: int = 0, **more: str) -> dict[str, Any]:
    """``navci init --json`` in a repository."""
    done = subprocess.run(
        [PROGRAM, "init", "--json", "--ref", PIN, *args],
        cwd=repository,
        env=clean_env(PATH="/usr/bin:/bin", **more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else {"said": done.stderr}


def own(told: Mapping[str, Any], path: str = CONFIG) -> dict[str, Any]:
    """The block `navci` of the settings that were written."""
    block: dict[str, Any] = json.loads(told["files"][path])["navci"]
    return block


# --- what is written ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_clean(tmp_path: Path, kind: str) -> None:
    repository = make_repo(tmp_path / "project", KINDS[kind])
    told = init(repository)
    assert told["written"] == WRITTEN and told["left"] == []
    for tool in (
        ("zizmor", "--persona=auditor", "--offline", "--no-progress", "."),
        ("check-jsonschema", "--builtin-schema", "vendor.github-workflows", LOOP, NIGHT),
    ):
        done = subprocess.run(
            [SCRIPTS / tool[0], *tool[1:]], cwd=repository, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
    text = (repository / CONFIG).read_text("utf-8")
    chosen = settings.load({}, text, in_actions=True, known_agents=tuple(agents.REGISTRY))
    assert not chosen.notes and not chosen.defaults
    assert chosen.checks[0].junit and chosen.checks[0].id == "tests"
    assert git(repository, "status", "--porcelain", "-uall").splitlines() == [
        f"?? {path}" for path in WRITTEN
    ]


def test_every_default_is_spelled_out(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", KINDS["pytest"])
    config = json.loads(init(repository)["files"][CONFIG])
    assert {name: set(block) for name, block in config.items()} == {
        name: set(block.model_fields) for name, block in BLOCKS.items()
    }
    assert config["navci"]["time_budget"] == "330m"
    assert config["navci"]["retention_days"] == 30
    assert config["github"]["refuse_labels"] == ["security"]


def test_the_workflows_call_this_navci_at_one_commit(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", KINDS["npm"])
    told = init(repository)
    for path, called in ((LOOP, "loop"), (NIGHT, "nightly-loop")):
        (job,) = yaml.safe_load(told["files"][path])["jobs"].values()
        assert job["uses"] == f"navci/navci/.github/workflows/{called}.yml@{PIN}"
        assert job["secrets"] == {"ANTHROPIC_API_KEY": "${{ secrets.ANTHROPIC_API_KEY }}"}
        assert job["with"]["node-version"] == "22.11.0"
        assert "claude-code@" in job["with"]["prepare"]


def test_without_ref_the_commit_is_found_out(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", KINDS["go"])
    told = init(repository, "--ref", "")
    lines = [line for line in told["files"][LOOP].splitlines() if "uses:" in line]
    head = git(Path(__file__).parents[1], "rev-parse", "HEAD", check=False)
    assert all(f"@{head} #" in line or "zizmor: ignore[unpinned-uses]" in line for line in lines)
    assert any("navci" in note for note in told["notes"])


def test_a_ref_by_name_is_pinned_by_hand_later(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", KINDS["go"])
    told = init(repository, "--ref", "v1")
    assert "loop.yml@v1 # zizmor: ignore[unpinned-uses]" in told["files"][LOOP]
    zizmor = (SCRIPTS / "zizmor", "--persona=auditor", "--offline", "--no-progress", ".")
    assert subprocess.run(zizmor, cwd=repository, capture_output=True).returncode == 0
    assert "is no commit, tag or branch" in init(repository, "--ref", "a\nb", code=2)["said"]


def test_the_nights_minute_is_odd_and_stays(tmp_path: Path) -> None:
    crons = {cron_of(f"github.com/octo/{n}") for n in range(500)}
    minutes = {int(cron.split()[0]) for cron in crons}
    assert minutes == set(range(1, 60, 2))
    assert {int(cron.split()[1]) for cron in crons} == set(range(5))
    told = []
    for name, url in (("a", "https://github.com/Octo/demo.git"), ("b", "git@github.com:octo/demo")):
        repository = make_repo(tmp_path / name, KINDS["go"])
        git(repository, "remote", "add", "origin", url)
        told.append(yaml.safe_load(init(repository)["files"][NIGHT])[True]["schedule"])
    assert told[0] == told[1] == [{"cron": cron_of("github.com/octo/demo")}]


# --- what is there already ------------------------------------------------------------------


def test_nothing_is_changed_the_second_time(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", KINDS["pytest"])
    init(repository)
    commit_all(repository, "navci")
    told = init(repository)
    assert told["unchanged"] == WRITTEN and told["written"] == []
    assert git(repository, "status", "--porcelain") == ""


def test_what_differs_is_shown_and_left(tmp_path: Path) -> None:
    mine = "name: Mine\non: push\njobs: {}\n"
    repository = make_repo(tmp_path / "project", {**KINDS["pytest"], NIGHT: mine})
    told = init(repository)
    assert told["written"] == [CONFIG, LOOP] and told["left"] == [NIGHT]
    assert (repository / NIGHT).read_text("utf-8") == mine
    forced = init(repository, "--force")
    assert forced["written"] == [NIGHT]
    assert (repository / NIGHT).read_text("utf-8") == told["files"][NIGHT]


def test_settings_that_somebody_chose_stay_even_with_force(tmp_path: Path) -> None:
    theirs = {
        "loop_mode": {"max_iterations": 3},
        "navci": {"test_command": "make check"},
        "github": {"label": "it's for navci"},
        "project_name": "Navigator's own",
    }
    files = {**KINDS["pytest"], CONFIG: json.dumps(theirs)}
    repository = make_repo(tmp_path / "project", files)
    assert init(repository)["left"] == [CONFIG]
    assert json.loads((repository / CONFIG).read_text("utf-8")) == theirs
    told = init(repository, "--force")
    merged = json.loads((repository / CONFIG).read_text("utf-8"))
    assert merged["loop_mode"]["max_iterations"] == 3
    assert merged["navci"]["test_command"] == "make check"
    assert merged["project_name"] == "Navigator's own"
    assert merged["navci"]["agent"] == "command"
    condition = yaml.safe_load(told["files"][LOOP])["jobs"]["loop"]["if"]
    assert "github.event.label.name == 'it''s for navci'" in condition


def test_the_diff_is_shown_before_anything_is_written(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", KINDS["pytest"])
    done = subprocess.run(
        [PROGRAM, "init", "--dry-run", "--ref", PIN],
        cwd=repository, env=clean_env(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f"--- /dev/null\n+++ b/{LOOP}\n" in done.stdout
    assert "+name: Loop mode" in done.stdout
    assert git(repository, "status", "--porcelain") == ""


def test_people_are_told_what_to_do_next(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", {**KINDS["pytest"], ".gitignore": ".agent/\n"})
    done = subprocess.run(
        [PROGRAM, "init", "--agent", "codex", "--ref", PIN],
        cwd=repository, env=clean_env(), capture_output=True, text=True, check=True,
    )  # fmt: skip
    for told in (
        "gh secret set CODEX_API_KEY",
        "60 days without activity",
        f"git ignores {CONFIG}",
        "add `.venv/` to .gitignore",
        "found: pytest: pyproject.toml configures pytest",
        "found: agent codex: as you said",
    ):
        assert told in done.stdout, told


@pytest.mark.parametrize(
    ("prepared", "args", "said"),
    [
        ({CONFIG: "{"}, (), "is not valid JSON"),
        ({CONFIG: b"\xff\xfe"}, (), "not UTF-8"),
        ({CONFIG: '{"loop_mode": {"max_iterations": 99}}'}, (), "a whole number from 1 to 20"),
        ({}, ("--agent", "clod"), "known: claude, codex"),
        ({}, ("--agent-env", "MY_KEY"), "take AGENT_API_KEY"),
        ({}, ("--agent-command", "bot 'x"), "cannot be split"),
    ],
    ids=["broken settings", "not UTF-8", "wrong setting", "agent", "secret", "quotes"],
)
def test_refused(
    tmp_path: Path, prepared: dict[str, str | bytes], args: tuple[str, ...], said: str
) -> None:
    repository = make_repo(tmp_path / "project", {**KINDS["go"], **prepared})
    assert said in init(repository, *args, code=2)["said"]
    assert git(repository, "status", "--porcelain") == ""


def test_outside_of_a_repository_nothing_is_written(tmp_path: Path) -> None:
    assert "git" in init(tmp_path, code=2)["said"]
    assert list(tmp_path.iterdir()) == []


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", KINDS["go"])
    (tmp_path / "elsewhere").mkdir()
    (repository / ".agent").symlink_to(tmp_path / "elsewhere")
    assert "leads out of the repository" in init(repository, code=2)["said"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_project_in_a_folder_of_the_repository(tmp_path: Path) -> None:
    files = {f"services/api/{name}": text for name, text in KINDS["pytest"].items()}
    repository = make_repo(tmp_path / "project", {**files, "package.json": "{}"})
    told = init(repository / "services" / "api")
    assert told["written"] == [f"services/api/{CONFIG}", LOOP, NIGHT]
    job = yaml.safe_load(told["files"][LOOP])["jobs"]["loop"]
    assert job["with"]["working-directory"] == "services/api"
    assert "pytest" in own(told, f"services/api/{CONFIG}")["test_command"]
    assert not told["notes"]


# --- who works ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "args", "program", "key", "because"),
    [
        ({}, (), "claude", "ANTHROPIC_API_KEY", "nothing names one"),
        ({"AGENTS.md": "x"}, (), "codex", "CODEX_API_KEY", "AGENTS.md is there"),
        ({"CLAUDE.md": "x", "AGENTS.md": "x"}, (), "claude", "ANTHROPIC_API_KEY", "CLAUDE.md"),
        ({"CLAUDE.md": "x"}, ("--agent", "codex"), "codex", "CODEX_API_KEY", "as you said"),
        ({}, ("--agent-command", "bot -x"), "bot", "AGENT_API_KEY", "as you said"),
    ],
)
def test_the_agent(
    tmp_path: Path,
    files: dict[str, str],
    args: tuple[str, ...],
    program: str,
    key: str,
    because: str,
) -> None:
    repository = make_repo(tmp_path / "project", {**KINDS["go"], **files})
    told = init(repository, *args)
    block = own(told)
    assert block["agent"] == "command" and block["agent_command"].split()[0] == program
    assert block["agent_env"] == [key]
    assert any(because in found for found in told["found"])


def test_an_installed_agent_is_found(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", KINDS["go"])
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    (bin_folder / "codex").write_text("#!/bin/sh\n")
    (bin_folder / "codex").chmod(0o755)
    done = subprocess.run(
        [PROGRAM, "init", "--json", "--ref", PIN],
        cwd=repository, env=clean_env(PATH=f"{bin_folder}:/usr/bin:/bin"),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "agent codex: it is installed here" in json.loads(done.stdout)["found"]


def test_the_known_agents_are_pinned() -> None:
    for name, entry in known_agents().items():
        assert entry["prepare"].rpartition("@")[2].count(".") == 2, name
        assert entry.keys() == {"command", "env", "prepare", "signs"}


def test_what_is_said_wins_over_what_is_found(tmp_path: Path) -> None:
    repository = make_repo(tmp_path / "project", {**KINDS["pytest"], **KINDS["npm"]})
    told = init(repository, "--test-command", "make check", "--setup-command", "make deps",
                "--max-iterations", "3")  # fmt: skip
    block = own(told)
    assert block["test_command"] == "make check" and block["setup_command"] == "make deps"
    assert block["junit"] == [] and block["checks"] == {}
    assert json.loads(told["files"][CONFIG])["loop_mode"]["max_iterations"] == 3
