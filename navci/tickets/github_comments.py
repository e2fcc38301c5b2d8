"""navci's own comments: each is made once, and found again by the hidden line it begins with."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from navci.errors import TrackerError
from navci.tickets.github_answers import CommentAnswer

if TYPE_CHECKING:  # heavy
    from github.Issue import Issue

    from navci.tickets.github_line import Line

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,99}")
_HIDDEN = re.compile(r"<!-- navci:([A-Za-z0-9._/:-]+) -->")


def hidden_line(key: str) -> str:
    """The first line of the comment ``key``."""
    if not _KEY.fullmatch(key) or "--" in key:
        raise ValueError(f"{key!r} cannot stand in an HTML comment")
    return f"<!-- navci:{key} -->"


class Comments:
    """The comments of one issue. They are read once; after that navci knows its own."""

    def __init__(self, line: Line, issue: Issue, repository: str, where: str) -> None:
        self._line = line
        self._issue = issue
        self._repository = repository
        self._where = where
        self._ours: dict[str, CommentAnswer] | None = None

    def sticky(self, key: str, body: str) -> str:
        """Edit the comment ``key``, or make it when there is none. Its address."""
        found = self._find(key)
        if found is not None:
            comment = self._issue.get_comment(found.id)
            try:
                with self._errand("edit the comment"):
                    comment.edit(f"{hidden_line(key)}\n{body}")
            except TrackerError as error:
                if error.status != 404:
                    raise
                self._ours = None
                if self._find(key) is not None:
                    raise
                # Somebody deleted it.
            else:
                return found.html_url
        return self._make(key, body)

    def say(self, key: str, body: str) -> str:
        """Make the comment ``key`` unless it is there. Its address."""
        found = self._find(key)
        return found.html_url if found is not None else self._make(key, body)

    def _make(self, key: str, body: str) -> str:
        text = f"{hidden_line(key)}\n{body}"

        def send() -> CommentAnswer:
            return CommentAnswer.model_validate(self._issue.create_comment(text).raw_data)

        def look() -> CommentAnswer | None:
            self._ours = None
            return self._find(key)

        # Until it is known whether it was made, what was read before is not to be gone by.
        known, self._ours = self._ours or {}, None
        with self._errand("comment"):
            made = self._line.once(send, look)
        self._ours = {**known, **(self._ours or {}), key: made}
        return made.html_url

    def _find(self, key: str) -> CommentAnswer | None:
        if self._ours is None:
            ours: dict[str, CommentAnswer] = {}
            with self._errand("read the comments"):
                for row in self._line.rows(f"{self._issue.url}/comments"):
                    comment = CommentAnswer.model_validate(row)
                    hidden = _HIDDEN.fullmatch(comment.first_line())
                    if hidden is not None and comment.trusted:
                        ours.setdefault(hidden[1], comment)
            self._ours = ours
        return self._ours.get(key)

    def _errand(self, doing: str) -> AbstractContextManager[None]:
        return self._line.errand(f"{doing} on {self._where}", self._repository, "issues: write")
