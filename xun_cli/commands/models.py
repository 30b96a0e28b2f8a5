"""/model and /models: which model answers."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from xun.errors import ModelError
from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import CommandResult, Output, failed, said, table, text
from xun_cli.commands.registry import CommandContext, SlashCommand

_SHOWN = 60
_LISTING = 5.0
"""Seconds that a server has to say which models it has."""


@runtime_checkable
class ListsModels(Protocol):
    """A model that knows which others its server has."""

    async def models(self) -> tuple[str, ...]:
        """Return the names.

        Raises:
            ModelError: The server can't tell.
        """
        ...


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand("model", "/model [name]", "show the model, or take another from now on", _model, topic="Model"),
        SlashCommand("models", "/models [filter]", "the models that the server offers", _models, topic="Model"),
    ]


async def _model(ctx: CommandContext, rest: str) -> CommandResult:
    name = rest.strip()
    session = ctx.session
    if not name:
        model = session.agent.model
        window = model.context_window if model is not None else None
        size = f"a window of {window:,} tokens" if window else "a window of unknown size"
        return said(f"{session.model_name}, with {size}.", "/model NAME takes another one; /models lists them.")
    if len(name.split()) != 1:
        raise BadArguments(f"A model's name has no blanks: {name!r}.")
    if name == session.model_name:
        return said(f"{name} answers already.")
    try:
        taken = await session.switch_model(name)
    except RuntimeError as exc:
        return failed(str(exc))
    return CommandResult(await _unlisted(session.agent.model, taken))


async def _unlisted(model: object, name: str) -> tuple[Output, ...]:
    """Warn when the server, asked for its models, does not name *name*: many names are typed from memory."""
    if not isinstance(model, ListsModels):
        return ()
    try:
        async with asyncio.timeout(_LISTING):
            known = await model.models()
    except (ModelError, TimeoutError):
        return ()  # a server need not tell; the first request will
    if not known or name in known:
        return ()
    near = difflib.get_close_matches(name, known, 1)
    hint = f"Did you mean {near[0]}?" if near else "/models shows what it lists."
    return (text(f"The server does not list {name}, so the next message may fail. {hint}"),)


async def _models(ctx: CommandContext, rest: str) -> CommandResult:
    model = ctx.session.agent.model
    if isinstance(model, ListsModels):
        return _list(((name, "") for name in await model.models()), rest.strip(), ctx.session.model_name)
    from xun.models.catalog import probe_loopback

    found = await asyncio.to_thread(probe_loopback)
    if not found:
        return said(
            f"{ctx.session.model_name} offers no others, and no local server answers. "
            "Set OPENAI_API_KEY, run `xun setup`, or start a local server such as ollama, and start xun again."
        )
    return _list(
        ((name, item.base_url) for item in found for name in item.models), rest.strip(), ctx.session.model_name
    )


def _list(offered: Iterable[tuple[str, str]], wanted: str, current: str) -> CommandResult:
    known = sorted(offered)
    rows = [("▸" if name == current else " ", name, where) for name, where in known if wanted.lower() in name.lower()]
    if not rows:
        near = f" None of {len(known)} holds {wanted!r}." if known else ""
        return failed(f"No model to show.{near}")
    caption = f"{_SHOWN} of {len(rows)}; /models FILTER narrows them" if len(rows) > _SHOWN else ""
    return CommandResult((table((), rows[:_SHOWN], caption),))
