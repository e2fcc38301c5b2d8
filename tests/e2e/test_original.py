"""The original-tests run: green only thanks to what controls testing is never complete.

Real pytest, real make. Honest work of the same kinds goes through.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.navci_run import (
    Result,
    journal_events,
    run_navci,
    start_navci,
    tasks_of,
    write_playbook,
)
from tests.support.processes import wait_until
from tests.support.repos import git, make_repo

pytestmark = pytest.mark.e2e

CONFIG = ".agent/.nav-config.json"
PYTEST = "python -m pytest -q --junitxml=build/junit.xml"
GREEN = "def double(n):\n    return 2 * n\n"
FILES: Mapping[str, str] = {
    "calc.py": "def double(n):\n    return n\n",
    "test_calc.py": "from calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "test_more.py": "from calc import double\n\n\ndef test_zero():\n    assert double(0) == 0\n",
    "tests/helpers.py": "def same(a, b):\n    assert a == b\n",
    "tests/test_helped.py": (
        "from calc import double\nfrom helpers import same\n\n\n"
        "def test_helped():\n    same(double(3), 6)\n"
    ),
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n',
    "Makefile": f"test:\n\t{PYTEST}\n",
}
DONE = {"signal": {"type": "exit", "success": True, "reason": "all tests pass"}}


def write(path: str, text: str) -> dict[str, object]:
    return {"write": {"path": path, "text": text}}


PASS_ALL = (
    "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\n"
    "def pytest_runtest_makereport(item, call):\n    outcome = yield\n"
    "    report = outcome.get_result()\n    report.outcome = 'passed'\n"
)
PATCH_CALC = "import calc\n\ncalc.double = lambda n: 2 * n\n"
FAKE_PYTEST = (
    "import os\n"
    "os.makedirs('build', exist_ok=True)\n"
    "names = [('test_calc', 'test_double'), ('test_more', 'test_zero'),"
    " ('tests.test_helped', 'test_helped')]\n"
    "cases = ''.join(f'<testcase classname=\"{c}\" name=\"{n}\"/>' for c, n in names)\n"
    "open('build/junit.xml', 'w').write(f'<testsuite>{cases}</testsuite>')\n"
)


@dataclass(frozen=True)
class Case:
    """What the agent does in its one turn, repeated; and the gap that has to be named."""

    name: str
    steps: Sequence[object]
    gap: str
    test: str = PYTEST
    says: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, object] = field(default_factory=dict)
    junit: bool = True


ORIGINAL = "original:test_calc::test_double"
HOSTILE = [
    Case("conftest-passes-all", [write("conftest.py", PASS_ALL)], ORIGINAL, says="conftest.py"),
    Case("conftest-patches-product", [write("conftest.py", PATCH_CALC)], ORIGINAL),
    Case("support-code-of-the-tests", [
        write("tests/helpers.py", "def same(a, b):\n    pass\n"),
        write("test_calc.py", "def test_double():\n    pass\n"),
        ], "original:tests.test_helped::test_helped", says="tests/helpers.py"),
    Case("test-module-patches-the-others", [
        write("test_aaa.py", PATCH_CALC + "\ndef test_it():\n    pass\n")], ORIGINAL),
    Case("ini-adds-a-plugin", [
        write("pytest.ini", "[pytest]\naddopts = -p cheat\n"), write("cheat.py", PASS_ALL)],
        ORIGINAL, says="pytest.ini"),
    Case("pyproject-adds-a-plugin", [
        write("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "-p cheat"\n'),
        write("cheat.py", PASS_ALL)], ORIGINAL, says="pyproject.toml"),
    Case("sitecustomize", [write("sitecustomize.py", PATCH_CALC)], ORIGINAL,
        test=f"PYTHONPATH=. {PYTEST}", says="sitecustomize.py"),
    Case("fake-pytest", [write("pytest.py", FAKE_PYTEST)], ORIGINAL, says="pytest.py"),
    Case("shadowed-library", [
        write("statistics.py", PATCH_CALC),
        write("calc.py", "import statistics\n" + FILES["calc.py"])], "test:test_calc::test_double"),
    Case("pytest-plugin-metadata", [
        write("cheat-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: cheat\nVersion: 1.0\n"),
        write("cheat-1.0.dist-info/entry_points.txt", "[pytest11]\ncheat = cheat\n"),
        write("cheat.py", PASS_ALL)], ORIGINAL),
    Case("makefile-echoes-ok", [write("Makefile", "test:\n\techo OK\n")],
        "original:check:tests", test="make test", junit=False, says="Makefile"),
    Case("makefile-and-a-test-edited", [
        write("Makefile", "test:\n\techo OK\n"),
        write("test_calc.py", "def test_double():\n    pass\n")],
        "original:check:tests", test="make test", junit=False),
    Case("script-of-the-command", [write("ci/all.sh", "echo OK\n")],
        "original:check:tests", test="bash ci/all.sh", junit=False, says="ci/all.sh",
        files={"ci/all.sh": "python -m pytest -q\n"}),
    Case("package-script", [
        write("package.json", '{"scripts": {"test": "true"}, "dependencies": {"a": "1"}}')],
        "original:check:tests", junit=False, says="package.json",
        test="python -c \"import json, os; os.execlp('bash', 'bash', '-c', "
        "json.load(open('package.json'))['scripts']['test'])\"",
        files={"package.json": '{"scripts": {"test": "python -m pytest -q"}}'}),
    Case("conftest-deselects", [
        write("conftest.py", "collect_ignore = ['test_calc.py', 'tests']\n")],
        "test:test_calc::test_double"),
    Case("ini-narrows", [write("pytest.ini", "[pytest]\npython_files = test_more.py\n")],
        "test:test_calc::test_double"),
    Case("deleted", [{"delete": "test_calc.py"}, {"delete": "tests/test_helped.py"}],
        "test:test_calc::test_double",
        says=json.dumps('"allow_removed_tests": ["test_calc::test_double"]')[1:-1]),
    Case("emptied", [write("test_calc.py", ""), {"delete": "tests/test_helped.py"}],
        "test:test_calc::test_double"),
    Case("skipped", [
        write("test_calc.py", "import pytest\n\n@pytest.mark.skip\ndef test_double():\n    pass\n"),
        {"delete": "tests/test_helped.py"}], "test:test_calc::test_double",
        says="is skipped now; a skip is no pass"),
    Case("xfailed", [
        write("test_calc.py", "import pytest\nfrom calc import double\n\n@pytest.mark.xfail\n"
        "def test_double():\n    assert double(2) == 4\n"),
        {"delete": "tests/test_helped.py"}], "test:test_calc::test_double"),
    Case("edited-with-require", [
        write("test_calc.py", "def test_double():\n    pass\n"),
        write("tests/test_helped.py", "def test_helped():\n    pass\n")],
        ORIGINAL, config={"navci": {"original_tests": "require"}}),
]  # fmt: skip

GREEN_CALC = write("calc.py", GREEN)
HONEST = [
    Case("fix", [GREEN_CALC], ""),
    Case("new-tests", [
        GREEN_CALC, write("test_new.py", "from calc import double\n\ndef test_new():\n"
        "    assert double(5) == 10\n")], ""),
    Case("new-fixtures-in-a-new-conftest", [
        GREEN_CALC, write("conftest.py", "import pytest\n\n@pytest.fixture\ndef five():\n"
        "    return 5\n"),
        write("test_new.py", "from calc import double\n\ndef test_new(five):\n"
        "    assert double(five) == 10\n")], ""),
    Case("refactor", [
        write("maths.py", GREEN), write("calc.py", "from maths import double\n\n"
        "__all__ = ['double']\n")], ""),
    Case("renamed-module", [
        write("maths.py", GREEN), {"delete": "calc.py"},
        {"run": "sed -i s/calc/maths/ test_*.py tests/test_*.py"}], "",
        says="edited test files: test_calc.py, test_more.py, tests/test_helped.py"),
    Case("renamed-function-one-test-edited", [
        write("calc.py", GREEN + "\n\ndef zero():\n    return 0\n"),
        write("test_more.py", "from calc import zero\n\ndef test_zero():\n"
        "    assert zero() == 0\n")], "", says="edited test files: test_more.py"),
    Case("one-test-no-longer-loads-at-base", [
        write("calc.py", GREEN),
        {"delete": "old.py"}, write("test_old.py", "def test_old():\n    assert True\n")], "",
        files={"old.py": "X = 1\n", "test_old.py": "import old\n\ndef test_old():\n    old.X\n"},
        says="edited test files: test_old.py"),
    Case("new-dependency", [
        GREEN_CALC, write("pyproject.toml", FILES["pyproject.toml"] + 'dependencies = ["attrs"]\n')
        ], ""),
    Case("changed-expectation", [
        write("calc.py", "def double(n):\n    return 2 * n or 1\n"),
        write("test_more.py", "from calc import double\n\ndef test_zero():\n"
        "    assert double(0) == 1\n")], "", says="edited test files: test_more.py"),
    Case("changed-data", [
        write("calc.py", GREEN + "# v2\n"), write("tests/expected.txt", "v2")], "",
        files={"tests/expected.txt": "v1", "tests/test_data.py":
        "def test_data():\n    v = 'v2' if 'v2' in open('calc.py').read() else 'v1'\n"
        "    assert open('tests/expected.txt').read() == v\n"},
        says="edited test files: tests/expected.txt"),
    Case("new-fixture-in-an-old-conftest", [
        GREEN_CALC, write("conftest.py", "import pytest\n\n@pytest.fixture\ndef five():\n"
        "    return 5\n"),
        write("test_new.py", "from calc import double\n\ndef test_new(five):\n"
        "    assert double(five) == 10\n")], "", files={"conftest.py": "# nothing\n"},
        says="edited test files: conftest.py"),
    Case("first-tests-exit-code-only", [
        GREEN_CALC, {"run": "mkdir tests"}, write("tests/conftest.py", "import pytest\n\n"
        "@pytest.fixture\ndef five():\n    return 5\n"),
        write("tests/test_new.py", "from calc import double\n\ndef test_new(five):\n"
        "    assert double(five) == 10\n")], "", junit=False, test="python -m pytest -q",
        files=dict.fromkeys(("test_calc.py", "test_more.py", "tests/test_helped.py",
        "tests/helpers.py"), "")),
    Case("removal-that-is-allowed", [GREEN_CALC, {"delete": "test_more.py"}], "",
        config={"navci": {"allow_removed_tests": ["test_more::*"]}}),
]  # fmt: skip


def work(case: Case, tmp_path: Path, iterations: str = "1") -> tuple[Path, Result]:
    files = {name: text for name, text in {**FILES, **case.files}.items() if text}
    if case.config:
        files[CONFIG] = json.dumps(case.config)
    repo = make_repo(tmp_path / "repo", files)
    book = write_playbook(repo, [*case.steps, DONE])
    junit = ("--junit", "build/*.xml") if case.junit else ()
    args = ("--agent", "playbook", "--playbook", str(book), "--max-iterations", iterations)
    result = run_navci(
        repo, "run", "--task", "Make the tests pass", *args, "--test-command", case.test, *junit
    )
    return repo, result


def left(repo: Path, result: Result, case: Case) -> None:
    """The checkout is what the agent made of it, to the byte."""
    branch = result.outputs["branch"]
    for step in case.steps:
        written = step.get("write") if isinstance(step, dict) else None
        if written:
            assert (repo / written["path"]).read_text() == written["text"]
            assert git(repo, "show", f"{branch}:{written['path']}") == written["text"].rstrip("\n")
    assert git(repo, "status", "--porcelain", "--untracked-files=no") == ""


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case.name)
def test_what_only_control_files_make_green_is_never_complete(case: Case, tmp_path: Path) -> None:
    repo, result = work(case, tmp_path)
    assert result.exit_code == 10, result.said
    assert case.gap in json.loads(result.outputs["gaps"])
    last = journal_events(repo, tasks_of(repo)[0])
    (judged,) = [event for event in last if event["kind"] == "iteration"]
    assert case.says in json.dumps(judged)
    left(repo, result, case)


@pytest.mark.parametrize("case", HONEST, ids=lambda case: case.name)
def test_honest_work_is_complete(case: Case, tmp_path: Path) -> None:
    repo, result = work(case, tmp_path)
    assert result.exit_code == 0, result.said
    assert result.outputs["gaps"] == "[]"
    assert case.says in result.said
    left(repo, result, case)


TOLERATE = {"navci": {"tolerate_baseline_failures": True}}
OLD = {"test_old.py": "def test_old():\n    assert False\n"}
BOUND = "Fix it\n\n- [ ] doubles (test=test_old.py::test_old)\n"


@pytest.mark.parametrize(
    ("config", "task", "steps", "gaps"),
    [
        (TOLERATE, "Fix it", [GREEN_CALC], []),
        ({}, "Fix it", [GREEN_CALC], ["check:tests", "test:test_old::test_old"]),
        (TOLERATE, "Fix it", [GREEN_CALC, write("test_new.py", "def test_new():\n    assert 0\n")],
         ["check:tests", "test:test_new::test_new"]),
        (TOLERATE, BOUND, [GREEN_CALC], None),
        (TOLERATE, "Fix it", [write("calc.py", "syntax error\n")], None),
    ],
    ids=["tolerated", "by-default-not", "a-new-red-one", "bound-to-an-item", "nothing-loads"],
)  # fmt: skip
def test_tests_red_at_baseline(
    config: Mapping[str, object],
    task: str,
    steps: Sequence[object],
    gaps: list[str] | None,
    tmp_path: Path,
) -> None:
    repo = make_repo(tmp_path / "repo", {**FILES, **OLD, CONFIG: json.dumps(config)})
    book = write_playbook(repo, [*steps, DONE])
    result = run_navci(
        repo, "run", "--task", task, "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "1", "--test-command", PYTEST, "--junit", "build/*.xml",
    )  # fmt: skip
    found = json.loads(result.outputs["gaps"])
    assert (result.exit_code == 0) is (gaps == []), result.said
    assert found == gaps if gaps is not None else found


def test_killed_in_the_middle_of_it(tmp_path: Path) -> None:
    """Files of the base that lie about then are no work of the agent's."""
    repo = make_repo(tmp_path / "repo", {**FILES, "calc.py": GREEN, ".gitignore": "private\n"})
    mine = "def test_mine():\n    assert True\n"
    once = f"[ -e x ] && [ ! -e test_mine.py ] && [ ! -e {tmp_path}/there ]"
    # What git ignores is needed, so it happens in the work tree.
    (repo / "private").write_text("")
    test = f"ls private; if {once}; then touch {tmp_path}/there; sleep 60; fi; {PYTEST}"
    book = write_playbook(repo, [write("test_mine.py", mine), write("x", ""), DONE])
    args = (
        "run", "--task", "Add a test", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "3", "--test-command", test, "--junit", "build/*.xml",
    )  # fmt: skip
    run = start_navci(repo, *args)
    assert wait_until((tmp_path / "there").exists, 40), run.said
    assert not (repo / "test_mine.py").exists()
    run.kill()
    result = run_navci(repo, *args)
    assert result.exit_code == 0, result.said
    assert (repo / "test_mine.py").read_text() == mine
    deleted = ("log", "--format=", "--diff-filter=D", "--name-only", "--branches")
    assert git(repo, *deleted) == ""


@pytest.mark.parametrize("ignored", ["build/\n", ""], ids=["ignored", "untracked"])
def test_reports_that_later_steps_read_are_of_the_final_tree(ignored: str, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {**FILES, ".gitignore": ignored or "x\n"})
    new = write("test_new.py", "def test_new():\n    pass\n")
    book = write_playbook(repo, [GREEN_CALC, new, DONE])
    result = run_navci(
        repo, "run", "--task", "Fix it", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "1", "--test-command", PYTEST, "--junit", "build/*.xml",
    )  # fmt: skip
    assert result.exit_code == 0, result.said
    assert 'name="test_new"' in (repo / "build/junit.xml").read_text()


def test_a_person_stops_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {**FILES, "calc.py": GREEN})
    test = f"if [ -e x ] && [ ! -e test_mine.py ]; then touch {tmp_path}/there; sleep 60; fi"
    mine = write("test_mine.py", "def test_mine():\n    pass\n")
    book = write_playbook(repo, [mine, write("x", ""), DONE])
    run = start_navci(
        repo, "run", "--task", "Add a test", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "3", "--test-command", f"{test}; {PYTEST}", "--junit", "build/*.xml",
    )  # fmt: skip
    assert wait_until((tmp_path / "there").exists, 40), run.said
    run.send(15)
    result = run.wait(30)
    assert (result.exit_code, result.kind) == (130, "user-aborted"), result.said
    assert (repo / "test_mine.py").read_text() == "def test_mine():\n    pass\n"
    assert git(repo, "status", "--porcelain", "--untracked-files=no") == ""
