"""One turn of a playbook, as a program: steps in (JSON, standard input), events out (JSON lines).

It runs in the agent's place, with the agent's environment, and needs only the standard library:
``python -I -S playbook_turn.py < steps.json``. What a ``run`` step prints goes to standard error.
The steps were checked before (:mod:`navci.agents.playbook`).
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class StepFailed(Exception):
    """A step that could not be done; the turn ends there, loudly."""


def _tell(event: str, **fields: object) -> None:
    line = json.dumps({"event": event, **fields}, ensure_ascii=True, default=str)
    sys.stdout.buffer.write(line.encode("ascii") + b"\n")
    sys.stdout.buffer.flush()


def _read(path: str) -> None:
    size = len(Path(path).read_bytes())
    _tell("read", path=path, bytes=size)


def _write(step: dict[str, Any]) -> None:
    path = Path(step["path"])
    encoded = step.get("bytes")
    data = (
        base64.b64decode(encoded)
        if encoded is not None
        else step["text"].encode("utf-8", "surrogateescape")
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab" if step.get("append") else "wb") as stream:
        stream.write(data)
    if step.get("mode"):
        path.chmod(int(step["mode"], 8))
    _tell("write", path=step["path"])


def _patch(step: dict[str, Any]) -> None:
    path = Path(step["path"])
    raw = path.read_bytes()
    find = step["find"].encode("utf-8", "surrogateescape")
    if find not in raw:
        raise StepFailed(f"{step['path']} does not contain the text to find")
    path.write_bytes(raw.replace(find, step["replace"].encode("utf-8", "surrogateescape"), 1))
    _tell("write", path=step["path"])


def _delete(path: str) -> None:
    place = Path(path)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()
    _tell("delete", path=path)


def _run(step: dict[str, Any]) -> None:
    command = step["command"]
    _tell("run", command=command)
    code = subprocess.run(
        ["bash", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.buffer,
        check=False,
    ).returncode
    _tell("ran", command=command, exit=code)
    if code != 0 and step.get("must_succeed"):
        raise StepFailed(f"`{command[:200]}` exited {code}")


def _say(text: str) -> None:
    _tell("say", text=text)


def _signal(fields: dict[str, Any]) -> None:
    _tell("say", text=f"```pilot-signal\n{json.dumps({'v': 2} | fields)}\n```")


def _usage(step: dict[str, Any]) -> None:
    _tell("usage", **step)


def _error(step: dict[str, Any]) -> None:
    resets_in = step.get("resets_in")
    resets_at = None if resets_in is None else time.time() + resets_in
    _tell("error", kind=step["kind"], message=step["message"], resets_at=resets_at)
    sys.exit(1)


def _fail(code: int) -> None:
    sys.exit(code)


STEPS: dict[str, Callable[[Any], None]] = {
    "read": _read,
    "say": _say,
    "write": _write,
    "patch": _patch,
    "delete": _delete,
    "run": _run,
    "sleep": time.sleep,
    "usage": _usage,
    "error": _error,
    "fail": _fail,
    "signal": _signal,
}


def main() -> None:
    """Do the steps in order. Exits 1 at the first that cannot be done."""
    for number, step in enumerate(json.load(sys.stdin.buffer), start=1):
        ((kind, value),) = step.items()
        try:
            STEPS[kind](value)
        except (StepFailed, OSError, ValueError, shutil.Error) as problem:
            message = f"step {number} ({kind}): {problem}"
            _tell("error", kind="crash", message=message, resets_at=None)
            print(message, file=sys.stderr)  # noqa: T201 - a program's last words
            sys.exit(1)


if __name__ == "__main__":
    main()
