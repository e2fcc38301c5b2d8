"""``navci demo``: a whole loop, from a red suite to LOOP COMPLETE, without account or key."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

import click


def look(top: Path, branch: str, program: str) -> str:
    """A line to paste that shows the demo's work; ``program`` may be on no PATH."""
    navci = Path(shutil.which(program) or program).absolute()
    show = shlex.join((str(navci), "show", "TASK-1"))
    log = shlex.join(("git", "--no-pager", "log", "--oneline", branch))
    return f"cd {shlex.quote(str(top))} && {log} && {show}"


@click.command()
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Make the repository in here instead of the system's temporary folder.",
)
def demo(folder: Path | None) -> None:
    """Make a small repository with a failing pytest suite and run the loop on it.

    The agent is a playbook: it researches, fixes wrongly, is refused, stagnates, diversifies,
    fixes rightly, updates the README and signals. Everything else is real.
    """
    from navci.actions.commands import Console
    from navci.cli.run import exit_code
    from navci.errors import NavciError
    from navci.loop.main import run_loop
    from navci.loop.run import RunRequest
    from navci.setup.demo import demo_options, make_demo
    from navci.system.clock import SYSTEM_CLOCK
    from navci.system.process import StopFlag

    # The demo is a local run even inside a job: its end is no job's outcome.
    environment = {name: value for name, value in os.environ.items() if name[:7] != "GITHUB_"}
    console = Console.for_env(sys.stdout, environment)
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        top = make_demo(folder)
    except NavciError as error:
        console.error(str(error))
        sys.exit(error.exit_code)
    console.line(f"A repository with a failing test suite was made in {top}")
    with StopFlag() as stop:
        request = RunRequest(demo_options(), top, environment, SYSTEM_CLOCK, stop)
        outcome = run_loop(request, console)
    if outcome.report and outcome.report.complete:
        console.line(f"\nLook at it:\n    {look(top, outcome.report.branch, sys.argv[0])}")
    sys.exit(exit_code(outcome.end, None, in_actions=False))
