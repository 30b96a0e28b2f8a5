"""Write docs/builtin-tools.md from the tools themselves, or check with ``--check`` that it is current.

What the page says of a tool is its docstring, which the model reads too, and its schema; what comes back and what has
to be allowed is in ``builtin_tools_facts.toml`` beside this file.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "builtin-tools.md"
FACTS = Path(__file__).with_name("builtin_tools_facts.toml")
HEAD = Path(__file__).with_name("builtin_tools_head.md")
SUBAGENTS = "subagents"


def main() -> int:
    """Write the page, or compare it; return the exit code."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        sys.stderr.write("docs/builtin-tools.md is not current; run: make docs\n")
        return 1
    return 0


def page() -> str:
    """Return the text of the page.

    Raises:
        SystemExit: A tool or a group has no entry among the facts, or an entry has no tool.
    """
    from xun.tools.groups import GROUPS, OPTIONAL, load_group, load_subagent_tools

    facts = tomllib.loads(FACTS.read_text(encoding="utf-8"))
    seldom = _seldom()
    parts = [HEAD.read_text(encoding="utf-8")]
    seen: set[str] = set()
    loaded = {name: load_group(name) for name in (*GROUPS, *OPTIONAL)}
    loaded[SUBAGENTS] = load_subagent_tools(None, 2)
    for group, functions in loaded.items():
        parts.append(f"## {group}\n\n{_fact(facts['groups'], group, 'group')}\n")
        for tool in _tools(functions):
            seen.add(tool.name)
            parts.append(_entry(tool, facts, tool.name in seldom))
    left = sorted(set(facts["tools"]) - seen)
    if left:
        raise SystemExit(f"{FACTS.name} has entries for tools that there are not: {', '.join(left)}")
    return "\n".join(parts)


def _tools(functions: list[Any]) -> list[Any]:
    from xun.tools.toolbox import ToolBox

    return ToolBox(*functions).list_tools(include_disabled=True)


def _seldom() -> set[str]:
    from xun_cli.compose import build_toolbox
    from xun_cli.settings import Settings

    box = build_toolbox(Settings())
    return {tool.name for tool in box.list_tools(include_disabled=True) if box.is_deferred(tool)}


def _entry(tool: Any, facts: dict[str, Any], seldom: bool) -> str:
    known = _fact(facts["tools"], tool.name, "tool")
    text = "\n".join(line.strip() for line in tool.description.splitlines())
    marks = []
    if "vision" in tool.required_capabilities:
        marks.append("needs a model with vision")
    if seldom:
        marks.append("found by `tool_search`")
    lines = [f"### {tool.name}\n", "```text", text, "```", ""]
    if marks:
        lines += [f"*{'; '.join(marks)}*", ""]
    lines += _table(tool.tool_schema)
    lines += [
        f"- Returns {known['returns']}.",
        f"- Needs {_fact(facts['needs'], known['needs'], 'kind of need')}.",
        "",
    ]
    return "\n".join(lines)


def _table(schema: dict[str, Any]) -> list[str]:
    properties = schema.get("properties", {})
    if not properties:
        return []
    required = set(schema.get("required", ()))
    rows = ["| parameter | type | default |", "|---|---|---|"]
    for name, item in properties.items():
        default = "required" if name in required else _value(item.get("default"))
        rows.append(f"| `{name}` | {_type(item, schema)} | {default} |")
    return [*rows, ""]


def _type(item: dict[str, Any], root: dict[str, Any]) -> str:
    if "$ref" in item:
        item = root["$defs"][item["$ref"].rpartition("/")[2]]
    if "anyOf" in item:
        return " or ".join(_type(member, root) for member in item["anyOf"] if member != {"type": "null"})
    if "enum" in item:
        return ", ".join(f"`{value}`" for value in item["enum"])
    kind = item.get("type", "any")
    if kind == "array":
        return f"list of {_type(item.get('items', {}), root)}"
    if kind == "object" and item.get("properties"):
        needed = set(item.get("required", ()))
        return "{" + ", ".join(name if name in needed else f"{name}?" for name in item["properties"]) + "}"
    if kind == "object":
        return "object"
    limits = [f"{word} {item[key]}" for key, word in (("minimum", "at least"), ("maximum", "at most")) if key in item]
    return " ".join([str(kind), *limits])


def _value(default: Any) -> str:
    return "none" if default is None else f"`{json.dumps(default, ensure_ascii=False)}`"


def _fact(facts: dict[str, Any], name: str, what: str) -> Any:
    if name not in facts:
        raise SystemExit(f"{FACTS.name} says nothing of the {what} {name}: add it")
    return facts[name]


if __name__ == "__main__":
    sys.exit(main())
