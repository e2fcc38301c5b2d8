"""Python: pytest, and how the project's packages get into a virtual environment of its clone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from navci.setup.project import Guess, ProjectFiles, table

DEFAULT = 13
"""The minor version of Python 3 that the workflow sets up."""

OLDEST = 11
"""The oldest that navci itself runs on."""

_VENV = ".venv"
_TESTS = ("**/test_*.py", "**/*_test.py")
_GROUPS = ("test", "tests", "testing", "dev", "develop", "all")
_NAMES_PYTEST = re.compile(r"^\s*[\"']?pytest\b(?!-)", re.IGNORECASE | re.MULTILINE)
_REQUIREMENTS = (
    "requirements.txt",
    "requirements*.txt",
    "*requirements.txt",
    "requirements/*.txt",
)
_NO_TEST_REQUIREMENTS = re.compile(r"doc|prod|deploy|release|lint|constraint", re.IGNORECASE)
_CONFIGURED = {
    "pytest.ini": "[pytest]",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}


def guess_python(files: ProjectFiles) -> Guess | None:
    """pytest, where it is configured or there are files that it would run."""
    project = files.toml("pyproject.toml")
    because = _evidence(files, project)
    if not because:
        return None
    report = files.report("pytest")
    pytest = f"-m pytest -q --junitxml={report}"
    notes: tuple[str, ...] = ()
    if "uv.lock" in files:
        setup, command, prepare = _uv(project), f"uv run python {pytest}", "pip install --quiet uv"
    elif "poetry.lock" in files:
        setup = "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --all-extras"
        command, prepare = f"poetry run python {pytest}", "pip install --quiet poetry"
    else:
        wanted = " ".join(_packages(files, project))
        # Inside the clone: an editable install elsewhere would test another clone's code.
        pip = f"{_VENV}/bin/python -m pip install --quiet"
        newer = f" && {pip} --upgrade pip" if "--group" in wanted else ""
        setup = f"python3 -m venv {_VENV}{newer} && {pip} {wanted}"
        command, prepare = f"{_VENV}/bin/python {pytest}", ""
    if not files.ignored(f"{_VENV}/"):
        notes = (f"add `{_VENV}/` to .gitignore: the tests' packages are installed there",)
    return Guess(
        "pytest",
        because,
        command,
        (report,),
        setup,
        prepare,
        _version(files, project),
        notes=notes,
    )


def _evidence(files: ProjectFiles, project: dict[str, Any]) -> str:
    if table(project, "tool", "pytest"):
        return "pyproject.toml configures pytest"
    for name, section in _CONFIGURED.items():
        if section in files.text(name):
            return f"{name} configures pytest"
    for name in files.matching("conftest.py", "*/conftest.py"):
        return f"{name} is there"
    for name in files.matching(*_TESTS):
        return f"{name} is there"
    return ""


def _uv(project: dict[str, Any]) -> str:
    extras = [f"--extra {name}" for name in _extras(project)]
    groups = [f"--group {name}" for name in _groups(project) if name != "dev"]
    return " ".join(("uv sync --quiet", *extras, *groups))


def _packages(files: ProjectFiles, project: dict[str, Any]) -> Iterator[str]:
    """What pip is to install: the project with its extras for tests, its lists, and pytest."""
    named = False
    if "setup.py" in files or table(project, "project") or table(project, "build-system"):
        extras = [*_extras(project), *_setup_cfg_extras(files)]
        yield f"-e '.[{','.join(extras)}]'" if extras else "-e ."
        # What an extra holds is not always to be seen; that it is there says enough.
        named = bool(extras)
    for group in _groups(project):
        yield f"--group {group}"
        named = True
    for name in files.matching(*_REQUIREMENTS):
        if not _NO_TEST_REQUIREMENTS.search(name):
            yield f"-r {name}"
            named = named or bool(_NAMES_PYTEST.search(files.text(name)))
    if not named:
        yield "pytest"


def _extras(project: dict[str, Any]) -> list[str]:
    """The extras that name pytest; else those called as if they did."""
    extras = table(project, "project", "optional-dependencies")
    return _that_test(extras)


def _groups(project: dict[str, Any]) -> list[str]:
    return _that_test(table(project, "dependency-groups"))


def _that_test(lists: dict[str, Any]) -> list[str]:
    naming = [
        name
        for name, wanted in lists.items()
        if isinstance(wanted, list)
        and any(isinstance(one, str) and _NAMES_PYTEST.search(one) for one in wanted)
    ]
    called = [name for name in _GROUPS if name in lists]
    first = [name for name in called if name in naming]
    return (first or naming or called)[:1]


def _setup_cfg_extras(files: ProjectFiles) -> list[str]:
    _, _, section = files.text("setup.cfg").partition("[options.extras_require]")
    keys = re.findall(r"^([\w.-]+)\s*=", section.partition("\n[")[0], re.MULTILINE)
    return [name for name in _GROUPS if name in keys][:1]


def _version(files: ProjectFiles, project: dict[str, Any]) -> str:
    """The Python that the project asks for, where it is not the workflow's own."""
    pinned = re.match(r"\s*(?:cpython-)?3\.(\d+)", files.text(".python-version"))
    asked = str(table(project, "project").get("requires-python") or "")
    if pinned:
        minor = int(pinned[1])
    else:
        lowest = max((int(n) for n in re.findall(r"(?:>=|~=|==)\s*3\.(\d+)", asked)), default=0)
        above = min((int(n) for n in re.findall(r"<\s*3\.(\d+)", asked)), default=99)
        minor = DEFAULT if lowest <= DEFAULT < above else max(lowest, min(above - 1, DEFAULT))
    if minor == DEFAULT:
        return ""
    # Below 3.11 both are set up: the last one is `python3`, and navci finds the one it needs.
    return f"3.{minor}" if minor >= OLDEST else f"3.{DEFAULT}\n3.{minor}"
