"""A task that one line solves: put 42 into ``answer.txt``. And what a refused start must leave."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

from navci.task import text_id
from tests.support.navci_run import Result, run_folders, run_navci
from tests.support.repos import clean_env, git, make_repo

SIGNAL = """\
cat <<'END'
It is 42 now.

```pilot-signal
{"v": 2, "type": "exit", "success": true, "reason": "the answer is right"}
```
END
"""
FIX = f"echo 42 > answer.txt\n{SIGNAL}"
TEST = "grep -qx 42 answer.txt"
FILES: Mapping[str, str | bytes] = {"answer.txt": "41\n", "fix.sh": FIX}
AGENT = ("--agent", "command", "--agent-command", "bash fix.sh")
LIMIT = ("--max-iterations", "2")
TASK = "Put the right answer into answer.txt"
ID = text_id(TASK)
UNTESTED = ("run", "--task", TASK, *AGENT, *LIMIT, "--no-push")
RUN = (*UNTESTED, "--test-command", TEST)
BRANCH = f"navci/{ID}"
CONFIG = ".agent/.nav-config.json"
IN_ACTIONS = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "workflow_dispatch"}
GOOD_REPORT = '<testsuite><testcase classname="a" name="t"/></testsuite>'


def with_test(command: str, *args: str) -> tuple[str, ...]:
    """The run, with this test command."""
    return (*UNTESTED, "--test-command", command, *args)


def bash(repo: Path, line: str) -> None:
    """A person at work in ``repo``."""
    subprocess.run(
        ["bash", "-euc", line], cwd=repo, env=clean_env(), check=True, capture_output=True
    )


def small_repo(
    path: Path, files: Mapping[str, str | bytes] | None = None, config: object = None
) -> Path:
    """A repository with the task's files, ``files`` over them, and the settings ``config``."""
    settings = {} if config is None else {CONFIG: json.dumps(config)}
    return make_repo(path, {**FILES, **settings, **(files or {})})


def picture(repo: Path) -> dict[str, object]:
    """Everything of a checkout that a refused start must leave alone; compare two of them.

    Not among it are refs of navci's own: a run that was refused after it was opened has a journal.
    """
    folders = [Path(top) for top, _, _ in os.walk(repo) if ".git" not in Path(top).parts]
    entries = sorted(
        path for folder in folders for path in folder.iterdir() if path != repo / ".git"
    )
    found: dict[str, object] = {}
    for path in entries:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            found[str(path)] = (mode, path.readlink())
        else:
            found[str(path)] = (mode, path.read_bytes() if path.is_file() else None)
    if (repo / ".git").exists() and git(repo, "rev-parse", "--git-dir", check=False):
        for ask in (
            ("status", "--porcelain=v2", "--branch", "--ignored", "-z"),
            ("symbolic-ref", "-q", "HEAD"),
            ("ls-files", "--stage", "-z"),
            ("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/stash"),
        ):
            found[" ".join(ask)] = git(repo, *ask, check=False)
    return found


def assert_refused(
    result: Result, repo: Path, *sentences: str, end: str = "config_error", code: int = 2
) -> None:
    """The start was refused, everybody is told why, and nothing is left behind."""
    assert result.exit_code == code, result.said
    assert result.outputs["outcome"] == end
    assert result.outputs["complete"] == "false"
    assert result.outputs["marker"] == ""
    assert result.marker is None
    assert "navci did not start" in result.summary
    for sentence in sentences:
        assert sentence in result.said
    assert sentences[0][:200] in result.outputs["reason"]
    assert "Traceback" not in result.said
    assert run_folders(repo) == []


def assert_settings_refused(repo: Path, *sentences: str, args: tuple[str, ...] = RUN) -> Result:
    """A run with ``args`` is refused before anything is opened: no branch, no journal."""
    before = picture(repo)
    result = run_navci(repo, *args)
    assert_refused(result, repo, *sentences)
    assert picture(repo) == before
    assert git(repo, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    return result


def assert_complete(result: Result) -> None:
    """The run ended complete, and everything that tells of it says so."""
    assert result.exit_code == 0, result.said
    assert (result.outputs["outcome"], result.outputs["complete"]) == ("complete", "true")
    assert "LOOP COMPLETE" in result.said
    assert result.kind in ("complete", None)
    assert "Traceback" not in result.said


def committed(repo: Path, commit: str = "HEAD") -> dict[str, str]:
    """The files of a commit, by name."""
    names = git(repo, "ls-tree", "-r", "-z", "--name-only", commit).split("\0")[:-1]
    return {name: git(repo, "cat-file", "blob", f"{commit}:{name}") for name in names}
