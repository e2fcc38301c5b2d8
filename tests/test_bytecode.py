"""Byte code that a turn or a test of another state left is not run; what libraries need stays."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from navci.evidence.bytecode import Bytecode

FORGE = """
import importlib.util, pathlib, py_compile
wrong = pathlib.Path("wrong.txt"); wrong.write_text("answer = 'forged'")
place = importlib.util.cache_from_source("product.py")
mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
py_compile.compile(str(wrong), place, invalidation_mode=mode)
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "checkout"
    made.mkdir()
    (made / "product.py").write_text("answer = 'true'")
    return made


def python(top: Path, code: str, env: dict[str, str]) -> str:
    plain = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=top, env=plain | env, check=True, capture_output=True, text=True
    ).stdout.strip()


ASK = "import product; print(product.answer)"


def test_what_a_turn_left_is_not_run(top: Path, tmp_path: Path) -> None:
    bytecode = Bytecode(tmp_path / "bytecode", top)
    python(top, FORGE, {})  # beside the source
    python(top, FORGE, bytecode.environment("a tree"))
    assert python(top, ASK, {}) == "forged"
    assert python(top, ASK, bytecode.environment("a tree")) == "forged", "one state shares it"
    bytecode.distrust()
    assert python(top, ASK, bytecode.environment("a tree")) == "true"


def test_what_the_tests_of_another_state_left_is_not_run(top: Path, tmp_path: Path) -> None:
    bytecode = Bytecode(tmp_path / "bytecode", top)
    python(top, FORGE, bytecode.environment("a tree"))
    assert python(top, ASK, bytecode.environment("with the tests of base")) == "true"


def test_what_libraries_need_is_compiled_once(top: Path, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "useful.py").write_text("")
    bytecode = Bytecode(tmp_path / "bytecode", top)
    code = f"import sys; sys.path.insert(0, {str(library)!r}); import useful, product"
    python(top, code, bytecode.environment("one"))
    bytecode.environment("another")
    left = {path.name.partition(".")[0] for path in (tmp_path / "bytecode").rglob("*.pyc")}
    assert "useful" in left and "product" not in left


def test_a_folder_that_resists_is_given_up(top: Path, tmp_path: Path) -> None:
    bytecode = Bytecode(tmp_path / "bytecode", top)
    python(top, FORGE, bytecode.environment("one"))
    place = next((tmp_path / "bytecode").rglob("product*.pyc")).parent
    elsewhere = tmp_path / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    assert python(top, ASK, bytecode.environment("another")) == "true"
    assert list(elsewhere.iterdir()), "nothing is removed through a link"
