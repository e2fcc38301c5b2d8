"""``navci junit``: what navci makes of JUnit reports, for a person or as JSON."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

EXIT_CODES = {"passing": 0, "failing": 1, "unusable": 3}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def junit(files: tuple[str, ...], as_json: bool) -> None:
    """Show what navci makes of JUnit reports: verdict, reasons, totals, red tests, oddities.

    FILE is a report, a glob like 'build/**/TEST-*.xml' (quoted, so that navci expands it), or a
    folder, which means every *.xml below it. All files are judged together, as the reports of one
    check are: one that cannot be used makes the whole unusable.

    Exit codes: 0 passing, 1 failing, 2 no such file, 3 unusable.
    """
    from navci.actions.commands import Console
    from navci.errors import NavciError
    from navci.evidence.junit import survey_reports
    from navci.evidence.junit_files import named_files
    from navci.report.junit_report import as_json_text, describe, headline

    here = Path.cwd()
    console = Console.for_env(sys.stderr if as_json else sys.stdout, os.environ)
    try:
        paths = named_files(files, here)
    except NavciError as error:
        Console.for_env(sys.stderr, os.environ).line(f"navci: {error}")
        sys.exit(error.exit_code)
    report, each = survey_reports(paths, here)
    if as_json:
        click.echo(as_json_text(report, each))
    else:
        console.line(headline(report, len(each)), style="green" if not report.reasons else "red")
        console.line(describe(report, each))
    sys.exit(EXIT_CODES[report.verdict])
