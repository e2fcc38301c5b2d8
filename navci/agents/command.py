"""Any program as an agent: the prompt on its standard input, its standard output the answer."""

from __future__ import annotations

import shlex
import shutil

from navci.agents.protocol import AgentOptions, TurnRequest
from navci.errors import ConfigError
from navci.model import AgentError, AgentErrorKind, Turn
from navci.system.files import write_atomic
from navci.system.process import CannotStart, Finished, run

PROMPT_FILE = "{prompt_file}"
FINAL_TEXT_BYTES = 1 << 20
"""Of the answer, this much is kept for signals: its end, where they are."""


class CommandAgent:
    """``agent: command``. With ``{prompt_file}`` in its line, the program's input stays empty."""

    name = "command"

    def __init__(self, options: AgentOptions) -> None:
        try:
            argv = shlex.split(options.command)
        except ValueError as problem:
            raise ConfigError(
                f"agent-command: `{options.command}` is not a command line: {problem}"
            ) from None
        if not argv:
            raise ConfigError(
                "agent-command: say which program is the agent, for example"
                " `my-agent --headless` or `my-agent --prompt {prompt_file}`"
            )
        self.argv = (*argv, *options.args)

    def check(self) -> str | None:
        """A relative path is left to the turn: it is relative to the working directory."""
        program = self.argv[0]
        if ("/" in program and not program.startswith("/")) or shutil.which(program):
            return None
        return (
            f"the agent's program `{program}` was not found or is not executable: install it,"
            " or correct agent-command"
        )

    def run_turn(self, request: TurnRequest) -> Turn:
        """See :class:`navci.agents.protocol.Agent`."""
        transcript = request.folder / "agent.out"
        if not request.prompt_file.exists():
            write_atomic(request.prompt_file, request.prompt)
        by_file = any(PROMPT_FILE in part for part in self.argv)
        try:
            finished = run(
                [part.replace(PROMPT_FILE, str(request.prompt_file)) for part in self.argv],
                cwd=request.cwd,
                env=request.env,
                output=transcript,
                errors=request.folder / "agent.err",
                stdin=None if by_file else request.prompt_file,
                deadline=request.deadline,
                tail_bytes=FINAL_TEXT_BYTES,
                on_line=request.on_line,
                stop=request.stop,
            )
        except CannotStart as problem:
            error = AgentError(AgentErrorKind.CANNOT_START, str(problem))
            return Turn(final_text="", exit_code=None, seconds=0.0, error=error)
        return Turn(
            final_text=finished.tail,
            exit_code=finished.exit_code,
            seconds=finished.seconds,
            error=program_error(shlex.join(self.argv), finished),
            timed_out=finished.timed_out,
            interrupted=finished.interrupted,
            transcript=transcript,
            notes=finished.notes,
        )


def program_error(line: str, finished: Finished) -> AgentError | None:
    """What the way a program ended says by itself. A turn that was cut short says nothing."""
    if finished.timed_out or finished.interrupted:
        return None
    if finished.exit_code != 0:
        last = finished.errors_tail.strip() or finished.tail.strip()
        words = last.splitlines()[-5:]
        said = "; it said: " + " / ".join(word.strip()[:200] for word in words) if words else ""
        return AgentError(AgentErrorKind.CRASH, f"`{line[:200]}` exited {finished.exit_code}{said}")
    if not finished.tail:
        return AgentError(
            AgentErrorKind.EMPTY,
            f"`{line[:200]}` exited 0 and printed nothing on standard output; its standard output"
            " is read as the agent's answer",
        )
    return None
