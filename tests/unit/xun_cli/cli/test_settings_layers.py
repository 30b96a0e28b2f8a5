"""Settings: layers, origins, mistakes."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from xun.errors import ConfigError
from xun_cli.config import load_settings, nearest_key, parse_value
from xun_cli.config_write import set_value
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.settings import FIXED, Settings, all_keys


@pytest.fixture
def places(tmp_path: Path) -> Places:
    places = Places.from_environment({"XUN_HOME": str(tmp_path / "home")})
    places.config.mkdir(parents=True)
    return places


def load(places: Places, tmp_path: Path, env: dict[str, str] | None = None, **options: object) -> Settings:
    return load_settings(places, StartOptions(cwd=tmp_path, **options), env or {})  # type: ignore[arg-type]


def test_each_layer_beats_the_one_below(places: Places, tmp_path: Path) -> None:
    file = places.config_file
    assert load(places, tmp_path).model == ""
    file.write_text('model = "file"\n[profiles.fast]\nmodel = "profile"\n')
    assert load(places, tmp_path).model == "file"
    assert load(places, tmp_path, profile="fast").model == "profile"
    env = {"XUN_MODEL": "env"}
    assert load(places, tmp_path, env, profile="fast").model == "env"
    assert load(places, tmp_path, env, config=["model=key"]).model == "key"
    settings = load(places, tmp_path, env, config=["model=key"], model="flag")
    assert (settings.model, settings.origins["model"]) == ("flag", "--model")
    assert load(places, tmp_path).origins["model"] == f"{file}:1"


def test_profile_file(places: Places, tmp_path: Path) -> None:
    path = places.profile_file("slow")
    path.parent.mkdir()
    path.write_text('mode = "plan"\n')
    settings = load(places, tmp_path, profile="slow")
    assert (settings.mode, settings.profile, settings.origins["mode"]) == ("plan", "slow", f"{path}:1")
    with pytest.raises(ConfigError, match='No profile "other"'):
        load(places, tmp_path, profile="other")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mode = 5", 'config.toml:1: "mode" must be a text, not 5'),
        ('\nmode = "yolo"', 'config.toml:2: "mode" must be one of ask, plan, auto-edit, not "yolo"'),
        ("[risk]\nenabled = 1", 'config.toml:2: "risk.enabled" must be true or false, not 1'),
        ("[limits]\nsteps = true", 'config.toml:2: "limits.steps" must be a whole number, not true'),
        ("[limits]\nsteps = -1", 'config.toml:2: "limits.steps" must not be negative'),
        ("risk = 3", "must be a table"),
        ("[tools]\ndisable = 'x'", 'config.toml:2: "tools.disable" must be a list of texts'),
        ("[provider.headers]\na = 1", 'config.toml:1: "provider.headers.a" must be a text'),
        ('[provider]\nkind = "anthropic"', 'config.toml:2: "provider.kind" can only be "openai", not "anthropic"'),
        ("telemetry = true", 'config.toml:1: "telemetry" can only be false'),
        ("[update]\ncheck = true", 'config.toml:2: "update.check" can only be false'),
        ('[risk]\non_error = "allow"', 'config.toml:2: "risk.on_error" must be one of unsure, reject'),
        ('[bash]\nshell = "bash"', 'config.toml:2: "bash.shell" must be an absolute path'),
        ('[tools]\ngroups = ["fss"]', 'config.toml:2: "tools.groups": no tool group named "fss"; the groups are'),
        ('[hooks]\nsession_start = ["a\\u0000b"]', 'config.toml:2: "hooks.session_start" holds a NUL character'),
        ('[bash]\nshell = "/bin/bash\\u0000"', 'config.toml:2: "bash.shell" holds a NUL character'),
        ("[hooks]\ntimeout = nan", 'config.toml:2: "hooks.timeout" must not be negative, and is nan'),
        ("[session]\nsnapshot_max_mb = 0", 'config.toml:2: "session.snapshot_max_mb" is from 1 to 100000'),
        ('[policy.writes]\nexclude = ["!a"]', 'config.toml:2: "policy.writes.exclude": the pattern "!a" begins'),
        ('[workspace]\nignore = [""]', 'config.toml:2: "workspace.ignore": a pattern is empty'),
        ("a = ", "config.toml:1: not valid TOML"),
        ("x = 1\nx = 2", "config.toml:2: not valid TOML"),
    ],
)
def test_wrong_value_names_file_and_line(places: Places, tmp_path: Path, text: str, message: str) -> None:
    places.config_file.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load(places, tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        ('modle = "x"', "modle", "model"),
        ('base_url = "x"', "base_url", "provider.base_url"),
        ("[ui]\nanimation = true", "ui.animation", "ui.animations"),
        ("[hooks]\nstart = 'x'", "hooks.start", ""),
    ],
)
def test_unknown_key_is_a_warning_with_the_nearest(
    places: Places, tmp_path: Path, text: str, key: str, near: str
) -> None:
    places.config_file.write_text(text)
    settings = load(places, tmp_path)
    line = text.count("\n") + 1
    assert len(settings.warnings) == 1
    assert settings.warnings[0].startswith(f'{places.config_file}:{line}: unknown key "{key}"')
    assert (f'did you mean "{near}"' in settings.warnings[0]) is bool(near)


def test_file_that_is_no_text(places: Places, tmp_path: Path) -> None:
    places.config_file.write_bytes(b'model = "a"\nmode = "\xff"\n')
    with pytest.raises(ConfigError, match=r"config\.toml:2: not valid UTF-8"):
        load(places, tmp_path)


@pytest.mark.parametrize("text", ["a=" + "[" * 5000, "a." * 20000 + "b=1", "[" + "a." * 3000 + "b]\nc=1", "a={" * 4000])
def test_toml_bomb_ends_soon(places: Places, tmp_path: Path, text: str) -> None:
    folder = tmp_path / ".xun"
    folder.mkdir()
    (folder / "config.toml").write_text(text)
    started = time.process_time()
    settings = load(places, tmp_path)
    assert time.process_time() - started < 1
    assert settings.warnings
    assert all("\n" not in warning for warning in settings.warnings)


@pytest.mark.parametrize("item", ["mode", "nokey=1", "mode=x", "limits.steps=abc", "risk.enabled=perhaps"])
def test_wrong_config_flag(places: Places, tmp_path: Path, item: str) -> None:
    with pytest.raises(ConfigError, match="--config"):
        load(places, tmp_path, config=[item])


def test_values_as_typed() -> None:
    assert parse_value("model", "5") == "5"
    assert parse_value("limits.steps", "5") == 5
    assert parse_value("limits.cost_usd", "5") == 5.0
    assert parse_value("risk.enabled", "false") is False
    assert parse_value("tools.disable", "a, b") == ["a", "b"]
    assert parse_value("tools.disable", '["a"]') == ["a"]


def test_written_value_keeps_comments_and_reads_back(places: Places, tmp_path: Path) -> None:
    places.config_file.write_text("# mine\nmodel = 'a' # here\n\n[risk]\ntimeout = 3.0\n")
    set_value(places.config_file, "model", "b")
    set_value(places.config_file, "policy.commands.allow", ["npm test"])
    set_value(places.config_file, "risk.enabled", False)
    text = places.config_file.read_text()
    assert "# mine" in text
    assert "# here" in text
    settings = load(places, tmp_path)
    assert settings.warnings == []
    assert (settings.model, settings.policy.commands.allow, settings.risk.enabled) == ("b", ["npm test"], False)
    assert places.config_file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigError, match="unknown key"):
        set_value(places.config_file, "nokey", 1)


def test_every_key_can_be_read_and_written() -> None:
    settings = Settings()
    for key, (_, default) in all_keys().items():
        assert settings.get(key) == default
        settings.put(key, default, "test")
    with pytest.raises(KeyError):
        settings.get("risk")
    with pytest.raises(KeyError):
        settings.get("credentials")


def test_every_key_is_read_somewhere() -> None:
    package = Path(__file__).resolve().parents[4] / "xun_cli"
    files = [path for path in package.rglob("*.py") if path.name not in ("settings.py", "config.py", "trust.py")]
    text = "\n".join(path.read_text() for path in files)
    for key in all_keys().keys() - FIXED.keys():
        name = key if "." in key else f"settings.{key}"
        pattern = r"(?<![A-Za-z])" + re.escape(".".join(name.split(".")[-2:])) + r"\b(?!\")"
        assert re.search(pattern, text), key


def test_nearest_key_of_nonsense_is_nothing() -> None:
    assert nearest_key("zzzzqqqq") == ""


def test_places_by_xun_home_and_xdg(tmp_path: Path) -> None:
    home = Places.from_environment({"XUN_HOME": str(tmp_path)})
    assert (home.config_file, home.trust_file) == (tmp_path / "config.toml", tmp_path / "state/trust.json")
    xdg = Places.from_environment({"HOME": "/h", "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "relative"})
    assert (xdg.config, xdg.data) == (Path("/h/.config/xun"), Path("/d/xun"))


def test_session_folder_is_named_by_the_real_path(tmp_path: Path) -> None:
    import hashlib

    places = Places.from_environment({"XUN_HOME": str(tmp_path / "home")})
    real = tmp_path / "proj"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    expected = "proj-" + hashlib.sha256(str(real).encode()).hexdigest()[:12]
    assert places.sessions_dir(link).name == places.sessions_dir(real).name == expected


def test_every_key_is_documented() -> None:
    page = (Path(__file__).resolve().parents[4] / "docs" / "command-line.md").read_text()
    for key in all_keys():
        assert f"`{key}`" in page, key
