"""``navci show``: a task's journal, readable."""

from __future__ import annotations

import json
import sys

import click


@click.command()
@click.argument("task", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per event.")
@click.option(
    "--verification",
    is_flag=True,
    help="The acceptance matrix of the last iteration: status, evidence, receipts.",
)
def show(task: str | None, as_json: bool, verification: bool) -> None:
    """Print the journal of TASK, or name the tasks that have one."""
    from navci.errors import NavciError
    from navci.setup.read_back import journal_lines, journal_records, tasks, verification_of
    from navci.system.files import current_folder

    try:
        if task is None:
            names = tasks(current_folder())
            click.echo("\n".join(names) if names else "no task has a journal in this repository")
            return
        if verification:
            click.echo(verification_of(current_folder(), task), nl=False)
            return
        if as_json:
            for record in journal_records(current_folder(), task):
                click.echo(json.dumps(record, sort_keys=True))
            return
        for line in journal_lines(current_folder(), task):
            click.echo(line)
    except NavciError as error:
        click.echo(f"navci: {error}", err=True)
        sys.exit(error.exit_code)
