"""The remote of a checkout: how to reach it with the job's token, and refs of it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import urlsplit

from navci.errors import InfraError
from navci.system.checkout import Checkout, transport_env


def token_for(checkout: Checkout, environment: Mapping[str, str]) -> str:
    """The job's token, where the remote is a repository of the server that gave it."""
    token = environment.get("NAVCI_GITHUB_TOKEN", "")
    server = urlsplit(environment.get("GITHUB_SERVER_URL") or "https://github.com")
    url = urlsplit(checkout.remote_url or "")
    ours = url.scheme in ("http", "https") and url.netloc.rpartition("@")[2] == server.netloc
    return token if ours else ""


def advertises(url: str, token: str, ref: str, seconds: float) -> bool:
    """Whether the repository at ``url`` has ``ref``, asked by git's own protocol over HTTP.

    Raises :class:`InfraError` when the server does not say.
    """
    import requests  # heavy, and only jobs on GitHub need it

    address = f"{url.rstrip('/')}/info/refs"
    try:
        with requests.get(
            address,
            params={"service": "git-upload-pack"},
            auth=("x-access-token", token),
            timeout=seconds,
            allow_redirects=False,
            stream=True,
        ) as answer:
            if answer.status_code != 200:
                raise InfraError(f"the server answered {answer.status_code}")
            wanted, held = f" {ref}".encode(), b""
            for chunk in answer.iter_content(1 << 16):
                held += chunk
                if any(line.endswith(wanted) for line in held.split(b"\n")[:-1]):
                    return True
                held = held.rpartition(b"\n")[2]
    except requests.RequestException as error:
        raise InfraError(f"the server does not answer: {type(error).__name__}") from error
    return False


def remote_env(checkout: Checkout, environment: Mapping[str, str]) -> dict[str, str]:
    """How to reach the remote: the user's own way, or the job's token for this one command.

    The token travels in git's configuration by environment: never in an argument, never stored.
    """
    env = transport_env(checkout)
    env.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    token = token_for(checkout, environment)
    if token:
        url = urlsplit(checkout.remote_url or "")
        place = url.netloc.rpartition("@")[2]
        count = int(env.get("GIT_CONFIG_COUNT", "0"))
        header = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        key = f"http.{url.scheme}://{place}/.extraheader"
        # An empty value first: a header of the checkout's own would be sent beside ours.
        for value in ("", f"AUTHORIZATION: basic {header}"):
            env |= {f"GIT_CONFIG_KEY_{count}": key, f"GIT_CONFIG_VALUE_{count}": value}
            count += 1
        env["GIT_CONFIG_COUNT"] = str(count)
    return env
