"""The remote: fetch a journal from it, push the journal and, once at the end, the branch."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from navci.errors import InfraError
from navci.loop.run import Run
from navci.system.checkout import Checkout
from navci.system.git import Git
from navci.system.gitcall import PUSH_CONFIG, Answer, call, failed, write_config
from navci.system.gitcall import environment as environment_of
from navci.system.remote import remote_env

TIMEOUT = 120.0
SPARE_TOKEN = "NAVCI_SPARE_TOKEN"  # noqa: S105 - the name of a variable
"""The job's own token, for when the one that was given dies: an App's lives an hour."""

_OURS = "--receive-pack=git-receive-pack"


def fetch_journal(git: Git, checkout: Checkout, ref: str, environment: Mapping[str, str]) -> str:
    """Bring ``ref`` up to the remote's journal when that goes further; a note when it cannot."""
    spec = f"+{ref}:refs/navci-remote/journal"
    url, env = checkout.remote_url or "", remote_env(checkout, environment)
    quietly = ("--quiet", "--no-tags", "--upload-pack=git-upload-pack")
    answer = git.answer("fetch", *quietly, "--", url, spec, env=env, timeout=TIMEOUT)
    if answer.exit_code:
        if "couldn't find remote ref" in answer.err:
            return ""
        said = (answer.err.strip().splitlines() or ["no reason given"])[-1]
        return f"the remote's journal could not be read ({said}); going by the one here"
    theirs, ours = git.read_ref("refs/navci-remote/journal"), git.read_ref(ref)
    if theirs and (ours is None or git.is_ancestor(ours, theirs)):
        git.update_ref(ref, theirs, ours)
    return ""


def push_branch(run: Run) -> None:
    """The work branch, once, at the end. Raises :class:`InfraError` with what to do about it."""
    if run.state.head == run.state.base:
        run.console.line("nothing was changed; there is no branch to push")
        return
    push(run, f"{run.state.head}:refs/heads/{run.state.branch}")
    run.pushed = True


def push_journal(run: Run) -> None:
    """The journal's ref; a remote that went on without us is another run of this task."""
    push(run, f"{run.journal.tip}:{run.journal.ref}")


def push(run: Run, refspec: str) -> None:
    """Push one ref, fast-forward only. No hook of ours runs, those of the remote do."""
    environment = run.request.environment
    answer = _pushed(run, refspec, environment)
    spare = environment.get(SPARE_TOKEN)
    if answer.exit_code and spare and _is_refused_login(answer.err):
        run.note("`github-token` is not valid any more; the job's own token pushes instead")
        answer = _pushed(run, refspec, {**environment, "NAVCI_GITHUB_TOKEN": spare})
    if answer.exit_code:
        raise InfraError(explain(answer.err + os.fsdecode(answer.out)))


def _pushed(run: Run, refspec: str, environment: Mapping[str, str]) -> Answer:
    """From a git directory made for this one command: what configures it gets to see the token.

    An agent finds the run's own git directory, and could write to its configuration.
    """
    with tempfile.TemporaryDirectory(prefix="navci-push-") as made:
        place = Path(made)
        write_config(place / "home")
        git = Git(place / "git", place, place / "home")
        init = ("init", "-q", "--bare", "--template=", *_format(run.git), "--", str(git.git_dir))
        created = call(init, env=environment_of(git.home), cwd=place)
        if created.exit_code:
            raise failed(init, created)
        shallow = run.git.git_dir / "shallow"
        if shallow.is_file() and not shallow.is_symlink():
            shutil.copyfile(shallow, git.git_dir / "shallow")
        env = remote_env(run.checkout, environment)
        env["GIT_CONFIG_GLOBAL"] = str(git.home / PUSH_CONFIG)
        env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(run.git.git_dir / "objects")
        return git.answer(
            *("-c", "core.hooksPath=/dev/null", "push", "--porcelain", _OURS, "--"),
            *(run.checkout.remote_url or "", refspec),
            env=env,
            timeout=TIMEOUT,
        )


def _format(git: Git) -> tuple[str, ...]:
    """Object ids of the same kind as those of ``git``."""
    return ("--object-format=sha256",) if len(git.empty_tree) == 64 else ()


def _is_refused_login(said: str) -> bool:
    lower = said.lower()
    return any(word in lower for word in ("could not read username", "authentication", "401"))


def explain(said: str) -> str:
    """What a refused push means, and the setting that mends it."""
    lower = said.lower()
    if "stale info" in lower or "non-fast-forward" in lower or "fetch first" in lower:
        return "the remote has commits that this run does not know; delete or rename that branch"
    if "permission" in lower or "403" in lower:
        return "the token may not write; give the job `permissions: contents: write`"
    if "workflow" in lower and "refusing" in lower:
        return "the token may not change workflow files; leave them out of the task"
    if "could not read username" in lower or "authentication" in lower or "401" in lower:
        return "the remote wants a login; give `github-token`, or run with push off"
    if "protected" in lower:
        return "the branch is protected on the remote; give another name with `branch`"
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    theirs = [line.removeprefix("remote:").strip() for line in lines if line[:7] == "remote:"]
    return " / ".join([word for word in theirs if word][:5]) or (
        lines[-1] if lines else "git said nothing"
    )
