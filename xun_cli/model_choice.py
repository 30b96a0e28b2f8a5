"""Which model a start uses: what was asked for, else what is configured, else the demo.

The demo is for people who look at xun without any set-up: it is chosen only interactively and
only when nothing is configured. A server found on this machine is offered, never just used.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from xun.errors import ConfigError
from xun_cli.keys import Credentials
from xun_cli.options import StartOptions
from xun_cli.settings import Settings

if TYPE_CHECKING:
    from xun.models.base import ChatModel
    from xun.models.catalog import LocalServer

SCRIPTED = "scripted:"
"""What a model's name begins with when the rest is a file of scripted turns."""

WAYS_ON = (
    "set OPENAI_API_KEY, or run `xun setup`, or start a local server (Ollama, LM Studio, llama.cpp, vLLM) "
    "and set XUN_BASE_URL; --demo shows xun without a model"
)
"""What a person without a model can do next."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model before it is made.

    Attributes:
        kind: openai, scripted or demo.
        name: The model's name, or "" for the first that the server lists.
        base_url: Of the server; "" for OpenAI's own.
        key_source: Where the key comes from; "" when there is none.
        script: The file of a scripted model.
        note: What the person should know about the choice, or "".
    """

    kind: Literal["openai", "scripted", "demo"]
    name: str = ""
    base_url: str = ""
    key_source: str = ""
    script: str = ""
    note: str = ""


def choose_model(options: StartOptions, settings: Settings, *, interactive: bool) -> ModelChoice:
    """Return the model for this start; it asks nobody and sends nothing.

    Raises:
        ConfigError: No model is configured and the demo may not stand in; the text names the ways on.
    """
    if options.demo:
        return ModelChoice("demo")
    name = settings.model
    if name.startswith(SCRIPTED):
        return ModelChoice("scripted", name=name, script=name.removeprefix(SCRIPTED))
    base_url = configured_base_url(settings)
    _, source = _credentials(settings).find(base_url, settings.provider.api_key_env)
    wanted = settings.provider.api_key_env
    if wanted and not source:
        raise ConfigError(f"provider.api_key_env names {wanted}, which is not set; export it, or run `xun setup`")
    if source or base_url:
        return ModelChoice("openai", name=name, base_url=base_url, key_source=source)
    if interactive and options.model is None:
        note = f'The model "{name}" has no key; the demo stands in. To use it: {WAYS_ON}' if name else ""
        return ModelChoice("demo", note=note)
    if name:
        raise ConfigError(f'There is no key for the model "{name}": {WAYS_ON}')
    raise ConfigError(f"No model is configured: {WAYS_ON}")


def configured_base_url(settings: Settings) -> str:
    """Return the base URL of the settings, else of ``OPENAI_BASE_URL``; "" means OpenAI's own."""
    return settings.provider.base_url or os.environ.get("OPENAI_BASE_URL", "")


def _credentials(settings: Settings) -> Credentials:
    return settings.credentials or Credentials()


def build_model(choice: ModelChoice, settings: Settings) -> ChatModel:
    """Make the model of *choice*; the package behind it is not yet imported.

    Raises:
        ConfigError: A scripted file or the base URL is wrong.
    """
    if choice.kind == "demo":
        from xun_cli.demo import DemoModel

        return DemoModel()
    if choice.kind == "scripted":
        from xun.models.scripted import ScriptedModel

        return ScriptedModel.from_file(choice.script)
    from xun.models.faults import Secret
    from xun.models.openai import OpenAIModel

    provider = settings.provider
    key, source = _credentials(settings).find(choice.base_url, provider.api_key_env)
    return OpenAIModel(
        choice.name or None,
        base_url=choice.base_url or None,
        api_key=Secret(key, source) if key else "",
        headers=provider.headers,
        timeout=provider.timeout,
        context_window=provider.context_window or None,
    )


def needs_offer(options: StartOptions, settings: Settings) -> bool:
    """Tell whether nothing at all is configured, so that a local server may be looked for."""
    if options.demo or options.model or settings.model:
        return False
    try:
        return choose_model(options, settings, interactive=True).kind == "demo"
    except ConfigError:
        return False


def offer_local(settings: Settings, ask: Callable[[LocalServer], bool], servers: list[LocalServer]) -> bool:
    """Offer the *servers* in turn by *ask*; the first yes is used for this start. Return whether there was one."""
    for server in servers:
        if ask(server):
            settings.put("provider.base_url", server.base_url, "a server on this machine")
            # A key of another provider has no business on a local port.
            settings.credentials = None
            return True
    return False


def at_local_server(settings: Settings, name: str, servers: Sequence[LocalServer]) -> Settings | None:
    """Return *settings* for the first of the local *servers* that lists the model *name*; None when none does.

    For a person who names such a model where nothing is configured: /models has shown it with its address.
    """
    for server in servers:
        if name in server.models:
            provider = dataclasses.replace(settings.provider, base_url=server.base_url, api_key_env="")
            # A key of another provider has no business on a local port.
            return dataclasses.replace(settings, provider=provider, credentials=None)
    return None
