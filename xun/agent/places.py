"""Where an agent's commands and code run: made at first use, closed with the agent."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.environment.base import Environment

_log = logging.getLogger("xun.environment")

DEFAULT = "local"
"""The environment of an agent whose config names none; a sub-agent then has that of its parent, unless it is local."""


class Placed:
    """The part of an agent that has an environment; mixed into `Agent`."""

    def __init__(self) -> None:
        self._environment: Environment | None = None
        self._place_lock = threading.Lock()

    @property
    def environment(self) -> Environment:
        """Where commands and code run; made at first use, and again when the agent is used after its end.

        Raises:
            ConfigError: The config names none that there is.
        """
        agent = cast("Agent[Any]", self)
        given = agent.config.environment
        if not isinstance(given, str):
            return given
        above = DEFAULT if agent.parent is None else agent.parent.config.environment
        if agent.parent is not None and above != DEFAULT and given in (DEFAULT, above):
            # What keeps a parent in also keeps in those that it starts.
            return agent.parent.environment
        with self._place_lock:
            if self._environment is None:
                from xun.environment.registry import EnvironmentRegistry

                self._environment = EnvironmentRegistry().make(given, agent.workspace)
            return self._environment

    def close_environment(self) -> None:
        """End what the agent's own environment still runs; one that was given is its owner's to close."""
        with self._place_lock:
            made = self._environment
        if made is None:
            return
        try:
            made.close()
        except Exception:  # noqa: BLE001 - the boundary of foreign code, and the rest of the agent has to end too
            _log.exception("the environment %s could not be closed", made.name)
