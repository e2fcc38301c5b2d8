"""``navci run``: the options of the loop; each is also an input of the action and a variable."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from navci.model import ENDS, End, FailOn

_JSON = ("json_output", "fail_on")


@click.command()
@click.option("--task", help="What to do, as a text.")
@click.option("--task-file", help="A task document with what to do, inside the repository.")
@click.option("--issue", help="The issue's number; it must be the one of the job's event.")
@click.option("--agent", help="Which agent works: command or playbook.")
@click.option(
    "--agent-command", help="The agent's program; the prompt is its input, or {prompt_file}."
)
@click.option("--agent-args", help="More arguments for the agent.")
@click.option("--agent-env", help="Names of variables the agent may see.")
@click.option("--playbook", help="The playbook file of the playbook agent.")
@click.option(
    "--max-iterations",
    help="How many iterations at the most, 1 to 20; default: 5, in Actions none.",
)
@click.option("--stagnation-threshold", help="How often the same state may come back, 2 to 5.")
@click.option(
    "--never-pause-on-stagnation/--pause-on-stagnation",
    default=None,
    help="Change the approach instead of stopping at the first stagnation.",
)
@click.option("--test-command", help="The command that tests the work; navci runs it itself.")
@click.option(
    "--junit", help="Globs of the JUnit reports it writes, relative to the working directory."
)
@click.option("--checks", help="More required checks, one `id: command` a line.")
@click.option("--setup-command", help="Run once before the first check.")
@click.option("--check-env", help="Names of variables the checks may see.")
@click.option("--config", help="The settings' path; read from the base commit.")
@click.option("--iteration-timeout", help="How long one turn may take, like 60m.")
@click.option("--time-budget", help="How long the run may take, like 330m.")
@click.option("--max-cost-usd", help="Stop when the agent has cost this much.")
@click.option("--max-tokens", help="Stop when the agent has used this many tokens.")
@click.option("--branch", help="The work branch; navci/<task> when not given.")
@click.option("--base", help="What the work starts from; the checked-out commit when not given.")
@click.option(
    "--push/--no-push",
    default=None,
    help="Push journal and branch to the remote; on where there is one.",
)
@click.option("--pull-request", help="The pull request of a run with work: draft, ready or none.")
@click.option("--close-issue", help="What closes the issue: when-complete, when-merged or never.")
@click.option("--protect", help="Globs the agent may not change, beside workflows and settings.")
@click.option(
    "--fail-on",
    type=click.Choice([f.value for f in FailOn]),
    help="When the exit code is not 0; default: incomplete in Actions, else always as is.",
)
@click.option("--upload", help="Upload the artifact (read by the action).")
@click.option("--transcripts", help="Put transcripts into the artifact.")
@click.option("--retention-days", help="How long the artifact is kept (read by the action).")
@click.option("--working-directory", help="The folder to work in, relative to the repository.")
@click.option("--dry-run", is_flag=True, default=None, help="Check everything, start nothing.")
@click.option(
    "--allow-dirty",
    is_flag=True,
    default=None,
    help="Make uncommitted changes the run's first commit.",
)
@click.option("--json", "json_output", is_flag=True, help="Print the marker as JSON at the end.")
def run(**options: object) -> None:
    """Run the loop on a task until the evidence and the agent both say done.

    Every option can be given as an environment variable, NAVCI_RUN_ and its name
    (NAVCI_RUN_MAX_ITERATIONS). Exit codes: 0 complete, 10 to 21 how else it ended, 2 wrong
    settings, 130 stopped on request.
    """
    from navci.actions.commands import Console
    from navci.actions.event import runtime_info
    from navci.loop.main import run_loop
    from navci.loop.run import RunRequest
    from navci.system.clock import SYSTEM_CLOCK
    from navci.system.files import current_folder
    from navci.system.process import StopFlag

    as_json = bool(options.pop("json_output"))
    fail_on = options.get("fail_on")
    environment = dict(os.environ)
    # With --json, standard output is the marker's alone.
    console = Console.for_env(sys.stderr if as_json else sys.stdout, environment)
    with StopFlag() as stop:
        request = RunRequest(options, current_folder(), environment, SYSTEM_CLOCK, stop)
        outcome = run_loop(request, console)
    if as_json and outcome.report and outcome.report.marker:
        with contextlib.suppress(OSError):  # nobody reads it, or there is no room: the run is over
            click.echo(outcome.report.marker.read_text(encoding="utf-8"))
    in_actions = runtime_info(environment).in_actions
    if in_actions and not fail_on:
        fail_on = outcome.fail_on
    sys.exit(exit_code(outcome.end, str(fail_on) if fail_on else None, in_actions))


def exit_code(end: End, fail_on: str | None, in_actions: bool) -> int:
    """The process's exit code (DESIGN §4, ends).

    On a laptop it says how the run ended. In a job it says whether the job is red: a run that
    found nothing to do must not fail the night.
    """
    rule = ENDS[end]
    if fail_on is None and not in_actions:
        return rule.exit_code
    when = FailOn(fail_on or FailOn.INCOMPLETE)
    return rule.exit_code if when in rule.red else 0
