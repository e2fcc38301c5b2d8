"""README and reference say what the code does: their generated parts are made again and compared.

``python -m tests.test_readme`` rewrites them. In the tables of settings and steps the last column
is written by hand, and kept.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from navci import settings_shape
from navci.agents import AgentOptions
from navci.agents.playbook import PlaybookAgent
from navci.agents.playbook_shape import KINDS
from navci.cli.main import COMMANDS
from navci.cli.run import run
from navci.cli.verify import verify
from navci.model import ENDS, FailOn
from navci.settings_shape import BLOCKS, Check
from tests.support.navci_run import run_navci
from tests.support.repos import make_repo
from tests.support.small_task import assert_complete

TOP = Path(__file__).parents[1]
DOCS = (TOP / "README.md", *sorted((TOP / ".github" / "docs").glob("*.md")))
Row = tuple[str, ...]


# --- generated parts ------------------------------------------------------------------------


def ends_rows() -> Iterator[Row]:
    """The table of ends, from the code."""
    for end, rule in ENDS.items():
        red = " / ".join("yes" if when in rule.red else "no" for when in list(FailOn)[:2])
        marker = rule.marker.value if rule.marker else "none"
        resumable = ", resumable" if rule.resumable else ""
        yield f"`{end}`", str(rule.exit_code), f"{marker}{resumable}", red, rule.next_step


def settings_rows() -> Iterator[Row]:
    """Every key of the settings' file, from its shape."""
    options = {name for option in run.params for name in option.opts}
    for name, block in BLOCKS.items():
        for key, field in block.model_fields.items():
            mark = "✓" if f"--{key.replace('_', '-')}" in options and key != "enabled" else ""
            yield f"`{name}.{key}`", mark, default_of(field), allowed_of(field)


def check_rows() -> Iterator[Row]:
    """The keys of one entry of ``navci.checks``."""
    for key, field in Check.model_fields.items():
        yield f"`{key}`", default_of(field), allowed_of(field)


def allowed_of(field: FieldInfo) -> str:
    """What a key may hold; the long kinds by the word that stands for them above the table."""
    return _KINDS.get(str(field.description), str(field.description))


_KINDS = {
    settings_shape._GLOBS: "*globs*",
    settings_shape._TEST_GLOBS: "*globs of tests*",
    settings_shape._NAMES: "*names*",
    settings_shape._DURATION: "*a duration*",
}


def steps_rows() -> Iterator[Row]:
    """Every step of a playbook."""
    for name, kind in KINDS.items():
        yield f"`{name}`", kind.allowed


def default_of(field: FieldInfo) -> str:
    """A default as people write it; nothing where there is none."""
    value = field.default
    if value is PydanticUndefined or value in (None, "", (), {}):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, float) and "duration" in str(field.description):
        return f"`{value / 60:g}m`"
    return f"`{' '.join(value) if isinstance(value, tuple) else value}`"


GENERATED = {"ends": ends_rows, "settings": settings_rows, "check": check_rows, "steps": steps_rows}
_PART = re.compile(
    r"(<!-- (?P<name>[a-z]+): generated [^\n]* -->\n)(?P<head>\|.*\n\|.*\n)(?P<rows>(?:\|.*\n)*)"
    r"(<!-- /(?P=name) -->)"
)


def with_generated_parts(text: str) -> str:
    """``text`` with its generated parts made anew."""
    return _PART.sub(lambda part: part[1] + part["head"] + table(part) + part[5], text)


def table(part: re.Match[str]) -> str:
    """The rows of a part; where its head has one column more, with what stood there by hand."""
    columns = len(cells(part["head"].split("\n")[0]))
    kept = {row[0]: row[-1] for row in map(cells, part["rows"].splitlines())}
    lines = (
        row if len(row) == columns else (*row, kept.get(row[0], ""))
        for row in GENERATED[part["name"]]()
    )
    return "".join("|" + "".join(f" {c} |" if c else " |" for c in line) + "\n" for line in lines)


def cells(line: str) -> Row:
    """The cells of a line of a table."""
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_generated_parts_are_up_to_date(path: Path) -> None:
    text = path.read_text("utf-8")
    assert with_generated_parts(text) == text, "run: python -m tests.test_readme"
    for part in _PART.finditer(text):
        for row in part["rows"].splitlines():
            assert cells(row)[-1], f"what does it do? {row}"


def test_the_words_for_long_kinds_are_explained() -> None:
    text = (TOP / ".github" / "docs" / "settings.md").read_text("utf-8")
    for kind, word in _KINDS.items():
        assert f"- {word}: {kind}\n" in text


def test_every_generated_part_is_somewhere() -> None:
    found = [part["name"] for path in DOCS for part in _PART.finditer(path.read_text("utf-8"))]
    assert sorted(found) == sorted(GENERATED)


# --- what is written by hand ----------------------------------------------------------------


def code_of(path: Path, language: str) -> list[str]:
    """The code blocks of a document in one language."""
    tokens = MarkdownIt("commonmark").parse(path.read_text("utf-8"))
    return [token.content for token in tokens if token.type == "fence" and token.info == language]


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.is_relative_to(TOP) and there.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", there.read_text("utf-8"), re.MULTILINE)
            slugs = [re.sub(r"[^\w -]", "", line).lower().replace(" ", "-") for line in headings]
            assert anchor in slugs, target


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_commands_and_options_that_are_named_exist(path: Path) -> None:
    text = path.read_text("utf-8").replace("\\\n", " ")
    options = {
        name for one in (run, verify) for o in one.params for name in o.opts + o.secondary_opts
    }
    for command in re.findall(r"(?:`|/bin/|^(?=navci \w+ -))navci ([a-z]+)\b", text, re.MULTILINE):
        assert command in COMMANDS, command
    for line in re.findall(r"^(?:\S*/)?navci run .*$", text, re.MULTILINE):
        given = {word for word in shlex.split(line) if word.startswith("--")}
        assert given <= options, line


def test_the_playbook_that_is_shown_is_one() -> None:
    (shown,) = code_of(TOP / ".github" / "docs" / "playbook.md", "yaml")
    agent = PlaybookAgent(AgentOptions(playbook_text=shown))
    assert [len(steps) for steps in agent.playbook.iterations] == [3, 1]


@pytest.mark.e2e
def test_the_readmes_laptop_command_runs_as_it_stands(tmp_path: Path) -> None:
    """Pasted into a repository, with navci on PATH as the README says."""
    (shown,) = (code for code in code_of(TOP / "README.md", "sh") if "navci run" in code)
    words = shlex.split(shown.replace("\\\n", " "))
    assert words.pop(0) == "navci"
    fix = (
        "echo 'def is_prime(n): return n == 2' > primes.py\n"
        'printf \'```pilot-signal\\n{"v": 2, "type": "exit"}\\n```\\n\'\n'
    )
    test = "from primes import is_prime\ndef test_one(): assert not is_prime(1)\n"
    repo = make_repo(
        tmp_path / "repo",
        {
            "primes.py": "def is_prime(n): return True\n",
            "test_primes.py": test,
            "fix.sh": fix,
            ".gitignore": "__pycache__\n.pytest_cache\n",
        },
    )
    assert_complete(run_navci(repo, *words))


def test_the_first_command_installs_what_the_demo_needs() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    assert any(one.startswith("pytest") for one in project["optional-dependencies"]["demo"])
    first = code_of(TOP / "README.md", "sh")[0]
    assert '".[demo]"' in first and first.rstrip().endswith(".venv/bin/navci demo")


if __name__ == "__main__":
    for document in DOCS:
        document.write_text(with_generated_parts(document.read_text("utf-8")), encoding="utf-8")
