"""``navci doctor``: what a run here would need, found or not."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

import click

_MARKS = {True: "✓", False: "✗", None: "-"}
_WARNING = "!"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> None:
    """Check git, Python, agents, settings and event; exit 1 when something must be mended.

    ✓ is fine, ✗ must be mended before a run, ! is worth a look, - is good to know.
    """
    from navci.setup.doctor import examine
    from navci.system.files import current_folder
    from navci.system.neutral import plain

    findings = examine(current_folder(), os.environ)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            mark = _WARNING if finding.warning else _MARKS[finding.ok]
            first, *more = plain(finding.said).split("\n")
            click.echo(f"{mark} {finding.what:<11} {first}")
            for line in more:
                click.echo(f"{'':13} {line}")
    sys.exit(any(finding.ok is False for finding in findings))
