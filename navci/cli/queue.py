"""``navci queue``: tonight's issues, as the matrix of the jobs that work on them."""

from __future__ import annotations

import json
import os
import sys

import click

from navci.cli.trigger import settings_options


@click.command()
@settings_options
@click.option("--json", "as_json", is_flag=True, help="Print the night as JSON.")
def queue(as_json: bool, **options: object) -> None:
    """Choose tonight's issues: labelled by someone with write access, in a fair order.

    Labels of runs that died are put right, and the journals of tasks closed for 90 days deleted.
    Outputs: matrix, count, max-parallel.

    Exit codes: 0 chosen, 2 wrong settings, 18 GitHub or git failed.
    """
    from navci.actions.commands import Console
    from navci.actions.outputs import write_outputs
    from navci.errors import NavciError
    from navci.queue.chosen import read_settings
    from navci.queue.journals import fetched
    from navci.queue.matrix import outputs_of, record, table
    from navci.queue.tonight import Tonight
    from navci.report.job_summary import LIMIT, fit, write_summary
    from navci.system.checkout import find_checkout
    from navci.system.clock import SYSTEM_CLOCK
    from navci.system.files import current_folder
    from navci.tickets.github import GitHub

    environment = dict(os.environ)
    console = Console.for_env(sys.stderr if as_json else sys.stdout, environment)
    try:
        checkout = find_checkout(current_folder())
        chosen = read_settings(checkout, options, environment)
        github = GitHub.connect(environment, say=console.line)
        with fetched(checkout, environment) as journals:
            night = Tonight(github, chosen, journals, SYSTEM_CLOCK.now()).choose()
    except NavciError as error:
        console.error(str(error), title="navci queue")
        sys.exit(error.exit_code)
    for row in night.taken:
        console.line(f"#{row.number}: {row.why}", style="green")
    for row in night.skipped:
        console.line(f"#{row.number} is skipped: {row.why}")
    for row in night.recovered:
        console.line(f"#{row.number}: {row.why}")
    if night.later:
        console.line(f"{night.later} more for another night")
    for note in night.notes:
        console.warning(note)
    outputs = outputs_of(night, chosen.github)
    for problem in (
        write_summary(fit(table(night), LIMIT), environment),
        write_outputs(outputs, environment),
    ):
        if problem:
            console.warning(problem)
    if as_json:
        click.echo(json.dumps(record(night)))
