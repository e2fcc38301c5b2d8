"""The workflows: what may never be said otherwise in them, and what two files say alike.

Inside a reusable workflow ``./`` is the caller's checkout, so its own repository is ``$/`` there,
which needs a path: the action at the top has a second place for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from navci.agents import REGISTRY
from navci.cli.main import COMMANDS
from navci.settings import CONFIG_PATH, load
from navci.setup.init_files import HANDED_ON

TOP = Path(__file__).parents[1]
FOLDER = TOP / ".github" / "workflows"
CALLED = ("loop", "nightly-loop")
CALLERS = {"loop-mode": "loop", "nightly": "nightly-loop"}
SELF = "$/.github/actions/navci"
READ, WRITE = "read", "write"
PERMISSIONS = {
    ("loop", "trigger"): {"contents": WRITE, "issues": WRITE},
    ("loop", "loop"): {"contents": WRITE, "issues": WRITE, "pull-requests": WRITE},
    ("loop", "verify"): {"contents": READ},
    ("loop", "close"): {"contents": WRITE, "issues": WRITE, "pull-requests": WRITE},
    ("nightly-loop", "queue"): {"contents": WRITE, "issues": WRITE},
    ("nightly-loop", "loop"): {"contents": WRITE, "issues": WRITE, "pull-requests": WRITE},
    ("nightly-loop", "digest"): {"contents": READ},
    ("loop-mode", "loop"): {"contents": WRITE, "issues": WRITE, "pull-requests": WRITE},
    ("nightly", "night"): {"contents": WRITE, "issues": WRITE, "pull-requests": WRITE},
}
MINUTES = {"loop": 355, "verify": 355}


def workflow(name: str) -> dict[str, Any]:
    """A workflow as data; ``on`` is a word, not YAML 1.1's true."""
    loaded = yaml.safe_load((FOLDER / f"{name}.yml").read_text("utf-8"))
    return {"on" if key is True else key: value for key, value in loaded.items()}


def action() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((TOP / "action.yml").read_text("utf-8"))
    return loaded


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every job of ours: workflow, name, definition."""
    for name in (*CALLED, *CALLERS):
        for job, definition in workflow(name)["jobs"].items():
            yield name, job, definition


def steps_of(job: dict[str, Any], uses: str) -> list[dict[str, Any]]:
    return [step for step in job.get("steps", ()) if step.get("uses", "").startswith(uses)]


def navci_steps() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name, job, definition in jobs():
        for step in steps_of(definition, SELF):
            yield name, job, step


# --- the four rules of the matrix (DESIGN §9) -----------------------------------------------


def test_one_issues_failure_ends_no_other_ones_job() -> None:
    matrix = workflow("nightly-loop")["jobs"]["loop"]["strategy"]
    assert matrix["fail-fast"] is False
    assert matrix["matrix"] == "${{ fromJSON(needs.queue.outputs.matrix) }}"
    assert "needs.queue.outputs.max-parallel" in matrix["max-parallel"]
    others = [job for _, job, one in jobs() if "strategy" in one]
    assert others == ["loop"]


def test_an_empty_matrix_starts_nothing() -> None:
    loop = workflow("nightly-loop")["jobs"]["loop"]
    assert loop["if"] == "${{ needs.queue.outputs.count != '0' }}"
    assert loop["needs"] == "queue"


def test_the_digest_is_always_made() -> None:
    digest = workflow("nightly-loop")["jobs"]["digest"]
    assert digest["if"] == "always()"
    assert set(digest["needs"]) == {"queue", "loop"}


def test_one_loop_an_issue_and_nothing_waits_but_loops() -> None:
    concurrent = {(name, job): one.get("concurrency") for name, job, one in jobs()}
    loop = concurrent.pop(("loop", "loop")) or {}
    assert loop["cancel-in-progress"] is False
    assert "inputs.issue || needs.trigger.outputs.issue" in loop["group"]
    assert set(concurrent.values()) == {None}
    assert not any("concurrency" in workflow(name) for name in (*CALLED, *CALLERS))


# --- who may do what ------------------------------------------------------------------------


def test_permissions_are_those_that_are_explained() -> None:
    assert {(name, job): one["permissions"] for name, job, one in jobs()} == PERMISSIONS
    assert all(workflow(name)["permissions"] == {} for name in (*CALLED, *CALLERS))


@pytest.mark.parametrize("name", [*CALLED, *CALLERS, "ci"])
def test_no_credentials_stay_in_the_checkout(name: str) -> None:
    checkouts = [
        step
        for job in workflow(name)["jobs"].values()
        for step in steps_of(job, "actions/checkout@")
    ]
    assert checkouts or name in CALLERS
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_only_the_loops_step_knows_the_agents_secrets() -> None:
    for name, job, definition in jobs():
        steps = definition.get("steps", ())
        knowing = [step for step in steps if "secrets." in str(step.get("env"))]
        expected = steps_of(definition, SELF) if (name, job) == ("loop", "loop") else []
        assert knowing == expected, (name, job)
        assert not definition.get("env")


def test_the_verifying_machine_has_no_token_but_to_read() -> None:
    verify = workflow("loop")["jobs"]["verify"]
    assert "secrets." not in str(verify)
    assert "github-token" not in str(verify)


def test_nothing_of_an_event_reaches_a_shell() -> None:
    for name, job, definition in jobs():
        for step in definition.get("steps", ()):
            assert "${{" not in step.get("run", ""), (name, job)


def test_every_job_ends_some_time() -> None:
    for name, job, definition in jobs():
        if "uses" in definition:
            continue  # the jobs of the called workflow do
        limit = definition["timeout-minutes"]
        assert limit == MINUTES.get(job, limit) and limit <= 355, (name, job)


# --- ourselves, and others ------------------------------------------------------------------


def test_the_action_is_where_the_workflows_name_it() -> None:
    link = TOP / ".github" / "actions" / "navci" / "action.yml"
    assert link.is_symlink() and link.resolve() == TOP / "action.yml"
    commands = {step["with"]["command"] for _, _, step in navci_steps()}
    assert commands == {"trigger", "run", "verify", "close", "queue", "digest"}
    assert commands <= COMMANDS.keys()


def test_the_action_knows_the_commands_its_script_hands_on() -> None:
    (script,) = (step["run"] for step in action()["runs"]["steps"] if step.get("id") == "run")
    alone, *with_argument = re.findall(r"^  +([a-z |]+)\) (?:;;|arguments)", script, re.MULTILINE)
    known = {*alone.split(" | "), *with_argument}
    assert known == {"trigger", "run", "verify", "close", "queue", "digest"}
    assert f"it knows: {' '.join(alone.split(' | '))} {' '.join(with_argument)}" in script


def test_what_is_named_with_a_dollar_is_here() -> None:
    for _, job, definition in jobs():
        for uses in (definition.get("uses", ""), *(s["uses"] for s in steps_of(definition, "$"))):
            assert uses.startswith("$/") or not uses, (job, uses)
            assert (TOP / uses.removeprefix("$/")).exists(), uses
            assert "@" not in uses


def test_an_action_is_pinned_to_one_commit_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for file in (TOP / "action.yml", *FOLDER.glob("*.yml")):
        for name, rest in re.findall(r"uses: ([\w-]+/[\w-]+)@(.+)", file.read_text("utf-8")):
            pins.setdefault(name, set()).add(rest)
    assert {name for name, found in pins.items() if len(found) > 1} == set()
    assert len(pins) >= 4


# --- two files that say the same ------------------------------------------------------------


def called(name: str) -> dict[str, Any]:
    trigger: dict[str, Any] = workflow(name)["on"]["workflow_call"]
    return trigger


def test_the_night_hands_on_everything_a_loop_can_be_told() -> None:
    loop, night = called("loop"), called("nightly-loop")
    own = {"issue", "ask-first"}
    assert night["inputs"] == {k: v for k, v in loop["inputs"].items() if k not in own}
    assert night["secrets"] == loop["secrets"]
    job = workflow("nightly-loop")["jobs"]["loop"]
    assert job["with"] == {
        "issue": "${{ format('{0}', matrix.issue) }}",
        "ask-first": False,
        **{name: f"${{{{ inputs.{name} }}}}" for name in night["inputs"]},
    }
    assert job["secrets"] == {name: f"${{{{ secrets.{name} }}}}" for name in night["secrets"]}


def test_what_the_loop_hands_on_is_what_init_writes() -> None:
    assert called("loop")["secrets"].keys() == {"token", *HANDED_ON}
    (step,) = steps_of(workflow("loop")["jobs"]["loop"], SELF)
    assert step["env"] == {name: f"${{{{ secrets.{name} }}}}" for name in HANDED_ON}


def test_inputs_and_outputs_that_are_named_exist() -> None:
    known = action()
    for name, job, step in navci_steps():
        assert step["with"].keys() <= known["inputs"].keys(), (name, job)
    for name, job, definition in jobs():
        for value in definition.get("outputs", {}).values():
            output = re.fullmatch(r"\$\{\{ steps\.navci\.outputs\.([a-z-]+) \}\}", value)
            assert output and output[1] in known["outputs"], (name, job, value)
    for name in CALLED:
        text = (FOLDER / f"{name}.yml").read_text("utf-8")
        given = called(name)["inputs"].keys()
        assert set(re.findall(r"\binputs\.([a-z-]+)", text)) == given
        for told, about in called(name)["inputs"].items():
            if about["description"].startswith("See the action."):
                assert told in known["inputs"], told


@pytest.mark.parametrize(("caller", "name"), CALLERS.items())
def test_callers_say_what_can_be_said(caller: str, name: str) -> None:
    (job,) = workflow(caller)["jobs"].values()
    assert job["uses"] == f"$/.github/workflows/{name}.yml"
    assert job.get("with", {}).keys() <= called(name)["inputs"].keys()
    assert job["secrets"].keys() <= called(name)["secrets"].keys()


def test_the_callers_settings_hold_in_a_job() -> None:
    text = (TOP / CONFIG_PATH).read_text("utf-8")
    chosen = load({}, text, in_actions=True, known_agents=tuple(REGISTRY))
    assert not chosen.notes
    for caller in CALLERS:
        (job,) = workflow(caller)["jobs"].values()
        assert set(chosen.agent_env) == job["secrets"].keys()
        assert f"{chosen.agent_command.split()[0]}-code@" in job["with"]["prepare"]


def test_the_callers_are_started_by_what_they_are_for() -> None:
    assert workflow("loop-mode")["on"] == {
        "issues": {"types": ["labeled"]},
        "issue_comment": {"types": ["created"]},
    }
    on = workflow("nightly")["on"]
    assert on.keys() == {"schedule", "workflow_dispatch"}
    assert int(on["schedule"][0]["cron"].split()[0]) % 2 == 1
