"""The built-in commands, put together."""

from __future__ import annotations

from xun_cli.commands import (
    changes,
    conversation,
    frontends,
    health,
    look,
    models,
    modes,
    overview,
    policy,
    settings,
    tasks,
    tools,
)
from xun_cli.commands import help as help_family
from xun_cli.commands.registry import Registry


def build() -> Registry:
    """Return a registry of all built-in commands, in the order in which help shows them."""
    registry = Registry()
    families = (
        changes.commands(),
        policy.commands(),
        modes.commands(),
        models.commands(),
        tools.commands(),
        overview.commands(),
        tasks.commands(),
        conversation.commands(),
        help_family.commands(registry),
        settings.commands(),
        look.commands(),
        frontends.commands(),
        health.commands(),
    )
    for family in families:
        for command in family:
            registry.add(command)
    return registry
