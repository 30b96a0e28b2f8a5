"""The built-in commands, put together."""

from __future__ import annotations

from xun_cli.commands import help as help_family
from xun_cli.commands.registry import Registry


def build() -> Registry:
    """Return a registry of all built-in commands, in the order in which help shows them."""
    registry = Registry()
    for command in help_family.commands(registry):
        registry.add(command)
    return registry
