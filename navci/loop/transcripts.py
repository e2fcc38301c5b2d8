"""Transcripts: written beside the artifact, and copied into it masked, where that is wanted."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from navci.actions.event import read_event, runtime_info
from navci.errors import ConfigError
from navci.loop.run import Run
from navci.settings import Settings

_CHUNK = 1 << 20
_SHORTEST = 4
"""A secret of fewer characters would mask ordinary text; the report masks none either."""
_SECRET_NAME = re.compile(r"key|token|secret|pass|auth|credential|cookie", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]?[a-z]*([-_ .][a-z]+)*|[A-Z_]+|[0-9.]+")
_LONG = 8


def secrets_of(chosen: Settings, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values nobody may see in anything written: the token, what agents and checks are given.

    A file or folder that exists is no secret, nor is a word or a number in a variable whose name
    does not say so (``MODE=main``): masked they would take outputs and links along.
    """
    names = ("NAVCI_GITHUB_TOKEN", "NAVCI_SPARE_TOKEN", *chosen.agent_env, *chosen.check_env)
    harmless = {"HOME", "PATH", "TMPDIR", "USER", "LANG", "SHELL", "TERM", "CI"}
    given = {name: environment.get(name, "") for name in names if name not in harmless}
    return tuple(sorted({value for name, value in given.items() if _is_secret(name, value)}))


def _is_secret(name: str, value: str) -> bool:
    if len(value) < _SHORTEST or _is_path(value):
        return False
    return bool(_SECRET_NAME.search(name)) or (len(value) >= _LONG and not _WORD.fullmatch(value))


def _is_path(value: str) -> bool:
    try:
        return value.startswith("/") and os.path.lexists(value)
    except ValueError:  # a NUL
        return False


def are_wanted(chosen: Settings, environment: Mapping[str, str]) -> bool:
    """As the settings say; unsaid, not in the artifacts of a public repository."""
    if chosen.transcripts is not None:
        return chosen.transcripts
    if not runtime_info(environment).in_actions:
        return True
    try:
        event = read_event(environment)
    except ConfigError:  # the task came from elsewhere, so a broken payload stops nothing
        return False
    return event is not None and event.private


def keep(run: Run, folder: Path) -> None:
    """Copy an attempt's transcripts into the artifact, without secrets. Stops nothing."""
    if not are_wanted(run.settings, run.request.environment) or not folder.is_dir():
        return
    target = run.folders.artifact / "transcripts" / folder.name
    masks = [os.fsencode(secret) for secret in run.secrets]
    try:
        for source in sorted(path for path in folder.rglob("*") if path.is_file()):
            copy = target / source.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy_masked(source, copy, masks)
    except OSError as error:
        run.note(f"the transcripts could not be kept for the artifact: {error.strerror}")
        shutil.rmtree(target, ignore_errors=True)


def copy_masked(source: Path, target: Path, masks: list[bytes]) -> None:
    """Copy ``source`` with ``***`` in place of every mask, also where chunks meet."""
    longest = max((len(mask) for mask in masks), default=1)
    with source.open("rb") as reader, target.open("wb") as writer:
        held = b""
        while chunk := reader.read(_CHUNK):
            held += chunk
            for mask in masks:
                held = held.replace(mask, b"***")
            cut = max(len(held) - longest + 1, 0)
            writer.write(held[:cut])
            held = held[cut:]
        writer.write(held)
        os.fchmod(writer.fileno(), 0o644)
