"""``navci init``: from a repository with tests to one that navci works in at night."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import fields

import click


@click.command()
@click.option("--agent", help="Who works: claude or codex; else what the repository is set up for.")
@click.option("--agent-command", help="The command line of any other agent.")
@click.option("--agent-env", help="The secrets it needs; default: its own key.")
@click.option("--test-command", help="What tests the project; else it is guessed.")
@click.option("--junit", help="Globs of the JUnit reports that it writes.")
@click.option("--setup-command", help="What makes a fresh clone ready for the tests.")
@click.option(
    "--max-iterations", type=click.IntRange(1, 20), help="How often a run may try; default: 8."
)
@click.option("--ref", help="The commit, tag or branch of navci that the workflows call.")
@click.option("--force", is_flag=True, help="Replace workflows, and add to settings, that differ.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def init(force: bool, dry_run: bool, as_json: bool, **options: object) -> None:
    """Write two workflows and the settings for the project in this folder.

    The tests are found out from its files: pytest, npm, Maven, Gradle, Go, Cargo. What is there
    already is never changed without --force, and settings that somebody chose not even then.

    Exit codes: 0 done, 2 it cannot be done here, 18 git or the disk failed.
    """
    from navci.actions.commands import Console
    from navci.errors import NavciError
    from navci.setup.init import Asked, propose, write
    from navci.system.files import current_folder
    from navci.system.neutral import plain
    from navci.system.templates import render

    console = Console.for_env(sys.stderr if as_json else sys.stdout, os.environ)
    known = {field.name for field in fields(Asked)}
    asked = Asked(**{name: options[name] for name in known if options.get(name)})  # type: ignore[arg-type]
    try:
        proposal = propose(current_folder(), asked)
        written, left = ([], []) if dry_run else write(proposal, force=force)
    except NavciError as error:
        console.error(str(error), title="navci init")
        sys.exit(error.exit_code)
    for line in proposal.found:
        console.line(f"found: {plain(line)}")
    for file in proposal.files:
        console.line(plain(file.diff()).rstrip("\n") if file.differs else f"unchanged: {file.path}")
    for note in proposal.notes:
        console.line(f"note: {plain(note)}")
    for path in written:
        console.line(f"written: {path}")
    for path in left:
        console.line(f"left as it is: {path} differs (see above); --force changes it")
    if written:
        text = render("init/next.j2", secrets=proposal.agent.env, label=proposal.label)
        console.line(text.rstrip("\n"))
    if as_json:
        told = {
            "written": written,
            "left": left,
            "unchanged": [file.path for file in proposal.files if not file.differs],
            "found": list(proposal.found),
            "notes": list(proposal.notes),
            "files": {file.path: file.new for file in proposal.files},
        }
        click.echo(json.dumps(told, indent=2))
