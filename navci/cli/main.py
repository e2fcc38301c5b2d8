"""The command line: every command is imported only when it runs, so that help is quick."""

from __future__ import annotations

import importlib
from typing import Any

import click

from navci import __version__
from navci.system.streams import open_streams, settle_streams

COMMANDS: dict[str, tuple[str, str, str]] = {
    "run": ("navci.cli.run", "run", "Run the loop on a task until the evidence says done."),
    "demo": ("navci.cli.demo", "demo", "Watch a whole loop on a small repository made for it."),
    "trigger": ("navci.cli.trigger", "trigger", "Say whether the event may start a run, and why."),
    "queue": ("navci.cli.queue", "queue", "Choose tonight's issues: the matrix of a night."),
    "digest": ("navci.cli.digest", "digest", "Sum up the markers of last night's runs."),
    "show": ("navci.cli.show", "show", "Print the journal of a task."),
    "verify": ("navci.cli.verify", "verify", "Verify a commit in fresh clones, against its base."),
    "junit": ("navci.cli.junit", "junit", "Show what navci makes of JUnit reports."),
    "close": ("navci.cli.close", "close", "Finish the closing of a complete run on GitHub."),
    "init": ("navci.cli.init", "init", "Write workflows and settings for a repository."),
    "doctor": ("navci.cli.doctor", "doctor", "Check git, Python, agents, settings and event."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and help, and imports one only to run it."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        open_streams()
        try:
            return super().main(*args, **kwargs)
        finally:
            settle_streams()

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # click's own would import every command to ask for its help.
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_) for name, (_, _, help_) in COMMANDS.items()])


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "NAVCI"},
)
@click.version_option(__version__, prog_name="navci")
def main() -> None:
    """Let a coding agent work, iteration after iteration, until the evidence says done.

    navci measures tests, checks and git itself. It never says complete when it is not, and never
    loses work.
    """
