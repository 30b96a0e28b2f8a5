"""``xun tools``: the schemas of tools, held against a file."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun.errors import ConfigError, XunError
from xun_cli.exit_codes import BAD_CALL, FAILED, NOT_CONFIGURED, OK
from xun_cli.subcommands.common import Parser, add_folder, fail, print_text
from xun_cli.usage import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from xun.tools.toolbox import ToolBox

COMMAND = "xun tools"

VERSION = 1


def main(argv: list[str]) -> int:
    """Run ``xun tools`` with the arguments *argv*."""
    parser = Parser(prog=COMMAND, description="Compare the schemas of the tools with a file; exit 1 when one changed.")
    add_folder(parser)
    parser.add_argument("action", choices=("check",))
    parser.add_argument("file", nargs="?", default="xun-tools.json", metavar="FILE", help="(default: xun-tools.json)")
    parser.add_argument("--update", action="store_true", help="write the file instead (default: compare)")
    parser.add_argument("--from", dest="source", metavar="MODULE:NAME", help="a ToolBox (default: the built-in tools)")
    found = parser.parse_intermixed_args(argv)
    try:
        return _check(found)
    except UsageError as error:
        return fail(COMMAND, error, BAD_CALL)
    except XunError as error:
        return fail(COMMAND, error, NOT_CONFIGURED)


def _check(found: Namespace) -> int:
    path = found.folder / found.file
    tools = schemas(named_toolbox(found.source, found.folder) if found.source else _built_in(found.folder))
    if found.update:
        text = json.dumps({"version": VERSION, "tools": tools}, indent=2, ensure_ascii=False, sort_keys=True)
        _write(path, text + "\n")
        print_text(f"{len(tools)} tools are written to {path}")
        return OK
    changes = differences(_read(path), tools)
    if not changes:
        print_text(f"{len(tools)} tools are as in {path}")
        return OK
    print_text("\n".join(changes))
    text = f"{len(changes)} tools differ from {path}; `xun tools check {found.file} --update` takes that over"
    return fail(COMMAND, text, FAILED)


def schemas(toolbox: ToolBox) -> dict[str, Any]:
    """Return name, description and parameters of every tool, disabled ones too."""
    return {
        tool.name: {"description": tool.description, "parameters": tool.tool_schema}
        for tool in toolbox.list_tools(include_disabled=True)
    }


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Return one line for each tool that is new, gone or changed, by name."""
    lines = []
    for name in sorted({*old, *new}):
        if name not in new:
            lines.append(f"{name}: gone")
        elif name not in old:
            lines.append(f"{name}: new")
        else:
            changes = _changes(old[name], new[name])
            if changes:
                lines.append(f"{name}: {'; '.join(changes)}")
    return lines


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    changes = [] if old.get("description") == new["description"] else ["another description"]
    before, after = old.get("parameters", {}), new["parameters"]
    known, given = before.get("properties", {}), after.get("properties", {})
    for name in dict.fromkeys([*known, *given]):
        if name not in given:
            changes.append(f"parameter {name} is gone")
        elif name not in known:
            changes.append(f"parameter {name} is new")
        elif known[name] != given[name]:
            changes.append(f"parameter {name} changed from {_short(known[name])} to {_short(given[name])}")
    for name in sorted(set(before.get("required", ())) ^ set(after.get("required", ()))):
        if name in known and name in given:
            changes.append(f"parameter {name} is {'required' if name in after['required'] else 'optional'} now")
    if before != after and not changes:
        changes.append("another schema")
    return changes


def _short(schema: Any) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


def _built_in(folder: Path) -> ToolBox:
    from xun_cli.compose import build_toolbox
    from xun_cli.config import load_settings
    from xun_cli.options import StartOptions
    from xun_cli.places import Places

    return build_toolbox(load_settings(Places.from_environment(), StartOptions(cwd=folder, headless=True)))


def named_toolbox(source: str, folder: Path) -> ToolBox:
    """Import the ToolBox that the caller names as ``MODULE:NAME``; its module may be in *folder*.

    Raises:
        UsageError: *source* has another form.
        ConfigError: There is no such module or name, or it is no ToolBox and makes none.
    """
    from xun.tools.toolbox import ToolBox

    module, colon, name = source.partition(":")
    if not colon or not module or not name:
        raise UsageError(f'"{source}" is no MODULE:NAME')
    place = os.fspath(folder)
    sys.path.insert(0, place)
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{source} can't be imported: {error}") from error
    finally:
        sys.path.remove(place)
    if not isinstance(found, ToolBox):
        found = found() if callable(found) else found
    if not isinstance(found, ToolBox):
        raise ConfigError(f"{source} is no ToolBox and makes none, but {type(found).__name__}.")
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} can't be read ({error.strerror}); --update writes it.") from None
    except ValueError as error:
        raise ConfigError(f"{path} is no JSON: {error}; --update writes it anew.") from None
    tools = data.get("tools") if isinstance(data, dict) and data.get("version") == VERSION else None
    if not isinstance(tools, dict) or not all(isinstance(item, dict) for item in tools.values()):
        raise ConfigError(f"{path} holds no tool schemas of version {VERSION}; --update writes it anew.")
    return tools


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}.") from None
