"""One attempt: reserve it, tell the agent, let it work (DESIGN §3.2, steps 1 to 4)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from navci.actions.event import runtime_info
from navci.agents import TurnRequest, agent_env
from navci.journal import ATTEMPT, take_lease
from navci.loop.carried import carry
from navci.loop.run import Run
from navci.loop.tell import prompt_facts
from navci.model import AgentError, AgentErrorKind, End, Turn, Usage
from navci.prompt import build_prompt
from navci.system.clock import show_duration
from navci.system.files import write_atomic

STEP_GRACE = 300.0
"""Seconds a lease outlives the deadline of the step it was taken for (DESIGN §7)."""

AT_ONCE = frozenset({AgentErrorKind.CANNOT_START, AgentErrorKind.AUTH, AgentErrorKind.CONFIG})
MAX_TROUBLES = 3
"""Crashes, empty answers and the like in a row, after which the agent is taken for unusable."""


def reserve(run: Run, number: int) -> Path:
    """Take the attempt in the journal before the agent starts; the folder of its transcripts."""
    attempt = run.state.attempt + 1
    now = run.clock.now().timestamp()
    job = runtime_info(run.request.environment)
    seconds = turn_deadline(run) + STEP_GRACE
    lease = take_lease(run.state.token, now, seconds, job.run_id, job.run_attempt)
    state = replace(run.state, attempt=attempt, lease=lease)
    carry(run)
    run.journal.append(ATTEMPT, state, {"iteration": number, "attempt": attempt})
    folder = run.folders.attempt(number, attempt)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def turn_deadline(run: Run) -> float:
    """Seconds the agent gets: its own limit, or what the time budget leaves."""
    return max(min(run.settings.iteration_timeout, run.seconds_left), 1.0)


def take_turn(run: Run, number: int, folder: Path, prompt: str | None = None) -> Turn:
    """Tell the agent and let it work until it ends or its deadline comes."""
    text = prompt if prompt is not None else build_prompt(prompt_facts(run, number))
    prompt_file = folder / "prompt.md"
    write_atomic(prompt_file, text)
    private = run.folders.top / "agent"
    env = agent_env(
        run.settings.agent_env,
        home=private / "home",
        tmp=private / "tmp",
        task=run.task.id,
        token=run.state.token,
        source=run.request.environment,
    )
    for role in ("AUTHOR", "COMMITTER"):  # an agent may commit; its HOME knows no name
        env |= {f"GIT_{role}_NAME": run.identity.name, f"GIT_{role}_EMAIL": run.identity.email}
    with run.console.untrusted(str(folder / "agent.out")) as show:
        turn = run.agent.run_turn(
            TurnRequest(
                prompt=text,
                prompt_file=prompt_file,
                cwd=run.directory,
                env=env,
                folder=folder,
                iteration=number,
                deadline=turn_deadline(run),
                stop=run.stop,
                on_line=show,
            )
        )
    for note in turn.notes:
        run.console.line(note)
    run.journal.state = replace(run.state, spent=add_usage(run.state.spent, turn.usage))
    return turn


def add_usage(one: Usage, other: Usage) -> Usage:
    """Both together; unknown stays unknown only while nothing is known."""
    cost = [value for value in (one.cost_usd, other.cost_usd) if value is not None]
    tokens = [value for value in (one.tokens, other.tokens) if value is not None]
    return Usage(sum(cost) if cost else None, sum(tokens) if tokens else None)


def is_no_iteration(turn: Turn, changed: bool) -> bool:
    """Did the turn not happen as it should? Then it takes no iteration number and counts nowhere.

    A program that printed nothing but changed files has worked: that is an iteration.
    """
    if turn.interrupted:
        return True
    if turn.error is None:
        return False
    return not (turn.error.kind is AgentErrorKind.EMPTY and changed)


def end_of_trouble(run: Run, error: AgentError) -> tuple[End, str] | None:
    """The end an agent's error means, or ``None`` to try again. May wait for a limit to reset."""
    if error.kind in AT_ONCE:
        return End.INFRA_ERROR, f"the agent cannot work: {error.message}"
    if error.kind is AgentErrorKind.RATE_LIMIT:
        return wait_for_reset(run, error)
    if run.state.troubles >= MAX_TROUBLES:
        what = f"the agent failed {run.state.troubles} times in a row"
        return End.INFRA_ERROR, f"{what}; the last time: {error.message}"
    pause = min(2.0 ** (run.state.troubles - 1), 30.0) if error.kind in (
        AgentErrorKind.OVERLOAD, AgentErrorKind.NETWORK) else 0.0  # fmt: skip
    sleep(run, pause)
    run.console.warning(f"the agent's turn does not count: {error.message}; trying again")
    return None


def wait_for_reset(run: Run, error: AgentError) -> tuple[End, str] | None:
    """Wait for a limit's reset inside the time budget; otherwise the run ends resumable."""
    now = run.clock.now().timestamp()
    seconds = error.resets_at - now if error.resets_at is not None else None
    if seconds is None or seconds > run.seconds_left:
        when = f" (it resets in {show_duration(seconds)})" if seconds is not None else ""
        return End.RATE_LIMITED, f"the agent's limit is reached{when}: {error.message}"
    run.console.line(f"the agent's limit is reached; waiting {show_duration(max(seconds, 0))}")
    sleep(run, seconds)
    return None


def sleep(run: Run, seconds: float) -> None:
    """Wait, but hear a request to stop, and say once a minute how long it still takes."""
    until = run.clock.monotonic() + seconds
    told = run.clock.monotonic()
    while (left := until - run.clock.monotonic()) > 0 and not run.stop.requested:
        run.clock.sleep(min(left, 0.5))
        if run.clock.monotonic() - told >= 60.0:
            told = run.clock.monotonic()
            run.console.line(f"waiting, {show_duration(left)} to go")
