"""Task documents: what is read from them, and how they are archived."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from navci.errors import ConfigError
from navci.task import from_text
from navci.tickets.taskfile import archive, read_task_file

NAME = ".agent/tasks/TASK-12-fix-primes.md"
BODY = "# TASK-12: Fix primes\n\n- [ ] nine is not prime\n"


def put(top: Path, content: str | bytes, name: str = NAME) -> Path:
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# --- reading --------------------------------------------------------------------------------


def test_a_document_without_front_matter(tmp_path: Path) -> None:
    task = read_task_file(put(tmp_path, BODY), tmp_path)
    assert (task.id, task.title, task.source) == ("TASK-12", "Fix primes", NAME)
    assert (task.loop_mode, task.closed, task.has_ticket) == (None, False, True)
    assert task.body == BODY
    assert [item.text for item in task.items] == ["nine is not prime"]


def test_a_document_with_front_matter(tmp_path: Path) -> None:
    front = "---\nid: GH-9\ntitle: 'Primes: again'\nloop_mode: true\nstatus: Done\n---\n"
    task = read_task_file(put(tmp_path, front + BODY), tmp_path)
    assert (task.id, task.title) == ("GH-9", "Primes: again")
    assert (task.loop_mode, task.closed) == (True, True)
    assert task.body == BODY


@pytest.mark.parametrize(
    "content",
    [
        "---\r\nloop_mode: false\r\n---\r\n# T\r\n",
        "\ufeff---\nloop_mode: false\n---\n# T\n",
        "---  \nloop_mode: no\n...\n# T\n",
        "---\nloop_mode: false\n---\n---\nmore",
    ],
    ids=["crlf", "bom", "dots", "rule"],
)
def test_front_matter_as_editors_write_it(tmp_path: Path, content: str) -> None:
    assert read_task_file(put(tmp_path, content), tmp_path).loop_mode is False


@pytest.mark.parametrize(
    "content",
    [
        "---\n---\nx",
        "---\n# only a comment\n---\nx",
        "---\nno front matter, a rule\n",
        "text --- x",
    ],
)
def test_front_matter_may_be_empty_or_missing(tmp_path: Path, content: str) -> None:
    task = read_task_file(put(tmp_path, content), tmp_path)
    assert (task.loop_mode, task.closed) == (None, False)


@pytest.mark.parametrize(
    ("status", "closed"),
    [
        ("done", True),
        ("DONE", True),
        ("completed", True),
        ("in-progress", False),
        ("", False),
        ("[done]", False),
        ("true", False),
    ],
)
def test_status_done_is_the_closed_ticket(tmp_path: Path, status: str, closed: bool) -> None:
    content = f"---\nstatus: {status}\n---\nx"
    assert read_task_file(put(tmp_path, content), tmp_path).closed is closed


@pytest.mark.parametrize(
    ("front", "name", "task_id"),
    [
        ("", "TASK-12.md", "TASK-12"),
        ("", "TASK-12-some-words.md", "TASK-12"),
        ("", "task-12_x.md", "TASK-12"),
        ("", "QF-7-x.md", "QF-7"),
        ("", "TASK-12b.md", "task-12b"),
        ("", "Fix the Primes!.md", "fix-the-primes"),
        ("", "修复.md", "doc-a5b2c1"),
        ("", "issue-7.md", "doc-issue-7"),
        ("", "text-0123abcd.md", "doc-text-0123abcd"),
        ("", "2026.md", "doc-2026"),
        ("", f"{'long-' * 40}.md", ("long-" * 12).strip("-")),
        ("id: TASK-3", "TASK-12.md", "TASK-3"),
        ("id: 12", "x.md", "12"),
        ("id: ''", "TASK-12.md", "TASK-12"),
        ("id: a.b_c-d", "x.md", "a.b_c-d"),
    ],
)
def test_ids(tmp_path: Path, front: str, name: str, task_id: str) -> None:
    path = put(tmp_path, f"---\n{front}\n---\nx", name)
    found = read_task_file(path, tmp_path).id
    assert found == task_id if name != "修复.md" else len(found) == 8


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("---\ntitle: From here\n---\n# Not here\n", "From here"),
        ("---\ntitle: ''\n---\n# Here\n", "Here"),
        ("---\ntitle: [a]\n---\n# Here\n", "Here"),
        ("```\n# code\n```\n## TASK-12 \u2014 Here ##\n", "Here"),
        ("# TASK-12\n\nx", "TASK-12"),
        ("no heading", "fix-primes"),
    ],
)
def test_titles(tmp_path: Path, content: str, title: str) -> None:
    assert read_task_file(put(tmp_path, content), tmp_path).title == title


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("---\na: b: c\n---\nx", "not valid YAML (line 2)"),
        ("---\nok: 1\n\t- x\n---\nx", "not valid YAML (line 3)"),
        ("---\r\nok: 1\r\nx: 'open\r\n---\r\nx", "not valid YAML (line"),
        ("---\nx: !!python/object/apply:os.system [id]\n---\nx", "not valid YAML (line 2)"),
        ("---\nx: 2026-13-45\n---\nx", "not valid YAML"),
        ("---\nx: \x07\n---\nx", "not valid YAML"),
        (f"---\nx: {'[' * 5000}\n---\nx", "not valid YAML"),
        ("---\n- a\n---\nx", "must be `key: value` lines, is a list"),
        ("---\njust text\n---\nx", "is a str"),
        ("---\nloop_mode: false\n\n# Never closed\n", "not closed by a `---` line"),
        ("---\nloop_mode: 'false'\n---\nx", "`loop_mode` in"),
        ("---\nloop_mode: 1\n---\nx", "allowed: true or false"),
        ("---\nid: issue-7\n---\nx", "an id navci gives to issues"),
        ("---\nid: text-0123abcd\n---\nx", "an id navci gives to issues"),
        ("---\nid: a/b\n---\nx", "cannot name a branch"),
        ("---\nid: a..b\n---\nx", "cannot name a branch"),
        ("---\nid: x.lock\n---\nx", "cannot name a branch"),
        ("---\nid: -x\n---\nx", "cannot name a branch"),
        ("---\nid: [a b]\n---\nx", "`id: list`"),
        ("---\nid: true\n---\nx", "`id: bool`"),
        (f"---\nid: {'x' * 65}\n---\nx", "up to 64"),
        (f"---\n{BOMB}id: *i\n---\nx", "`id: list`"),
        ("", "the task is empty; write into .agent/tasks/"),
        ("---\nloop_mode: true\n---\n\n", "the task is empty"),
        (b"caf\xe9\n", "is not UTF-8 (line 1)"),
        (b"ok\n\xff\xfe", "is not UTF-8 (line 2)"),
        (b"x" * ((1 << 20) + 1), "over 1 MiB"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_with_a_document_is_said(
    tmp_path: Path, content: str | bytes, said: str
) -> None:
    path = put(tmp_path, content)
    with pytest.raises(ConfigError) as caught:
        read_task_file(path, tmp_path)
    assert said in str(caught.value)
    assert NAME in str(caught.value)


def test_a_bomb_of_aliases_in_a_title_is_no_title(tmp_path: Path) -> None:
    path = put(tmp_path, f"---\n{BOMB}title: *i\nstatus: *i\n---\n# Here\n")
    assert read_task_file(path, tmp_path).title == "Here"


def test_paths(tmp_path: Path) -> None:
    top = tmp_path / "repo"
    put(top, BODY)
    outside = put(tmp_path, BODY, "TASK-1.md")
    (top / "link.md").symlink_to(outside)
    (top / "loop.md").symlink_to(top / "loop.md")
    (top / "inside.md").symlink_to(NAME)
    os.mkfifo(top / "fifo.md")
    for name, said in [
        ("none.md", "there is no task document none.md"),
        ("../TASK-1.md", "outside the repository"),
        ("link.md", "outside the repository"),
        (str(outside), "outside the repository"),
        ("loop.md", "cannot be reached"),
        ("a\0b", "cannot be reached"),
        ("x" * 300, "cannot be reached"),
        ("fifo.md", "is not a file"),
        (".agent", "is not a file"),
    ]:
        with pytest.raises(ConfigError, match=said):
            read_task_file(Path(name), top)
    assert read_task_file(Path(NAME), top).source == NAME
    assert read_task_file(top / "inside.md", top).source == NAME


# --- archiving ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# T\n\nx", "---\nstatus: done\n---\n\n# T\n\nx"),
        ("# T\r\nx\r\n", "---\r\nstatus: done\r\n---\r\n\r\n# T\r\nx\r\n"),
        ("---\nstatus: open\n---\nx", "---\nstatus: done\n---\nx"),
        (
            "---\nid: A-1\nstatus: open  # why\nb: 2\n---\nx",
            "---\nid: A-1\nstatus: done  # why\nb: 2\n---\nx",
        ),
        ("---\r\nstatus: 'x'\r\nb: 2\r\n---\r\nx", "---\r\nstatus: done\r\nb: 2\r\n---\r\nx"),
        ("---\nb: 2\n---\nstatus: open\n", "---\nstatus: done\nb: 2\n---\nstatus: open\n"),
        ("---\n---\nx", "---\nstatus: done\n---\nx"),
        ('---\n"status": x\n---\nx', "---\nstatus: done\n---\nx"),
        ("---\nstatus: >\n  long\n  value\nb: 2\n---\nx", "---\nstatus: done\nb: 2\n---\nx"),
        ("---\na:\n  status: open\n---\nx", "---\nstatus: done\na:\n  status: open\n---\nx"),
        ("---\nstatus:\n---\nx", "---\nstatus: done\n---\nx"),
        ("---\nstatus: done\n---\nx", "---\nstatus: done\n---\nx"),
        ("\ufeff---\nstatus: a\n---\nx\n\n\n", "\ufeff---\nstatus: done\n---\nx\n\n\n"),
    ],
)
def test_archiving_marks_the_document_done_and_keeps_the_rest(
    tmp_path: Path, before: str, after: str
) -> None:
    path = put(tmp_path, before)
    task = read_task_file(path, tmp_path)
    moved = archive(task, tmp_path)
    assert moved == ".agent/tasks/archive/TASK-12-fix-primes.md"
    assert (tmp_path / moved).read_bytes() == after.encode()
    assert not path.exists()
    assert read_task_file(tmp_path / moved, tmp_path).closed


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    for number, expected in enumerate(("TASK-12.md", "TASK-12-2.md", "TASK-12-3.md")):
        path = put(tmp_path, f"text {number}", "docs/TASK-12.md")
        moved = archive(read_task_file(path, tmp_path), tmp_path)
        assert moved == f".agent/tasks/archive/{expected}"
        assert f"text {number}" in (tmp_path / moved).read_text()


def test_an_archived_document_is_found_under_its_own_name(tmp_path: Path) -> None:
    """A run that was killed after the archive step is started again with the same options."""
    task = read_task_file(put(tmp_path, BODY), tmp_path)
    archive(task, tmp_path)
    for name in (Path(NAME), tmp_path / NAME):
        again = read_task_file(name, tmp_path)
        assert (again.id, again.source, again.closed) == (task.id, task.source, True)
        assert again.items == task.items
    with pytest.raises(ConfigError, match="there is no task document"):
        read_task_file(tmp_path.parent / "elsewhere" / Path(NAME).name, tmp_path)


def test_archiving_again_after_an_interruption(tmp_path: Path) -> None:
    path = put(tmp_path, BODY)
    task = read_task_file(path, tmp_path)
    moved = archive(task, tmp_path)
    done = (tmp_path / moved).read_bytes()
    assert archive(task, tmp_path) == moved  # the old file was gone already
    put(tmp_path, BODY)
    assert archive(task, tmp_path) == moved  # the new file was written already
    assert not path.exists()
    assert (tmp_path / moved).read_bytes() == done
    assert [file.name for file in (tmp_path / moved).parent.iterdir()] == [Path(NAME).name]


def test_a_document_the_agent_moved_itself_is_marked(tmp_path: Path) -> None:
    path = put(tmp_path, BODY)
    task = read_task_file(path, tmp_path)
    put(tmp_path, BODY, f".agent/tasks/archive/{path.name}")
    path.unlink()
    assert archive(task, tmp_path) == f".agent/tasks/archive/{path.name}"
    assert read_task_file(tmp_path / ".agent/tasks/archive" / path.name, tmp_path).closed


def test_a_document_that_is_gone_is_said(tmp_path: Path) -> None:
    path = put(tmp_path, BODY)
    task = read_task_file(path, tmp_path)
    path.unlink()
    with pytest.raises(ConfigError, match="there is no task document"):
        archive(task, tmp_path)


@pytest.mark.parametrize("front", ["{status: open}", "? status\n: open", "status: &x open\nb: *x"])
def test_a_status_that_cannot_be_set_leaves_the_document_alone(tmp_path: Path, front: str) -> None:
    content = f"---\n{front}\n---\nx"
    task = read_task_file(put(tmp_path, content), tmp_path)
    with pytest.raises(ConfigError, match="front matter"):
        archive(task, tmp_path)
    assert (tmp_path / NAME).read_text() == content


def test_an_archive_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    top, elsewhere = tmp_path / "repo", tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = put(top, BODY)
    (path.parent / "archive").symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="out of the repository"):
        archive(read_task_file(path, top), top)
    assert path.exists()
    assert not list(elsewhere.iterdir())


def test_only_documents_are_archived(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no task document"):
        archive(from_text("x"), tmp_path)
