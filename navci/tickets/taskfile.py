"""Task documents of Navigator: Markdown files with front matter, ``.agent/tasks/TASK-12-….md``."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path, PurePosixPath

import yaml

from navci.errors import ConfigError
from navci.model import Task
from navci.system.files import write_atomic
from navci.task import first_heading, from_document

ARCHIVE = Path(".agent/tasks/archive")
MAX_BYTES = 1 << 20

_BOM = b"\xef\xbb\xbf"
_FENCE = re.compile(rb"---[ \t]*\r?\n")
_FENCE_END = re.compile(rb"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_KEY_LINE = re.compile(rb"[A-Za-z_][\w-]*[ \t]*:")
# A status, with the lines its value may run over; a comment behind it stays.
_STATUS = re.compile(
    rb"""^(["']?)status\1[ \t]*:[^\r\n]*?(?=[ \t]+\#|[ \t]*\r?$)(?:\r?\n[ \t]+[^\s\#][^\r\n]*)*""",
    re.MULTILINE,
)
_STEM_ID = re.compile(r"(?:[A-Z][A-Z0-9]{0,19}|[Tt]ask)-\d{1,9}(?![A-Za-z0-9])")
_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
# Ids of other kinds of tasks; a document that took one would share its journal.
_TAKEN = re.compile(r"issue-\d+|text-[0-9a-f]{8}", re.IGNORECASE)
_DONE = frozenset({"done", "completed"})


def read_task_file(path: Path, repo_top: Path) -> Task:
    """The task document at ``path``, inside the repository at ``repo_top``.

    Front matter may say ``id``, ``title``, ``loop_mode`` (true or false) and ``status``
    (``done`` is the closed ticket). One that is in the archive already is read there, under its
    own name. Raises :class:`ConfigError` naming the file and the line.
    """
    try:
        file, source = _inside(path, repo_top)
    except ConfigError:
        archived = _in_archive(path, repo_top)
        if archived is None:
            raise
        file, source = archived
    return parse_task(_read(file, source), source)


def parse_task(data: bytes, source: str) -> Task:
    """The task document ``data``, from ``source``. Raises :class:`ConfigError` as above."""
    front, rest, _ = _split(_text(data, source).encode(), source)
    said, body = _front_matter(front, source), rest.decode()
    stem = PurePosixPath(source).stem
    task_id = _task_id(said.get("id"), stem, source)
    title = _word(said.get("title")) or first_heading(body) or stem
    return from_document(
        task_id,
        _without_id(title, task_id),
        body,
        source=source,
        loop_mode=_loop_mode(said.get("loop_mode"), source),
        closed=_closed(said),
    )


def archive(task: Task, top: Path) -> str:
    """Move the task's document to ``.agent/tasks/archive/`` with ``status: done``.

    Every other byte of it stays. Returns the new path relative to ``top``; a name that is taken
    gets ``-2``. A document that is in the archive already, put there by the agent or before an
    interruption, is only marked. Raises :class:`ConfigError` when the document is gone or cannot
    be marked, :class:`OSError` as the system gives it; a kill in between leaves the old file, or
    both, never none.
    """
    if task.source is None:
        raise ValueError(f"{task.id} has no task document")
    folder = top / ARCHIVE
    if not folder.resolve().is_relative_to(top.resolve()):
        raise ConfigError(f"{ARCHIVE} leads out of the repository; make it a plain folder")
    path = top / task.source
    moved = folder / path.name
    file, source = _inside(moved if moved.exists() and not path.exists() else path, top)
    done = _marked_done(_read(file, source), source)
    if file.parent == folder.resolve():
        write_atomic(file, done)
        return source
    target = _free(folder, file.name, done)
    write_atomic(target, done)
    file.unlink()
    return target.relative_to(top).as_posix()


def _free(folder: Path, name: str, content: bytes) -> Path:
    """A path in ``folder`` that is free, or holds ``content`` since an interrupted archive."""
    stem, suffix = Path(name).stem, Path(name).suffix
    target, number = folder / name, 1
    while target.is_symlink() or (target.exists() and not _holds(target, content)):
        number += 1
        target = folder / f"{stem}-{number}{suffix}"
    return target


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _in_archive(path: Path, top: Path) -> tuple[Path, str] | None:
    """The archived file of the document that was at ``path``, and its path of then."""
    root = top.resolve()
    try:
        own = (path if path.is_absolute() else root / path).parent.resolve() / path.name
        file = _inside(root / ARCHIVE / own.name, top)[0]
    except (ConfigError, OSError, ValueError):
        return None
    return (file, own.relative_to(root).as_posix()) if own.is_relative_to(root) else None


# --- reading --------------------------------------------------------------------------------


def _inside(path: Path, top: Path) -> tuple[Path, str]:
    """The real file, and its path relative to the repository for people and for git."""
    root = top.resolve()
    try:
        file = (path if path.is_absolute() else top / path).resolve(strict=True)
    except FileNotFoundError:
        raise ConfigError(f"there is no task document {path}; check --task-file") from None
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a NUL, no permission
        raise ConfigError(f"the task document {path!s} cannot be reached: {error}") from error
    if not file.is_relative_to(root):
        raise ConfigError(
            f"the task document {path} is outside the repository; move it inside, "
            "for example to .agent/tasks/"
        )
    if not file.is_file():
        raise ConfigError(f"the task document {path} is not a file")
    return file, file.relative_to(root).as_posix()


def _read(file: Path, source: str) -> bytes:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise ConfigError(f"the task document {source} is over 1 MiB; a task is a page or two")
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(f"the task document {source} cannot be read: {error.strerror}") from error


def _text(data: bytes, source: str) -> str:
    try:
        return data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"the task document {source} is not UTF-8 (line {line}); save it as UTF-8"
        ) from None


def _split(data: bytes, source: str) -> tuple[bytes | None, bytes, int]:
    """Front matter (``None`` when there is none), the rest, and where the front matter starts."""
    opening = _FENCE.match(data)
    ending = _FENCE_END.search(data, opening.end()) if opening else None
    if opening is None or ending is None:
        if opening and _KEY_LINE.match(data, opening.end()):
            raise ConfigError(
                f"the front matter of {source} (line 1) is not closed by a `---` line"
            )
        return None, data, 0
    return data[opening.end() : ending.start()], data[ending.end() :], opening.end()


def _front_matter(front: bytes | None, source: str) -> dict[str, object]:
    try:
        said = yaml.safe_load(front.decode()) if front is not None else None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        # The file's line: marks count from 0, and the first line is the `---` above.
        where = f"line {mark.line + 2}" if mark else "its front matter"
        what = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        raise ConfigError(
            f"the front matter of {source} is not valid YAML ({where}): {what}"
        ) from None
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise ConfigError(
            f"the front matter of {source} must be `key: value` lines, is a "
            f"{type(said).__name__}; a rule at the top of a document is better written `***`"
        )
    return {str(key): value for key, value in said.items()}


def _task_id(said: object, stem: str, source: str) -> str:
    if said is not None and said != "":
        name = "" if isinstance(said, bool) else _word(said)
        if _TAKEN.fullmatch(name):
            raise ConfigError(
                f"`id: {name}` in {source} is an id navci gives to issues and texts; "
                "choose another, for example TASK-12"
            )
        if not _ID.fullmatch(name) or ".." in name or name.endswith(".lock"):
            raise ConfigError(
                f"`id: {name or type(said).__name__}` in {source} cannot name a branch; "
                "allowed: up to 64 letters, digits, `-`, `_` and single dots, for example TASK-12"
            )
        return name
    if named := _STEM_ID.match(stem):
        return named[0].upper() if named[0][:4].lower() == "task" else named[0]
    slug = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:60].strip("-")
    if not slug:
        slug = hashlib.sha256(stem.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"doc-{slug}" if _TAKEN.fullmatch(slug) or slug.isdigit() else slug


def _word(said: object) -> str:
    """A YAML scalar as text; anything else (nested, perhaps endlessly) as nothing."""
    return str(said).strip() if isinstance(said, str | int | float) else ""


def _closed(said: dict[str, object]) -> bool:
    return _word(said.get("status")).lower() in _DONE


def _loop_mode(said: object, source: str) -> bool | None:
    if said is None or isinstance(said, bool):
        return said
    raise ConfigError(
        f"`loop_mode` in {source} is {_word(said) or type(said).__name__!r}; allowed: true or false"
    )


def _without_id(title: str, task_id: str) -> str:
    """``TASK-12: Fix it`` is shown next to its id, which need not be said twice."""
    rest = re.sub(rf"^\s*{re.escape(task_id)}\s*[:\u2013\u2014-]\s*", "", title, flags=re.I)
    return rest or title


# --- marking it done ------------------------------------------------------------------------


def _marked_done(data: bytes, source: str) -> bytes:
    """``data`` with ``status: done`` in its front matter, which is made when there is none."""
    bom = _BOM if data.startswith(_BOM) else b""
    text = data[len(bom) :]
    newline = b"\r\n" if b"\r\n" in text[:4096] else b"\n"
    front, _, start = _split(text, source)
    if front is None:
        return bom + newline.join((b"---", b"status: done", b"---", b"", b"")) + text
    marked, found = _STATUS.subn(b"status: done", front)
    if not found:
        marked = b"status: done" + newline + front
    if not _closed(_front_matter(marked, source)):
        raise ConfigError(
            f"the status in the front matter of {source} cannot be set; write it as a line"
        )
    return bom + text[:start] + marked + text[start + len(front) :]
