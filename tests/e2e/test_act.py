"""The action in a job: a labelled issue, a real library with a broken function, the real runner.

A playbook is the agent. What is asserted is what a person has the next morning: the job's
colour, its summary, the action's outputs, the uploaded artifact, and the pushed branch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import real_library
from tests.support.act import ActRun, copy_of_this_repository, run_act, stand_ins, uses
from tests.support.repos import commit_all, git, make_repo
from tests.support.wheelhouse import wheelhouse

pytestmark = pytest.mark.e2e

NAVCI = "navci/navci@" + "5" * 40
BRANCH = "navci/issue-7"
PAYLOAD: dict[str, Any] = json.loads(Path(__file__).with_name("labeled.json").read_text("utf-8"))

WORKFLOW = """\
name: Loop mode
on:
  issues:
    types: [labeled]
permissions:
  contents: write
jobs:
  loop:
    if: github.event.label.name == 'loop-mode'
    runs-on: ubuntu-latest
    steps:
      - uses: CHECKOUT
      - id: navci
        uses: NAVCI
        with: WITH
      - if: always()
        shell: bash
        env:
          RESULT: ${{ toJSON(steps.navci) }}
        run: printf '%s' "$RESULT" > "$RESULT_FILE"
"""

RIGHT = real_library.RIGHT
SIGNAL = {"type": "exit", "success": True, "reason": "ordinal knows its teens again"}


def attempts(*conditions: str) -> list[list[dict[str, Any]]]:
    """Iterations that replace the broken condition by the first of these, that by the next…"""
    before = (real_library.BROKEN, *conditions)
    return [
        [
            {"read": real_library.MODULE},
            {"patch": {"path": real_library.MODULE, "find": old, "replace": new}},
            {"say": f"`{new}` instead of `{old}`"},
        ]
        for old, new in zip(before, conditions, strict=False)
    ]


def wrong(number: int) -> str:
    """A condition as wrong as the broken one: no remainder of 100 is over 100."""
    return f"if value % 100 in ({100 + number},):"


FIXES_IT = attempts("if value % 100 in (11,):", "if value % 100 in (11, 12):", RIGHT)
FIXES_IT[-1].append({"signal": SIGNAL})
NEVER_FIXES_IT = attempts(*map(wrong, range(1, 21)))


@dataclass(frozen=True)
class Morning:
    """What is left of the job."""

    act: ActRun
    outputs: dict[str, str]
    step: str
    artifacts: Path
    origin: Path

    @property
    def summary(self) -> str:
        return self.act.summaries[-1]

    def marker(self, artifact: str) -> dict[str, Any]:
        """The JSON of the one marker in an uploaded artifact; its Markdown twin is beside it."""
        found = [
            p for p in (self.artifacts / artifact).rglob("*.json") if p.with_suffix(".md").exists()
        ]
        assert len(found) == 1, sorted((self.artifacts / artifact).rglob("*"))
        loaded: dict[str, Any] = json.loads(found[0].read_text("utf-8"))
        return loaded


def label_the_issue(
    tmp_path: Path, iterations: list[list[dict[str, Any]]], **inputs: object
) -> Morning:
    """Make the library's repository, label issue 7, wait for the job to end."""
    repository = tmp_path / "humanize"
    library = real_library.unpack(repository)
    make_repo(repository, {})
    git(repository, "add", "--all", "--force")  # it ignores files that its releases hold
    commit_all(repository, f"humanize {real_library.VERSION}")
    library.break_it()
    commit_all(repository, "Simplify ordinal")

    given = {
        "agent": "playbook",
        "playbook": ".agent/playbook.yml",
        "test-command": real_library.TEST_COMMAND,
        "junit": real_library.JUNIT,
        **{name.replace("_", "-"): str(value) for name, value in inputs.items()},
    }
    workflow = WORKFLOW.replace("CHECKOUT", uses("actions/checkout")).replace("NAVCI", NAVCI)
    workflows = repository / ".github" / "workflows"
    (workflows / "loop-mode.yml").write_text(workflow.replace("WITH", json.dumps(given)), "utf-8")
    (repository / ".agent").mkdir()
    (repository / ".agent" / "playbook.yml").write_text(
        yaml.safe_dump({"iterations": iterations, "after": "idle"}), "utf-8"
    )
    commit_all(repository, "Loop mode")
    origin = tmp_path / "origin.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), str(origin))

    artifacts, result = tmp_path / "artifacts", tmp_path / "result.json"
    artifacts.mkdir()
    act = run_act(
        repository,
        "issues",
        PAYLOAD,
        workflow=workflows / "loop-mode.yml",
        scratch=tmp_path / "act",
        actions={NAVCI: copy_of_this_repository(tmp_path / "navci"), **stand_ins()},
        env={
            "STAND_IN_ORIGIN": str(origin),
            "STAND_IN_ARTIFACTS": str(artifacts),
            "RESULT_FILE": str(result),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheelhouse()),
        },
    )
    assert result.exists(), act.log
    step = json.loads(result.read_text("utf-8"))
    return Morning(act, step["outputs"], step["outcome"], artifacts, origin)


def test_fixed_in_the_third_iteration(tmp_path: Path) -> None:
    morning = label_the_issue(tmp_path, FIXES_IT, max_iterations=6)

    assert morning.act.exit_code == 0, morning.act.log
    assert morning.step == "success"
    outputs = morning.outputs
    assert outputs["outcome"] == "complete"
    assert outputs["complete"] == "true"
    assert outputs["iterations"] == "3"
    assert outputs["phase"] == "COMPLETE"
    assert json.loads(outputs["gaps"]) == []
    assert json.loads(outputs["indicators"])["tests_passing"] is True
    assert int(outputs["tests-total"]) > 200
    assert outputs["tests-failed"] == "0"
    assert outputs["branch"] == "navci/issue-7"
    assert outputs["artifact-url"] == f"file://{morning.artifacts}/loop-complete-issue-7"

    assert "LOOP COMPLETE" in morning.summary.splitlines()[0]
    assert [p.name for p in sorted(morning.artifacts.iterdir())] == [
        "loop-complete-issue-7",
        "loop-complete-issue-7.inputs.json",
    ]
    inputs = json.loads((morning.artifacts / "loop-complete-issue-7.inputs.json").read_text())
    assert inputs["retention-days"] == "30"
    marker = morning.marker("loop-complete-issue-7")
    assert marker["outcome"] == "complete"
    assert marker["complete"] is True

    # In a public repository nobody asked to publish what the agent said.
    assert not list((morning.artifacts / "loop-complete-issue-7").rglob("transcripts"))

    # The branch is on the origin: with the fix, and without what the run itself left about.
    assert git(morning.origin, "rev-parse", BRANCH) == outputs["commit"]
    changed = git(morning.origin, "diff", "--name-only", "main", BRANCH).split()
    assert changed == [real_library.MODULE]
    assert RIGHT in git(morning.origin, "show", f"{BRANCH}:{real_library.MODULE}")
    assert git(morning.origin, "rev-parse", "refs/navci/issue-7/journal")


@pytest.mark.parametrize(
    ("max_iterations", "outcome", "iterations"),
    [(12, "stagnated", "9"), (4, "max_iterations", "4")],
)
def test_never_fixed(tmp_path: Path, max_iterations: int, outcome: str, iterations: str) -> None:
    morning = label_the_issue(tmp_path, NEVER_FIXES_IT, max_iterations=max_iterations)

    assert morning.act.exit_code == 1, morning.act.log
    assert morning.step == "failure"
    outputs = morning.outputs
    assert outputs["outcome"] == outcome
    assert outputs["complete"] == "false"
    assert outputs["iterations"] == iterations
    assert outputs["tests-failed"] == str(len(real_library.RED))
    assert {gap.removeprefix("test:") for gap in json.loads(outputs["gaps"])} >= real_library.RED
    assert outputs["artifact-url"] == f"file://{morning.artifacts}/loop-aborted-issue-7"

    assert "LOOP ABORTED" in morning.summary.splitlines()[0]
    assert "test_ordinal" in morning.summary
    marker = morning.marker("loop-aborted-issue-7")
    assert marker["outcome"] == outcome
    assert marker["complete"] is False
    # Nothing is lost: the last attempt is on the origin's branch.
    last = git(morning.origin, "show", f"{BRANCH}:{real_library.MODULE}")
    assert wrong(int(iterations)) in last


def test_nothing_uploaded_and_no_red_job_when_both_are_switched_off(tmp_path: Path) -> None:
    inputs = {"max_iterations": 1, "upload": "false", "fail_on": "never", "push": "false"}
    morning = label_the_issue(tmp_path, NEVER_FIXES_IT, **inputs)

    assert morning.act.exit_code == 0, morning.act.log
    assert morning.outputs["outcome"] == "max_iterations"
    assert morning.outputs["artifact-url"] == ""
    assert not list(morning.artifacts.iterdir())
    assert git(morning.origin, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
