"""``navci verify``: fresh clones, the settings and the test files of the base."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.test_original import FILES, GREEN, PASS_ALL, PATCH_CALC, PYTEST
from tests.support.navci_run import Result, run_navci
from tests.support.repos import commit_all, git, make_repo, write_files

pytestmark = pytest.mark.e2e

CHECK = ("--test-command", PYTEST, "--junit", "build/*.xml")


def branch(tmp_path: Path, files: Mapping[str, str], base: Mapping[str, str] | None = None) -> Path:
    """A repository whose branch ``work`` adds ``files``; the checkout stands on main."""
    repo = make_repo(tmp_path / "repo", {**FILES, **(base or {})})
    git(repo, "checkout", "-q", "-b", "work")
    write_files(repo, dict(files))
    commit_all(repo, "work")
    git(repo, "checkout", "-q", "main")
    return repo


def verify(repo: Path, *args: str) -> Result:
    before = git(repo, "status", "--porcelain", "--ignored"), git(repo, "for-each-ref")
    result = run_navci(repo, "verify", *args)
    assert (git(repo, "status", "--porcelain", "--ignored"), git(repo, "for-each-ref")) == before
    return result


def test_honest_work_is_verified(tmp_path: Path) -> None:
    new = "from calc import double\n\ndef test_new(five):\n    assert double(five) == 10\n"
    fixture = "import pytest\n\n@pytest.fixture\ndef five():\n    return 5\n"
    repo = branch(
        tmp_path,
        {"calc.py": GREEN, "tests/test_new.py": new, "conftest.py": fixture,
         "test_more.py": FILES["test_more.py"] + "\n"},
    )  # fmt: skip
    result = verify(repo, "work", *CHECK, "--json")
    assert result.exit_code == 0, result.said
    told = json.loads(result.stdout)
    assert (told["verified"], told["gaps"], told["edited"]) == (True, {}, ["test_more.py"])
    assert told["base"] == git(repo, "rev-parse", "main")
    assert "VERIFIED" in result.stderr


@pytest.mark.parametrize(
    ("files", "gap"),
    [
        ({"conftest.py": PASS_ALL}, "original:test_calc::test_double"),
        ({"conftest.py": PATCH_CALC}, "original:tests.test_helped::test_helped"),
        ({"calc.py": "def double(n):\n    return 3 * n\n"}, "test:test_calc::test_double"),
        ({"calc.py": GREEN, "test_more.py": ""}, "test:test_more::test_zero"),
    ],
    ids=["conftest", "patched", "red", "emptied"],
)
def test_what_is_not_verified(files: Mapping[str, str], gap: str, tmp_path: Path) -> None:
    repo = branch(tmp_path, files)
    result = verify(repo, "work", *CHECK)
    assert result.exit_code == 1, result.said
    assert f"- {gap}\n" in result.stdout
    assert "NOT VERIFIED" in result.stdout


def test_an_ignored_file_of_the_checkout_takes_no_part(tmp_path: Path) -> None:
    repo = branch(tmp_path, {"notes.txt": "x\n"}, {".gitignore": "conftest.py\n"})
    (repo / "conftest.py").write_text(PASS_ALL)
    result = verify(repo, "work", *CHECK)
    assert result.exit_code == 1, result.said
    assert "- test:test_calc::test_double\n" in result.stdout


def test_settings_and_setup_are_those_of_the_base(tmp_path: Path) -> None:
    config = ".agent/.nav-config.json"
    unit = {"command": PYTEST, "junit": ["build/*.xml"]}
    checks = {"made": "test -e made.txt", "unit": unit}
    block = {"setup_command": "echo made > made.txt", "checks": checks}
    easy = json.dumps({"navci": {"checks": {"made": "true"}}})
    repo = branch(tmp_path, {"calc.py": "# nothing\n", config: easy},
                  {config: json.dumps({"navci": block})})  # fmt: skip
    result = verify(repo, "work")
    assert result.exit_code == 1, result.said
    assert "green made: " in result.stdout
    assert "- check:unit\n" in result.stdout


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("nowhere", *CHECK), "there is no commit `nowhere`"),
        (("main", *CHECK), "give --base"),
        (("work",), "there is no check to verify with"),
        (("work", *CHECK, "--base", "nowhere"), "there is no commit `nowhere` for --base"),
        (("work", *CHECK, "--setup-command", "exit 3"), "setup-command `exit 3` exited 3"),
        (("work", *CHECK, "--config", "../x"), "--config"),
    ],
)
def test_what_is_asked_wrongly(args: tuple[str, ...], says: str, tmp_path: Path) -> None:
    repo = branch(tmp_path, {"calc.py": GREEN})
    result = verify(repo, *args)
    assert result.exit_code == 2, result.said
    assert says in result.stderr
