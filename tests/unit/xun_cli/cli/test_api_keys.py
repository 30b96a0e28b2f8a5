"""Keys: out of the environment, out of /proc, out of every repr."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xun.errors import ConfigError
from xun_cli import crash
from xun_cli.keys import Credentials, read_credentials, store_key
from xun_cli.model_choice import choose_model, needs_offer, offer_local
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.settings import Settings


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.from_environment({"XUN_HOME": str(tmp_path / "home")})


def test_order_of_variables() -> None:
    env = {"XUN_API_KEY": " one ", "OPENAI_API_KEY": "two", "MINE": "three", "HOME": "/h"}
    keys = Credentials()
    keys.take(("XUN_API_KEY", "OPENAI_API_KEY", "MINE", "MISSING"), env)
    assert env == {"HOME": "/h"}
    assert keys.find("") == ("one", "XUN_API_KEY")
    assert keys.find("", "MINE") == ("three", "MINE")
    assert keys.find("", "MISSING") == ("", "")
    assert "one" not in repr(keys)
    assert "one" not in repr(Settings(credentials=keys))


def test_key_file_belongs_to_one_url(places: Places) -> None:
    store_key(places, "https://a.example/v1/", "sk-a")
    store_key(places, "", "sk-o")
    assert places.credentials_file.stat().st_mode & 0o777 == 0o600
    keys = Credentials(file=places.credentials_file)
    assert keys.find("https://a.example/v1")[0] == "sk-a"
    assert keys.find("https://b.example/v1") == ("", "")
    assert keys.find("https://api.openai.com/v1")[0] == "sk-o"
    places.credentials_file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_credentials(places.credentials_file)


def test_key_with_odd_characters_survives_the_file(places: Places) -> None:
    store_key(places, "https://a.example", 'a"b\\c\té')
    assert read_credentials(places.credentials_file) == {"https://a.example": 'a"b\\c\té'}


def test_damaged_key_file_says_what_to_do(places: Places) -> None:
    store_key(places, "https://a.example", "x")
    places.credentials_file.write_text("oops = [")
    with pytest.raises(ConfigError, match="damaged"):
        read_credentials(places.credentials_file)


@pytest.mark.row("sec-secrets-002")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no /proc here")
def test_key_is_gone_from_the_process(tmp_path: Path) -> None:
    script = (
        "from xun_cli.places import Places; from xun_cli.keys import take_credentials; import os, subprocess\n"
        "c = take_credentials(Places.from_environment())\n"
        "print(c.find('')[0])\n"
        "print(open(f'/proc/{os.getpid()}/environ', 'rb').read())\n"
        "print(subprocess.run(['env'], capture_output=True).stdout)\n"
    )
    env = {
        **os.environ,
        "XUN_API_KEY": "sk-first-secret",
        "OPENAI_API_KEY": "sk-second-secret",
        "XUN_HOME": str(tmp_path),
    }
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "sk-first-secret"
    assert "secret" not in "".join(lines[1:])
    assert "XUN_HOME" in lines[1]


@pytest.mark.row("sec-secrets-003", "sec-secrets-005")
def test_crash_report_holds_no_key(places: Places) -> None:
    keys = Credentials({"XUN_API_KEY": "sk-hidden-value"})
    path = crash.write_report(places, RuntimeError("Authorization: sk-hidden-value"), keys)
    assert path is not None
    assert "sk-hidden-value" not in path.read_text()
    assert "Authorization: ***" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def settings(**values: str) -> Settings:
    found = Settings(credentials=Credentials({"OPENAI_API_KEY": values.pop("key")} if "key" in values else {}))
    for key, value in values.items():
        found.put(key.replace("__", "."), value, "test")
    return found


@pytest.fixture(autouse=True)
def _no_base_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_choice_of_the_model() -> None:
    none = StartOptions()
    assert choose_model(StartOptions(demo=True), settings(key="k"), interactive=False).kind == "demo"
    assert choose_model(none, settings(model="scripted:/f"), interactive=False).script == "/f"
    choice = choose_model(none, settings(key="k", model="m"), interactive=False)
    assert (choice.kind, choice.name, choice.key_source) == ("openai", "m", "OPENAI_API_KEY")
    local = choose_model(none, settings(provider__base_url="http://127.0.0.1:1/v1"), interactive=False)
    assert (local.kind, local.key_source) == ("openai", "")


def test_demo_only_interactively_and_when_nothing_is_set() -> None:
    assert choose_model(StartOptions(), settings(), interactive=True).kind == "demo"
    with pytest.raises(ConfigError, match="No model is configured: set OPENAI_API_KEY"):
        choose_model(StartOptions(), settings(), interactive=False)
    with pytest.raises(ConfigError, match='no key for the model "m"'):
        choose_model(StartOptions(model="m"), settings(model="m"), interactive=True)
    assert "m" in choose_model(StartOptions(), settings(model="m"), interactive=True).note


def test_named_variable_must_be_set() -> None:
    with pytest.raises(ConfigError, match="names MINE, which is not set"):
        choose_model(StartOptions(), settings(provider__api_key_env="MINE", key="other"), interactive=True)


def test_local_server_is_used_only_after_a_yes() -> None:
    from xun.models.catalog import LocalServer

    found = [LocalServer("http://127.0.0.1:1/v1", ("a",)), LocalServer("http://127.0.0.1:2/v1", ("b",))]
    chosen = settings()
    assert needs_offer(StartOptions(), chosen)
    assert not offer_local(chosen, lambda server: False, found)
    assert chosen.provider.base_url == ""
    assert offer_local(chosen, lambda server: server.models == ("b",), found)
    assert chosen.provider.base_url == "http://127.0.0.1:2/v1"
    assert not needs_offer(StartOptions(), chosen)
    assert not needs_offer(StartOptions(), settings(key="k"))
