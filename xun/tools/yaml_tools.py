"""Tools from YAML files."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun.errors import ConfigError
from xun.tools.kinds import from_schema

if TYPE_CHECKING:
    from xun.tools.function import Function
    from xun.tools.registry import ToolRegistry

_PROPERTIES: dict[str, tuple[type, ...]] = {
    "timeout": (int, float),
    "sequential": (bool,),
    "ends_run": (bool,),
    "approval": (bool,),
    "search_hint": (str,),
    "expose": (str,),
    "preset": (dict,),
    "max_retries": (int,),
    "read_only": (bool,),
    "destructive": (bool,),
    "pure": (bool,),
    "max_calls": (int,),
    "max_seconds": (int, float),
    "output_schema": (dict,),
    "override": (bool,),
    "required_capabilities": (list,),
    "deferred": (bool,),
}
_OTHER_NAMES = {"extra_kwargs": "preset", "defer_loading": "deferred"}
_TOOL_KEYS = frozenset({"type", "name", "description", "input_schema", "binding", *_PROPERTIES, *_OTHER_NAMES})
_ENTRY_KEYS = frozenset(
    {"name", "yaml_path", "binding", "preset", "extra_kwargs", "deferred", "defer_loading", "search_hint"}
)


class YamlMap:
    """A mapping of a YAML file that knows the lines of its keys."""

    def __init__(self, path: Path, data: dict[str, Any], lines: Mapping[str, int]) -> None:
        self.path, self.data, self._lines = path, data, lines

    def error(self, key: str, text: str) -> ConfigError:
        """Return an error about *key* that names file and line."""
        return ConfigError(f"{self.path}, line {self._lines.get(key, 1)}: {text}")

    def only(self, known: frozenset[str]) -> None:
        """Refuse keys that mean nothing.

        Raises:
            ConfigError: There is one; the text names its line.
        """
        for key in self.data:
            if key not in known:
                raise self.error(key, f"unknown key {key!r}; the keys are: {', '.join(sorted(known))}")

    def one_of(self, key: str, other: str) -> Any:
        """Return the value under either of two names of one thing; None without.

        Raises:
            ConfigError: Both are given.
        """
        if key in self.data and other in self.data:
            raise self.error(other, f"{key} and {other} are the same; give one of them")
        return self.data.get(key, self.data.get(other))


def tool_from_yaml(
    path: str | PathLike[str],
    binding: str | Callable[..., Any] | None,
    *,
    name: str | None = None,
    preset: Mapping[str, Any] | None = None,
    deferred: bool | None = None,
    search_hint: str | None = None,
) -> Function:
    """Make a tool of a YAML file; see `Function.from_yaml`."""
    file = read_map(Path(path))
    file.only(_TOOL_KEYS)
    if file.data.get("type", "tool") != "tool":
        raise file.error("type", f"the type must be tool, got {file.data['type']!r}")
    tool = name or _text(file, "name")
    if not tool:
        raise file.error("name", "a tool needs a name")
    target = binding if binding is not None else file.data.get("binding")
    if target is None:
        raise file.error("binding", f"the tool {tool} is bound to no function; give binding")
    attr = {key: file.data[key] for key in file.data if key in _PROPERTIES}
    given = {"preset": file.one_of("preset", "extra_kwargs"), "deferred": file.one_of("deferred", "defer_loading")}
    attr |= {key: value for key, value in given.items() if value is not None}
    _check_properties(file, attr)
    attr |= {} if preset is None else {"preset": {**attr.get("preset", {}), **preset}}
    attr |= {} if deferred is None else {"deferred": deferred}
    attr |= {} if search_hint is None else {"search_hint": search_hint}
    schema = file.data.get("input_schema", {"type": "object", "properties": {}})
    try:
        func = bound(target)
    except ConfigError as exc:
        raise file.error("binding", str(exc)) from exc
    try:
        return from_schema(tool, _text(file, "description"), schema, func, attr)
    except ConfigError as exc:
        raise file.error(_about(file, str(exc)), str(exc)) from exc


def _about(file: YamlMap, message: str) -> str:
    """Return the key that an error is about."""
    for word, keys in (("preset", ("preset", "extra_kwargs")), ("expose", ("expose",))):
        for key in keys:
            if word in message and key in file.data:
                return key
    return "input_schema"


def bound(target: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that a binding names.

    Raises:
        ConfigError: There is none of this name, or it can't be called.
    """
    if not isinstance(target, str):
        return target
    module, colon, name = target.partition(":")
    if not (module and colon and name):
        raise ConfigError(f"the binding {target!r} must have the form package.module:function")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as exc:
        raise ConfigError(f"the binding {target!r} can't be loaded: {exc}") from exc
    if not callable(found):
        raise ConfigError(f"the binding {target!r} names a {type(found).__name__}, which can't be called")
    return found  # type: ignore[no-any-return]


def tools_from_yaml(path: str | PathLike[str], registry: ToolRegistry) -> list[Function]:
    """Make the tools that a YAML file lists; see `ToolBox.with_yaml`."""
    file = Path(path)
    top = read_map(file)
    top.only(frozenset({"tools"}))
    entries = top.data.get("tools")
    if not isinstance(entries, list):
        raise top.error("tools", "the file needs tools, a list")
    return [_from_entry(entry, file.parent, registry) for entry in _entries(file, entries)]


def _from_entry(entry: YamlMap, folder: Path, registry: ToolRegistry) -> Function:
    name = _text(entry, "name")
    if "yaml_path" not in entry.data:
        try:
            return registry.make(entry.data)
        except ConfigError as exc:
            raise entry.error("name", str(exc)) from exc
    entry.only(_ENTRY_KEYS)
    preset, deferred = entry.one_of("preset", "extra_kwargs"), entry.one_of("deferred", "defer_loading")
    given = {"preset": preset, "deferred": deferred, "search_hint": entry.data.get("search_hint")}
    _check_properties(entry, {key: value for key, value in given.items() if value is not None})
    return tool_from_yaml(folder / _text(entry, "yaml_path"), entry.data.get("binding"), name=name or None, **given)


def read_map(path: Path) -> YamlMap:
    """Read a YAML file that holds one mapping.

    Raises:
        ConfigError: It can't be read, is no YAML, no mapping, or gives a key twice.
    """
    import yaml

    try:
        text = path.read_text("utf-8")
        node, data = yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: can't be read: {exc}") from exc
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        mark = getattr(exc, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(exc, "problem", None) or exc
        raise ConfigError(f"{path}{where}: no valid YAML: {problem}") from None
    return _map(path, node, data)


def _map(path: Path, node: Any, data: Any) -> YamlMap:
    if not isinstance(data, dict):
        line = 1 if node is None else node.start_mark.line + 1
        raise ConfigError(f"{path}, line {line}: expected a mapping, got {type(data).__name__}")
    lines: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if key.value in lines:
            raise ConfigError(f"{path}, line {line}: the key {key.value!r} is given twice")
        lines[key.value] = line
    return YamlMap(path, {str(key): value for key, value in data.items()}, lines)


def _entries(path: Path, entries: list[Any]) -> list[YamlMap]:
    import yaml

    top: Any = yaml.compose(path.read_text("utf-8"), Loader=yaml.SafeLoader)
    nodes = next(value for key, value in top.value if key.value == "tools").value
    return [_map(path, node, data) for node, data in zip(nodes, entries, strict=True)]


def _text(file: YamlMap, key: str) -> str:
    value = file.data.get(key, "")
    if not isinstance(value, str):
        raise file.error(key, f"{key} must be text, got {type(value).__name__}")
    return value


def _check_properties(file: YamlMap, attr: Mapping[str, Any]) -> None:
    other = {"preset": "extra_kwargs", "deferred": "defer_loading"}
    for key, value in attr.items():
        kinds = _PROPERTIES[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            names = " or ".join(kind.__name__ for kind in kinds)
            shown = key if key in file.data else other.get(key, key)
            raise file.error(shown, f"{shown} must be {names}, got {type(value).__name__}")
