"""A checkout whose ``.git`` runs a canary wherever git lets a repository name a program."""

from __future__ import annotations

from pathlib import Path

from tests.support.repos import git

HOOKS = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit"),
    *("prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout"),
    *("post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive"),
    *("post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite"),
    *("sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)


class Canary:
    """Programs that leave a note when they run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "fired"
        folder.mkdir(parents=True, exist_ok=True)

    def program(self, name: str) -> Path:
        """An executable that notes ``name``, and passes its input on as a filter would."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\necho {name} >> '{self.notes}'\ncat 2>/dev/null\nexit 0\n")
        path.chmod(0o755)
        return path

    def fired(self) -> list[str]:
        """What ran so far."""
        return self.notes.read_text().split() if self.notes.exists() else []


def arm(repo: Path, canary: Canary) -> None:
    """Set every hook and every program a configuration can name, in ``repo`` alone."""
    git_dir = Path(git(repo, "rev-parse", "--absolute-git-dir"))
    hooks = canary.folder / "hooks"
    hooks.mkdir(exist_ok=True)
    for folder in (hooks, git_dir / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in HOOKS:
            (folder / hook).unlink(missing_ok=True)
            (folder / hook).symlink_to(canary.program(f"hook-{hook}"))
    victim = canary.folder / "victim"
    victim.mkdir(exist_ok=True)
    (victim / "precious").write_text("precious\n")
    programs = {
        key: str(canary.program(key.replace(".", "-")))
        for key in (
            *("core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass"),
            *("core.gitProxy", "core.alternateRefsCommand", "sequence.editor", "diff.external"),
            *("diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "gpg.program"),
            *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process"),
            *("filter.lfs.clean", "filter.lfs.smudge", "filter.lfs.process"),
            *("remote.origin.uploadpack", "remote.origin.receivepack", "credential.helper"),
            *("uploadpack.packObjectsHook", "remote.origin.vcs", "pager.status", "web.browser"),
            *("trailer.x.command", "interactive.diffFilter", "man.viewer", "browser.x.cmd"),
        )
    }
    rest = {
        "core.hooksPath": str(hooks),
        "core.worktree": str(victim),
        "core.attributesFile": str(canary.folder / "attributes"),
        "core.excludesFile": str(canary.folder / "excludes"),
        "core.untrackedCache": "true",
        "core.splitIndex": "true",
        "commit.gpgSign": "true",
        "tag.gpgSign": "true",
        "filter.evil.required": "true",
        "protocol.ext.allow": "always",
        "url.ext::sh -c echo% ext-remote% >>% fired.insteadOf": "/",
        "remote.origin.url": "ext::sh -c 'echo ext-remote'",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
        "submodule.recurse": "true",
        "status.submoduleSummary": "true",
        "uploadpack.hideRefs": "refs/heads",
        "transfer.hideRefs": "refs/heads",
    }
    for key, value in (programs | rest).items():
        git(repo, "config", key, value)
    (canary.folder / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    (canary.folder / "excludes").write_text("*\n")
    info = git_dir / "info"
    info.mkdir(exist_ok=True)
    (info / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    (info / "exclude").write_text("*\n")
    (repo / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
