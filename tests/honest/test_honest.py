"""Legitimate work ends complete, without a refusal; what people should look at is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from navci.evidence.ignores import left_by_tools
from tests.hostile.playing import Case, all_cases, marker_of, play
from tests.support.navci_run import journal_events, tasks_of
from tests.support.repos import git

pytestmark = pytest.mark.e2e

CASES = all_cases(Path(__file__).parent)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.case)
def test_complete(case: Case, tmp_path: Path) -> None:
    played = play(case, tmp_path)
    result, repo = played.result, played.repo

    assert (result.outputs["outcome"], result.exit_code) == ("complete", 0), result.said
    assert result.outputs["complete"] == "true"
    assert played.gaps == []
    assert result.outputs["iterations"] == str(case.used or case.iterations)
    marker = marker_of(played)
    assert (marker["kind"], marker["complete"]) == ("complete", True)
    assert "LOOP COMPLETE" in result.summary.splitlines()[0]
    assert "\nTraceback" not in result.said
    assert "could not be measured" not in played.read

    # Nothing was refused on the way.
    assert marker["verify_failures"]["used"] == 0
    events = journal_events(repo, tasks_of(repo)[0])
    gates = [e["data"]["judgement"]["gate"]["decision"] for e in events if e["kind"] == "iteration"]
    assert "BLOCKED" not in gates

    for text in case.says:
        assert text in played.read, f"nobody is told: {text}\n{played.read}"
    for text in case.never:
        assert text not in played.read
    for path in case.left:
        assert (repo / path).exists(), path
    for path in case.gone:
        assert not (repo / path).exists(), path

    # What was tested is what the branch holds, and the checkout is on it.
    branch = result.outputs["branch"]
    untidy = [line[3:].rstrip("/") for line in git(repo, "status", "--porcelain").splitlines()]
    untidy = [path for path in untidy if not left_by_tools(f"{path}/file")]
    assert [path for path in untidy if not left_by_tools(path)] == []
    assert git(repo, "rev-parse", "HEAD") == git(repo, "rev-parse", branch)
    if case.subjects:
        assert git(repo, "log", "--format=%s", branch).splitlines() == list(case.subjects)


def test_there_are_cases_enough() -> None:
    assert len(CASES) >= 12
