"""How projects are tested, guessed from their files: a table for each kind."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from navci.setup.guess import guess_tests
from navci.setup.project import ProjectFiles
from tests.support.repos import write_files
from tests.test_init import KINDS


def files_of(folder: Path, files: Mapping[str, str]) -> ProjectFiles:
    write_files(folder, files)
    return ProjectFiles(folder, frozenset(files), lambda path: path == ".venv/")


VENV = "python3 -m venv .venv && .venv/bin/python -m pip install --quiet "


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        ({"tests/test_a.py": ""}, VENV + "pytest"),
        ({"test_a.py": "", "setup.py": ""}, VENV + "-e . pytest"),
        (
            {
                "a_test.py": "",
                "requirements.txt": "requests\n",
                "requirements-docs.txt": "sphinx\n",
                "requirements-dev.txt": "pytest>=8\n",
            },
            VENV + "-r requirements-dev.txt -r requirements.txt",
        ),
        (
            {"conftest.py": "", "requirements/test.txt": "pytest-cov\n"},
            VENV + "-r requirements/test.txt pytest",
        ),
        (
            {
                "pyproject.toml": '[project]\nname = "x"\n[project.optional-dependencies]\n'
                'docs = ["sphinx"]\nchecks = ["pytest>=8"]\n',
                "tests/test_a.py": "",
            },
            VENV + "-e '.[checks]'",
        ),
        (
            {
                "pyproject.toml": '[dependency-groups]\ndev = ["ruff", "pytest"]\n',
                "tests/test_a.py": "",
            },
            "python3 -m venv .venv && .venv/bin/python -m pip install --quiet --upgrade pip"
            " && .venv/bin/python -m pip install --quiet --group dev",
        ),
        (
            {"setup.cfg": "[tool:pytest]\n[options.extras_require]\ntest =\n  pytest\n[x]\na=1\n"
             , "setup.py": ""},
            VENV + "-e '.[test]'",
        ),
        (
            {"uv.lock": "", "pytest.ini": "[pytest]\n", "pyproject.toml": "[dependency-groups]\n"
             'tests = ["pytest"]\n'},
            "uv sync --quiet --group tests",
        ),
        (
            {"poetry.lock": "", "tests/test_a.py": ""},
            "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --all-extras",
        ),
    ],
    ids=["plain", "setup.py", "lists", "list without pytest", "extra", "group", "setup.cfg",
         "uv", "poetry"],
)  # fmt: skip
def test_how_python_projects_are_set_up(tmp_path: Path, files: dict[str, str], setup: str) -> None:
    found = guess_tests(files_of(tmp_path, files))
    assert found.setup == setup
    assert found.command.endswith("python -m pytest -q --junitxml=build/junit-pytest.xml")
    assert found.junit == ("build/junit-pytest.xml",)
    assert not found.notes


@pytest.mark.parametrize(
    ("asked", "pinned", "version"),
    [
        ("", "", ""),
        (">=3.11", "", ""),
        (">=3.14", "", "3.14"),
        (">=3.9,<3.13", "", "3.12"),
        (">=3.8,<3.10", "", "3.13\n3.9"),
        (">=3.8", "3.10.4\n", "3.13\n3.10"),
        ("~=3.12", "", ""),
        ("", "pypy3.10\n", ""),
    ],
)
def test_the_python_that_is_asked_for(
    tmp_path: Path, asked: str, pinned: str, version: str
) -> None:
    project = f'[project]\nname = "x"\nrequires-python = "{asked}"\n[tool.pytest.ini_options]\na=1'
    files = {"pyproject.toml": project, ".python-version": pinned}
    assert guess_tests(files_of(tmp_path, files)).python == version


JEST = "--ci --reporters=default --reporters=jest-junit"
VITEST = "--run --reporter=default --reporter=junit --outputFile.junit=build/junit-npm.xml"
NODE = (
    "mkdir -p build && NODE_OPTIONS='--test-reporter=junit "
    "--test-reporter-destination=build/junit-npm.xml' npm test"
)


@pytest.mark.parametrize(
    ("script", "packages", "lock", "command"),
    [
        ("vitest run", "vitest", "package-lock.json", f"npm test -- {VITEST}"),
        ("vitest", "vitest", "pnpm-lock.yaml", f"pnpm test {VITEST}"),
        ("tsc && vitest run", "vitest", "package-lock.json",
         f"npx --no-install vitest run {VITEST}"),
        ("", "vitest", "yarn.lock", f"yarn vitest run {VITEST}"),
        ("jest --coverage", "jest jest-junit", "package-lock.json",
         f"CI=true JEST_JUNIT_OUTPUT_FILE=build/junit-npm.xml npm test -- {JEST}"),
        ("react-scripts test", "react-scripts jest-junit", "",
         f"CI=true JEST_JUNIT_OUTPUT_FILE=build/junit-npm.xml npm test -- {JEST}"),
        ("jest", "jest", "package-lock.json", "npm test"),
        ("cross-env A=1 mocha", "mocha mocha-junit-reporter", "",
         "npm test -- --reporter mocha-junit-reporter "
         "--reporter-options mochaFile=build/junit-npm.xml"),
        ("node --test test/", "", "", NODE),
        ("make check", "", "", "npm test"),
        ('echo \\"Error: no test specified\\" && exit 1', "vitest", "",
         f"npx --no-install vitest run {VITEST}"),
    ],
)  # fmt: skip
def test_how_javascript_projects_are_tested(
    tmp_path: Path, script: str, packages: str, lock: str, command: str
) -> None:
    known = dict.fromkeys(packages.split(), "*")
    manifest = {"scripts": {"test": script.replace('\\"', '"')}, "devDependencies": known}
    files = {"package.json": json.dumps(manifest), **({lock: ""} if lock else {})}
    found = guess_tests(files_of(tmp_path, files))
    assert found.command == command
    assert bool(found.junit) is bool(not found.notes) is ("junit" in command)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}',
        '{"scripts": ["test"]}',
        "[]",
        "{",
        "",
        "[" * 100_000,
    ],
)
def test_no_tests_in_javascript(tmp_path: Path, text: str) -> None:
    found = guess_tests(files_of(tmp_path, {"package.json": text}))
    assert not found.command
    assert "give --test-command" in found.notes[0]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed here")
def test_the_command_for_node_writes_the_report_that_is_named(tmp_path: Path) -> None:
    files = {
        "package.json": '{"scripts": {"test": "node --test test/"}}',
        "test/one.test.js": "require('node:test')('one', () => {})\n",
    }
    found = guess_tests(files_of(tmp_path, files))
    subprocess.run(["bash", "-eo", "pipefail", "-c", found.command], cwd=tmp_path, check=True)
    assert 'name="one"' in (tmp_path / found.junit[0]).read_text("utf-8")


@pytest.mark.parametrize(
    ("files", "command", "junit"),
    [
        ({"pom.xml": "<x/>"}, "mvn -B -ntp --fail-at-end test",
         ("**/target/surefire-reports/TEST-*.xml",)),
        ({"pom.xml": "maven-failsafe-plugin", "mvnw": ""}, "./mvnw -B -ntp --fail-at-end verify",
         ("**/target/surefire-reports/TEST-*.xml", "**/target/failsafe-reports/TEST-*.xml")),
        ({"settings.gradle.kts": "", "gradlew": ""},
         "./gradlew --no-daemon --no-build-cache --continue test",
         ("**/build/test-results/**/TEST-*.xml",)),
        ({"go.mod": "module x\n"},
         "mkdir -p build && go run gotest.tools/gotestsum@v1.13.0"
         " --junitfile build/junit-go.xml ./...", ("build/junit-go.xml",)),
        ({"go.mod": "module x\n\ntool gotest.tools/gotestsum\n", "build": "a script"},
         "mkdir -p reports && go tool gotestsum --junitfile reports/junit-go.xml ./...",
         ("reports/junit-go.xml",)),
        ({"Cargo.toml": ""}, "cargo test --workspace --no-fail-fast", ()),
        ({"Cargo.toml": "", ".config/nextest.toml": '[profile.night.junit]\npath = "j.xml"\n'
          '[profile.default]\nretries = 1\n'},
         "cargo nextest run --workspace --no-fail-fast --profile night",
         ("target/nextest/night/j.xml",)),
    ],
    ids=["maven", "failsafe", "gradle", "go", "go tool", "cargo", "nextest"],
)  # fmt: skip
def test_how_compiled_projects_are_tested(
    tmp_path: Path, files: dict[str, str], command: str, junit: tuple[str, ...]
) -> None:
    found = guess_tests(files_of(tmp_path, files))
    assert (found.command, found.junit) == (command, junit)
    assert bool(found.notes) is (not junit or "nextest" in command)


@pytest.mark.parametrize(
    ("pom", "prepare"),
    [
        ("<java.version>17</java.version>", ()),
        ("<maven.compiler.source>1.8</maven.compiler.source>", ()),
        ("<release>21</release>", ('echo "JAVA_HOME=$JAVA_HOME_21_X64" >> "$GITHUB_ENV"',)),
        ("<release> 24 </release>", ('echo "JAVA_HOME=$JAVA_HOME_25_X64" >> "$GITHUB_ENV"',)),
    ],
)
def test_the_java_that_is_asked_for(tmp_path: Path, pom: str, prepare: tuple[str, ...]) -> None:
    assert guess_tests(files_of(tmp_path, {"pom.xml": pom})).prepare == prepare


def test_what_else_lies_there_is_a_further_check(tmp_path: Path) -> None:
    found = guess_tests(files_of(tmp_path, {**KINDS["pytest"], **KINDS["npm"], **KINDS["go"]}))
    assert "pytest" in found.command
    assert list(found.checks) == ["npm", "go"]
    reports = [*found.junit, *(check["junit"] for check in found.checks.values())]
    assert len(set(map(str, reports))) == 3
    assert found.setup.endswith(" && npm ci") and found.node == "22.11.0"


def test_huge_and_odd_files_are_no_manifests(tmp_path: Path) -> None:
    files = files_of(tmp_path, {"pom.xml": "<x/>" * 400_000, "go.mod": "", "Cargo.toml": "\0["})
    (tmp_path / "go.mod").unlink()
    (tmp_path / "go.mod").symlink_to("/dev/zero")
    assert guess_tests(files).command == "cargo test --workspace --no-fail-fast"
