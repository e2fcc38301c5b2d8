"""``navci close <task>``: what a complete run's closing left, without a run."""

from __future__ import annotations

import shutil

from navci.actions.commands import Console
from navci.errors import ConfigError
from navci.journal import Journal, ref_of
from navci.loop.chosen import read_settings
from navci.loop.finishing import finish
from navci.loop.opening import contract_of, make_folders, refuse_busy
from navci.loop.push import fetch_journal
from navci.loop.run import RunRequest
from navci.loop.ticket import connect, ticket_of
from navci.model import End
from navci.system.checkout import adopt, find_checkout
from navci.task import from_issue

_PREFIX = "issue-"


def close_task(request: RunRequest, console: Console, name: str) -> list[str]:
    """Finish closing task ``name``; what was done now.

    Raises :class:`ConfigError` where there is nothing to close, :class:`navci.errors.InfraError`
    when something is still left.
    """
    number = name.removeprefix(_PREFIX)
    if not (name.startswith(_PREFIX) and number.isascii() and number.isdigit()):
        raise ConfigError(f"`{name}` is no issue; only those have a closing on GitHub: issue-7")
    hubs = connect(request.environment, console.line, lambda: request.stop.requested is not None)
    if hubs is None:
        raise ConfigError("NAVCI_GITHUB_TOKEN and GITHUB_REPOSITORY must be set to reach GitHub")
    checkout = find_checkout(request.directory)
    issue = hubs[0].issue(int(number))
    task = from_issue(issue.number, issue.title, issue.body)
    folders = make_folders(task, request.environment, checkout.top)
    try:
        git = adopt(checkout, folders.top)
        if checkout.remote_url:
            note = fetch_journal(git, checkout, ref_of(task.id), request.environment)
            if note:
                console.warning(note)
        journal = Journal(git, task.id, request.clock)
        refuse_busy(journal, request)
        if journal.state.end is not End.COMPLETE:
            raise ConfigError(f"the last run of {name} did not end complete; nothing to close")
        # Neither agent nor bound is asked for: nothing is run here.
        nobody = {"agent": "command", "agent_command": "false", "max_iterations": "1"}
        asked = RunRequest(
            {**request.options, **nobody},
            request.directory,
            request.environment,
            request.clock,
            request.stop,
        )
        chosen = read_settings(asked, git, journal.state.base)
        ticket = ticket_of(hubs, issue.number, chosen.github, request.environment)
        contract = contract_of(task, chosen)
        return finish(
            asked, console, checkout, folders, git, journal, task, contract, chosen, ticket
        )
    finally:
        shutil.rmtree(folders.top, ignore_errors=True)
