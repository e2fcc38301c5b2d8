"""``navci verify``: a commit, its checks, and the test files of its base, in fresh clones."""

from __future__ import annotations

import json
import os
import sys

import click

NOT_VERIFIED = 1


@click.command()
@click.argument("commit")
@click.option("--base", help="What the commit is compared with; where it left the main line.")
@click.option("--config", help="The settings' path; read from the base.")
@click.option("--test-command", help="The command that tests the work.")
@click.option("--junit", help="Globs of the JUnit reports it writes.")
@click.option("--checks", help="More required checks, one `id: command` a line.")
@click.option("--setup-command", help="Run once in each clone, before the first check.")
@click.option("--check-env", help="Names of variables the checks may see.")
@click.option("--working-directory", help="The folder to work in, relative to the repository.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(commit: str, as_json: bool, **options: object) -> None:
    """Verify COMMIT in fresh clones: checks green, and green with the test files of its base.

    Settings are those of the base. A test that was there at base must pass; also with every file
    that controls testing as it was at base, unless the commit edits the test's own file, which is
    then named.

    Exit codes: 0 verified, 1 not verified, 2 wrong settings, 18 git or the disk failed.
    """
    from navci.actions.commands import Console
    from navci.errors import NavciError
    from navci.loop.clean import verify_commit
    from navci.system.clock import SYSTEM_CLOCK
    from navci.system.files import current_folder
    from navci.system.neutral import one_line, show_path
    from navci.system.process import StopFlag

    console = Console.for_env(sys.stderr if as_json else sys.stdout, os.environ)
    try:
        with StopFlag() as stop:
            found = verify_commit(
                current_folder(), commit, options, dict(os.environ), SYSTEM_CLOCK, stop
            )
    except NavciError as error:
        Console.for_env(sys.stderr, os.environ).line(f"navci: {error}")
        sys.exit(error.exit_code)
    if as_json:
        told = {
            "verified": not found.gaps,
            "commit": found.commit,
            "base": found.base,
            "checks": {check.check: check.why for check in found.checks},
            "gaps": dict(found.gaps),
            "edited": [show_path(path) for path in found.edited],
            "doubtful": list(found.doubtful),
        }
        click.echo(json.dumps(told, indent=2, sort_keys=True))
    for check in found.checks:
        console.line(f"{'green' if check.passed else 'red  '} {check.check}: {check.why}")
    for gap, why in found.gaps.items():
        console.line(f"- {one_line(gap, 300)}")
        console.line("\n".join(f"    {line}" for line in why.splitlines()[:12]))
    if found.edited:
        console.line("edited test files: " + ", ".join(map(show_path, found.edited)))
    for test in found.doubtful[:20]:
        console.line(f"fails with its file as it was at base: {one_line(test, 300)}")
    if found.gaps:
        count = len(found.gaps)
        gaps = "1 gap" if count == 1 else f"{count} gaps"
        console.line(f"NOT VERIFIED: {found.commit[:12]} has {gaps}", style="red")
        sys.exit(NOT_VERIFIED)
    console.line(f"VERIFIED: {found.commit[:12]} against {found.base[:12]}", style="green")
