"""The built-in commands, put together."""

from __future__ import annotations

from xun_cli.commands import (
    agents,
    changes,
    conversation,
    custom,
    extending,
    frontends,
    going_back,
    health,
    images,
    look,
    memory,
    models,
    modes,
    overview,
    policy,
    reporting,
    review,
    settings,
    tasks,
    tools,
)
from xun_cli.commands import help as help_family
from xun_cli.commands.registry import Registry


def build() -> Registry:
    """Return a registry of all built-in commands, in the order in which help shows them."""
    registry = Registry(more=custom.slash_commands)
    families = (
        changes.commands(),
        review.commands(),
        policy.commands(),
        modes.commands(),
        models.commands(),
        tools.commands(),
        extending.commands(),
        overview.commands(),
        memory.commands(),
        agents.commands(),
        tasks.commands(),
        conversation.commands(),
        going_back.commands(),
        images.commands(),
        custom.commands(registry),
        help_family.commands(registry),
        settings.commands(),
        look.commands(),
        frontends.commands(),
        health.commands(),
        reporting.commands(),
    )
    for family in families:
        for command in family:
            registry.add(command)
    return registry
