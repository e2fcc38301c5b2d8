"""Imports go down DESIGN §2's list or sideways inside a folder; two rooms are stricter still."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import navci

SOURCE = Path(navci.__file__).parent

# From the top of the house to the ground.
FLOORS = (
    "cli",
    "setup",
    "loop",
    "queue",
    "tickets",
    "actions",
    "report",
    "marker",
    "journal",
    "agents",
    "evidence",
    "prompt",
    "judge",
    "task",
    "settings",
    "system",
    "outcome",
    "model",
    "errors",
)
FLOOR = {room: number for number, room in enumerate(FLOORS)}
NARROW = {"judge": {"judge", "model"}}
FORBIDDEN = {("evidence", "judge")}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_of(module: Path) -> str:
    parts = ["navci", *module.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(dotted: str) -> str:
    """``navci.system.git`` → ``system``, ``navci.marker_schema`` → ``marker``, ``navci`` → none.

    A room without a folder may have several modules: ``<room>.py`` and ``<room>_<part>.py``.
    """
    name = dotted.partition(".")[2].partition(".")[0]
    room = name.partition("_")[0]
    return room if room in FLOOR else name


def imported(module: Path) -> Iterator[tuple[int, str]]:
    """Every navci module that ``module`` imports anywhere in it, with the line."""
    package = name_of(module).split(".")
    if module.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(module.read_text("utf-8"), str(module))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *(node.module or "").split(".")]).strip(".")
            if origin == "navci":
                # `from navci import x`: a room, or a name of the package's front file.
                yield from ((node.lineno, f"navci.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, origin


def violations(module: Path) -> Iterator[str]:
    here = room_of(name_of(module))
    for line, target in imported(module):
        there = room_of(target)
        if target.split(".")[0] != "navci" or there in ("", "__version__") or there == here:
            continue
        where = f"{module.relative_to(SOURCE)}:{line}: {here or 'navci'} imports {target}"
        if there not in FLOOR:
            yield f"{where}, which is not in DESIGN §2"
        elif here == "" or FLOOR[here] >= FLOOR[there]:
            yield f"{where}, which is not below it"
        elif there not in NARROW.get(here, FLOOR.keys()) or (here, there) in FORBIDDEN:
            yield f"{where}, which it must not know"


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_only_go_down(module: Path) -> None:
    room = room_of(name_of(module))
    assert room == "" or room in FLOOR, f"{room} is not in DESIGN §2"
    assert not list(violations(module))


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("judge/gate.py", "import navci.system.files", "must not know"),
        ("judge/gate.py", "from navci.task import Task", "must not know"),
        ("evidence/junit.py", "from navci.judge import judge", "must not know"),
        ("system/git.py", "from ..settings import load", "not below"),
        ("model.py", "from navci import outcome", "not below"),
        ("settings_file.py", "from navci.task import Task", "not below"),
        ("settings.py", "from navci.settings_file import Given", None),
        ("outcome.py", "from navci.model import End", None),
        ("__init__.py", "from navci import cli", "not below"),
        ("cli/main.py", "def late():\n    import navci.helpers", "not in DESIGN"),
        ("judge/gate.py", "from .phase import x\nfrom ..model import y", None),
        ("cli/main.py", "from navci import __version__, loop\nimport click", None),
    ],
)
def test_the_rule_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, line: str, complaint: str | None
) -> None:
    monkeypatch.setattr("tests.test_layers.SOURCE", tmp_path)
    module = tmp_path / file
    module.parent.mkdir(exist_ok=True)
    module.write_text(line)
    found = list(violations(module))
    assert ([] if complaint is None else [complaint]) == [
        next((part for part in ("must not know", "not below", "not in DESIGN") if part in text), "")
        for text in found
    ]
