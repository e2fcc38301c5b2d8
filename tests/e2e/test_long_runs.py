"""Many iterations: steady progress is left alone, and what only goes round in circles is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.navci_run import journal_events, run_navci, tasks_of, write_playbook
from tests.support.repos import make_repo

pytestmark = pytest.mark.e2e

DONE = {"signal": {"type": "exit", "success": True, "reason": "all of them pass"}}
CONFIG = ".agent/.nav-config.json"


def suite(count: int) -> str:
    """As many tests, each green once its number is among those of ``fixed``."""
    return "FIXED = open('fixed').read().split()\n\n" + "".join(
        f"def test_{number}():\n    assert '{number}' in FIXED\n\n"
        for number in range(1, count + 1)
    )


def fixed(*numbers: int) -> dict[str, object]:
    return {"write": {"path": "fixed", "text": " ".join(map(str, numbers)) + "\n"}}


def judgements(repo: Path) -> list[dict[str, object]]:
    events = journal_events(repo, tasks_of(repo)[0])
    return [event["data"]["judgement"] for event in events if event["kind"] == "iteration"]


def test_forty_failing_tests_fixed_two_at_a_time(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"test_all.py": suite(40), "fixed": "\n"})
    turns = [[fixed(*range(1, 2 * n + 1)), *([DONE] if n == 20 else [])] for n in range(1, 21)]
    book = write_playbook(repo, *turns)
    result = run_navci(
        repo, "run", "--task", "Make them pass", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "20", "--test-command", "python -m pytest -q --junitxml=b/junit.xml",
        "--junit", "b/*.xml", timeout=300,
    )  # fmt: skip
    assert result.exit_code == 0, result.said
    told = judgements(repo)
    assert len(told) == 20
    assert [judged["event"] for judged in told] == [False] * 20
    assert result.marker and result.marker["stagnation"]["events"] == 0


def test_failures_that_merely_rotate(tmp_path: Path) -> None:
    """One test is red all the time, another one in every iteration."""
    repo = make_repo(tmp_path / "repo", {"test_all.py": suite(12), "fixed": "1 2\n"})
    turns = [[fixed(*(n for n in range(1, 13) if n != red))] for red in range(1, 13)]
    book = write_playbook(repo, *turns)
    result = run_navci(
        repo, "run", "--task", "Make them pass", "--agent", "playbook", "--playbook", str(book),
        "--max-iterations", "20", "--test-command", "python -m pytest -q --junitxml=b/junit.xml",
        "--junit", "b/*.xml", env={"GITHUB_ACTIONS": "true"}, timeout=300,
    )  # fmt: skip
    assert result.outputs["outcome"] == "stagnated", result.said
    told = judgements(repo)
    assert [judged["iteration"] for judged in told if judged["event"]] == [3, 6, 9]
    assert len(told) == 9


def test_coming_back_to_a_contract_does_not_refill_its_failure_budget(tmp_path: Path) -> None:
    """A, then B, then A again: the two refused claims under A still count."""
    config = {"native": {"max_verify_failures": 3}}
    document = ".agent/tasks/TASK-1.md"
    text = "# TASK-1: Fix them\n\n- [ ] all pass (check=tests)\n"
    repo = make_repo(
        tmp_path / "repo",
        {
            "test_all.py": suite(3),
            "fixed": "\n",
            CONFIG: json.dumps(config),
            document: text,
        },
    )

    def run(check: str, iterations: int) -> tuple[str, int]:
        turns = [
            [{"write": {"path": f"try-{check}-{n}.txt", "text": f"{n}\n"}}, DONE]
            for n in range(iterations)
        ]
        book = write_playbook(repo, *turns)
        result = run_navci(
            repo, "run", "--task-file", document, "--agent", "playbook", "--playbook", str(book),
            "--max-iterations", str(iterations), "--test-command",
            f"python -m pytest -q -k '{check}' --junitxml=b/junit.xml", "--junit", "b/*.xml",
        )  # fmt: skip
        return result.outputs["outcome"], int(result.outputs["iterations"])

    assert run("test", 2) == ("max_iterations", 2)
    assert run("test_1", 1) == ("max_iterations", 1)
    assert run("test", 3) == ("failure_budget", 1)
    assert run("test", 3) == ("failure_budget", 0)
