"""navci.evidence.ignores: re-rooted rules do what git does with the files where they lie."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from navci.evidence.ignores import attributes_file, exclude_file, left_by_tools
from tests.support.repos import git, make_repo, write_files

NAMES = [
    *("foo", "foo.log", "foo bar", "foo ", "#foo", "!foo", "a*b", "axb", "[d]", "dir/foo"),
    *("dir/x/foo", "sub/foo", "sub/foo.log", "sub/keep.log", "sub/dir/foo", "sub/dir/deep/foo"),
    *("sub/a/foo", "sub/a/b/c/foo", "sub/#foo", "sub/!foo", "sub/foo ", "sub/foo bar", "sub/axb"),
    *("sub/sub/foo", "s*b/foo", "s*b/a/foo", "sp ace/foo", "sub/foo\\", "sub/dir2/é/foo"),
]


def ignored_by_git(repo: Path) -> set[str]:
    return set(git(repo, "ls-files", "-z", "-o", "--exclude-standard").split("\0")) - {""}


def ignored_by_us(repo: Path, rules: Mapping[str, bytes], where: Path) -> set[str]:
    where.write_bytes(exclude_file(rules))
    return set(git(repo, "ls-files", "-z", "-o", f"--exclude-from={where}").split("\0")) - {""}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    top = tmp_path_factory.mktemp("ignores")
    repo = make_repo(top / "repo", {})
    write_files(repo, dict.fromkeys(NAMES, "x"))
    return repo, top / "excludes"


def agree(places: tuple[Path, Path], rules: Mapping[str, bytes]) -> None:
    repo, where = places
    try:
        write_files(repo, rules)
        assert ignored_by_us(repo, rules, where) == ignored_by_git(repo), rules
    finally:
        for path in rules:
            (repo / path).unlink()


PATTERNS = [
    *("foo", "/foo", "foo/", "dir", "dir/", "/dir", "dir/foo", "/dir/foo", "dir/*", "*", "/*"),
    *("*.log", "!keep.log", "**", "**/foo", "/**/foo", "dir/**", "/**", "a/**/foo", "a/*/foo"),
    *("\\#foo", "#foo", "\\!foo", "!foo", "foo\\ ", "foo ", "foo bar", "foo\\ bar", "foo\\\\"),
    *("a\\*b", "a*b", "a?b", "[ad]*", "[!f]*", "fo[o]", "/", "//", "!", "!/", " ", "  ", "\\"),
    *("foo\\", "sub", "!sub/", "*/", "**/dir/", "dir/**/foo", "é", "é/", "*foo*", "foo**", "**foo"),
    *("foo\r", "foo \r", "\t", "foo\t", "[", "[]d]*", "./foo", "../foo", "[[:alpha:]]oo"),
]


@pytest.mark.parametrize("folder", ["", "sub/", "s*b/", "sp ace/"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=repr)
def test_a_pattern_means_the_same_in_our_file(
    places: tuple[Path, Path], folder: str, pattern: str
) -> None:
    agree(places, {f"{folder}.gitignore": f"{pattern}\n".encode()})


@pytest.mark.parametrize(
    "rules",
    [
        {".gitignore": b"*.log\n", "sub/.gitignore": b"!keep.log\n"},
        {".gitignore": b"!keep.log\n", "sub/.gitignore": b"*.log\n"},
        {".gitignore": b"sub/\n", "sub/.gitignore": b"!foo\n"},
        {".gitignore": b"*\n!*/\n!foo\n", "sub/dir/.gitignore": b"foo\n"},
        {
            ".gitignore": b"\xef\xbb\xbffoo\n",
            "sub/.gitignore": b"\xef\xbb\xbf*.log\r\n!keep.log\r\n",
        },
        {".gitignore": b"foo", "dir/x/.gitignore": b"!foo"},
        {".gitignore": b"# foo\n\n\nfoo\n!sub/foo\n"},
    ],
    ids=lambda rules: " ".join(rules),
)
def test_the_nearer_file_and_the_later_line_win(
    places: tuple[Path, Path], rules: dict[str, bytes]
) -> None:
    agree(places, rules)


LINES = st.lists(
    st.one_of(st.sampled_from(PATTERNS), st.text("fo/*!# \\[]?.dirsub", max_size=9)), max_size=4
).map(lambda lines: "\n".join(lines).encode())


@settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rules=st.dictionaries(
        st.sampled_from([".gitignore", "sub/.gitignore", "sub/dir/.gitignore", "dir/.gitignore"]),
        LINES,
        min_size=1,
    )
)
def test_random_rules_mean_the_same(places: tuple[Path, Path], rules: dict[str, bytes]) -> None:
    agree(places, rules)


def test_built_in_rules_are_weakest_and_markers_strongest(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {})
    files = ["node_modules/a", "b.pyc", ".agent/.marker-log", ".agent/.context-markers/m.md", "c"]
    write_files(repo, dict.fromkeys([*files, "build/r.xml", "x/build/r.xml"], "x"))

    rules = {".gitignore": b"!*.pyc\n!.context-markers\n!.agent/.context-markers/\n"}
    where = tmp_path / "excludes"
    assert ignored_by_us(repo, rules, where) == {"b.pyc", "c", "build/r.xml", "x/build/r.xml"}

    where.write_bytes(exclude_file({}, ["build/*.xml"]))
    listed = git(repo, "ls-files", "-z", "-o", f"--exclude-from={where}").split("\0")
    assert set(listed) - {""} == {"c", "x/build/r.xml"}


# --- attributes -----------------------------------------------------------------------------

ATTRIBUTE_LINES = [
    *("* text", "*.log -text", "/foo eol=crlf", "dir/foo text=auto", "foo\ttext\teol=lf"),
    *(
        '"foo bar" text',
        '"a\\*b" text',
        '"\\146oo" text',
        '"unfinished text',
        '"foo"text',
        "!foo text",
    ),
    *("# foo text", "  foo  text", "foo", "[attr]mine text eol=crlf", "foo mine", "*.log binary"),
    *("\\#foo text", "dir/ text", "dir/** text", "**/foo !text", "foo text\r", "foo filter=lfs"),
]
ATTRIBUTES = ["text", "eol", "filter", "ident", "working-tree-encoding", "diff", "merge"]


def attributes(repo: Path) -> str:
    asked = "".join(f"{name}\0" for name in NAMES)
    return git(repo, "check-attr", "-z", "--stdin", *ATTRIBUTES, stdin=os.fsencode(asked))


@pytest.mark.parametrize("folder", ["", "sub/", "s*b/", "sp ace/"])
@pytest.mark.parametrize("line", ATTRIBUTE_LINES, ids=repr)
def test_attributes_mean_the_same_in_our_file(
    places: tuple[Path, Path], tmp_path: Path, folder: str, line: str
) -> None:
    where_they_lie, ours = make_repo(tmp_path / "a", {}), make_repo(tmp_path / "b", {})
    rules = {f"{folder}.gitattributes": f"{line}\n".encode()}
    write_files(where_they_lie, rules)
    write_files(ours, {".git/info/attributes": attributes_file(rules)})
    assert attributes(ours) == attributes(where_they_lie)


def test_attributes_lying_about_have_no_effect(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {})
    write_files(
        repo, {".git/info/attributes": attributes_file({".gitattributes": b"*.bin binary"})}
    )
    before = attributes(repo)
    everything = "text eol=crlf ident filter=x working-tree-encoding=UTF-16 merge=ours diff=x"
    hostile = f"[attr]binary text\n* {everything}\nfoo {everything}\n"
    write_files(repo, {".gitattributes": hostile, "sub/.gitattributes": hostile})
    assert attributes(repo) == before


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("__pycache__/a.cpython-311.pyc", True),
        ("a/b/__pycache__/x", True),
        ("a/b.pyo", True),
        ("web/node_modules/x/index.js", True),
        (".hypothesis/examples/1", True),
        ("a/.DS_Store", True),
        ("a.py", False),
        ("node_modules.txt", False),
        ("docs/__pycache__.md", False),
    ],
)
def test_what_tools_leave(path: str, left: bool) -> None:
    assert left_by_tools(path) is left
