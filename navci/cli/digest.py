"""``navci digest``: the morning summary of all of last night's runs."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click


@click.command()
@click.argument("folders", nargs=-1, envvar="NAVCI_DIGEST_FOLDERS", type=click.Path(path_type=Path))
@click.option("--matrix", default="", help="The output `matrix` of `navci queue`.")
@click.option("--json", "as_json", is_flag=True, help="Print the digest as JSON.")
def digest(folders: tuple[Path, ...], matrix: str, as_json: bool) -> None:
    """Sum up the markers below FOLDERS, the unpacked artifacts of last night's jobs.

    Jobs that died are told by their provisional markers; an issue of the matrix that left no
    marker, by its journal.

    Exit codes: 0 told, 2 there is no such folder or matrix.
    """
    from navci.actions.commands import Console
    from navci.errors import NavciError
    from navci.queue.digest import digest as join
    from navci.queue.digest import markdown, record, tasks_of_matrix
    from navci.queue.journals import pasts_of
    from navci.report.job_summary import LIMIT, fit, write_summary
    from navci.system.files import current_folder

    environment = dict(os.environ)
    console = Console.for_env(sys.stderr if as_json else sys.stdout, environment)
    try:
        wanted = tasks_of_matrix(matrix)
        with pasts_of(current_folder(), environment) as (past, note):
            found = join(folders, wanted, past)
    except NavciError as error:
        console.error(str(error), title="navci digest")
        sys.exit(error.exit_code)
    if note:
        console.warning(note)
    for one in found.tasks:
        outcome = "died" if one.died else one.end
        console.line(f"{one.task}: {outcome}: {one.reason}")
    for note in found.notes:
        console.warning(note)
    problem = write_summary(fit(markdown(found), LIMIT), environment)
    if problem:
        console.warning(problem)
    if as_json:
        click.echo(json.dumps(record(found)))
