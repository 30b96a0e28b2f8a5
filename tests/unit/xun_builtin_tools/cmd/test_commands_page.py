"""The example of docs/commands.md runs as it stands, and its table names what there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from xun_builtin_tools.cmd import tools

PAGE = Path(__file__).parents[4] / "docs" / "commands.md"


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    exec(compile(block, str(PAGE), "exec"), {})
    assert capsys.readouterr().out == "built\nhello\n"


def test_the_table_has_the_signatures():
    rows = set(re.findall(r"^\| `(\w+)\((.*?)\)` ", PAGE.read_text(), re.M))
    assert rows == {(tool.__name__, _signature(tool)) for tool in tools()}


def _signature(tool) -> str:
    given = [p for p in inspect.signature(tool).parameters.values() if p.name != "ctx"]
    return ", ".join(p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in given).replace("'", '"')
