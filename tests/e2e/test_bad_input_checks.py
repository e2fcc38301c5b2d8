"""Checks that fail in every way: what is said, and what never happens.

A refused start leaves the checkout as it was, byte for byte.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.navci_run import (
    Result,
    is_reachable,
    processes_left,
    run_folders,
    run_navci,
)
from tests.support.repos import git, write_files
from tests.support.small_task import (
    FIX,
    GOOD_REPORT,
    RUN,
    TEST,
    UNTESTED,
    assert_complete,
    assert_refused,
    committed,
    picture,
    small_repo,
    with_test,
)

pytestmark = pytest.mark.e2e


def the_check(result: Result, name: str = "tests") -> dict[str, object]:
    """The check as the marker has it."""
    assert result.marker is not None
    (check,) = (check for check in result.marker["checks"] if check["id"] == name)
    assert isinstance(check, dict)
    return check


def assert_red(result: Result, *words: str) -> None:
    """The run ended at its limit with the check red, and everybody can read why."""
    assert result.exit_code == 10, result.said
    assert (result.outputs["outcome"], result.outputs["complete"]) == ("max_iterations", "false")
    assert result.kind == "loop-aborted"
    assert json.loads(result.outputs["gaps"])[0] == "check:tests"
    check = the_check(result)
    assert check["passed"] is False
    for word in words:
        assert word in str(check["why"])
    assert "Traceback" not in result.said


# --- no check at all ------------------------------------------------------------------------


def test_without_any_check_every_report_says_what_stands_behind_the_run(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"fix.sh": f"echo 42 > README.md; {FIX}"})
    result = run_navci(repo, *UNTESTED)
    assert_complete(result)
    assert result.marker is not None
    indicators = json.loads(result.outputs["indicators"])
    assert indicators["tests_passing"] is None
    assert "[ ] Tests passing (skipped - no checks)" in result.stdout
    behind = "nothing but the agent's word and git stands behind this run"
    assert f"Checks: none; {behind}" in result.stdout
    assert f"no test command and no checks were given: {behind}" in result.stdout
    also = "only the agent's word and git stand behind this run"
    assert also in result.summary
    assert result.marker["no_checks"] is True
    markdown = Path(result.outputs["marker"]).with_suffix(".md").read_text()
    assert also in markdown
    assert git(repo, "rev-parse", "HEAD") == result.outputs["commit"]


# --- test commands --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("no-such-program --here", "exited 127: a command in it was not found"),
        ("./fix.sh", "exited 126: a command in it is not executable"),
    ],
)
def test_a_test_command_that_cannot_start(tmp_path: Path, command: str, says: str) -> None:
    repo = small_repo(tmp_path / "repo")
    before = picture(repo)
    result = run_navci(repo, *with_test(command))
    assert_refused(
        result, repo, "the check `tests` cannot start", says, f"mend `{command}`, or install"
    )
    assert picture(repo) == before


def test_a_test_command_that_hangs_is_ended_at_its_limit(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", config={"navci": {"check_timeout": "1s"}})
    hang = "grep -q 41 answer.txt && exit 1; sleep 300 & sleep 300"
    result = run_navci(repo, *with_test(hang, "--max-iterations", "1"))
    assert_red(result, "timed out after 1s; its processes were ended")
    assert processes_left(repo) == []
    assert committed(repo)["answer.txt"] == "42"


def test_500_megabytes_of_output_cost_little_disk_and_log(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    flood = "{ yes 'all work and no play makes a dull log' || true; } | head -c 500000000"
    result = run_navci(repo, *with_test(f"{flood}; echo; echo the very end; {TEST}"))
    assert_complete(result)
    assert len(result.stdout) < 3_000_000
    assert "(output cut after 2,000 lines; more of it is in " in result.stdout
    assert len(result.summary) < 900 * 1024
    (run,) = run_folders(repo)
    assert sum(path.lstat().st_size for path in run.rglob("*")) < 200_000_000
    kept = sorted(run.glob("transcripts/**/check-tests.out"))
    assert len(kept) == 2
    assert all(path.read_bytes().endswith(b"\nthe very end\n") for path in kept)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("kill -9 0", "exited 137: killed by signal 9 (SIGKILL)"),
        ("kill -9 -$(ps -o pgid= $PPID | tr -d ' ')", "exited"),
        ("kill -9 $PPID; sleep 5", "exited"),
        ("kill -TERM $PPID; sleep 5", "exited"),
    ],
    ids=["own-group", "parents-group", "parent", "parent-politely"],
)
def test_a_test_command_that_kills_around_itself(tmp_path: Path, line: str, note: str) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, *with_test(f"{TEST} || exit 1; {line}"))
    assert_red(result, note)
    assert processes_left(repo) == []
    assert is_reachable(repo, "42\n")


def test_a_test_command_that_leaves_daemons(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    daemon = "setsid -f sleep 300; (sleep 300 &) ; nohup sleep 300 >/dev/null 2>&1 &"
    result = run_navci(repo, *with_test(f"{daemon}\n{TEST}"))
    assert_complete(result)
    assert processes_left(repo) == []


# --- reports --------------------------------------------------------------------------------

JUNIT = ("--junit", "build/*.xml")


@pytest.mark.parametrize(
    ("write", "says"),
    [
        ("true", "no JUnit report matched `build/*.xml`"),
        ("mkdir -p build; : > build/r.xml", "JUnit report proves nothing"),
        (f"mkdir -p build; echo '{GOOD_REPORT[:40]}' > build/r.xml", "JUnit report proves nothing"),
        ("mkdir -p build; echo '<testsuite/>' > build/r.xml", "JUnit report proves nothing"),
        ("mkdir -p build; mkfifo build/r.xml || true", "JUnit report"),
        ("mkdir -p build; ln -sf /etc/passwd build/r.xml", "JUnit report"),
        ("mkdir -p build/r.xml", "no JUnit report matched"),
    ],
    ids=["none", "empty", "truncated", "without-tests", "pipe", "link-out", "folder"],
)
def test_reports_that_prove_nothing(tmp_path: Path, write: str, says: str) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, *with_test(f"{TEST}; {write}", *JUNIT, "--max-iterations", "1"))
    assert_red(result, "exited 0", says)
    assert "build" not in str(committed(repo).keys())


def test_a_stale_report_is_not_read(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {".gitignore": "build/\n"})
    write_files(repo, {"build/old.xml": GOOD_REPORT})
    result = run_navci(repo, *with_test(TEST, *JUNIT, "--max-iterations", "1"))
    assert_red(result, "no JUnit report matched `build/*.xml`")


def test_a_glob_that_matches_a_tracked_file(tmp_path: Path) -> None:
    """It is neither deleted nor taken for a report of this run."""
    text = GOOD_REPORT
    repo = small_repo(tmp_path / "repo", {"build/old.xml": text})
    result = run_navci(repo, *with_test(TEST, *JUNIT, "--max-iterations", "1"))
    assert_red(result, "build/old.xml is tracked by git and therefore no report")
    assert (repo / "build" / "old.xml").read_text() == text
    assert git(repo, "status", "--short") == ""


def test_a_real_report_of_pytest_cut_short(tmp_path: Path) -> None:
    test = "def test_answer():\n    assert open('answer.txt').read() == '42\\n'\n"
    repo = small_repo(tmp_path / "repo", {"test_answer.py": test})
    line = "python -m pytest -q -p no:cacheprovider --junitxml=build/r.xml"
    cut = f"{line} && head -c 200 build/r.xml > build/cut.xml && mv build/cut.xml build/r.xml"
    result = run_navci(repo, *with_test(cut, *JUNIT, "--max-iterations", "1"))
    assert_red(result, "exited 0, but its JUnit report proves nothing: build/r.xml")
    result = run_navci(repo, *with_test(line, *JUNIT, "--max-iterations", "1"))
    assert_complete(result)
    assert (result.outputs["tests-total"], result.outputs["tests-failed"]) == ("1", "0")


# --- what checks write ----------------------------------------------------------------------


def test_a_check_that_changes_tracked_files_at_the_baseline(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"lock.txt": "1\n", "gone.txt": "1\n"})
    before = picture(repo)
    result = run_navci(repo, *with_test("date > lock.txt; rm gone.txt; date > new.txt"))
    assert_refused(
        result,
        repo,
        "the check `tests` changes files of the repository on the base commit: gone.txt, lock.txt",
        "check_may_write",
    )
    assert picture(repo) == before


def test_check_may_write_allows_it(tmp_path: Path) -> None:
    config = {"navci": {"check_may_write": ["lock.txt"]}}
    repo = small_repo(tmp_path / "repo", {"lock.txt": "1\n"}, config)
    result = run_navci(repo, *with_test(f"date +%N > lock.txt; {TEST}"))
    assert_complete(result)
    assert committed(repo)["lock.txt"] == "1"
    assert git(repo, "status", "--short") == ""


def test_a_check_that_changes_tracked_files_later_voids_itself(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"other.txt": "1\n"})
    tamper = f"{TEST}; echo tampered > other.txt; rm fix.sh"
    result = run_navci(repo, *with_test(tamper, "--max-iterations", "1"))
    assert_red(result, "which makes it void: fix.sh, other.txt")
    assert (repo / "other.txt").read_text() == "1\n"
    assert committed(repo).keys() == {"answer.txt", "fix.sh", "other.txt"}
    assert git(repo, "status", "--short") == ""


def test_a_check_that_empties_the_checkout(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"deep/er/file.txt": "1\n"})
    result = run_navci(repo, *with_test(f"{TEST}; rm -rf ./*", "--max-iterations", "1"))
    assert_red(result, "which makes it void: answer.txt, deep/er/file.txt, fix.sh")
    assert (repo / "deep" / "er" / "file.txt").read_text() == "1\n"
    assert (repo / "answer.txt").read_text() == "42\n"
    assert git(repo, "status", "--short") == ""


@pytest.mark.parametrize("when", ["at the baseline", "later"])
def test_a_check_that_deletes_dot_git(tmp_path: Path, when: str) -> None:
    repo = small_repo(tmp_path / "repo")
    line = f"{TEST}; rm -rf .git" if when == "later" else f"rm -rf .git; {TEST}"
    result = run_navci(repo, *with_test(line))
    assert_complete(result)
    assert "the checkout's .git was broken and was rebuilt" in result.stdout
    assert committed(repo)["answer.txt"] == "42"
    assert git(repo, "log", "--format=%s").splitlines()[1:] == ["start"]
    assert git(repo, "status", "--short", "--branch") == f"## {result.outputs['branch']}"
    git(repo, "fsck", "--no-dangling", "--strict")


def test_a_check_that_commits_and_leaves_a_lock(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    commit = "git -c user.name=x -c user.email=x commit -q --allow-empty -m 'of a test'"
    result = run_navci(repo, *with_test(f"{TEST}; {commit}; touch .git/index.lock .git/HEAD.lock"))
    assert_complete(result)
    assert "of a test" not in git(repo, "log", "--format=%s")
    assert git(repo, "status", "--short", "--branch") == f"## {result.outputs['branch']}"


def test_by_products_of_checks_are_never_committed(tmp_path: Path) -> None:
    fix = f"cat out/log >> seen.txt; {FIX}"
    repo = small_repo(tmp_path / "repo", {"fix.sh": fix})
    result = run_navci(repo, *with_test(f"mkdir -p out; date >> out/log; date > .cov; {TEST}"))
    assert_complete(result)
    assert committed(repo).keys() == {"answer.txt", "fix.sh", "seen.txt"}
    assert git(repo, "status", "--short") == "?? .cov\n?? out/"


def test_the_agents_own_file_is_committed_where_a_check_writes_too(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"fix.sh": f"mkdir -p out; echo mine > out/log; {FIX}"})
    result = run_navci(repo, *with_test(f"mkdir -p out; echo a > out/other; {TEST}"))
    assert_complete(result)
    assert committed(repo)["out/log"] == "mine"
    assert "out/other" not in committed(repo)


def test_a_failing_setup_command(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    before = picture(repo)
    setup = "echo noise; touch made; echo x >> answer.txt; echo 'no such index' >&2; exit 3"
    result = run_navci(repo, *RUN, "--setup-command", setup)
    assert_refused(result, repo, "setup-command `echo noise;", "exited 3 (no such index); mend it")
    assert picture(repo) == before


def test_what_setup_changes_is_put_back_and_named(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo", {"lock.txt": "1\n"})
    setup = "echo 2 > lock.txt; mkdir made; echo m > made/it"
    result = run_navci(repo, *with_test(f"test -f made/it; {TEST}"), "--setup-command", setup)
    assert_complete(result)
    assert "setup-command changed files of the repository, which were put back: lock.txt" in (
        result.stdout
    )
    assert committed(repo)["lock.txt"] == "1"
    assert git(repo, "status", "--short") == "?? made/"
