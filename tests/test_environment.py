"""system/environment: what agents and checks see of navci's environment."""

from __future__ import annotations

import pytest

from navci.errors import ConfigError
from navci.system.environment import scrubbed_env


def test_scrubbed_env_is_a_short_list() -> None:
    source = {
        "PATH": "/bin",
        "LC_ALL": "C.UTF-8",
        "https_proxy": "http://proxy",
        "JAVA_HOME_17_X64": "/java",
        "CI": "true",
        "GITHUB_TOKEN": "secret",
        "GITHUB_ENV": "/file",
        "ACTIONS_RUNTIME_TOKEN": "secret",
        "ANTHROPIC_API_KEY": "secret",
        "HOME": "/home/me",
        "BASH_ENV": "/evil",
        "PYTHONPATH": "/evil",
        "NAVCI_RUN_TASK": "x",
    }
    base = scrubbed_env((), source)
    assert set(base) == {"PATH", "LC_ALL", "https_proxy", "JAVA_HOME_17_X64", "CI"}
    named = scrubbed_env(["ANTHROPIC_API_KEY", " HOME ", "NOT_SET", ""], source)
    assert set(named) - set(base) == {"ANTHROPIC_API_KEY", "HOME"}


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_STATE",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_RUNTIME_URL",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    ],
)
def test_scrubbed_env_refuses_the_runners_own(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        scrubbed_env([name, "PATH"], {name: "x", "PATH": "/bin"})


def test_scrubbed_env_takes_names_and_shows_no_value() -> None:
    with pytest.raises(ConfigError) as caught:
        scrubbed_env(["API_KEY=hunter2", "GITHUB_ENV"], {})
    assert len(caught.value.problems) == 2
    assert "hunter2" not in str(caught.value)
