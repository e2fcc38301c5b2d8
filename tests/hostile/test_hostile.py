"""Agents that fake or spoil "done": none is ever complete, and people read the true reason."""

from __future__ import annotations

from glob import glob
from pathlib import Path

import pytest

from navci.model import ENDS, End
from tests.hostile.playing import Case, all_cases, marker_of, play

pytestmark = pytest.mark.e2e

CASES = all_cases(Path(__file__).parent)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.case)
def test_never_complete(case: Case, tmp_path: Path) -> None:
    played = play(case, tmp_path)
    result = played.result
    marker = marker_of(played)

    rule = ENDS[End(case.end)]
    assert (result.outputs["outcome"], result.exit_code) == (case.end, rule.exit_code), result.said
    assert result.outputs["complete"] == "false"
    assert (marker["outcome"], marker["complete"], marker["provisional"]) == (
        case.end, False, False,
    )  # fmt: skip
    assert marker["kind"] == "loop-aborted"
    assert "LOOP COMPLETE" not in played.read
    assert "LOOP ABORTED" in result.summary.splitlines()[0]
    assert marker["next_step"] in result.summary
    assert len(result.said) < 3_000_000
    assert "\nTraceback" not in result.said
    assert "navci failed:" not in played.read
    assert "could not be measured" not in played.read

    assert played.gaps == sorted(case.gaps), played.read
    assert [gap["id"] for gap in marker["gaps"]] == sorted(case.gaps)
    for text in case.says:
        assert text in played.read, f"nobody is told: {text}\n{played.read}"
    for text in case.never:
        assert text not in played.read
    for path in case.left:
        assert glob(path, root_dir=played.repo, include_hidden=True), path
    for path in case.gone:
        assert not glob(path, root_dir=played.repo, include_hidden=True), path


def test_there_are_cases_enough() -> None:
    assert len(CASES) >= 40
