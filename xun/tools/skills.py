"""Skills: folders with a SKILL.md, which a tool lists and loads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xun.errors import ConfigError, ToolError
from xun.tools.attr import tool_attr

FILE = "SKILL.md"
"""The file that makes a folder a skill: frontmatter with name and description, then its text."""

MAX_BYTES = 100_000
"""Bytes of one SKILL.md at most; longer material belongs into files beside it."""

MAX_SKILLS = 200
"""Skills of one toolbox at most."""

MAX_DESCRIPTION = 1024
"""Characters of a description at most."""

_INDEX = 50
_INDEX_WIDTH = 160
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_FENCE = "---"


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    Attributes:
        name: What it is loaded by.
        description: When to use it.
        folder: The folder, as it was found.
        root: The real path of the given folder, which it may not leave.
    """

    name: str
    description: str
    folder: Path
    root: Path


def find_skills(folders: Iterable[str | os.PathLike[str]]) -> dict[str, Skill]:
    """Return the skills in *folders*, by name: a folder that is a skill, or holds folders that are.

    Raises:
        ConfigError: A folder is missing, a SKILL.md is unreadable, too long or wrong, a link leads out, or a name is
            there twice; the text names the file and the line.
    """
    found: dict[str, Skill] = {}
    for given in folders:
        root = Path(os.path.realpath(Path(os.path.expanduser(given))))
        if not root.is_dir():
            raise ConfigError(f"The folder of skills {os.fspath(given)} is not there; create it or leave it out.")
        places = [root] if (root / FILE).exists() else sorted(path for path in root.iterdir() if path.is_dir())
        for folder in places:
            if not os.path.lexists(folder / FILE):
                continue
            skill = _read_head(folder, root)
            if skill.name in found:
                raise ConfigError(
                    f"{folder / FILE}: there is a skill named {skill.name!r} in {found[skill.name].folder} already; "
                    "rename one of them."
                )
            found[skill.name] = skill
            if len(found) > MAX_SKILLS:
                raise ConfigError(f"There are more than {MAX_SKILLS} skills below {root}; give fewer folders.")
    return found


def skill_tool(
    folders: Iterable[str | os.PathLike[str]],
    allowed: Collection[str] | None = None,
    check: Callable[[Path], None] = lambda folder: None,
) -> Callable[..., dict[str, Any]]:
    """Make the tool ``skill`` for the skills in *folders*; *allowed* names those that may be loaded, None for all.

    *check* gets the folder of a skill each time before it is loaded, and raises `ToolError` when it may not be now.

    Raises:
        ConfigError: As `find_skills` says.
    """
    skills = find_skills(folders)
    shown = {name: skill for name, skill in skills.items() if allowed is None or name in allowed}

    @tool_attr(read_only=True, description=_described(shown))
    def skill(name: str | None = None) -> dict[str, Any]:
        if name is None:
            return {"skills": [{"name": item.name, "description": item.description} for item in shown.values()]}
        if name in shown:
            check(shown[name].folder)
            return _load(shown[name])
        known = ", ".join(shown) or "none"
        if name in skills:
            raise ToolError(f"The skill {name!r} is not allowed here; the skills are: {known}.")
        raise ToolError(f"There is no skill named {name!r}; the skills are: {known}.")

    return skill


def _described(skills: dict[str, Skill]) -> str:
    lines = [f"- {item.name}: {_short(item.description)}" for item in list(skills.values())[:_INDEX]]
    if len(skills) > _INDEX:
        lines.append(f"- and {len(skills) - _INDEX} more: call it without a name for the whole list")
    return (
        "Load a skill: instructions for one kind of task. Load the one that fits before you begin such a task.\n\n"
        "Without name, the skills are listed. Returns name, location (its folder, with the files that it names) and "
        "content.\n\nThe skills:\n" + ("\n".join(lines) or "(none)")
    )


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _INDEX_WIDTH else text[: _INDEX_WIDTH - 3].rstrip() + "..."


def _load(skill: Skill) -> dict[str, Any]:
    try:
        lines = _read(skill.folder, skill.root).split("\n")
        end = _head_end(skill.folder / FILE, lines)
    except ConfigError as exc:
        raise ToolError(f"The skill {skill.name} can't be loaded any more: {exc}") from exc
    content = "\n".join(lines[end + 1 :]).strip()
    return {"name": skill.name, "location": os.fspath(skill.folder), "content": content}


def _read(folder: Path, root: Path) -> str:
    """Return the text of a SKILL.md, once neither its folder nor itself is a link that leads out of *root*."""
    path = folder / FILE
    real = Path(os.path.realpath(path))
    if not real.is_relative_to(root):
        raise ConfigError(f"{path}: a link leads out of {root}, to {real}; copy the skill into the folder instead.")
    try:
        with real.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ConfigError(f"{path}: longer than {MAX_BYTES} bytes; move parts into files beside it.")
        return data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: can't be read: {exc}") from exc


def _head_end(path: Path, lines: list[str]) -> int:
    if lines[0].rstrip() != _FENCE:
        raise ConfigError(f"{path}, line 1: a skill begins with {_FENCE}, name and description, and {_FENCE} again.")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return number
    raise ConfigError(f"{path}, line 1: the frontmatter has no end; close it with a line {_FENCE}.")


def _read_head(folder: Path, root: Path) -> Skill:
    import yaml

    path = folder / FILE
    lines = _read(folder, root).split("\n")
    # The fence becomes an empty line, so that the lines of YAML are those of the file.
    text = "\n".join(["", *lines[1 : _head_end(path, lines)]])
    try:
        node, data = yaml.compose(text, Loader=yaml.SafeLoader), yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        mark = getattr(exc, "problem_mark", None)
        line = 1 if mark is None else mark.line + 1
        raise ConfigError(f"{path}, line {line}: no valid YAML: {getattr(exc, 'problem', None) or exc}") from None
    if not isinstance(data, dict) or not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{path}, line 2: the frontmatter needs name and description.")
    at = {str(key.value): key.start_mark.line + 1 for key, _ in node.value}
    name = _text(path, data, at, "name")
    if not _NAME.match(name):
        raise ConfigError(
            f"{path}, line {at['name']}: a name is 1 to 64 of letters, digits, '.', '_', '-'; got {name!r}."
        )
    description = _text(path, data, at, "description")
    if len(description) > MAX_DESCRIPTION:
        raise ConfigError(
            f"{path}, line {at['description']}: the description has {len(description)} characters, "
            f"the limit is {MAX_DESCRIPTION}."
        )
    return Skill(name, description, folder, root)


def _text(path: Path, data: dict[Any, Any], at: dict[str, int], key: str) -> str:
    if key not in data:
        raise ConfigError(f"{path}, line 1: the frontmatter needs {key}.")
    value = data[key]
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{path}, line {at[key]}: {key} must be a text, got {value!r}.")
    return value.strip()
