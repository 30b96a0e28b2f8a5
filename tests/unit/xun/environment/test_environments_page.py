"""The examples of docs/environments.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

from xun import Workspace

PAGE = Path(__file__).parents[4] / "docs" / "environments.md"


def test_the_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks[1:]:  # the first is a line out of a tool
        exec(compile(block, str(PAGE), "exec"), names)
    assert capsys.readouterr().out == "19\n\n42\n"
    assert isinstance(names["agent"].workspace, Workspace)
