"""The part of the gate that says how a command is held in; tools ask through `xun_builtin_tools.gate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from xun.environment.confinement import Confinement, View, has_network, has_views, wall_of
from xun_policies.wordset import wordset

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun_policies.commands import CommandVerdict, Segment

Wanted = Literal["on", "network", "off"]
"""What a call asks for: the sandbox, the sandbox with the network, no sandbox."""

Decided = Literal["list", "risk", "user", "auto"]
"""Who let a command run: the lists, the risk assessment, a person now, a rule in a person's place."""

_LEAVING = {
    "network": "It asks for the network: what it reads, it can send anywhere.",
    "off": "It leaves the sandbox: it can read and change all that you can, and use the network.",
}
_CALLED = {"network": "use of the network", "off": "way out of the sandbox"}

_MACHINE = wordset(
    "ps pgrep pidof pstree top lsof fuser ss netstat df findmnt lsblk uptime who w last free vmstat iostat journalctl "
    "systemctl ip ifconfig"
)
"""Commands that are about the machine: from behind a wall they would tell of the wall instead."""
_SYSTEMCTL = wordset(
    "status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets show cat"
)
_FETCHING = wordset("curl wget ping")
_RUNNING = wordset("pytest python python3")
_FILTERS = wordset(
    "grep egrep fgrep rg head tail wc sort uniq cut tr awk sed jq cat nl tac column fold fmt rev paste join comm echo "
    "printf true false test [ seq date whoami id groups hostname uname arch nproc pwd cd ls stat du which type sleep"
)
"""Commands that may stand beside those: none of them runs what the project holds."""


def leaving(agent: Agent[Any], wanted: Wanted) -> str:
    """Return what a person has to know before a call gets what it asks for; "" where that is nothing special."""
    environment = agent.environment
    if wanted == "on" or not has_views(environment) or wall_of(environment) == "none":
        return ""
    return "" if wanted == "network" and has_network(environment) else _LEAVING[wanted]


def called(wanted: Wanted) -> str:
    """Return what the answer to a question about *wanted* is about, in words."""
    return _CALLED[wanted]


def confine(
    agent: Agent[Any], verdict: CommandVerdict | None, decided: Decided, wanted: Wanted = "on", *, stays: bool = False
) -> Confinement:
    """Return how a command is held in.

    Args:
        agent: Whose command it is.
        verdict: What the lists say of it; None for code.
        decided: Who let it run.
        wanted: What its call asks for; it was granted.
        stays: It runs in a shell that was started without the network.
    """
    environment = agent.environment
    wall = wall_of(environment)
    view: View
    if wall == "none" or not has_views(environment):
        view = "network" if has_network(environment) else "closed"
        return Confinement(wall, view, single=not has_views(environment))
    view = "closed"
    if wanted == "off":
        view = "outside"
    elif wanted == "network":
        view = "network"
    elif not stays:
        view = _view(verdict, decided)
    return Confinement(wall, "network" if view == "closed" and has_network(environment) else view)


def _view(verdict: CommandVerdict | None, decided: Decided) -> View:
    commands = _commands(verdict)
    if decided in ("list", "user") and _asks_the_machine(commands):
        return "machine"
    if decided == "user":
        return "network"
    if decided == "list" and any(segment.rule == "granted" for segment in commands):
        return "network"
    # The built-in list lets curl fetch from this machine only.
    fetches = any(segment.argv[0] in _FETCHING for segment in commands)
    if decided == "list" and fetches and all(segment.argv[0] in _FETCHING | _FILTERS for segment in commands):
        return "network"
    # What the list knows writes nothing, but for the tests of the project.
    reads = decided == "list" and bool(commands) and all(segment.argv[0] not in _RUNNING for segment in commands)
    return "reading" if reads else "closed"


def _commands(verdict: CommandVerdict | None) -> list[Segment]:
    """Return the commands of a text that was understood, none of another."""
    if verdict is None or not verdict.syntax_ok:
        return []
    found = [segment for segment in verdict.segments if segment.kind == "command"]
    return found if all(segment.argv for segment in found) else []


def _asks_the_machine(commands: list[Segment]) -> bool:
    about = [_about_machine(segment) for segment in commands]
    return any(about) and all(
        is_about or _is_filter(segment) for is_about, segment in zip(about, commands, strict=True)
    )


def _about_machine(segment: Segment) -> bool:
    name, *words = segment.argv
    if name not in _MACHINE:
        return False
    # Through its socket it could start anything.
    return name != "systemctl" or next((word for word in words if not word.startswith("-")), "") in _SYSTEMCTL


def _is_filter(segment: Segment) -> bool:
    return segment.rule == "builtin" and segment.argv[0] in _FILTERS
