"""``navci close``: finish the closing of a complete run that GitHub did not take in."""

from __future__ import annotations

import os
import sys

import click


@click.command()
@click.argument("task")
@click.option("--pull-request", help="The pull request of a run with work: draft, ready or none.")
@click.option("--close-issue", help="What closes the issue: when-complete, when-merged or never.")
@click.option("--config", help="The settings' path; read from the base commit.")
@click.option("--working-directory", help="The folder to work in, relative to the repository.")
def close(task: str, **options: object) -> None:
    """Finish closing TASK (issue-7): pull request, issue, labels, comment.

    For a run that ended complete while GitHub was away or the token had died. Needs
    NAVCI_GITHUB_TOKEN and GITHUB_REPOSITORY. What was done already is not done again.

    Exit codes: 0 everything is done, 2 there is nothing to close, 18 something is still left.
    """
    from navci.actions.commands import Console
    from navci.errors import NavciError
    from navci.loop.close_later import close_task
    from navci.loop.run import RunRequest
    from navci.system.clock import SYSTEM_CLOCK
    from navci.system.files import current_folder
    from navci.system.process import StopFlag

    environment = dict(os.environ)
    console = Console.for_env(sys.stdout, environment)
    try:
        with StopFlag() as stop:
            request = RunRequest(options, current_folder(), environment, SYSTEM_CLOCK, stop)
            done = close_task(request, console, task)
    except NavciError as error:
        console.error(str(error), title="navci close")
        sys.exit(error.exit_code)
    console.line(f"{task}: {', '.join(done) if done else 'everything was done already'}")
