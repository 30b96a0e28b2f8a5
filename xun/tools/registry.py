"""Names of tools in specifications: those of a program, and those of installed packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from xun.errors import ConfigError
from xun.tools.function import Function
from xun.tools.groups import built_in
from xun.tools.kinds import as_function, from_class
from xun.tools.stateful import StatefulTool, checked_class, settings

GROUP = "xun.tools"
"""The entry point group of installed tools; each entry names a tool class, a function or an object."""

T = TypeVar("T")


class ToolRegistry:
    """Finds a tool by the name that specifications use, which may differ from what the model calls it.

    Looked up: what was registered here, then xun's own tools, then the entry points of installed packages.
    """

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}

    def register(self, name: str, thing: T) -> T:
        """Add a tool class, function or object under *name*, and return it.

        Raises:
            ConfigError: The name is taken.
        """
        if name in self._entries:
            raise ConfigError(f"There is a tool {name!r} in the registry already; choose another name.")
        self._entries[name] = thing
        return thing

    def names(self) -> list[str]:
        """Return the names that `make` knows beside those of xun's own tools."""
        from importlib.metadata import entry_points

        return sorted({*self._entries, *entry_points(group=GROUP).names})

    def make(self, spec: Mapping[str, Any]) -> Function:
        """Make a tool of a specification: ``name`` selects the entry, the other fields are its settings.

        Raises:
            ConfigError: No such entry, or settings that it does not take.
        """
        name = spec.get("name")
        if not isinstance(name, str) or not name:
            raise ConfigError("A tool specification needs a name, the name of an entry of the registry.")
        given = {str(key): value for key, value in spec.items() if key != "name"}
        thing = self._entries[name] if name in self._entries else built_in(name) or self._installed(name)
        if isinstance(thing, type) and issubclass(thing, StatefulTool):
            return from_class(thing, settings(checked_class(thing), given), name=name)
        if given:
            raise ConfigError(f"The tool {name} takes no settings, got {', '.join(given)}.")
        try:
            return as_function(thing)
        except TypeError as exc:
            raise ConfigError(f"The tool {name}: {exc}") from exc

    def _installed(self, name: str) -> Any:
        from importlib.metadata import entry_points

        found = list(entry_points(group=GROUP, name=name))
        if not found:
            known = ", ".join(self.names()) or "none"
            raise ConfigError(f"No tool named {name!r} in the registry; there are xun's own, and: {known}.")
        try:
            return found[0].load()
        except (ImportError, AttributeError) as exc:
            raise ConfigError(f"The tool {name!r} of {found[0].value} can't be loaded: {exc}") from exc
