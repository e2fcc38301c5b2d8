"""A journal forged while navci is dead must not close a run complete (goes to tests/hostile/)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from navci.journal import CLOSING, JUDGED, Journal, Judged
from navci.judge import JUDGE_VERSION, judge
from navci.model import End, ExitSignal, Gaps, Indicator, Observation, Reading, Rules
from navci.system.checkout import find_checkout
from navci.system.clock import SYSTEM_CLOCK
from navci.system.git import Git
from tests.hostile.playing import FILES, PYTEST
from tests.support.navci_run import Result, place_of, processes_left, run_navci, tasks_of
from tests.support.processes import wait_until
from tests.support.repos import make_repo

pytestmark = pytest.mark.e2e

KILL = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat)"


def run(repo: Path, agent: Path) -> Result:
    return run_navci(
        repo, "run", "--task", "Mend double", "--agent", "command",
        "--agent-command", f"bash {agent}", "--test-command", PYTEST, "--junit", "build/*.xml",
        "--max-iterations", "1",
    )  # fmt: skip


def forge(repo: Path) -> None:
    """What an agent can do with navci's own modules and the repository's own git."""
    checkout = find_checkout(repo)
    journal = Journal(
        Git(checkout.common_dir, checkout.top, place_of(repo) / "home"),
        tasks_of(repo)[0],
        SYSTEM_CLOCK,
    )
    state, rules = journal.state, Rules(max_iterations=1)
    observation = Observation(
        iteration=1,
        contract=state.contract,
        indicators=dict.fromkeys(Indicator, Reading(True, "measured")),
        gaps=Gaps(),
        signal=ExitSignal(True, False, "done"),
        tests_exit=0,
        tree_changed=True,
        run_changed=True,
    )
    judgement = judge(state.memory, observation, rules)
    assert judgement.end is End.COMPLETE
    record = Judged(
        JUDGE_VERSION, rules, state.memory, observation, judgement, state.head, {}, (), "", 1.0
    )
    after = replace(
        state, iteration=1, memory=judgement.memory, deciding=End.COMPLETE, reason=judgement.reason
    )
    journal.append(JUDGED, after, record)
    journal.append(CLOSING, after, {"end": End.COMPLETE})


def test_a_complete_that_no_evidence_gave(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", FILES)
    agent = place_of(repo) / "agent.sh"
    agent.write_text(f"echo x > note.txt\necho working\n{KILL}\nsleep 5\n")
    assert run(repo, agent).exit_code == -9
    assert wait_until(lambda: not processes_left(repo))
    forge(repo)
    agent.write_text("cat > /dev/null\necho y > note.txt\necho going on\n")
    result = run(repo, agent)
    assert result.outputs["complete"] == "false", result.said
    assert "LOOP COMPLETE" not in result.said + result.summary
