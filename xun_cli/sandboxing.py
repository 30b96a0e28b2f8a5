"""The sandbox of a session: what the settings ask for, and what a person is shown of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from xun.environment.confinement import has_network, wall_of
from xun.errors import XunError

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun_cli.settings import Settings

_SHORT = {"bubblewrap": "bwrap", "landlock": "landlock", "container": "container"}


def put_in_sandbox(agent: Agent[Any], settings: Settings) -> None:
    """Give *agent* the environment that the settings ask for; it ends with the agent."""
    if settings.sandbox.mode == "off":
        return
    from xun.environment.sandbox import SandboxEnvironment

    environment = SandboxEnvironment(
        agent.workspace,
        mode="required" if settings.sandbox.mode == "required" else "auto",
        network=settings.sandbox.network,
        writable=settings.sandbox.writable,
    )

    def close(ended: Agent[Any]) -> None:
        if ended is agent:
            environment.close()

    agent.config.environment = environment
    agent.hooks.before_finalize.add(close)


def notice(agent: Agent[Any]) -> str:
    """Return what a person has to know at the start, "" when there is nothing; the wall is tried now."""
    environment = agent.environment
    mode = getattr(environment, "mode", "")
    if not mode:
        return ""
    try:
        if wall_of(environment) != "none":
            return ""
    except XunError as error:
        return f"No command will run: {error}"
    reason = getattr(environment, "reason", "")
    if mode == "required":
        return f"A sandbox is required, and this machine has none, so no command will run: {reason}"
    return f"Commands run without a sandbox: {reason} `xun --sandbox off` asks for that."


def sandbox_mark(agent: Agent[Any] | None) -> tuple[str, Literal["dim", "bad"]]:
    """Return what the status line says of the sandbox, and how; the wall is not tried for it."""
    if agent is None:
        return "", "dim"
    environment = agent.environment
    if environment.name == "local":
        return "sandbox off", "dim"
    if getattr(environment, "known", True) is False:
        # It was tried when the session was built.
        return "sandbox fails", "bad"
    wall = wall_of(environment)
    return (_SHORT.get(wall, wall), "dim") if wall != "none" else ("no sandbox", "bad")


def sandbox_line(agent: Agent[Any]) -> str:
    """Return one line about the sandbox, for ``/status``."""
    environment = agent.environment
    if environment.name == "local":
        return "off: commands can do all that you can"
    try:
        wall, reason = wall_of(environment), str(getattr(environment, "reason", ""))
    except XunError as error:
        return str(error)
    if wall == "none":
        return f"none: {reason}".rstrip(": ")
    network = "open" if has_network(environment) else "for approved commands"
    return f"{wall}, network {network}" + (f" ({reason})" if wall != "bubblewrap" and reason else "")
