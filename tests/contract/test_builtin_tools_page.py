"""docs/builtin-tools.md is what the tools say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from xun.tools.groups import GROUPS, OPTIONAL, load_group
from xun.tools.toolbox import ToolBox

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "builtin-tools.md"


def test_the_page_is_current() -> None:
    script = ROOT / "scripts" / "builtin_tools_page.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_each_tool_has_its_text_and_its_parameters() -> None:
    sections = {part.split("\n", 1)[0]: part for part in PAGE.read_text("utf-8").split("\n### ")[1:]}
    for group in (*GROUPS, *OPTIONAL):
        for tool in ToolBox(*load_group(group)).list_tools(include_disabled=True):
            section = sections[tool.name]
            assert tool.description.splitlines()[0] in section, tool.name
            for name in tool.tool_schema["properties"]:
                assert f"| `{name}` |" in section, (tool.name, name)
            assert "- Returns" in section and "- Needs" in section
