"""Which files control testing, which part of a shared file does, and whose test is whose."""

from __future__ import annotations

import pytest

from navci.evidence.command_files import scripts
from navci.evidence.control_files import Kind, Rules, at_base, differing, kind_of
from navci.evidence.runner_parts import same_but_places, same_runner
from navci.evidence.test_owners import Owners, in_edited
from navci.system.trees import Entry


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("test_a.py", Kind.TEST),
        ("pkg/deep/a_test.py", Kind.TEST),
        ("src/a.test.ts", Kind.TEST),
        ("src/a.spec.jsx", Kind.TEST),
        ("pkg/a_test.go", Kind.TEST),
        ("tests/cli.rs", Kind.TEST),
        ("src/test/java/com/acme/FooTest.java", Kind.TEST),
        ("tests/conftest.py", Kind.SUPPORT),
        ("tests/helpers.py", Kind.SUPPORT),
        ("tests/expected/a.json", Kind.DATA),
        ("src/__snapshots__/a.test.ts.snap", Kind.DATA),
        ("pkg/testdata/in.go", Kind.DATA),
        ("pytest.ini", Kind.RUNNER),
        ("web/jest.config.mjs", Kind.RUNNER),
        ("package.json", Kind.RUNNER),
        ("Makefile", Kind.RUNNER),
        ("rules.mk", Kind.RUNNER),
        ("web/vite.config.ts", Kind.RUNNER),
        (".cargo/config.toml", Kind.RUNNER),
        ("api/.mvn/jvm.config", Kind.RUNNER),
        (".tool-versions", Kind.RUNNER),
        ("cargo/config.toml", None),
        ("sitecustomize.py", Kind.STARTUP),
        ("lib/x.pth", Kind.STARTUP),
        ("usercustomize/__init__.py", Kind.STARTUP),
        ("x-1.dist-info/entry_points.txt", Kind.STARTUP),
        ("src/app.py", None),
        ("contest.py", None),
        ("latest/app.py", None),
        ("README.md", None),
    ],
)
def test_kinds(path: str, kind: Kind | None) -> None:
    assert kind_of(path, Rules(), new=False) is kind
    assert kind_of(path, Rules(), new=True) is kind


@pytest.mark.parametrize(
    ("path", "folder", "shadows"),
    [
        ("pytest.py", "", True),
        ("_pytest/runner.py", "", True),
        ("pytest_cheat.py", "", True),
        ("unittest.py", "", True),
        ("json/__init__.py", "", True),
        ("src/pytest.py", "", True),
        ("api/pytest.py", "api", True),
        ("api/pytest.py", "", False),
        ("app/types.py", "", False),
        ("jsonlike.py", "", False),
        ("json", "", False),
    ],
)
def test_a_new_module_that_hides_another(path: str, folder: str, shadows: bool) -> None:
    found = kind_of(path, Rules(folder), new=True)
    assert (found is Kind.STARTUP) is shadows
    assert kind_of(path, Rules(folder), new=False) is not Kind.STARTUP


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("bash go.sh", {"go.sh"}),
        ("./go.sh --fast", {"go.sh"}),
        ("python run_tests.py", {"run_tests.py"}),
        ("python scripts/all.py -q", {"scripts/all.py"}),
        ("./hello.sh | grep hello", set()),
        ("python app.py", set()),
        ("grep -qx 42 answer.txt", set()),
        ("python -m pytest -q", set()),
        ("make test", set()),
        ("/usr/bin/check.sh", set()),
        ("cd x && ./ci/check", {"ci/check"}),
    ],
)
def test_scripts_of_a_command(command: str, found: set[str]) -> None:
    assert scripts(command) == found
    assert scripts(command, "api") == {f"api/{path}" for path in found}


def test_globs_add_and_take_away() -> None:
    rules = Rules(globs=("qa/**", "!tests/data/**"))
    assert kind_of("qa/a.txt", rules, new=False) is Kind.RUNNER
    assert kind_of("tests/data/a.txt", rules, new=False) is None
    assert kind_of("tests/test_a.py", rules, new=False) is Kind.TEST


@pytest.mark.parametrize(
    ("name", "base", "now", "same"),
    [
        ("pyproject.toml", "[project]\nname='a'\n", "[project]\nname='a'\ndependencies=['b']\n",
         True),
        ("pyproject.toml", "", "[tool.pytest.ini_options]\naddopts='-x'\n", False),
        ("pyproject.toml", "[tool.ruff]\n", "[tool.ruff]\nfix=true\n", True),
        ("pyproject.toml", "a=1\n", "not toml", False),
        ("package.json", '{"scripts":{"test":"jest"}}',
         '{"scripts":{"test":"jest","build":"tsc"},"dependencies":{"a":"1"}}', True),
        ("package.json", '{"scripts":{"test":"jest"}}', '{"scripts":{"test":"true"}}', False),
        ("package.json", '{"scripts":{"test":"jest"}}',
         '{"scripts":{"test":"jest","pretest":"./cheat"}}', False),
        ("package.json", "{}", '{"jest":{"testMatch":[]}}', False),
        ("package.json", "{}", "[]", False),
        ("setup.cfg", "[metadata]\nname=a\n", "[metadata]\nname=b\n", True),
        ("setup.cfg", "", "[tool:pytest]\naddopts=-x\n", False),
        ("tox.ini", "[testenv]\ndeps=a\ncommands=pytest\n",
         "[testenv]\ndeps=a\n b\ncommands=pytest\n", True),
        ("tox.ini", "[testenv]\ncommands=pytest\n", "[testenv]\ncommands=true\n", False),
        ("Cargo.toml", "[dependencies]\n", "[dependencies]\na='1'\n", True),
        ("Cargo.toml", "[lib]\n", "[lib]\ntest=false\n", False),
        ("Cargo.toml", "", "[patch.crates-io]\nx={path='x'}\n", False),
        ("package.json", "{}", '{"devDependencies":{"jest":"file:./cheat"}}', False),
        ("package.json", "{}", '{"devDependencies":{"jest":"^29"}}', True),
        ("composer.json", '{"scripts":{"test":"phpunit"}}', '{"scripts":{"test":"true"}}', False),
        ("go.mod", "module a\n", "module a\nrequire b v1\n", True),
        ("go.mod", "module a\n", "module a\nreplace b => ./cheat\n", False),
        ("pom.xml", "<project/>", "<project><dependencies><dependency/></dependencies></project>",
         True),
        ("pom.xml", "<project/>", "<project><build><plugins><plugin/></plugins></build></project>",
         False),
        ("pom.xml", "<project/>",
         "<project><properties><skipTests>true</skipTests></properties></project>", False),
        ("pom.xml", "<project/>", "<project><properties><v>1</v></properties></project>", True),
        ("pom.xml", "<project/>", "<!DOCTYPE x [<!ENTITY a 'b'>]><project/>", False),
        ("build.gradle.kts", "plugins {\n}\n", "plugins {\n}\ndependencies {\n  a {\n}\n}\n",
         True),
        ("build.gradle", "plugins {\n}\n", "plugins {\n}\ntest {\n  enabled = false\n}\n",
         False),
        ("gradle.properties", "version=1\n", "version=2\n", True),
        ("gradle.properties", "", "skip=true\n", False),
    ],
)  # fmt: skip
def test_only_the_runners_part_counts(name: str, base: str, now: str, same: bool) -> None:
    assert same_runner(name, base.encode(), now.encode()) is same


@pytest.mark.parametrize(
    ("name", "base", "now", "places"),
    [
        ("pyproject.toml", "", "[tool.pytest.ini_options]\npythonpath=['src']\n", True),
        ("pyproject.toml", "", "[tool.pytest.ini_options]\npythonpath='src ./lib'\n", True),
        ("pyproject.toml", "", "[tool.pytest.ini_options]\npythonpath=['stand']\n", False),
        ("pyproject.toml", "", "[tool.pytest.ini_options]\nmarkers=['a']\naddopts='-x'\n", False),
        (
            "pyproject.toml",
            "",
            "[tool.pytest.ini_options]\ntestpaths=['a']\nminversion='7'\n",
            True,
        ),
        ("pyproject.toml", "", "[tool.coverage.run]\nplugins=['a']\n", False),
        ("pytest.ini", "[pytest]\n", "[pytest]\ntestpaths = a\n", True),
        ("pytest.ini", "", "[pytest]\ntestpaths = a\n", False),
        ("pytest.ini", "[pytest]\n", "[pytest]\npython_files = a.py\npythonpath = src\n", True),
        ("setup.cfg", "[tool:pytest]\n", "[tool:pytest]\naddopts = -p x\n", False),
        ("Makefile", "t:\n\tpytest\n", "t:\n\tPYTHONPATH=src pytest\n", True),
        ("Makefile", "t:\n\tpytest\n", "export PYTHONPATH := $(CURDIR)/src\nt:\n\tpytest\n", True),
        ("Makefile", "t:\n\tpytest\n", "t:\n\tPYTHONPATH=src:$$PYTHONPATH pytest\n", True),
        ("Makefile", "t:\n\tpytest\n", "t:\n\tPYTHONPATH=stand pytest\n", False),
        ("Makefile", "t:\n\tpytest\n", "t:\n\tPYTHONPATH=src:stand pytest\n", False),
        ("Makefile", "t:\n\tpytest\n", "t:\n\tPYTHONPATH=$(shell cheat) pytest\n", False),
        ("Makefile", "t:\n\tpytest\n", "t:\n\tPYTHONPATH=src;true pytest\n", False),
        ("ci/a.sh", "pytest\n", "PYTHONPATH=lib pytest\n", True),
        ("package.json", "{}", "{}", False),
    ],
)
def test_where_things_lie(name: str, base: str, now: str, places: bool) -> None:
    assert same_but_places(name, base.encode(), now.encode()) is places


def test_a_table_that_would_be_read_instead_counts() -> None:
    blobs = {"1": b"", "2": b"[tool.pytest.ini_options]\ntestpaths = ['a']\n", "3": b"[pytest]\n"}
    one, two, ini = (Entry("100644", blob) for blob in "123")
    changes = [("pyproject.toml", one, two), ("sub/pyproject.toml", one, two)]
    for files, stays in (({"pyproject.toml": one}, True), ({"tox.ini": ini}, False)):
        rules = at_base(Rules(), files, lambda blob: blobs[blob])
        found = differing(changes, rules, lambda blob: blobs[blob])
        assert [(c.path, c.stays) for c in found] == [
            ("pyproject.toml", stays), ("sub/pyproject.toml", False),
        ]  # fmt: skip


def test_programs_in_a_folder_of_path() -> None:
    rules = Rules(path_folders=("bin", ""))
    plain, runs = Entry("100644", "1"), Entry("100755", "2")
    changes = [
        ("bin/python", None, runs), ("bin/README", None, plain), ("bin/deep/python", None, runs),
        ("make", None, runs), ("app.py", None, runs), ("bin/old", runs, plain),
    ]  # fmt: skip
    found = differing(changes, rules, lambda _: b"")
    assert [c.path for c in found] == ["bin/old", "bin/python", "make"]


def test_what_differs() -> None:
    blobs = {
        "1": b"[project]\nname='a'\n", "2": b"[project]\nname='b'\n",
        "3": b"[console_scripts]\na=a\n", "4": b"[pytest11]\na=a\n",
    }  # fmt: skip
    one, two, scripts_, plugin = (Entry("100644", blob) for blob in "1234")
    changes = [
        ("test_a.py", one, two), ("app.py", one, two), ("pyproject.toml", one, two),
        ("conftest.py", None, one), ("a.dist-info/entry_points.txt", None, scripts_),
        ("b.dist-info/entry_points.txt", None, plugin), ("test_b.py", one, None),
    ]  # fmt: skip
    found = differing(changes, Rules(), lambda blob: blobs[blob])
    assert [(c.path, c.edited) for c in found] == [
        ("b.dist-info/entry_points.txt", False),
        ("conftest.py", False),
        ("test_a.py", True),
        ("test_b.py", True),
    ]


PATHS = ("tests/test_a.py", "api/tests/test_a.py", "tests/unit/test_b.py", "src/a.test.ts",
         "src/test/java/com/acme/FooTest.java", "pkg/a_test.go")  # fmt: skip


@pytest.mark.parametrize(
    ("test", "folder", "files"),
    [
        ("tests.test_a::test_x", "", {"tests/test_a.py"}),
        ("tests.test_a.TestX::test_x[1]", "api", {"api/tests/test_a.py"}),
        ("test_b::test_x", "", {"tests/unit/test_b.py"}),
        ("repo.tests.unit.test_b::test_x", "", {"tests/unit/test_b.py"}),
        ("tests.test_a", "", {"tests/test_a.py"}),
        ("src/a.test.ts::adds > two", "", {"src/a.test.ts"}),
        ("com.acme.FooTest::bar()", "", {"src/test/java/com/acme/FooTest.java"}),
        ("com.acme.FooTest$Inner::bar()", "", set()),
        ("example.com/pkg::TestX", "", set()),
        ("math adds two::math adds two", "", set()),
    ],
)
def test_owners(test: str, folder: str, files: set[str]) -> None:
    assert Owners(PATHS, folder).of(test) == files


@pytest.mark.parametrize(
    ("test", "edited", "held"),
    [
        ("tests.test_a::test_x", {"tests/test_a.py": ""}, True),
        ("tests.test_a::test_x", {"tests/unit/test_b.py": "def test_x(): pass"}, False),
        ("example.com/pkg::TestX/sub", {"pkg/a_test.go": "func TestX(t *testing.T) {}"}, True),
        ("example.com/pkg::TestX", {"pkg/a_test.go": "func TestXY(t *testing.T) {}"}, False),
        ("math adds::math adds", {"src/a.test.ts": "it('adds', f)"}, True),
        ("math adds::math adds", {"src/a.test.ts": "it('subs', f) // adds"}, False),
        ("gone.mod::test_x", {"tests/test_a.py": "def test_x(): pass"}, False),
    ],
)
def test_a_test_that_may_be_in_an_edited_file(
    test: str, edited: dict[str, str], held: bool
) -> None:
    assert in_edited(test, Owners(PATHS), edited) is held
