"""str_replace_editor: each command does what the tool of its own does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace


@pytest.fixture
def agent(tmp_path: Path) -> Agent[Any]:
    box = ToolBox().with_defaults("editor")
    config = AgentConfig(auto_confirm=True)
    return Agent(toolbox=box, workspace=Workspace(tmp_path), config=config).initialize()


def edit(agent: Agent[Any], command: str, path: str = "a.txt", **arguments: Any) -> Any:
    return agent.toolbox.call_tool(agent, "str_replace_editor", {"command": command, "path": path, **arguments}, None)


def test_a_file_from_its_making_to_its_undoing(agent, tmp_path):
    path = tmp_path / "a.txt"
    assert edit(agent, "create", file_text="one\ntwo\n").unwrap()["created"]
    assert edit(agent, "view").unwrap()["text"] == "     1\tone\n     2\ttwo\n"
    edit(agent, "str_replace", old_str="two", new_str="2").unwrap()
    edit(agent, "insert", insert_line=0, new_str="top").unwrap()
    assert path.read_text() == "top\none\n2\n"
    assert edit(agent, "view", view_range=[2, 2]).unwrap()["text"] == "     2\tone\n"
    assert edit(agent, "view", view_range=[2, -1]).unwrap()["text"] == "     2\tone\n     3\t2\n"
    edit(agent, "str_replace", old_str="one\n").unwrap()
    assert path.read_text() == "top\n2\n"
    for _ in range(4):
        edit(agent, "undo_edit").unwrap()
    assert not path.exists()
    assert "no edit history" in edit(agent, "undo_edit").unwrap_err().error


def test_a_folder_is_listed(agent, tmp_path):
    (tmp_path / "a.txt").write_text("x")
    assert "a.txt" in str(edit(agent, "view", ".").unwrap())
    assert "folder" in edit(agent, "view", ".", view_range=[1, 2]).unwrap_err().error


@pytest.mark.parametrize(
    ("command", "arguments", "word"),
    [
        ("create", {}, "file_text"),
        ("str_replace", {"new_str": "x"}, "old_str"),
        ("insert", {"new_str": "x"}, "insert_line"),
        ("insert", {"insert_line": 1}, "new_str"),
        ("view", {"view_range": [3, 2]}, "view_range"),
        ("view", {"view_range": [1]}, "view_range"),
    ],
)
def test_what_a_command_needs(agent, tmp_path, command, arguments, word):
    (tmp_path / "a.txt").write_text("x\n")
    assert word in edit(agent, command, **arguments).unwrap_err().error
    assert (tmp_path / "a.txt").read_text() == "x\n"


def test_it_is_there_only_when_it_is_named():
    assert ToolBox().with_defaults().get("str_replace_editor") is None
