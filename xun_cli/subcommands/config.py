"""``xun config``: what is set, where it comes from, and setting it."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xun.errors import ConfigError
from xun_cli.config import apply_file, load_settings, parse_value, read_user_file, unknown_key
from xun_cli.exit_codes import BAD_CALL, NOT_CONFIGURED
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.settings import Settings, all_keys, displayed
from xun_cli.subcommands.common import Parser, add_folder, fail, parse_words, print_json, print_text
from xun_cli.toml_file import short

COMMAND = "xun config"


def main(argv: list[str]) -> int:
    """Run ``xun config`` with the arguments *argv*."""
    parser = Parser(prog=COMMAND, description="The settings and where they come from.")
    add_folder(parser)
    parser.add_argument("--profile", default="", help="with this profile (default: none)")
    commands = parser.add_subparsers(dest="word", metavar="show|path|set|check", parser_class=Parser)
    show = commands.add_parser("show", help="every value with its origin (default)")
    show.add_argument("key", nargs="?", metavar="KEY", help="one key, or the keys below it (default: all)")
    show.add_argument("--json", action="store_true", help="as JSON (default: off)")
    commands.add_parser("path", help="the file of your settings")
    put = commands.add_parser("set", help="write one value into your settings")
    put.add_argument("key", metavar="KEY")
    put.add_argument("value", metavar="VALUE", help="as in TOML; a text needs no quotes, a list may be a,b")
    check = commands.add_parser("check", help="look for mistakes")
    check.add_argument("file", nargs="?", metavar="FILE", help="(default: your settings and the folder's)")
    found = parse_words(parser, argv, "show")
    try:
        return _COMMANDS[found.word](found, Places.from_environment())
    except ConfigError as error:
        return fail(COMMAND, error, NOT_CONFIGURED)


def _settings(found: Namespace, places: Places) -> Settings:
    return load_settings(places, StartOptions(cwd=found.folder, profile=found.profile))


def _show(found: Namespace, places: Places) -> int:
    settings = _settings(found, places)
    keys = [key for key in all_keys() if not found.key or key == found.key or key.startswith(found.key + ".")]
    if not keys:
        return fail(COMMAND, unknown_key(found.key), BAD_CALL)
    values = {key: displayed(key, settings.get(key)) for key in keys}
    origins = {key: settings.origins.get(key, "built in") for key in keys}
    if found.json:
        print_json({key: {"value": values[key], "origin": origins[key]} for key in keys}, indent=2)
    else:
        width = max(len(f"{key} = {_toml(values[key])}") for key in keys)
        for key in keys:
            line = f"{key} = {_toml(values[key])}"
            print_text(f"{line:<{min(width, 50)}}  # {origins[key]}")
    for warning in settings.warnings:
        fail(COMMAND, f"warning: {warning}")
    return 0


def _toml(value: Any) -> str:
    import json

    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def _path(found: Namespace, places: Places) -> int:
    print_text(str(places.config_file))
    return 0


def _set(found: Namespace, places: Places) -> int:
    from xun_cli.config_write import set_value

    if found.key not in all_keys():
        return fail(COMMAND, unknown_key(found.key), BAD_CALL)
    try:
        value = parse_value(found.key, found.value)
    except ConfigError as error:
        return fail(COMMAND, error, BAD_CALL)
    set_value(places.config_file, found.key, value)
    print_text(f"{found.key} = {_toml(displayed(found.key, value))} in {short(places.config_file)}")
    if found.key == "provider.headers":
        fail(COMMAND, "note: headers are stored readable; a key belongs into `xun setup` or a variable")
    return 0


def _check(found: Namespace, places: Places) -> int:
    if found.file:
        settings = Settings()
        path = Path(os.path.expanduser(found.file))
        file = read_user_file(path)
        if file is None:
            return fail(COMMAND, f"{path}: no such file", BAD_CALL)
        apply_file(settings, file, lambda key: not key.startswith("profiles."))
    else:
        settings = _settings(found, places)
    for warning in settings.warnings:
        fail(COMMAND, warning)
    if not settings.warnings:
        print_text("No mistakes found.")
    return 1 if settings.warnings else 0


_COMMANDS: dict[str, Callable[[Namespace, Places], int]] = {"show": _show, "path": _path, "set": _set, "check": _check}
