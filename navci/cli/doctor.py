"""``navci doctor``: what a run here would need, found or not."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

import click

_MARKS = {True: "✓", False: "✗", None: "-"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> None:
    """Check git, Python, agents, settings and event; exit 1 when something must be mended."""
    from navci.setup.doctor import examine
    from navci.system.files import current_folder
    from navci.system.neutral import plain

    findings = examine(current_folder(), os.environ)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(f"{_MARKS[finding.ok]} {finding.what:<11} {plain(finding.said)}")
    sys.exit(any(finding.ok is False for finding in findings))
