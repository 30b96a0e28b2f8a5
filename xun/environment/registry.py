"""Names of environments: those of xun, those of installed packages, those of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xun.environment.base import Environment
from xun.errors import ConfigError
from xun_policies.workspace import Workspace

GROUP = "xun.environments"
"""The entry point group of third-party environments; each entry names a factory."""

Factory = Callable[[Workspace, str], Environment]
"""Makes an environment for a workspace; the text is what stood behind the colon of its name, or ""."""


class EnvironmentRegistry:
    """Finds an environment by name: registered here first, then xun's own, then entry points."""

    def __init__(self) -> None:
        self._factories: dict[str, Factory] = {}

    def register_environment(self, name: str, factory: Factory) -> EnvironmentRegistry:
        """Add *factory* under *name*.

        Raises:
            ValueError: The name is taken here, is empty, or holds a colon.
        """
        if not name or ":" in name:
            raise ValueError(f"{name!r} is no name of an environment: it must not be empty or hold a colon")
        if name in self._factories or name in _own():
            raise ValueError(f"There is an environment {name!r} already; choose another name")
        self._factories[name] = factory
        return self

    def names(self) -> list[str]:
        """Return the names that `make` knows, those of installed packages included."""
        from importlib.metadata import entry_points

        return sorted({*self._factories, *_own(), *entry_points(group=GROUP).names})

    def make(self, name: str, workspace: Workspace) -> Environment:
        """Return a new environment.

        Args:
            name: A name, or ``name:argument`` such as ``docker:python:3.13``.
            workspace: The folders of the agent.

        Raises:
            ConfigError: No such environment, or its argument is wrong; the text names those that there are.
        """
        kind, _, argument = name.partition(":")
        factory = self._factories.get(kind) or _own().get(kind) or self._installed(kind)
        return factory(workspace, argument)

    def _installed(self, name: str) -> Factory:
        from importlib.metadata import entry_points

        found = list(entry_points(group=GROUP, name=name))
        if not found:
            raise ConfigError(f"No environment named {name!r}; the environments are {', '.join(self.names())}.")
        try:
            factory = found[0].load()
        except (ImportError, AttributeError) as exc:
            raise ConfigError(f"The environment {name!r} of {found[0].value} can't be loaded: {exc}") from exc
        if not callable(factory):
            raise ConfigError(f"The environment {name!r} names {found[0].value}, which can't be called.")
        return cast("Factory", factory)


def _own() -> dict[str, Factory]:
    return {"local": local, "docker": docker, "bubblewrap": bubblewrap, "sandbox": sandbox}


def local(workspace: Workspace, argument: str) -> Environment:
    """Make the environment ``local``."""
    from xun.environment.local import LocalEnvironment

    if argument:
        raise ConfigError(f"The environment local takes nothing behind its name, got {argument!r}.")
    return LocalEnvironment(workspace)


def docker(workspace: Workspace, argument: str) -> Environment:
    """Make the environment ``docker`` or ``docker:IMAGE``."""
    from xun.environment.docker import DEFAULT_IMAGE, DockerEnvironment

    return DockerEnvironment(workspace, argument or DEFAULT_IMAGE)


def bubblewrap(workspace: Workspace, argument: str) -> Environment:
    """Make the environment ``bubblewrap`` or ``bubblewrap:network``."""
    from xun.environment.bubblewrap import BubblewrapEnvironment

    if argument not in ("", "network"):
        raise ConfigError(f"The environment bubblewrap can be followed by :network only, got {argument!r}.")
    return BubblewrapEnvironment(workspace, network=argument == "network")


def sandbox(workspace: Workspace, argument: str) -> Environment:
    """Make the environment ``sandbox`` or ``sandbox:required``."""
    from xun.environment.sandbox import SandboxEnvironment

    if argument not in ("", "required"):
        raise ConfigError(f"The environment sandbox can be followed by :required only, got {argument!r}.")
    return SandboxEnvironment(workspace, mode="required" if argument else "auto")
