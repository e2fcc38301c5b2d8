"""The real bare git repository behind a repository of the fake: refs, branches, merges."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.repos import clean_env


class BareRepository:
    """Runs git in a bare repository; answers are values, never exit codes."""

    def __init__(self, path: Path, default_branch: str) -> None:
        self.path = path
        path.mkdir(parents=True)
        self._git("init", "-q", "--bare", "--template=", f"--initial-branch={default_branch}", ".")
        # Who may write is decided by whoever serves it; a test that pushes to the path may.
        self._git("config", "receive.denyDeleteCurrent", "ignore")
        self._git("config", "http.receivepack", "true")

    def _run(
        self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *args],
            cwd=self.path,
            env=clean_env(**(env or {})),
            input=stdin,
            capture_output=True,
            check=False,
        )

    def _git(
        self, *args: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        done = self._run(*args, stdin=stdin, env=env)
        if done.returncode:
            raise AssertionError(f"git {' '.join(args)}: {done.stderr.decode(errors='replace')}")
        return done.stdout.decode("utf-8", "surrogateescape").removesuffix("\n")

    def _maybe(self, *args: str) -> str | None:
        done = self._run(*args)
        return None if done.returncode else done.stdout.decode().strip()

    def is_empty(self) -> bool:
        return not self._git("for-each-ref", "--count=1")

    def ref(self, name: str) -> str | None:
        """The object that the full ref ``name`` points to."""
        return self._maybe("rev-parse", "-q", "--verify", "--end-of-options", name)

    def kind(self, sha: str) -> str | None:
        """``commit``, ``tag`` …: the type of an object, None when there is none."""
        return self._maybe("cat-file", "-t", sha)

    def branch(self, name: str) -> str | None:
        return self.ref(f"refs/heads/{name}")

    def is_ref_name(self, name: str) -> bool:
        return name.count("/") >= 2 and self._maybe("check-ref-format", name) is not None

    def set_ref(self, name: str, sha: str) -> None:
        self._git("update-ref", name, sha)

    def delete_ref(self, name: str) -> None:
        self._git("update-ref", "-d", name)

    def contains(self, later: str, earlier: str) -> bool:
        """Whether ``earlier`` is ``later`` or one of its ancestors."""
        return self._run("merge-base", "--is-ancestor", earlier, later).returncode == 0

    def ahead(self, base: str, head: str) -> int:
        """How many commits ``head`` has that ``base`` has not."""
        return int(self._git("rev-list", "--count", f"{base}..{head}"))

    def related(self, base: str, head: str) -> bool:
        return self._maybe("merge-base", base, head) is not None

    def changes(self, base: str, head: str) -> tuple[int, int, int]:
        """Files changed, lines added, lines deleted since ``head`` left ``base``."""
        files = added = deleted = 0
        for line in self._git("diff", "--numstat", f"{base}...{head}").splitlines():
            plus, minus, _ = line.split("\t")
            files += 1
            added += int(plus) if plus != "-" else 0
            deleted += int(minus) if minus != "-" else 0
        return files, added, deleted

    def describe(self, sha: str) -> dict[str, str]:
        """The parts of a commit that an answer shows."""
        form = "%T%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%B"
        keys = ["tree", "parents", "author", "author_email", "author_date"]
        keys += ["committer", "committer_email", "committer_date", "message"]
        parts = self._git("log", "-1", f"--format={form}", sha).split("\0")
        return dict(zip(keys, parts, strict=True))

    def commit(
        self, branch: str, files: Mapping[str, str | bytes], message: str = "a change"
    ) -> str:
        """Commit ``files`` on ``branch``, which starts from nothing when it is new."""
        parent = self.branch(branch)
        index = {"GIT_INDEX_FILE": str(self.path / "index.of-the-fake")}
        self._git("read-tree", parent or "--empty", env=index)
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            blob = self._git("hash-object", "-w", "--stdin", stdin=data)
            self._git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", env=index)
        tree = self._git("write-tree", env=index)
        (self.path / "index.of-the-fake").unlink()
        return self._commit_tree(branch, tree, message, *([parent] if parent else []))

    def merge(self, base: str, head: str, message: str) -> str:
        """Merge the commit ``head`` into the branch ``base`` as the green button does."""
        tip = self.branch(base)
        assert tip is not None, f"no branch {base}"
        tree = self._git("merge-tree", "--write-tree", tip, head)
        return self._commit_tree(base, tree, message, tip, head)

    def _commit_tree(self, branch: str, tree: str, message: str, *parents: str) -> str:
        options = [part for parent in parents for part in ("-p", parent)]
        sha = self._git("commit-tree", tree, *options, stdin=message.encode())
        self.set_ref(f"refs/heads/{branch}", sha)
        return sha
