"""The environment of what navci starts: a short list of names, never navci's own (DESIGN §5)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from navci.errors import ConfigError

BASE = (
    "PATH LANG LANGUAGE LC_* TZ TERM USER LOGNAME SHELL CI",
    # Proxies and certificate authorities.
    "HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY",
    "http_proxy https_proxy ftp_proxy all_proxy no_proxy",
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE NODE_EXTRA_CA_CERTS PIP_CERT",
    "GIT_SSL_CAINFO GIT_SSL_CAPATH CARGO_HTTP_CAINFO AWS_CA_BUNDLE DENO_CERT",
    # Where tools live. setup-python's interpreter needs LD_LIBRARY_PATH to start at all.
    "JAVA_HOME JAVA_HOME_* GOROOT GOROOT_* GOPATH RUSTUP_HOME CARGO_HOME PYENV_ROOT NVM_DIR",
    "VIRTUAL_ENV CONDA CONDA_PREFIX pythonLocation Python_ROOT_DIR Python3_ROOT_DIR",
    "LD_LIBRARY_PATH PKG_CONFIG_PATH RBENV_ROOT GEM_HOME SDKMAN_DIR VOLTA_HOME PNPM_HOME",
    "DOTNET_ROOT ANDROID_HOME ANDROID_SDK_ROOT ANDROID_NDK* GRADLE_HOME MAVEN_HOME M2_HOME",
    "SWIFT_PATH CHROMEWEBDRIVER CHROME_BIN HOMEBREW_PREFIX RUNNER_OS RUNNER_ARCH RUNNER_TOOL_CACHE",
)
"""Names and ``*`` patterns that every agent and every check gets."""

REFUSED = (
    "GITHUB_ENV GITHUB_OUTPUT GITHUB_PATH GITHUB_STEP_SUMMARY GITHUB_STATE",
    "ACTIONS_RUNTIME_* ACTIONS_ID_TOKEN_*",
)
"""What nobody gets, even by name: with these a step speaks to the runner in the job's name."""

_BASE = tuple(" ".join(BASE).split())
_REFUSED = tuple(" ".join(REFUSED).split())


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def scrubbed_env(
    extra_names: Iterable[str] = (), source: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The base set of ``source`` (default: this process's) and the variables in ``extra_names``.

    A named variable that is not set is left out. Raises :class:`ConfigError` for a name that is
    refused, or that is no name.
    """
    source = os.environ if source is None else source
    names = [name.strip() for name in extra_names]
    problems = [
        f"environment: `{name.partition('=')[0]}=…` is no name; write the name alone, the value is"
        " taken from navci's own environment"
        for name in names
        if "=" in name or "\0" in name
    ]
    problems += [
        f"environment: {name} cannot be handed on: with it a step could speak to the runner in"
        " this job's name; remove it"
        for name in names
        if _matches(name, _REFUSED)
    ]
    if problems:
        raise ConfigError(*problems)
    wanted = set(names)
    return {
        name: value
        for name, value in source.items()
        if name in wanted or (_matches(name, _BASE) and not _matches(name, _REFUSED))
    }
