"""One file per agent behind one Protocol, and this phone book.

A new agent is a module with a class like those here, and a line in :data:`REGISTRY`.
"""

from __future__ import annotations

from collections.abc import Callable

from navci.agents.command import CommandAgent
from navci.agents.playbook import PlaybookAgent
from navci.agents.protocol import Agent, AgentOptions, TurnRequest, agent_env

__all__ = ["REGISTRY", "Agent", "AgentOptions", "TurnRequest", "agent_env"]

REGISTRY: dict[str, Callable[[AgentOptions], Agent]] = {
    "command": CommandAgent,
    "playbook": PlaybookAgent,
}
