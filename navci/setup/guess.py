"""How a project is tested: the first kind that is found, the others as further checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from navci.setup.guess_compiled import guess_cargo, guess_go, guess_gradle, guess_maven
from navci.setup.guess_node import guess_node
from navci.setup.guess_python import guess_python
from navci.setup.project import Guess, ProjectFiles

KINDS: dict[str, Callable[[ProjectFiles], Guess | None]] = {
    "pytest": guess_python,
    "npm": guess_node,
    "maven": guess_maven,
    "gradle": guess_gradle,
    "go": guess_go,
    "cargo": guess_cargo,
}


@dataclass(frozen=True, slots=True)
class Tests:
    """What a project is tested with; empty where nothing was found. ``found`` is what was seen."""

    command: str = ""
    junit: tuple[str, ...] = ()
    checks: dict[str, dict[str, object]] = field(default_factory=dict)
    setup: str = ""
    prepare: tuple[str, ...] = ()
    python: str = ""
    node: str = ""
    found: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def guess_tests(files: ProjectFiles) -> Tests:
    """All kinds of projects that lie in this folder, as one."""
    looked = {name: guess(files) for name, guess in KINDS.items()}
    guesses = {name: guess for name, guess in looked.items() if guess is not None}
    if not guesses:
        return Tests(
            notes=(
                "no tests were found, so only the agent's word and git would stand behind a run; "
                "give --test-command",
            )
        )
    first, *others = guesses
    main = guesses[first]
    return Tests(
        command=main.command,
        junit=main.junit,
        checks={
            name: {"command": guesses[name].command, "junit": list(guesses[name].junit)}
            for name in others
        },
        setup=" && ".join(one.setup for one in guesses.values() if one.setup),
        prepare=tuple(dict.fromkeys(one.prepare for one in guesses.values() if one.prepare)),
        python=next((one.python for one in guesses.values() if one.python), ""),
        node=next((one.node for one in guesses.values() if one.node), ""),
        found=tuple(f"{one.kind}: {one.because}" for one in guesses.values()),
        notes=tuple(note for one in guesses.values() for note in one.notes),
    )
