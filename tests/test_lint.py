"""The repository is clean by its own tools, and what it says twice it says the same."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

TOP = Path(__file__).parents[1]
SCRIPTS = Path(sysconfig.get_path("scripts"))
TEST_COMMAND = (
    'python3 -m venv .venv && .venv/bin/pip install -q ".[test]" && .venv/bin/python -m pytest -n 2'
)
# Inputs that are not options of `navci run`: which command it is, what another one works on, and
# what only GitHub is shown.
NOT_OPTIONS = {
    "command": "NAVCI_COMMAND",
    "commit": "NAVCI_COMMIT",
    "github-token": "NAVCI_GITHUB_TOKEN",
}
# What the script is told beside the inputs.
NOT_INPUTS = {
    "NAVCI_VENV": "${{ steps.install.outputs.venv }}",
    "NAVCI_SPARE_TOKEN": "${{ github.token }}",
}


def must_be_clean(*argv: str | Path) -> None:
    """Run a tool at the repository's top and show what it found."""
    done = subprocess.run(argv, cwd=TOP, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def action() -> dict[str, Any]:
    """``action.yml`` as data."""
    loaded: dict[str, Any] = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
    return loaded


def step(name: str) -> dict[str, Any]:
    """One step of the action by its id."""
    found: dict[str, Any] = next(
        step for step in action()["runs"]["steps"] if step.get("id") == name
    )
    return found


def test_ruff_check() -> None:
    must_be_clean(SCRIPTS / "ruff", "check", "--no-cache", ".")


def test_ruff_format() -> None:
    must_be_clean(SCRIPTS / "ruff", "format", "--no-cache", "--check", ".")


def test_mypy() -> None:
    must_be_clean(sys.executable, "-m", "mypy", "--strict")


def test_zizmor() -> None:
    must_be_clean(SCRIPTS / "zizmor", "--persona=auditor", "--offline", "--no-progress", ".")


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.github-actions", ".github/actions/*/action.yml"),
        ("vendor.github-actions", "tests/e2e/stand_ins/*/action.yml"),
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("vendor.dependabot", ".github/dependabot.yml"),
    ],
)
def test_schema(schema: str, pattern: str) -> None:
    files = sorted(TOP.glob(pattern))
    assert files, f"nothing matches {pattern}"
    must_be_clean(SCRIPTS / "check-jsonschema", "--builtin-schema", schema, *files)


def test_ci_runs_exactly_the_readmes_test_command() -> None:
    readme = (TOP / "README.md").read_text("utf-8").splitlines()
    assert [line.strip() for line in readme if ".venv/bin/python -m pytest" in line] == [
        TEST_COMMAND
    ]
    ci = (TOP / ".ci" / "run").read_text("utf-8").splitlines()
    assert [line for line in ci if "-m pytest" in line] == [f"{TEST_COMMAND} || code=$?"]


def test_every_input_reaches_the_run_step() -> None:
    wanted = {
        NOT_OPTIONS.get(name, "NAVCI_RUN_" + name.upper().replace("-", "_")): name
        for name in action()["inputs"]
    }
    env = step("run")["env"]
    passed = {
        variable: re.sub(r"^\$\{\{ inputs\.([a-z-]+) \}\}$", r"\1", value)
        for variable, value in env.items()
        if variable not in NOT_INPUTS
    }
    assert passed == wanted
    assert NOT_INPUTS.items() <= env.items()


def test_every_input_is_an_option_of_run() -> None:
    from navci.cli.run import run

    options = {
        name.removeprefix("--")
        for option in run.params
        for name in (*option.opts, *option.secondary_opts)
    }
    assert not action()["inputs"].keys() - NOT_OPTIONS.keys() - options


def test_every_output_comes_from_a_step() -> None:
    for name, output in action()["outputs"].items():
        origin = "upload" if name == "artifact-url" else "run"
        assert output["value"] == f"${{{{ steps.{origin}.outputs.{name} }}}}"


def test_scripts_of_the_action_hold_no_expression() -> None:
    scripts = [step["run"] for step in action()["runs"]["steps"] if "run" in step]
    assert scripts and not any("${{" in script for script in scripts)


def test_run_step_ends_in_exec() -> None:
    assert step("run")["run"].strip().splitlines()[-1].startswith('exec "$NAVCI_VENV/bin/python"')


def test_third_party_actions_are_pinned_by_commit() -> None:
    for file in (TOP / "action.yml", *TOP.glob(".github/workflows/*.yml")):
        for line in file.read_text("utf-8").splitlines():
            if "uses:" in line and "uses: $/" not in line:
                assert re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line


def test_lock_holds_every_dependency_and_the_build_backend() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    lock = (TOP / ".github" / "requirements.lock").read_text("utf-8")
    locked = {
        canonicalize_name(name): version
        for name, version in re.findall(r"^([\w.-]+)(?:\[\w+\])?==(\S+)", lock, re.MULTILINE)
    }
    for requirement in map(Requirement, needed):
        version = locked.get(canonicalize_name(requirement.name))
        assert version and requirement.specifier.contains(version), str(requirement)
    assert not re.search(r"--(index|extra-index|find-links)|https?://|file:", lock)
