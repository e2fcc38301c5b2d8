"""Protected paths, and the one glob matcher behind them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navci.evidence.guards import protected
from navci.system.globs import match_glob

GLOBS = [
    ("README.md", "README.md", True),
    ("README.md", "readme.md", False),
    ("a/README.md", "README.md", False),
    ("README.md", "/README.md", True),
    ("README.md", "./README.md", True),
    ("README.md", "*.md", True),
    ("a/README.md", "*.md", False),
    ("README.md", "**/*.md", True),
    ("a/b/README.md", "**/*.md", True),
    ("a/b/README.rst", "**/*.md", False),
    (".github/workflows/ci.yml", ".github/workflows/**", True),
    (".github/workflows/a/b.yml", ".github/workflows/**", True),
    (".github/workflows", ".github/workflows/**", False),
    (".github/workflowsx/ci.yml", ".github/workflows/**", False),
    (".GitHub/workflows/ci.yml", ".github/workflows/**", False),
    ("docs/a.txt", "docs/**", True),
    ("docs/a/b.txt", "docs/", True),
    ("docs", "docs/", False),
    ("docs/a/b.txt", "docs/*", False),
    ("docs/.hidden", "docs/*", True),
    ("a/x/y/b", "a/**/b", True),
    ("a/b", "a/**/b", True),
    ("a/xb", "a/**/b", False),
    ("a/b/c", "**", True),
    ("a/b/c", "**/**/c", True),
    ("a/b/c", "a/**/**", True),
    ("a/b.py", "a/?.py", True),
    ("a/b.py", "a?b.py", False),
    ("a/b.py", "a*b.py", False),
    ("a1.py", "a[0-9].py", True),
    ("ax.py", "a[!0-9].py", True),
    ("a*.py", "a[*].py", True),
    ("ab.py", "a[*].py", False),
    ("a[.py", "a[.py", True),
    ("new\nline.md", "*.md", True),
    ("\udcff.md", "*.md", True),
    ("a+b(c)$.md", "a+b(c)$.md", True),
    ("a", "", False),
    ("a/b", "/", True),
]


@pytest.mark.parametrize(("path", "glob", "matches"), GLOBS)
def test_match_glob(path: str, glob: str, matches: bool) -> None:
    assert match_glob(path, glob) is matches


@given(st.text(), st.text())
def test_match_glob_is_total(path: str, glob: str) -> None:
    match_glob(path, glob)


@pytest.mark.parametrize(
    ("path", "glob"),
    [
        ("a" * 5000, "*a" * 100 + "b"),
        ("/".join("a" * 500), "/".join(["**", "a"] * 100 + ["b"])),
        ("/".join(["aaaa"] * 500), "**/" * 500 + "*a*a*a*b"),
    ],
)
def test_no_glob_is_slow(path: str, glob: str) -> None:
    started = time.monotonic()
    assert not match_glob(path, glob)
    assert time.monotonic() - started < 5


PROTECT = (".github/workflows/**", ".agent/.nav-config.json", "tests", "conf/*.toml")


@pytest.mark.parametrize(
    ("path", "caught"),
    [
        (".github/workflows/ci.yml", True),
        (".github/dependabot.yml", False),
        (".agent/.nav-config.json", True),
        (".agent/.nav-config.json.bak", False),
        (".agent/.NAV-config.json", False),
        (".agent/tasks/TASK-1.md", False),
        ("tests/unit/test_a.py", True),
        ("src/tests/test_a.py", False),
        ("conf/a.toml", True),
        ("conf/a.toml/inside", True),
        ("conf/sub/a.toml", False),
        # A file or link in the place of a folder hides everything below it.
        (".github", True),
        (".github/workflows", True),
        (".agent", True),
        ("conf", True),
        ("src", False),
    ],
)
def test_protected(path: str, caught: bool) -> None:
    assert protected(["a.py", path], PROTECT) == ((path,) if caught else ())


def test_protected_keeps_the_order_and_takes_no_globs() -> None:
    assert protected(["b", "a", "c"], ["a", "b"]) == ("b", "a")
    assert protected(["b", "a"], []) == ()
    assert protected(["a.md", "b/c.md"], ["**/*.md"]) == ("a.md", "b/c.md")
