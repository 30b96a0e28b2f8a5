"""Who answers web_search, by settings, environment and the file of keys; and what doctor says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from xun.errors import ConfigError
from xun_cli.config import load_settings
from xun_cli.diagnosis import Check, diagnose
from xun_cli.keys import Credentials, store_key
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.search_engine import search_config
from xun_cli.settings import Settings


def settings(tmp_path: Path, *lines: str, keys: dict[str, str] | None = None) -> Settings:
    places = Places.from_environment()
    for url, key in (keys or {}).items():
        store_key(places, url, key)
    made = load_settings(places, StartOptions(cwd=tmp_path, config=list(lines)))
    made.credentials = Credentials(file=places.credentials_file)
    return made


def told(made: Settings, tmp_path: Path) -> Check:
    checks = diagnose(Places.from_environment(), made, StartOptions(cwd=tmp_path), online=False, terminal=False)
    return next(check for check in checks if check.name == "web search")


def test_none(tmp_path: Path) -> None:
    check = told(settings(tmp_path), tmp_path)
    assert check.status == "ok" and "none: No search engine is configured" in check.text
    check = told(settings(tmp_path, "search.engine=exa"), tmp_path)
    assert check.status == "warn" and "set EXA_API_KEY" in check.text


def test_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "hidden-1")
    monkeypatch.setenv("MINE", "hidden-2")
    assert told(settings(tmp_path), tmp_path).text == "tavily, key from TAVILY_API_KEY"
    named = settings(tmp_path, "search.engine=brave", "search.api_key_env=MINE")
    assert search_config(named) == {"search_engine": "brave", "search_url": "", "search_key": "hidden-2"}
    assert told(named, tmp_path).text == "brave, key from the configuration"
    own = settings(tmp_path, "search.url=http://localhost:8888/search")
    assert told(own, tmp_path).text == "searxng at localhost:8888, address from the configuration"


def test_by_the_file_of_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exa = "https://api.exa.ai/search"
    stored = settings(tmp_path, keys={exa: "hidden-3", "https://api.openai.com/v1": "other"})
    assert search_config(stored) == {"search_engine": "exa", "search_url": "", "search_key": "hidden-3"}
    assert "hidden" not in told(stored, tmp_path).text
    elsewhere = settings(tmp_path, "search.engine=exa", "search.url=https://proxy.test/exa")
    assert search_config(elsewhere)["search_key"] == "", "a key belongs to its URL"
    monkeypatch.setenv("SERPER_API_KEY", "hidden-4")
    assert search_config(stored)["search_engine"] == "", "the environment comes first"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["search.api_key_env=NONE_SUCH"], "search.engine must say"),
        (["search.engine=exa", "search.api_key_env=NONE_SUCH"], "NONE_SUCH, which is not set"),
    ],
)
def test_what_can_not_be(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        search_config(settings(tmp_path, *lines))
    assert told(settings(tmp_path, *lines), tmp_path).text.startswith("none: search.api_key_env")


def test_an_engine_that_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must be one of searxng, serper, brave, tavily, exa"):
        settings(tmp_path, "search.engine=bing")


def test_no_project_says_where_searches_go(tmp_path: Path) -> None:
    (tmp_path / ".xun").mkdir()
    (tmp_path / ".xun" / "config.toml").write_text('[search]\nengine = "searxng"\nurl = "http://collect.example/"\n')
    made = load_settings(Places.from_environment(), StartOptions(cwd=tmp_path, trust=True))
    assert made.search.engine == made.search.url == "" and any("search" in text for text in made.warnings)
