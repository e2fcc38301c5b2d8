"""What a person reads at the end of a run on a laptop: every place is there, every line works."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from navci.model import ENDS, End
from tests.support.navci_run import PROGRAM, Result, place_of, run_navci
from tests.support.repos import clean_env, commit_all, git, make_repo
from tests.support.small_task import (
    AGENT,
    BRANCH,
    CONFIG,
    FIX,
    ID,
    RUN,
    SIGNAL,
    TASK,
    TEST,
    assert_complete,
    small_repo,
)

pytestmark = pytest.mark.e2e

PUSHING = ("run", "--task", TASK, *AGENT, "--max-iterations", "2", "--test-command", TEST)


def places(result: Result) -> dict[str, str]:
    """The last lines, by their labels."""
    tail = result.stdout.partition("\nrepository ")[2]
    lines = [line for line in f"repository {tail}".splitlines() if line[10:11] == " "]
    return {line[:10].strip(): line[11:] for line in lines}


def to_do(result: Result) -> list[str]:
    """The commands below the next step."""
    lines = result.stdout.partition("What to do next: ")[2].splitlines()[1:]
    return [line.strip() for line in lines if line.startswith("    ")]


def paste(repo: Path, line: str, **env: str) -> str:
    """A person pastes ``line`` into a shell in ``repo``."""
    done = subprocess.run(
        ["bash", "-c", line], cwd=repo, env=clean_env(**env), capture_output=True, text=True
    )
    assert done.returncode == 0, f"{line}\n{done.stderr}"
    return done.stdout


# --- the summary that is named is there -----------------------------------------------------


@pytest.mark.parametrize("named", ["there.md", "", "no/such/folder.md", ".", "/dev/stdout"])
def test_the_summary_that_is_named_is_there(tmp_path: Path, named: str) -> None:
    repo = small_repo(tmp_path / "repo")
    where = str(tmp_path / named) if named else ""
    result = run_navci(repo, *RUN, env={"GITHUB_STEP_SUMMARY": where})
    assert_complete(result)
    summary = Path(places(result)["summary"])
    assert summary.read_text().startswith("## ✅ LOOP COMPLETE")
    assert (summary == tmp_path / "there.md") is (named == "there.md")


def test_the_files_that_the_summary_names_are_there(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, *RUN)
    (folder,) = re.findall(r"^- Files: `(.*)`$", result.summary, re.MULTILINE)
    assert {"summary.md", Path(result.outputs["marker"]).name} <= {
        path.name for path in Path(folder).iterdir()
    }
    assert "Artifact" not in result.summary


# --- what to do with work that is done ------------------------------------------------------


@pytest.mark.parametrize("branch", ["main", "it's-mine;x"])
def test_the_next_step_merges_the_work(tmp_path: Path, branch: str) -> None:
    repo = small_repo(tmp_path / "repo")
    git(repo, "checkout", "-q", "-B", branch)
    result = run_navci(repo, *RUN)
    assert_complete(result)
    assert ENDS[End.COMPLETE].next_step in result.stdout
    look, merge = to_do(result)
    assert "+42" in paste(repo, look)
    paste(repo, merge)
    assert git(repo, "symbolic-ref", "--short", "HEAD") == branch
    assert git(repo, "show", "HEAD:answer.txt") == "42"
    if branch == "main":
        assert merge == f"git switch main && git merge {BRANCH}"


def test_without_a_branch_to_merge_into_it_is_left_to_the_person(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    git(repo, "checkout", "-q", "--detach")
    result = run_navci(repo, *RUN)
    assert_complete(result)
    _, merge = to_do(result)
    assert merge.startswith(f"git merge {BRANCH} ")
    git(repo, "switch", "-q", "main")
    paste(repo, merge)
    assert git(repo, "show", "main:answer.txt") == "42"


def test_a_base_that_is_no_branch_is_not_switched_to(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    git(repo, "tag", "v1")
    result = run_navci(repo, *RUN, "--base", "v1")
    assert_complete(result)
    assert to_do(result)[1].startswith("git merge ")


@pytest.mark.parametrize("fix", ["echo 40 | tee answer.txt\n", FIX], ids=["aborted", "in a job"])
def test_elsewhere_there_is_nothing_to_merge(tmp_path: Path, fix: str) -> None:
    repo = small_repo(tmp_path / "repo", {"fix.sh": fix})
    in_job = {"GITHUB_ACTIONS": "true"} if fix == FIX else {}
    result = run_navci(repo, *RUN, env=in_job)
    assert result.outputs["outcome"] == ("complete" if in_job else "max_iterations")
    assert to_do(result) == []


# --- pushing --------------------------------------------------------------------------------


def test_the_last_lines_say_whether_it_was_pushed_and_why_not(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    commit = r"\([0-9a-f]{12}\)"
    nowhere = places(run_navci(repo, *PUSHING))["branch"]
    assert re.fullmatch(rf"{BRANCH} {commit}, not pushed: there is no remote", nowhere)

    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(repo, "remote", "add", "origin", str(remote))
    git(repo, "switch", "-q", "main")
    off = places(run_navci(repo, *PUSHING, "--no-push"))["branch"]
    assert off.endswith("not pushed: push is off")
    assert git(remote, "for-each-ref") == ""

    git(repo, "switch", "-q", "main")
    assert places(run_navci(repo, *PUSHING))["branch"].endswith(f"pushed to {remote}")
    assert git(remote, "show", f"{BRANCH}:answer.txt") == "42"

    git(repo, "switch", "-q", "main")
    git(repo, "remote", "set-url", "origin", "http://ada:hunter22@127.0.0.1:9/x.git")
    failed = run_navci(repo, *PUSHING)
    assert places(failed)["branch"].endswith("not pushed: the push failed")
    assert "hunter22" not in places(failed)["branch"]


def test_a_password_in_the_remotes_url_is_not_printed(tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    repo = small_repo(tmp_path / "repo")
    git(repo, "remote", "add", "origin", f"file://ada:hunter22@localhost{remote}")
    branch = places(run_navci(repo, *PUSHING))["branch"]
    assert "pushed" in branch and "hunter22" not in branch


# --- a run that was not started -------------------------------------------------------------


def test_a_refusals_commands_stay_code_in_the_summary(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, *RUN, "--max-iterations", "30", "--agent", "comand")
    assert result.exit_code == 2
    assert '\n- `--max-iterations` is "30"; allowed: a whole number from 1 to 20\n' in (
        result.summary
    )
    assert "\n- there is no agent `comand`; did you mean `command`?" in result.summary
    assert f"**What to do next:** {ENDS[End.CONFIG_ERROR].next_step}\n" in result.summary


def test_a_dry_run_that_finds_nothing_wrong_says_how_to_start(tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "repo")
    result = run_navci(repo, *RUN, "--dry-run")
    next_step = "Give the same again without `dry-run` to start the loop."
    assert result.stdout.splitlines()[-1] == f"What to do next: {next_step}"
    assert "notice: dry run: everything but the checks was tried" in result.stdout
    assert "navci did not start" not in result.stdout
    assert result.summary.startswith("## Dry run: nothing stands in the way; ")
    assert next_step in result.summary


# --- a failure budget that is out -----------------------------------------------------------


def test_a_failure_budget_that_is_out_names_the_evidence_and_the_ways_on(tmp_path: Path) -> None:
    claim = f"echo . >> half.txt\n{SIGNAL}"
    tests = {"test_it.py": "def test_answer():\n    assert open('answer.txt').read() == '42\\n'\n"}
    repo = small_repo(
        tmp_path / "repo",
        {"fix.sh": claim, ".gitignore": "*.pyc\n__pycache__\nout.xml\n", **tests},
        {"native": {"max_verify_failures": 2}},
    )
    run = (
        "run", "--task", TASK, *AGENT, "--max-iterations", "5", "--no-push",
        "--test-command", "python -m pytest -q -p no:cacheprovider --junitxml=out.xml",
        "--junit", "out.xml",
    )  # fmt: skip
    for iterations in ("2", "0"):
        result = run_navci(repo, *run)
        assert result.outputs["outcome"] == "failure_budget", result.said
        assert result.outputs["iterations"] == iterations
        markdown = result.marker_files[-1].with_suffix(".md").read_text()
        shown = run_navci(repo, "show", ID).stdout.splitlines()[-1]
        for text in (result.stdout, result.summary, markdown, shown):
            for word in (
                "test:test_it::test_answer", "test_it.py:2", "assert '41", "check:tests",
                "raise the limit", "native.max_verify_failures", CONFIG,
                "change the requirement", "or stop",
            ):  # fmt: skip
                assert word in text.replace("\\", "").replace("\u200b", ""), word
        assert "test:test_it::test_answer" in result.outputs["reason"]
        assert "Open gaps (2):\n- `check:tests`: " in result.stdout
        git(repo, "switch", "-q", "main")

    (repo / CONFIG).write_text(json.dumps({"native": {"max_verify_failures": 3}}))
    commit_all(repo, "one more")
    more = run_navci(repo, *run)
    assert (more.outputs["outcome"], more.outputs["iterations"]) == ("failure_budget", "1")


# --- the demo -------------------------------------------------------------------------------


def test_the_demos_last_line_can_be_pasted_anywhere(tmp_path: Path) -> None:
    place = make_repo(tmp_path / "somewhere", {})
    result = run_navci(
        place, "demo", "--folder", str(tmp_path / "a folder"), env={"PATH": _without()}
    )
    assert result.exit_code == 0, result.said
    look, line = result.stdout.splitlines()[-2:]
    assert look == "Look at it:"
    assert line.strip().endswith(f"{PROGRAM} show TASK-1")
    shown = paste(tmp_path, line, PATH=_without(), HOME=str(place_of(place) / "home"))
    assert "ended complete" in shown
    (made,) = (tmp_path / "a folder").iterdir()
    assert str(made) in line


def _without() -> str:
    """A PATH on which there is no navci."""
    return "/usr/local/bin:/usr/bin:/bin"
