"""docs/agents.md and the README: their examples run as they stand, and the names that they tell are there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import xun
from xun import Agent, AgentConfig, events
from xun.models import ScriptedModel

ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "agents.md", ROOT / "README.md"

SHOWN = """\
Three. 2
kind='bug' urgency=4
The answer does not meet the schema: urgency: input should be less than or equal to 5
Looking. [stock {'item': 'pear'}] None left.
done after 2 steps
budget - The run used 2000 tokens; its limit is 1500.
hello
Ada. 3
All settled.
Done: order 7. 4
write: notes.txt?
command: Run command?
new | Denied by the user: not now. Do not try the same command again; do something else or ask.
A hook denied the call of refund: refunds are closed today
"""


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    page = ModuleType("agents_page")
    monkeypatch.setitem(sys.modules, page.__name__, page)
    for block in blocks(PAGE):
        exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(page))
    assert capsys.readouterr().out == SHOWN


def test_the_example_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("one two three")
    monkeypatch.chdir(tmp_path)
    [block] = blocks(README)
    call = {"tool_calls": [{"name": "word_count", "arguments": {"path": "README.md"}}]}
    script = ScriptedModel([call, {"text": "There are 3."}])
    assert block.count('OpenAIModel("gpt-5-mini")') == 1
    values: dict[str, Any] = {"script": script}
    exec(compile(block.replace('OpenAIModel("gpt-5-mini")', "script"), str(README), "exec"), values)
    assert capsys.readouterr().out == "There are 3.\n" and script.requests[1].messages[-1].text == "3"


def test_the_names_that_the_page_tells_are_there() -> None:
    text = PAGE.read_text("utf-8")
    assert all(hasattr(events, name) for name in re.findall(r"events\.([A-Z]\w+)", text))
    settings = {name for found in re.findall(r"AgentConfig\(([^)]*)\)", text) for name in re.findall(r"(\w+)=", found)}
    assert settings and all(hasattr(AgentConfig(), name) for name in settings)
    with Agent(model=ScriptedModel([])) as agent:
        missing = [name for name in re.findall(r"\bagent\.(\w+)", text) if not hasattr(agent, name)]
    # What others call it stands in the left column of the table.
    assert set(missing) <= {"run_sync", "run", "md"}
    assert all(hasattr(xun, name) for name in ("ToolError", "ToolCallFormatError", "AgentGetterParam"))
