"""A dry run of the built-in tools: diffs instead of writes, verdicts instead of commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.runs import calls
from xun import Agent, ToolBox, Workspace
from xun.models import ScriptedModel


class Refuses:
    """A chooser that must not be asked."""

    async def choose(self, request: Any) -> Any:
        raise AssertionError(f"a dry run asked {request.prompt}")


@pytest.fixture
def agent(tmp_path: Path) -> Agent[Any]:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b.txt").write_text("b\n")
    box = ToolBox().with_defaults("fs", "patch", "cmd", "code")
    box.dry_run = True
    made: Agent[Any] = Agent(toolbox=box, workspace=Workspace(tmp_path), chooser=Refuses())
    return made.initialize()


def state(folder: Path) -> dict[str, str | None]:
    found = sorted(folder.rglob("*"))
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else None for path in found}


@pytest.mark.parametrize(
    ("tool", "arguments", "action", "asks"),
    [
        ("write_file", {"path": "a.txt", "content": "three\n"}, "update", True),
        ("write_file", {"path": "new.txt", "content": "three\n"}, "add", False),
        ("replace", {"path": "a.txt", "old": "two", "new": "2"}, "update", True),
        ("multi_edit", {"path": "a.txt", "edits": [{"old": "two", "new": "2"}]}, "update", True),
        ("apply_patch", {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}, "update", True),
        ("delete", {"path": "a.txt"}, "delete", True),
        ("delete", {"path": "folder"}, "delete", True),
        ("move", {"src": "a.txt", "dst": "c.txt"}, "move", True),
        ("copy", {"src": "a.txt", "dst": "c.txt"}, "copy", False),
        ("mkdir", {"path": "more"}, "mkdir", False),
    ],
)
def test_a_write_gives_its_diff_and_changes_nothing(
    agent: Agent[Any], tmp_path: Path, tool: str, arguments: dict[str, Any], action: str, asks: bool
) -> None:
    before = state(tmp_path)
    value = agent.toolbox.call_tool(agent, tool, arguments).unwrap()
    assert value["dry_run"] is True and value["would_ask"] is asks
    assert value["files"][0]["action"] == action
    assert state(tmp_path) == before


def test_the_diff_is_that_of_the_change(agent: Agent[Any], tmp_path: Path) -> None:
    value = agent.toolbox.call_tool(agent, "replace", {"path": "a.txt", "old": "two", "new": "2"}).unwrap()
    [file] = value["files"]
    assert file["path"] == str(tmp_path / "a.txt") and (file["added"], file["removed"]) == (1, 1)
    assert "-two\n+2\n" in file["diff"]


def test_an_edit_that_does_not_fit_is_still_an_error(agent: Agent[Any]) -> None:
    result = agent.toolbox.call_tool(agent, "replace", {"path": "a.txt", "old": "four", "new": "2"})
    assert result.unwrap_err().kind == "not_found"


@pytest.mark.parametrize(("command", "asks"), [("ls", False), ("rm a.txt", True)])
def test_a_command_gives_its_verdict_and_does_not_run(
    agent: Agent[Any], tmp_path: Path, command: str, asks: bool
) -> None:
    before = state(tmp_path)
    value = agent.toolbox.call_tool(agent, "bash", {"command": command}).unwrap()
    assert value["dry_run"] is True and value["would_ask"] is asks
    assert value["command"] == command and value["verdict"]["segments"]
    assert state(tmp_path) == before


def test_code_does_not_run(agent: Agent[Any], tmp_path: Path) -> None:
    value = agent.toolbox.call_tool(agent, "run_code", {"code": "open('x', 'w')"}).unwrap()
    assert value["would_ask"] is True and not (tmp_path / "x").exists()


def test_reading_goes_on(agent: Agent[Any]) -> None:
    assert agent.toolbox.call_tool(agent, "read_file", {"path": "a.txt"}).unwrap()["text"] == "one\ntwo\n"


def test_in_a_run_the_model_reads_the_preview(agent: Agent[Any], tmp_path: Path) -> None:
    agent.model = ScriptedModel([calls(("write_file", {"path": "a.txt", "content": "new\n"})), {"text": "x"}])
    agent.instruct("go").execute()
    assert '"dry_run": true' in agent.model.requests[1].messages[-1].text
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"
    agent.finalize()


def test_plan_mode_still_refuses(agent: Agent[Any]) -> None:
    agent.policy.mode = "plan"
    assert agent.toolbox.call_tool(agent, "write_file", {"path": "n", "content": ""}).status == "denied"


def test_afterwards_writes_are_made(agent: Agent[Any], tmp_path: Path) -> None:
    agent.toolbox.dry_run = False
    assert agent.toolbox.call_tool(agent, "write_file", {"path": "n.txt", "content": "n\n"}).is_ok()
    assert (tmp_path / "n.txt").read_text() == "n\n"
