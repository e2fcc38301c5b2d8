"""Which commit of navci a workflow is to call: the one that is installed here."""

from __future__ import annotations

import json
import re
from importlib import metadata, resources
from pathlib import Path

from navci import __version__
from navci.errors import ConfigError, NavciError
from navci.system.checkout import find_checkout
from navci.system.gitcall import call, environment

SOURCE = "https://github.com/navci/navci"
_SHA = re.compile(r"[0-9a-f]{40}")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_TIMEOUT = 10.0


def find_pin(given: str = "") -> tuple[str, str]:
    """What stands behind the ``@``, with its comment, and a note for people where one is due.

    A commit, wherever one is known: of the clone or URL navci was installed from, else of the tag
    of this version, which is asked for over the network. Raises :class:`ConfigError`.
    """
    if given and not _REF.fullmatch(given):
        raise ConfigError(f"--ref: {given!r} is no commit, tag or branch")
    if given:
        return (f"{given} # as --ref says", "") if _SHA.fullmatch(given) else (_by_name(given), "")
    commit = _of_the_url()
    if commit:
        return f"{commit} # {__version__}", ""
    commit = _of_the_clone()
    if commit:
        return (
            f"{commit} # {__version__}",
            f"the workflows call navci at {commit[:12]}, the commit of the clone it was installed "
            f"from; it has to be pushed to {SOURCE} to be found",
        )
    tag = f"v{__version__}"
    commit = _of_the_tag(tag)
    if commit:
        return f"{commit} # {tag}", ""
    return (
        _by_name(tag),
        f"the commit of {tag} could not be asked for, so the workflows call navci by that name; "
        "pin it by commit with --ref",
    )


def _by_name(name: str) -> str:
    return f"{name} # zizmor: ignore[unpinned-uses] its commit was not known when this was written"


def _of_the_url() -> str:
    """The commit of ``pip install git+https://…`` (PEP 610)."""
    found = _direct_url().get("vcs_info")
    commit = str(found.get("commit_id")) if isinstance(found, dict) else ""
    return commit if _SHA.fullmatch(commit) else ""


def _direct_url() -> dict[str, object]:
    try:
        text = metadata.distribution("navci").read_text("direct_url.json")
        data = json.loads(text or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _of_the_clone() -> str:
    package = Path(str(resources.files("navci")))
    url = str(_direct_url().get("url") or "")
    for folder in (package.parent, Path(url.removeprefix("file://")) if url else package.parent):
        if (folder / "action.yml").is_file() and (folder / "navci" / "__init__.py").is_file():
            try:
                return find_checkout(folder).head or ""
            except NavciError:
                return ""  # an unpacked archive
    return ""


def _of_the_tag(tag: str) -> str:
    names = (f"refs/tags/{tag}", f"refs/tags/{tag}^{{}}")
    try:
        answer = call(
            ("ls-remote", "--exit-code", SOURCE, *names),
            env=environment(None),
            cwd=Path("/"),
            timeout=_TIMEOUT,
        )
    except NavciError:
        return ""
    lines = (line.partition("\t") for line in answer.out.decode().splitlines())
    found = {name: commit for commit, _, name in lines}
    # The commit of an annotated tag comes under its name with `^{}`.
    return next((found[name] for name in reversed(names) if name in found), "")
