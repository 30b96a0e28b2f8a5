"""Preset arguments: under those of the call, which win."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from xun.errors import ConfigError

RESERVED = frozenset({"agent_state", "cls", "global_storage", "self"})
"""Names that a preset may not give."""


def check_names(
    tool: str, preset: Mapping[str, Any], takes: Collection[str] | None, injected: Iterable[str] = ()
) -> None:
    """Return when a function that takes *takes* (None: anything) can take *preset*.

    Raises:
        ConfigError: A name is reserved, filled in by xun, or no parameter; a ValueError too.
    """
    reserved = RESERVED | set(injected)
    for name in preset:
        if not isinstance(name, str):
            raise ConfigError(f"Tool {tool}: a preset argument must have a name, got {name!r}.")
        if name in reserved:
            raise ConfigError(f"Tool {tool}: {name} is reserved and can't be a preset argument.")
        if takes is not None and name not in takes:
            known = ", ".join(sorted(takes)) or "none"
            raise ConfigError(f"Tool {tool}: there is no parameter {name} for the preset; there are: {known}.")
