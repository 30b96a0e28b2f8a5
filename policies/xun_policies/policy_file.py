"""Policy files: the user-made entries as TOML text, and back with every line checked."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xun_policies.errors import PolicyError
from xun_policies.grants import CommandEntry
from xun_policies.hosts import HostEntry, checked_host
from xun_policies.writes import WriteEntry, is_protected

if TYPE_CHECKING:
    from xun_policies.store import PolicyState


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """What a policy file holds."""

    commands: tuple[CommandEntry, ...]
    writes: tuple[WriteEntry, ...]
    excluded: tuple[str, ...]
    hosts: tuple[HostEntry, ...] = ()


def to_toml(state: PolicyState, base: str = "", home: str = "") -> str:
    """Return the user-made entries and exclusions of *state*.

    Args:
        state: The policy.
        base: The workspace's folder; write paths in it are written relative to it.
        home: The home folder; other paths in it are written with ``~``.

    Raises:
        PolicyError: An entry is no UTF-8 text.
    """
    lines = ["# xun policy: what runs, is written and is fetched from without a question.", "version = 1"]
    excluded = ", ".join(_text(item) for item in sorted(state.excluded))
    lines.append(f"excluded = [{excluded}]")
    for entry in state.command_allowlist:
        lines += ["", "[[command]]", f"tokens = [{', '.join(_text(token) for token in entry.tokens)}]"]
        lines += ["exact = true"] if entry.exact else []
    for path in state.write_allowlist:
        lines += ["", "[[write]]", f"path = {_text(_shorten(path.path, base, home))}"]
        lines += ["directory = true"] if path.directory else []
    for place in state.host_allowlist:
        lines += ["", "[[host]]", f"name = {_text(place.host)}"]
    return "\n".join(lines) + "\n"


def _text(value: str) -> str:
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise PolicyError(f"{value!r} is no UTF-8 text, so no policy file can hold it; remove that entry first.")
    # JSON escapes are TOML escapes, but for DEL, which TOML wants escaped too.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shorten(path: str, base: str, home: str) -> str:
    if base and path == base:
        return "."
    if base and path.startswith(base + "/"):
        below = path[len(base) + 1 :]
        return f"./{below}" if below.startswith("~") else below  # a folder of that name is not the home folder
    return "~" + path[len(home) :] if home and path.startswith(home + "/") else path


def parse_toml(text: str, base: str = "", home: str = "", source: str = "import") -> PolicyFile:
    """Read the text of a policy file; nothing is taken unless all of it is right.

    Args:
        text: The file's text.
        base: The folder that relative write paths count from.
        home: What ``~`` stands for; "" means the user's home folder.
        source: What the entries will name as their source.

    Raises:
        PolicyError: The text is no TOML, or an entry is wrong; the message starts with the line number.
    """
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        reason = str(exc).replace("at end of document", f"at line {len(text.splitlines())}, the end")
        raise PolicyError(f"The policy file is no valid TOML: {reason}.") from exc
    except (ValueError, RecursionError):  # a number of thousands of digits, or brackets in brackets
        raise PolicyError("The policy file holds a number that is too large, or is nested too deeply.") from None
    lines = _Lines(text)
    for key in data:
        if key not in ("version", "excluded", "command", "write", "host"):
            raise PolicyError(
                f"line {lines.of_key(key)}: {key} is no key of a policy file (version, excluded, command, write, host)."
            )
    if data.get("version") != 1:
        raise PolicyError(f"line {lines.of_key('version')}: a policy file needs version = 1.")
    excluded = data.get("excluded", [])
    if not isinstance(excluded, list) or not all(isinstance(item, str) for item in excluded):
        raise PolicyError(f"line {lines.of_key('excluded')}: excluded must be a list of texts.")
    commands = tuple(
        _command(item, lines.of_table("command", n), source) for n, item in enumerate(_tables(data, "command", lines))
    )
    writes = tuple(
        _write(item, lines.of_table("write", n), base, home, source)
        for n, item in enumerate(_tables(data, "write", lines))
    )
    hosts = tuple(_host(item, lines.of_table("host", n), source) for n, item in enumerate(_tables(data, "host", lines)))
    return PolicyFile(commands, writes, tuple(excluded), hosts)


class _Lines:
    """Finds the line, from 1, on which a key or a table of an array stands."""

    __slots__ = ("_lines",)

    def __init__(self, text: str) -> None:
        self._lines = [line.strip() for line in text.splitlines()]

    def of_key(self, key: str) -> int:
        return self._find(lambda line: line.split("=")[0].strip().strip("\"'") == key or line.strip("[] ") == key, 0)

    def of_table(self, name: str, index: int) -> int:
        return self._find(lambda line: line.startswith("[[") and line.split("]]")[0].strip("[ \"'") == name, index)

    def _find(self, matches: Any, skip: int) -> int:
        found = 1
        for number, line in enumerate(self._lines, 1):
            if matches(line):
                found = number
                if skip == 0:
                    break
                skip -= 1
        return found


def _tables(data: dict[str, Any], name: str, lines: _Lines) -> list[Any]:
    value = data.get(name, [])
    if not isinstance(value, list):
        raise PolicyError(f"line {lines.of_key(name)}: {name} must be written as [[{name}]] tables.")
    return value


def _known(item: Any, names: Iterable[str], line: int) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise PolicyError(f"line {line}: an entry must be a table.")
    unknown = sorted(set(item) - set(names))
    if unknown:
        raise PolicyError(f"line {line}: {unknown[0]} is no key of this entry ({', '.join(names)}).")
    for name in ("exact", "directory"):
        if not isinstance(item.get(name, False), bool):
            raise PolicyError(f"line {line}: {name} must be true or false.")
    return item


def _command(item: Any, line: int, source: str) -> CommandEntry:
    item = _known(item, ("tokens", "exact"), line)
    tokens = item.get("tokens")
    if (
        not isinstance(tokens, list)
        or not tokens
        or not all(isinstance(token, str) for token in tokens)
        or not tokens[0]
    ):
        raise PolicyError(f"line {line}: tokens must be a list of at least one word.")
    return CommandEntry(tuple(tokens), item.get("exact", False), source)


def _write(item: Any, line: int, base: str, home: str, source: str) -> WriteEntry:
    item = _known(item, ("path", "directory"), line)
    path = item.get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise PolicyError(f"line {line}: path must be a text.")
    if path == "~" or path.startswith("~/"):
        path = (home or os.path.expanduser("~")) + path[1:]
    path = os.path.normpath(os.path.join(base or os.getcwd(), path))
    if is_protected(path):
        raise PolicyError(f"line {line}: {path} is protected and can't be granted.")
    return WriteEntry(path, item.get("directory", False), source)


def _host(item: Any, line: int, source: str) -> HostEntry:
    item = _known(item, ("name",), line)
    try:
        return HostEntry(checked_host(item.get("name")), source)
    except PolicyError as exc:
        raise PolicyError(f"line {line}: {exc}") from None
