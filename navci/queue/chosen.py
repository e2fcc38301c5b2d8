"""What the queue and the trigger are told: the settings of the commit that is checked out."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from navci import settings
from navci.actions.event import runtime_info
from navci.errors import ConfigError
from navci.queue.decide import task_of_issue
from navci.settings import CONFIG_PATH, Settings
from navci.system.checkout import Checkout
from navci.system.git import Git
from navci.system.gitcall import write_config
from navci.task import build_contract
from navci.tickets.github_answers import Issue

_NO_AGENT = "none"
"""Neither agent nor bound is asked for: nothing is run here."""


def read_settings(
    checkout: Checkout, options: Mapping[str, object], environment: Mapping[str, str]
) -> Settings:
    """The settings of the checkout's commit; its files do not count. Raises :class:`ConfigError`.

    ``options`` are those of ``navci run`` that make the contract, and where the settings stand.
    """
    where = _place(options)
    text = _committed(checkout, where)
    if text is None and options.get("config"):
        raise ConfigError(
            f"--config: there is no file `{where}` in {(checkout.head or 'no commit')[:12]}; "
            "correct the path, or commit the file"
        )
    return settings.load(
        {**options, "agent": _NO_AGENT, "max_iterations": 1},
        text,
        in_actions=runtime_info(environment).in_actions,
        config_path=where,
        known_agents=(_NO_AGENT,),
    )


def contract_of(issue: Issue, chosen: Settings) -> str:
    """The hash of the contract that a run would have now; '' when there can be none."""
    try:
        return build_contract(
            task_of_issue(issue),
            chosen.checks,
            strict=chosen.acceptance_strict,
            acceptance=chosen.acceptance_map,
        ).hash
    except ConfigError:
        return ""  # the run itself says what is wrong


def _place(options: Mapping[str, object]) -> str:
    path = PurePosixPath(str(options.get("config") or CONFIG_PATH))
    folder = PurePosixPath(str(options.get("working_directory") or ""))
    for one, name in ((path, "--config"), (folder, "--working-directory")):
        if one.is_absolute() or ".." in one.parts:
            raise ConfigError(f"{name}: `{one}` leads out of the repository; give a relative path")
    return (folder / path).as_posix()


def _committed(checkout: Checkout, where: str) -> str | None:
    if checkout.head is None:
        return None
    with tempfile.TemporaryDirectory(prefix="navci-settings-") as home:
        write_config(Path(home))
        data = Git(checkout.common_dir, checkout.top, Path(home)).show(checkout.head, where)
    try:
        return data.decode() if data is not None else None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"`{where}` is not UTF-8 at byte {error.start}; save it as UTF-8"
        ) from None
