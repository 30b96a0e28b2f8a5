"""A model of a server on this machine, named where nothing is configured."""

from __future__ import annotations

import pytest

from xun.errors import ConfigError
from xun.models.catalog import LocalServer
from xun_cli.keys import Credentials
from xun_cli.model_choice import at_local_server, choose_model
from xun_cli.options import StartOptions
from xun_cli.settings import Settings

FOUND = [
    LocalServer("http://127.0.0.1:1234/v1", ("small",)),
    LocalServer("http://127.0.0.1:8080/v1", ("qwen3:8b", "llama3")),
]


def test_the_server_that_lists_the_model_is_used_without_any_key() -> None:
    settings = Settings(model="llama3", credentials=Credentials())
    with pytest.raises(ConfigError, match="no key"):
        choose_model(StartOptions(model="llama3"), settings, interactive=True)
    local = at_local_server(settings, "llama3", FOUND)
    assert local is not None and local.credentials is None and settings.provider.base_url == ""
    choice = choose_model(StartOptions(model="llama3"), local, interactive=True)
    assert (choice.kind, choice.name, choice.base_url) == ("openai", "llama3", "http://127.0.0.1:8080/v1")
    assert choice.key_source == ""


def test_a_model_that_no_server_lists_stays_unknown() -> None:
    assert at_local_server(Settings(), "gpt-5", FOUND) is None
    assert at_local_server(Settings(), "qwen3", FOUND) is None
