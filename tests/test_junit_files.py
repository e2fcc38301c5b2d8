"""Which files are reports: globs, links, working directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from navci.errors import ConfigError
from navci.evidence.junit_files import ReportGlobs
from tests.support.check_bench import Bench
from tests.support.junit_files import P, suite

GREEN = suite(P)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("globs", "matches"),
    [
        (["build/*.xml"], ["build/a.xml"]),
        (["build\\*.xml"], ["build/a.xml"]),
        (["./build/a.xml", "build/*.xml"], ["build/a.xml"]),
        (["**/*.xml"], ["a.xml", "build/a.xml", "build/x/.y/a.xml"]),
        (["build/**/a.xml"], ["build/a.xml", "build/x/.y/a.xml"]),
        (["build/**"], ["build/a.txt", "build/a.xml", "build/x/.y/a.xml"]),
        (["sub/../build/?.xml"], ["build/a.xml"]),
        (["linked/*.xml", "**/linked/*.xml"], []),
        (["nowhere/**/*.xml"], []),
        ([], []),
    ],
)
def test_globs(bench: Bench, tmp_path: Path, globs: list[str], matches: list[str]) -> None:
    names = ["a.xml", "build/a.xml", "build/a.txt", "build/x/.y/a.xml", ".git/a.xml"]
    bench.write(dict.fromkeys(names, ""))
    (bench.repo / "loop").symlink_to(".")
    (bench.repo / "self").symlink_to("self")
    (tmp_path / "away").mkdir()
    (tmp_path / "away/a.xml").write_text("")
    (bench.repo / "linked").symlink_to(tmp_path / "away")
    assert ReportGlobs(globs, bench.repo, bench.repo).find().files == matches


def test_globs_are_relative_to_the_working_directory(bench: Bench) -> None:
    bench.write({"a [1]/b.xml": "", "a [1]/c/b.xml": "", "build/b.xml": ""})
    cwd = bench.repo / "a [1]"
    assert ReportGlobs(["*.xml"], cwd, bench.repo).find().files == ["a [1]/b.xml"]
    assert ReportGlobs(["../build/*.xml"], cwd, bench.repo).find().files == ["build/b.xml"]
    bench.cwd = cwd
    result = bench("cat > out.xml <<<'" + GREEN + "'", "out.xml")
    assert result.passed and set(result.receipt.report_digests) == {"a [1]/out.xml"}


@pytest.mark.parametrize(
    ("glob", "says"),
    [
        ("/tmp/*.xml", "is an absolute path; write it relative to the working directory"),
        ("C:\\build\\*.xml", "is an absolute path"),
        ("../*.xml", "is outside the repository"),
        ("a/../../x.xml", "is outside the repository"),
        ("*/../x.xml", "has `..` after a wildcard"),
        ("", "names no file"),
        (".", "names no file"),
    ],
)
def test_globs_that_are_refused(bench: Bench, glob: str, says: str) -> None:
    with pytest.raises(ConfigError, match=r"^junit: `") as caught:
        bench("touch ran", glob)
    assert says in str(caught.value)
    assert not (bench.repo / "ran").exists()
