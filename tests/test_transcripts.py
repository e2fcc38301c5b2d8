"""What is masked in everything that is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from navci.loop.transcripts import secrets_of
from navci.settings import Settings, load


def chosen(*names: str) -> Settings:
    options: dict[str, object] = {
        "agent": "command",
        "agent_command": "true",
        "agent_env": " ".join(names),
    }
    return load(options, None, in_actions=False, known_agents=("command",))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MODE", "main"),
        ("MODE", "overnight-mode"),
        ("LEVEL", "DEBUG_ALL"),
        ("LIMIT", "1000000000"),
        ("MY_API_KEY", "abc"),  # shorter than what can be masked without harm
    ],
)
def test_what_is_no_secret_is_not_masked(name: str, value: str) -> None:
    assert secrets_of(chosen(name), {name: value}) == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MY_API_KEY", "main"),
        ("DB_PASSWORD", "correct horse"),
        ("MODE", "sk-ant-0123456789"),
        ("ANYTHING", "Zm9vYmFyYmF6"),
    ],
)
def test_what_may_be_a_secret_is_masked(name: str, value: str) -> None:
    assert secrets_of(chosen(name), {name: value}) == (value,)


def test_a_file_is_no_secret(tmp_path: Path) -> None:
    name = "MY_KEY_FILE"
    assert secrets_of(chosen(name), {name: str(tmp_path)}) == ()
    assert secrets_of(chosen(name), {name: f"{tmp_path}/none"}) == (f"{tmp_path}/none",)


def test_the_token_is_always_one() -> None:
    assert secrets_of(chosen(), {"NAVCI_GITHUB_TOKEN": "ghs_abc"}) == ("ghs_abc",)
