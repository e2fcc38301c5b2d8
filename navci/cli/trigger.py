"""``navci trigger``: may the event that started this job have a run of its issue started."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from navci.actions.commands import Console
    from navci.queue.decide import Decision

_SETTINGS = (
    ("--config", "The settings' path; read from the commit that is checked out."),
    ("--test-command", "As `navci run` is given it: it is part of the contract."),
    ("--junit", "As `navci run` is given it."),
    ("--checks", "As `navci run` is given it."),
    ("--working-directory", "The folder to work in, relative to the repository."),
)


def settings_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of ``navci run`` that say what a contract is and where the settings stand."""
    for name, told in reversed(_SETTINGS):
        command = click.option(name, help=told)(command)
    return command


@click.command()
@click.option("--issue", help="The issue, where the event names none.")
@settings_options
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
def trigger(as_json: bool, issue: str | None, **options: object) -> None:
    """Say whether the event that started this job may start a run, and why or why not.

    Who asks, or put the label on, needs write access. `/navci stop` and `/navci abort` are carried
    out here. Outputs: should-run, why, issue, command, note.

    Exit codes: 0 decided, 2 wrong settings or event, 18 GitHub or git failed.
    """
    from navci.actions.commands import Console
    from navci.errors import NavciError
    from navci.queue.decide import Decision

    environment = dict(os.environ)
    console = Console.for_env(sys.stderr if as_json else sys.stdout, environment)
    try:
        decision, notes = _decide(issue, options, environment, console)
    except NavciError as error:
        tell(Decision(False, str(error)), environment, console, failed=True)
        sys.exit(error.exit_code)
    for note in notes:
        console.warning(note)
    tell(decision, environment, console)
    if as_json:
        import json

        click.echo(json.dumps(outputs_of(decision)))


def _decide(
    issue: str | None,
    options: Mapping[str, object],
    environment: Mapping[str, str],
    console: Console,
) -> tuple[Decision, list[str]]:
    """Raises :class:`navci.errors.NavciError`."""
    from contextlib import ExitStack
    from functools import cache

    from navci.actions.event import issue_number, read_asked
    from navci.queue.answers import carry_out
    from navci.queue.chosen import contract_of, read_settings
    from navci.queue.decide import Past, Refused, refuse_spent
    from navci.queue.journals import Journals, fetched
    from navci.queue.trigger import decide_for_run
    from navci.system.checkout import find_checkout
    from navci.system.files import current_folder
    from navci.tickets.github import GitHub
    from navci.tickets.github_answers import Issue

    asked = read_asked(environment)
    number = issue_number(issue, "--issue")
    checkout = find_checkout(current_folder())
    chosen = read_settings(checkout, options, environment)
    github = GitHub.connect(environment, say=console.line)
    task = f"issue-{asked.issue if asked.issue is not None else number}"

    def spent(snapshot: Issue, past: Past) -> Refused | None:
        limit = chosen.rules.max_verify_failures
        return refuse_spent(past, contract_of(snapshot, chosen), limit)

    with ExitStack() as stack:

        @cache
        def journals() -> Journals:
            return stack.enter_context(fetched(checkout, environment, task=task))

        decision = decide_for_run(
            asked,
            github,
            chosen.github,
            number=number,
            past=lambda: journals().past(task),
            spent=spent,
        )
        return decision, carry_out(decision, asked, github, chosen.github, journals)


def outputs_of(decision: Decision) -> dict[str, str]:
    """The outputs of the action."""
    from navci.system.neutral import one_line

    return {
        "should-run": "true" if decision.run else "false",
        "why": one_line(decision.why, 500),
        "issue": str(decision.number) if decision.number is not None else "",
        "command": decision.command.value if decision.command else "",
        "note": decision.note,
    }


def tell(
    decision: Decision, environment: Mapping[str, str], console: Console, *, failed: bool = False
) -> None:
    """One line in the log and the summary, and the outputs."""
    from navci.actions.outputs import write_outputs
    from navci.report.job_summary import write_summary
    from navci.report.prose import prose

    said = f"runs: {decision.why}" if decision.run else f"not run: {decision.why}"
    if failed:
        console.error(said, title="navci trigger")
    else:
        console.notice(said, title="navci trigger")
    mark = "▶️" if decision.run else "⏹️"
    for problem in (
        write_summary(f"{mark} navci: {prose(said, 1000)}\n", environment),
        write_outputs(outputs_of(decision), environment),
    ):
        if problem:
            console.warning(problem)
