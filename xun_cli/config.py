"""The settings of a start: every layer read in order, each value with its origin.

Lowest to highest: built in, the user's file, a profile, the project's files, ``XUN_*`` variables,
flags and ``--config``. A project's file may only tighten until the user trusts its content, and
some keys it may never set. Nothing here imports more than the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from xun.errors import ConfigError
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.settings import CHOICES, FIXED, Settings, all_keys
from xun_cli.toml_file import TomlFile, read_toml, short

__all__ = ["Settings", "check_value", "load_settings", "nearest_key", "parse_value", "read_user_file"]

ENVIRONMENT = {"XUN_MODEL": "model", "XUN_BASE_URL": "provider.base_url", "XUN_TUI": "ui.mode"}
"""Variables that set a key."""

PROJECT_FILES = ("config.toml", "config.local.toml")
"""The settings files in a project's ``.xun`` folder, lowest first."""


def load_settings(places: Places, options: StartOptions, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings for *options*.

    Raises:
        ConfigError: A file of the user's, a variable or a flag is wrong; the text names it and the line.
    """
    env = os.environ if environ is None else environ
    settings = Settings()
    _user_layers(settings, places, options.profile)
    settings.safe = options.safe
    if not options.safe:
        from xun_cli.trust import apply_project

        apply_project(settings, places, options.cwd)
    for name, key in ENVIRONMENT.items():
        if env.get(name):
            _put_text(settings, key, env[name], name)
    if env.get("XUN_LOG"):
        settings.log = "debug"
    _flag_layers(settings, options)
    return settings


def _user_layers(settings: Settings, places: Places, profile: str) -> None:
    file = read_user_file(places.config_file)
    if file is not None:
        apply_file(settings, file, lambda key: not key.startswith("profiles."))
    if not profile:
        return
    own = read_user_file(places.profile_file(profile)) if profile.replace("-", "").isalnum() else None
    table = _profile_table(file, profile)
    if own is None and table is None:
        names = sorted({key.split(".")[1] for key in (file.values if file else {}) if key.startswith("profiles.")})
        known = f"; there are: {', '.join(names)}" if names else ""
        raise ConfigError(
            f'No profile "{profile}": add [profiles.{profile}] to {short(places.config_file)} '
            f"or write {short(places.profile_file(profile))}{known}"
        )
    for layer in (table, own):
        if layer is not None:
            apply_file(settings, layer)
    settings.profile = profile


def _profile_table(file: TomlFile | None, profile: str) -> TomlFile | None:
    head = f"profiles.{profile}."
    if file is None or not any(key.startswith(head) for key in file.values):
        return None
    cut = len(head)
    values = {key[cut:]: value for key, value in file.values.items() if key.startswith(head)}
    return TomlFile(file.path, values, {k[cut:]: line for k, line in file.lines.items() if k.startswith(head)})


def _flag_layers(settings: Settings, options: StartOptions) -> None:
    for item in options.config:
        key, equals, text = item.partition("=")
        if not equals:
            raise ConfigError(f'--config "{item}": write KEY=VALUE, such as --config mode=plan')
        _put_text(settings, key.strip(), text, "--config")
    for flag, key, value in (
        ("--model", "model", options.model),
        ("--mode", "mode", options.mode),
        ("--sandbox", "sandbox.mode", options.sandbox),
        ("--tui", "ui.mode", options.tui),
        ("--screen-reader", "ui.screen_reader", options.screen_reader or None),
        ("--auto-confirm", "auto_confirm", options.auto_confirm or None),
        ("--max-steps", "limits.steps", options.max_steps),
        ("--max-cost", "limits.cost_usd", options.max_cost),
        ("--no-session", "session.save", False if options.no_session else None),
        ("--debug", "log", "debug" if options.debug else None),
    ):
        if value is not None:
            settings.put(key, value, flag)


def read_user_file(path: Path) -> TomlFile | None:
    """Read a settings file of the user's own; None when there is none.

    Raises:
        ConfigError: It can't be read or parsed.
    """
    return read_toml(path, leaves=table_keys())


def table_keys() -> frozenset[str]:
    """Return the dotted keys whose value is a table of free names."""
    keys = {key for key, (kind, _) in all_keys().items() if kind.startswith("dict")}
    return frozenset(keys)


def apply_file(settings: Settings, file: TomlFile, wanted: Callable[[str], bool] = lambda key: True) -> None:
    """Set the values of *file* whose key is *wanted*; an unknown key becomes a warning.

    Raises:
        ConfigError: A value has the wrong type.
    """
    known = all_keys()
    for key, value in file.values.items():
        if not wanted(key):
            continue
        if key not in known:
            if not any(name.startswith(key + ".") for name in known):
                settings.warnings.append(f"{file.where(key)}: {unknown_key(key)}")
            elif value != {}:
                raise ConfigError(f'{file.where(key)}: "{key}" must be a table, not {_described(value)}')
            continue
        try:
            settings.put(key, check_value(key, value), file.where(key))
        except ConfigError as error:
            raise ConfigError(f"{file.where(key)}: {error}") from None


def _put_text(settings: Settings, key: str, text: str, origin: str) -> None:
    if key not in all_keys():
        raise ConfigError(f"{origin}: {unknown_key(key)}")
    try:
        settings.put(key, parse_value(key, text), origin)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}") from None


def unknown_key(key: str) -> str:
    """Return the sentence for a key that does not exist."""
    near = nearest_key(key)
    return f'unknown key "{key}"' + (f'; did you mean "{near}"?' if near else "; `xun config show` lists all keys")


def nearest_key(key: str) -> str:
    """Return the existing key that *key* was most likely meant to be, or ""."""
    import difflib

    names = list(all_keys())
    swapped = [name for name in names if sorted(name) == sorted(key)]
    if swapped:
        return swapped[0]
    tail = [name for name in names if name.rsplit(".", 1)[-1] == key.rsplit(".", 1)[-1]]
    if len(tail) == 1:
        return tail[0]
    found = difflib.get_close_matches(key, tail or names, 1, 0.6)
    if not found:
        leaves = {name.rsplit(".", 1)[-1]: name for name in names}
        close = difflib.get_close_matches(key.rsplit(".", 1)[-1], list(leaves), 1, 0.75)
        found = [leaves[close[0]]] if close else []
    return found[0] if found else ""


_WORDS = {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false"}
_TYPES: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}


def check_value(key: str, value: Any) -> Any:
    """Return *value* as the setting *key* holds it.

    Raises:
        ConfigError: It has the wrong type or is none of the values that the key may have.
    """
    kind = all_keys()[key][0]
    if kind == "list[str]":
        return _checked_list(key, _string_list(key, value))
    if key == "mcp.servers":
        from xun_cli.mcp_servers import checked_servers

        return checked_servers(value)
    if kind.startswith("dict"):
        return _table(key, value, lists=kind.endswith("list[str]]"))
    if not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "bool"):
        raise ConfigError(f'"{key}" must be {_WORDS[kind]}, not {_described(value)}')
    return _limited(key, kind, value)


def _limited(key: str, kind: str, value: Any) -> Any:
    if key in FIXED and value != FIXED[key][0]:
        only, why = FIXED[key]
        raise ConfigError(f'"{key}" can only be {_described(only)}, not {_described(value)}: {why}')
    if key == "session.snapshot_max_mb" and not 1 <= value <= 100_000:
        raise ConfigError(f'"{key}" is from 1 to 100000 megabytes, and is {value}; session.snapshot = false keeps none')
    if key == "bash.shell" and value and not value.startswith("/"):
        raise ConfigError(f'"{key}" must be an absolute path, such as /usr/local/bin/bash, not {_described(value)}')
    if key in CHOICES and value not in CHOICES[key]:
        raise ConfigError(f'"{key}" must be one of {", ".join(filter(None, CHOICES[key]))}, not {_described(value)}')
    if key == "compact.at_pct" and not 1 <= value <= 100:
        raise ConfigError(f'"{key}" is a percentage from 1 to 100, and is {value}')
    if kind == "str":
        _refuse_nul(key, value)
    if kind in ("int", "float") and not value >= 0:  # nor nan, which compares with nothing
        raise ConfigError(f'"{key}" must not be negative, and is {value}')
    return float(value) if kind == "float" else value


def _string_list(key: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f'"{key}" must be a list of texts, not {_described(value)}')
    for item in value:
        _refuse_nul(key, item)
    return list(value)


def _refuse_nul(key: str, text: str) -> None:
    """Refuse what no command, path or name can hold: the system would refuse it in the middle of something else."""
    if "\0" in text:
        raise ConfigError(f'"{key}" holds a NUL character, which no command and no path can have: {_described(text)}')


def _checked_list(key: str, items: list[str]) -> list[str]:
    if key in ("policy.writes.exclude", "workspace.ignore"):
        from xun_policies.errors import PolicyError
        from xun_policies.paths.patterns import PathPatterns

        try:
            PathPatterns(items)
        except PolicyError as error:
            raise ConfigError(f'"{key}": {error}') from None
    if key == "tools.groups":
        from xun.tools.groups import checked_groups

        try:
            checked_groups(items)
        except ValueError as error:
            raise ConfigError(f'"{key}": {error}') from None
    return items


def _table(key: str, value: Any, *, lists: bool) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f'"{key}" must be a table, not {_described(value)}')
    if lists:
        return {
            name: [item] if isinstance(item, str) else _string_list(f"{key}.{name}", item)
            for name, item in value.items()
        }
    for name, item in value.items():
        if not isinstance(item, str):
            raise ConfigError(f'"{key}.{name}" must be a text, not {_described(item)}')
    return dict(value)


def _described(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value[:40]}"'
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a table"
    return f"a {type(value).__name__}"


def parse_value(key: str, text: str) -> Any:
    """Return the value that *text* stands for, as typed on a command line or in a variable.

    Raises:
        ConfigError: It does not fit the key.
    """
    kind = all_keys()[key][0]
    if kind == "str":
        return check_value(key, text)
    if kind == "list[str]" and not text.lstrip().startswith("["):
        return _checked_list(key, [item.strip() for item in text.split(",") if item.strip()])
    import tomllib

    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except (ValueError, RecursionError):
        value = text
    return check_value(key, value)
