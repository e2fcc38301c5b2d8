"""Git over HTTP, as a push from a job meets it: ``git http-backend`` behind GitHub's refusals."""

from __future__ import annotations

import base64
import binascii
import subprocess
import tempfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fake_github.calls import Answer
from tests.fake_github.people import Token, at_least
from tests.fake_github.state import Repository
from tests.support.repos import clean_env

if TYPE_CHECKING:
    from tests.fake_github.server import FakeGitHub

PROTECTED = "protected branch hook declined"

# Runs only for pushes over HTTP: a test that pushes to the path is above such rules.
_UPDATE_HOOK = r"""#!/bin/sh
[ -n "$HUB_REASONS" ] || exit 0
case " $HUB_PROTECTED " in
*" $1 "*)
  echo "error: GH006: Protected branch update failed for $1." >&2
  echo "error: Changes must be made through a pull request." >&2
  printf '%s\n' "$HUB_PROTECTED_REASON" >"$HUB_REASONS"
  exit 1 ;;
esac
[ -z "$HUB_NO_WORKFLOWS" ] || [ -z "${3##0000000*}" ] && exit 0
found=$(git log --format= --name-only "$3" --not --all -- .github/workflows | head -n 1)
[ -z "$found" ] && exit 0
printf "$HUB_NO_WORKFLOWS\n" "$found" >"$HUB_REASONS"
exit 1
"""


class Denied(Exception):
    """A refusal in plain text, which git shows as the remote's words."""

    def __init__(self, status: int, text: str, **headers: str) -> None:
        super().__init__(text)
        plain = {"Content-Type": "text/plain; charset=utf-8"} | headers
        self.answer = Answer(status, text + "\n", plain)


def is_git(path: str) -> bool:
    return path.endswith(("/info/refs", "/git-upload-pack", "/git-receive-pack"))


def answer(
    hub: FakeGitHub, method: str, path: str, query: str, headers: Message, body: bytes
) -> Answer:
    """The answer to one request of git's smart protocol."""
    try:
        token = _who(hub, headers.get("Authorization"))
        name, _, rest = path.removeprefix("/").partition(".git/")
        repo = hub.find(name)
        if repo is None or not _reads(repo, token):
            raise _unknown(token)
        if repo.full_name.lower() != name.lower():
            place = f"{hub.server_url}/{repo.full_name}.git/{rest}" + (f"?{query}" if query else "")
            raise Denied(301, "Moved Permanently", Location=place)
        writes = "git-receive-pack" in (path.rpartition("/")[2], query.removeprefix("service="))
        if writes:
            _check_push(repo, token)
        return _backend(repo, token, method, rest, query, headers, body)
    except Denied as denied:
        return denied.answer


def _who(hub: FakeGitHub, authorization: str | None) -> Token | None:
    if authorization is None:
        return None
    scheme, _, coded = authorization.partition(" ")
    try:
        secret = base64.b64decode(coded).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        secret = ""
    token = hub.token_of(secret) if scheme.lower() == "basic" else None
    if token is None:
        raise _unauthorized()
    return token


def _unauthorized() -> Denied:
    text = "Invalid username or token. Password authentication is not supported for Git operations."
    return Denied(401, text, **{"WWW-Authenticate": 'Basic realm="GitHub"'})


def _unknown(token: Token | None) -> Denied:
    # Whoever shows no token is asked for one, whether the repository exists or not.
    return _unauthorized() if token is None else Denied(404, "Repository not found.")


def _reads(repo: Repository, token: Token | None) -> bool:
    if not repo.private:
        return True
    if token is None:
        return False
    bot = token.is_bot or (repo.role(token.login) or "none") != "none"
    return bot and token.reads("contents")


def _check_push(repo: Repository, token: Token | None) -> None:
    if token is None:
        raise _unauthorized()
    role = "write" if token.is_bot else repo.role(token.login) or "none"
    if not token.writes("contents") or not at_least(role, "write"):
        raise Denied(403, f"Permission to {repo.full_name}.git denied to {token.login}.")
    if repo.archived:
        raise Denied(403, "This repository was archived so it is read-only.")


def _backend(
    repo: Repository,
    token: Token | None,
    method: str,
    rest: str,
    query: str,
    headers: Message,
    body: bytes,
) -> Answer:
    hook = repo.bare / "hooks" / "update"
    if not hook.exists():
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(_UPDATE_HOOK)
        hook.chmod(0o755)
    with tempfile.TemporaryDirectory() as folder:
        reasons = Path(folder) / "reasons"
        done = subprocess.run(
            ["git", "http-backend"],
            input=body,
            capture_output=True,
            check=False,
            env=clean_env(
                GIT_PROJECT_ROOT=str(repo.bare.parent),
                GIT_HTTP_EXPORT_ALL="1",
                PATH_INFO=f"/{repo.bare.name}/{rest}",
                REQUEST_METHOD=method,
                QUERY_STRING=query,
                CONTENT_TYPE=headers.get("Content-Type", ""),
                CONTENT_LENGTH=str(len(body)),
                HTTP_CONTENT_ENCODING=headers.get("Content-Encoding", ""),
                GIT_PROTOCOL=headers.get("Git-Protocol", ""),
                REMOTE_USER=token.login if token else "",
                HUB_REASONS=str(reasons),
                HUB_PROTECTED=" ".join(f"refs/heads/{name}" for name in repo.protected),
                HUB_PROTECTED_REASON=PROTECTED,
                HUB_NO_WORKFLOWS=_no_workflows(token),
            ),
        )
        reason = reasons.read_text().strip() if reasons.exists() else ""
    assert done.returncode == 0, f"git http-backend: {done.stderr.decode(errors='replace')}"
    head, _, payload = done.stdout.partition(b"\r\n\r\n")
    told = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
    status = int(told.pop("Status", "200").partition(" ")[0])
    if reason:
        payload = _with_reason(payload, reason)
    return Answer(status, payload, told)


def _no_workflows(token: Token | None) -> str:
    """Why a token may not push workflow files (a printf format), empty if it may."""
    if token is None or token.writes("workflows"):
        return ""
    who, what = "a Personal Access Token", "`workflow` scope"
    if token.is_bot:
        who, what = "a GitHub App", "`workflows` permission"
    return f"refusing to allow {who} to create or update workflow `%s` without {what}"


# A push's report says "hook declined"; GitHub says which rule. The report is packet lines inside
# the first band of packet lines, each with its length in front.


def _packets(data: bytes) -> Iterator[bytes]:
    while data:
        length = int(data[:4], 16)
        yield data[4:length]
        data = data[max(length, 4) :]


def _packet(content: bytes) -> bytes:
    return f"{len(content) + 4:04x}".encode() + content if content else b"0000"


def _with_reason(payload: bytes, reason: str) -> bytes:
    packets = list(_packets(payload))
    report = b"".join(packet[1:] for packet in packets if packet[:1] == b"\x01")
    told = b"".join(
        _packet(line.replace(b"hook declined", reason.encode())) for line in _packets(report)
    )
    others = [_packet(packet) for packet in packets if packet and packet[:1] != b"\x01"]
    return b"".join([*others, _packet(b"\x01" + told), b"0000"])


def basic(secret: str) -> str:
    """The header by which a job shows its token to git."""
    return "basic " + base64.b64encode(f"x-access-token:{secret}".encode()).decode()
