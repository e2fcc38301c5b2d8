"""The remote of a checkout: how to reach it with the job's token, and refs of it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from urllib.parse import urlsplit

from navci.system.checkout import Checkout, transport_env


def remote_env(checkout: Checkout, environment: Mapping[str, str]) -> dict[str, str]:
    """How to reach the remote: the user's own way, or the job's token for this one command.

    The token travels in git's configuration by environment: never in an argument, never stored.
    """
    env = transport_env(checkout)
    env.setdefault("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")
    token = environment.get("NAVCI_GITHUB_TOKEN")
    server = urlsplit(environment.get("GITHUB_SERVER_URL") or "https://github.com")
    url = urlsplit(checkout.remote_url or "")
    if token and url.scheme in ("http", "https") and url.netloc.rpartition("@")[2] == server.netloc:
        count = int(env.get("GIT_CONFIG_COUNT", "0"))
        header = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        key = f"http.{url.scheme}://{server.netloc}/.extraheader"
        # An empty value first: a header of the checkout's own would be sent beside ours.
        for value in ("", f"AUTHORIZATION: basic {header}"):
            env |= {f"GIT_CONFIG_KEY_{count}": key, f"GIT_CONFIG_VALUE_{count}": value}
            count += 1
        env["GIT_CONFIG_COUNT"] = str(count)
    return env
