"""``navci junit``: what navci makes of JUnit reports, for a person or as JSON."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Literal

import click

from navci.errors import InfraError, NavciError

EXIT_CODES = {"passing": 0, "failing": 1, "unusable": 3}


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def junit(files: tuple[str, ...], as_json: bool) -> None:
    """Show what navci makes of JUnit reports: verdict, reasons, totals, red tests, oddities.

    FILE is a report, a glob like 'build/**/TEST-*.xml' (quoted, so that navci expands it), or a
    folder, which means every *.xml below it. All files are judged together, as the reports of one
    check are: one that cannot be used makes the whole unusable.

    With --json the object has `verdict`, `reasons`, `tests`, `passed`, `failed`, `errored`,
    `skipped`, `flaky`, `oddities`, and `files`: the same for each, with `path` and `failed_ids`.

    Exit codes: 0 passing, 1 failing, 2 no such file, 3 unusable, 18 the JSON cannot be written.
    """
    from navci.actions.commands import Console
    from navci.evidence.junit import survey_reports
    from navci.evidence.junit_files import named_files
    from navci.report.junit_report import describe, headline, json_pieces
    from navci.system.files import current_folder

    here = current_folder()
    try:
        report, each = survey_reports(named_files(files, here), here)
        if as_json:
            _write(json_pieces(report, each))
        else:
            console = Console.for_env(sys.stdout, os.environ)
            style: Literal["green", "red"] = "red" if report.reasons else "green"
            console.line(headline(report, each), style=style)
            console.line(describe(report, each))
    except NavciError as error:
        Console.for_env(sys.stderr, os.environ).line(f"navci: {error}")
        sys.exit(error.exit_code)
    sys.exit(EXIT_CODES[report.verdict])


def _write(pieces: Iterable[str]) -> None:
    """Half an object is worth nothing; but a reader who goes away has seen enough."""
    try:
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
    except BrokenPipeError:
        return
    except OSError as error:
        raise InfraError(
            f"the JSON cannot be written to standard output: {error.strerror}"
        ) from error
