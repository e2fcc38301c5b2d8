"""Code of the tests as at base, with the imports of modules that were moved."""

from __future__ import annotations

import pytest

from navci.evidence.followed import follow_imports

FIXTURE = "\n\ndef same(a, b):\n    assert a == b\n"


@pytest.mark.parametrize(
    ("base", "now", "mended"),
    [
        ("from calc import a", "from maths.calc import a", "from maths.calc import a"),
        ("import calc", "from maths import calc", "from maths import calc"),
        ("import os, calc", "import os\nimport maths as calc", "import os; import maths as calc"),
        ("from .calc import a, b as c", "from .m import a\nfrom .n import c",
         "from .m import a; from .n import c"),
        ("def f():\n    é = 1; from calc import a; return a", "from maths import a",
         "def f():\n    é = 1; from maths import a; return a"),
        ("from calc import *", "from maths.calc import *", "from maths.calc import *"),
        ("import calc", "import maths", None),
        ("import os", "import sys", None),
        ("import calc", "not python", None),
        ("not python", "import calc", None),
    ],
)  # fmt: skip
def test_follow(base: str, now: str, mended: str | None) -> None:
    found = follow_imports(base, now, lambda module: module.strip(".").startswith("calc"))
    assert found == mended


def test_nothing_else_follows() -> None:
    base, now = "from calc import double", "from maths import double\nimport cheat"
    weak = FIXTURE.replace("a == b", "True")
    found = follow_imports(base + FIXTURE, now + weak, lambda module: module == "calc")
    assert found == "from maths import double" + FIXTURE
