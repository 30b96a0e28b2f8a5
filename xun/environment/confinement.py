"""How one command is held in: by which wall, and what it sees through it.

An environment that can hold commands in has more than `Environment` asks for: see `Walled`. Every other one, such as
a program's own, is used as it stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, cast

from xun.environment.base import Environment

View = Literal["closed", "reading", "network", "machine", "outside"]
"""What one command sees.

closed: written can be the workspace and temporary folders only, and there is no network.
reading: the same, but the workspace is read-only, for commands that have nothing to write.
network: closed with the network.
machine: the network, the sockets and the processes of the machine; read-only as reading is.
outside: no wall at all.
"""

READ_ONLY: tuple[View, ...] = ("reading", "machine")
"""The views in which the workspace can't be written."""

OFFLINE: tuple[View, ...] = ("closed", "reading")
"""The views without the network."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """How a command runs.

    Attributes:
        wall: What holds it in: bubblewrap, landlock, container; none when nothing does.
        view: What it sees; means nothing where there is no wall.
        single: The environment has no other view, so no command can ask for one.
    """

    wall: str = "none"
    view: View = "closed"
    single: bool = False

    @property
    def held(self) -> bool:
        """Whether a wall is between the command and the machine."""
        return self.wall != "none" and self.view != "outside"

    @property
    def text(self) -> str:
        """Both in one word, for logs: ``bubblewrap``, ``bubblewrap+network``, ``outside``, ``none``."""
        if self.wall == "none" or self.view == "outside":
            return "none" if self.wall == "none" else "outside"
        return self.wall if self.view == "closed" else f"{self.wall}+{self.view}"


class Walled(Protocol):
    """What an environment has besides `Environment` when it can show each command another view.

    Attributes:
        wall: As `Confinement.wall`; finding it out may take a moment the first time.
        reason: Why it is this wall, in one sentence.
        network: Whether the closed view has the network all the same.
    """

    @property
    def wall(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def network(self) -> bool: ...

    def seen_as(self, view: View) -> Environment:
        """Return the same environment with another view; what it starts belongs to this one, which its owner closes."""
        ...


def wall_of(environment: Environment) -> str:
    """Return the wall of *environment*, none for one that names none."""
    return str(getattr(environment, "wall", "none"))


def in_view(environment: Environment, view: View) -> Environment:
    """Return *environment* as a command with this *view* needs it; one without views stays as it is."""
    return cast("Walled", environment).seen_as(view) if has_views(environment) else environment


def has_views(environment: Environment) -> bool:
    """Tell whether *environment* is a `Walled` one."""
    return hasattr(environment, "seen_as")


def has_network(environment: Environment) -> bool:
    """Tell whether even the closed view of *environment* has the network."""
    return bool(getattr(environment, "network", False))
