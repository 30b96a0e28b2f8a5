"""Who answers ``web_search``: from the settings, the environment and the file with the keys."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict

from xun.errors import ConfigError

if TYPE_CHECKING:
    from xun_cli.settings import Settings


class SearchConfig(TypedDict):
    """What an `xun.AgentConfig` is told of it."""

    search_engine: str
    search_url: str
    search_key: str


def search_config(settings: Settings) -> SearchConfig:
    """Return what *settings* say; where they name no engine and the environment has none, one with a stored key.

    Raises:
        ConfigError: A key without an engine, a variable that is not set, or a file of keys that can't be used.
    """
    search = settings.search
    if search.api_key_env and not search.engine:
        raise ConfigError("search.api_key_env is set, so search.engine must say whose key that is.")
    made = SearchConfig(search_engine=search.engine, search_url=search.url, search_key="")
    if search.api_key_env:
        made["search_key"] = os.environ.get(search.api_key_env, "").strip()
        if not made["search_key"]:
            raise ConfigError(f"search.api_key_env names the variable {search.api_key_env}, which is not set.")
        return made
    if settings.credentials is None or (search.url and not search.engine):
        return made
    from xun_builtin_tools.web.engines import ENGINES

    if search.engine or not any(os.environ.get(name) for engine in ENGINES for name in engine.variables):
        for engine in ENGINES:
            if engine.has_key and search.engine in ("", engine.name):
                key = settings.credentials.stored(search.url or engine.url)
                if key:
                    return SearchConfig(search_engine=engine.name, search_url=search.url, search_key=key)
    return made


def described(settings: Settings) -> str:
    """Return in words who answers, without the key.

    Raises:
        ConfigError: As `search_config`.
        ToolError: Nobody; the text says how that can be changed.
    """
    from xun.agent.config import AgentConfig
    from xun_builtin_tools.web.engines import choose
    from xun_builtin_tools.web.target import parse

    chosen = choose(AgentConfig(**search_config(settings)), os.environ)
    where = f" at {parse(chosen.url).place}" if chosen.own else ""
    return f"{chosen.engine.name}{where}, {'key' if chosen.key else 'address'} from {chosen.source}"
