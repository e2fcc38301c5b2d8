"""What checks go through at second hand: makefiles, scripts, packages and what they name."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import pytest

from navci.evidence.second_hand import Reached, reached


def walk(commands: Sequence[str], files: Mapping[str, str], folder: str = "") -> Reached:
    return reached(commands, folder, files, files.__getitem__)


MAKE = {
    "Makefile": (
        "include rules.inc\nCI = ci/all.sh\ntest: unit\nunit:\n\t@$(MAKE) -C api check\n"
        "\tsh $(CI)\nrelease:\n\tpython scripts/release.py\n"
    ),
    "rules.inc": "more:\n\ttrue\n",
    "api/Makefile": "check:\n\t./go.sh\n",
    "api/go.sh": "",
    "ci/all.sh": "",
    "scripts/release.py": "",
}
NPM = {
    "package.json": (
        '{"scripts": {"test": "npm run unit && npm run lint:js", "unit": "node scripts/run.js",'
        ' "lint:js": "eslint .", "build": "node scripts/build.js"}}'
    ),
    "scripts/run.js": "require('./more.js')",
    "scripts/more.js": "",
    "scripts/build.js": "",
    "eslint.config.mjs": "",
}
SHELL = {
    "api/run.sh": (
        '#!/bin/bash\nHERE=$(dirname "$0")\n. "$HERE/env"\nexport PATH="$HERE/bin:$PATH"\n'
        "PYTHONPATH=vendor python -m checks\n"
    ),
    "api/env": "",
    "api/checks/__main__.py": "from checks import suite\nfrom calc import double\n",
    "api/checks/suite.py": "",
    "calc.py": "",
}
CALLS = {"a.sh": "bash ci/b.sh", "ci/b.sh": "bash ci/c", "ci/c": "exec ci/d.sh", "ci/d.sh": ""}


@pytest.mark.parametrize(
    ("command", "files", "there"),
    [
        ("make test", MAKE, {"Makefile", "rules.inc", "api/Makefile", "api/go.sh", "ci/all.sh"}),
        ("make release", MAKE, {"Makefile", "rules.inc", "scripts/release.py"}),
        ("make", {"Makefile": "-include new.mk\n"}, {"Makefile"}),
        ("npm test", NPM, {"scripts/run.js", "scripts/more.js", "eslint.config.mjs"}),
        ("cd api && bash run.sh", SHELL,
         {"api/run.sh", "api/env", "api/checks/__main__.py", "api/checks/suite.py"}),
        ("bash a.sh", CALLS, set(CALLS)),
        ("bash -c 'make -f ci.mk'", {"ci.mk": "t:\n\tpytest -c qa.ini\n", "qa.ini": ""},
         {"ci.mk", "qa.ini"}),
        ("python manage.py test", {"manage.py": ""}, {"manage.py"}),
        ("python manage.py migrate", {"manage.py": ""}, set()),
        ("coverage run manage.py test", {"manage.py": ""}, {"manage.py"}),
        ("python -m pytest -p plug", {"plug.py": ""}, {"plug.py"}),
        ("python -m app", {"app/__main__.py": ""}, set()),
        ("python -m app --self-test", {"app/__main__.py": ""}, {"app/__main__.py"}),
        ("inv test", {"tasks.py": ""}, {"tasks.py"}),
        ("BASH_ENV=env/a bash b.sh", {"env/a": "", "b.sh": ""}, {"env/a", "b.sh"}),
        ("./hello.sh | grep hello", {"hello.sh": ""}, set()),
        ("test -f calc.py && wc -c calc.py", {"calc.py": ""}, set()),
        ("grep -f words.txt calc.py", {"words.txt": "", "calc.py": ""}, set()),
        ("pip install -r requirements.txt pytest", {"requirements.txt": ""}, set()),
    ],
)  # fmt: skip
def test_scripts_and_settings(command: str, files: Mapping[str, str], there: set[str]) -> None:
    assert walk([command], files).runner & files.keys() == there
    below = {f"sub/{path}": text for path, text in files.items()}
    assert walk([command], below, "sub").runner & below.keys() == {f"sub/{path}" for path in there}


@pytest.mark.parametrize("path", ["new.mk", "GNUmakefile"])
def test_what_make_would_read_if_it_were_there(path: str) -> None:
    assert path in walk(["make"], {"Makefile": "-include new.mk\n"}).runner


def test_a_module_in_place_of_an_installed_tool() -> None:
    assert {"mypy.py", "src/mypy/__main__.py"} <= walk(["python -m mypy ."], {}).runner


@pytest.mark.parametrize(
    ("command", "tests"),
    [
        ("python -m unittest -q unit.py", {"unit.py"}),
        ("uv run python -m unittest unit.Double.test_two", {"unit.py"}),
        ("pytest qa/unit.py::test_a", {"qa/unit.py"}),
        ("npx jest --ci qa/unit.js", {"qa/unit.js"}),
        ("pytest --doctest-modules calc.py", set()),
        ("pytest --ignore calc.py", set()),
        ("python calc.py", set()),
    ],
)
def test_files_that_a_runner_is_given(command: str, tests: set[str]) -> None:
    files = dict.fromkeys(("unit.py", "qa/unit.py", "qa/unit.js", "calc.py"), "")
    assert walk([command], files).tests == tests


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ('PATH="$PWD/bin:$PATH" pytest', {"bin"}),
        ("PATH=./tools/bin:$PATH:/usr/bin make", {"tools/bin"}),
        ("export PATH=$(pwd)/a/../b:$PATH; make", {"b"}),
        ("PYTHONPATH=src pytest", set()),
        ("PATH=../bin:$PATH make", set()),
        ("PATH=$PATH make", set()),
    ],
)
def test_folders_of_path(command: str, folders: set[str]) -> None:
    assert walk([command], {}).path == folders


def test_folders_of_path_in_scripts() -> None:
    assert "api/bin" in walk(["bash api/ci.sh"], {"api/ci.sh": "PATH=$HERE/bin:$PATH pytest"}).path
    assert "bin" in walk(["make"], {"Makefile": "export PATH := $(CURDIR)/bin:$(PATH)\n"}).path


def test_where_python_looks() -> None:
    assert walk(["PYTHONPATH=vendor:tools pytest"], {}).searched == {"vendor", "tools"}
    assert walk(["python ci/run.py"], {"ci/run.py": ""}).searched == {"ci"}
    assert walk(["python -m ci.run"], {"ci/run.py": ""}).searched == set()


@pytest.mark.parametrize(
    "files",
    [
        {"a.sh": "bash b.sh\ncd ../..\ncd /\n. $X", "b.sh": "bash a.sh\n"},
        {"Makefile": "include Makefile\na: b\n\tmake a\nb: a\n\t$(A)\nA=$(B)$(B)\nB=$(A)$(A)\n"},
        {"a.sh": "PATH=" + "$(" * 20_000 + "\n" + "x=`" * 20_000 + "\n" + "${" * 20_000},
        {"a.sh": "a/" * 100_000 + "\n" + "." * 100_000},
        {"a.sh": 'echo "\ncd\nmake -C\nmake -f\npython -m\nnpm --prefix\n()|;\n'},
        {"package.json": "[", "a.sh": "npm test"},
        {f"s{n}.sh": f"bash s{n + 1}.sh\n" for n in range(5000)},
    ],
    ids=["scripts", "makefiles", "opened", "long", "cut", "no-json", "chain"],
)
def test_it_ends(files: Mapping[str, str]) -> None:
    started = time.monotonic()
    walk(["bash a.sh", "make", "bash s0.sh"], files)
    assert time.monotonic() - started < 20
