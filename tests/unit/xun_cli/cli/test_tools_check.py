"""``xun tools check``: schemas held against a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xun_cli.main import main

MODULE = """
from xun import ToolBox

def look(path: str{more}) -> str:
    \"\"\"{text}\"\"\"
    return path

{name} = ToolBox(look)

def make() -> ToolBox:
    return {name}
"""


class Tools:
    def __init__(self, folder: Path, capsys: Any, module: str) -> None:
        self.folder, self._capsys, self._module = folder, capsys, module
        self.write()

    def write(self, text: str = "Look.", more: str = "") -> None:
        """Write the module under a new name: Python imports a module once."""
        self._module += "x"
        (self.folder / f"{self._module}.py").write_text(MODULE.format(text=text, more=more, name="box"))

    def __call__(self, *argv: str, name: str = "box") -> tuple[int, str, str]:
        source = ["--from", f"{self._module}:{name}"] if name else []
        code = main(["tools", "check", "-C", str(self.folder), *argv, *source])
        out, err = self._capsys.readouterr()
        return code, out, err


@pytest.fixture
def tools(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tools:
    monkeypatch.setenv("XUN_HOME", str(tmp_path / "home"))
    return Tools(tmp_path, capsys, f"checked_{tmp_path.name.replace('-', '_')}")


def test_a_change_fails_and_update_takes_it_over(tools: Tools) -> None:
    assert tools("--update")[0] == 0
    assert "look" in json.loads((tools.folder / "xun-tools.json").read_text())["tools"]
    assert tools() == (0, f"1 tools are as in {tools.folder}/xun-tools.json\n", "")
    tools.write(more=", deep: bool = False")
    code, out, err = tools()
    assert code == 1 and out == "look: parameter deep is new\n" and "--update" in err
    assert tools("--update")[0] == 0 and tools(name="make")[0] == 0


@pytest.mark.parametrize(
    ("text", "more", "told"),
    [
        ("Other.", ", deep: bool = False", "another description"),
        ("Look.", "", "parameter deep is gone"),
        ("Look.", ", deep: int = 0", "parameter deep changed from"),
        ("Look.", ", deep: bool", "deep is required now"),
    ],
)
def test_changes_are_told_by_name(tools: Tools, text: str, more: str, told: str) -> None:
    tools.write(more=", deep: bool = False")
    assert tools("a.json", "--update")[0] == 0
    tools.write(text, more)
    code, out, _ = tools("a.json")
    assert code == 1 and told in out


def test_tools_that_come_and_go(tools: Tools) -> None:
    tools("--update")
    path = tools.folder / "xun-tools.json"
    data = json.loads(path.read_text())
    data["tools"]["gone"] = data["tools"].pop("look")
    path.write_text(json.dumps(data))
    assert tools()[:2] == (1, "gone: gone\nlook: new\n")


def test_the_built_in_tools_are_the_default(tools: Tools) -> None:
    assert tools("--update", name="")[0] == 0
    assert "bash" in json.loads((tools.folder / "xun-tools.json").read_text())["tools"]
    assert tools(name="")[0] == 0


@pytest.mark.parametrize("text", [None, "{", "[]", '{"version": 2, "tools": {}}', '{"version": 1, "tools": [1]}'])
def test_a_missing_or_damaged_file_names_the_way_out(tools: Tools, text: str | None) -> None:
    if text is not None:
        (tools.folder / "xun-tools.json").write_text(text)
    code, out, err = tools()
    assert (code, out) == (3, "") and "--update" in err


@pytest.mark.parametrize(("source", "code"), [("nothing", 2), ("no_module:box", 3), ("os:nothing", 3), ("os:name", 3)])
def test_a_wrong_source_is_refused(tools: Tools, capsys: Any, source: str, code: int) -> None:
    assert main(["tools", "check", "-C", str(tools.folder), "--from", source]) == code
    assert source in capsys.readouterr().err
