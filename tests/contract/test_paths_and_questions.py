"""Paths of tools and questions to a person: statements 94 to 106 of the tool contract."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.persons import Answers
from xun import Agent, AgentConfig, ChoiceOutcome, ToolBox, ToolCallContext, Workspace
from xun.choice import ChoiceRequest
from xun.events import Notice
from xun.models import ScriptedModel

OUTSIDE = "is not within the agent's workspace"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "workdir"
    folder.mkdir()
    return folder


def test_094_relative_path(work: Path):
    resolved = Workspace(work).resolve("a")
    assert resolved.path == work / "a" and resolved.in_workdir and not resolved.in_tempdir


def test_095_absolute_path_inside(work: Path):
    assert Workspace(work).resolve(str(work / "x" / "y")).path == work / "x" / "y"


@pytest.mark.parametrize("path", ["..", "../x", "/etc/passwd", "link/x", "a/../../x"])
def test_096_path_that_leads_out(work: Path, path: str):
    (work / "a").mkdir()
    (work / "link").symlink_to("/etc")
    with pytest.raises(ValueError, match=f"^Path /.* {OUTSIDE}"):
        Workspace(work).resolve(path)


def test_097_no_string_prefix(work: Path):
    other = work.parent / "workdir2"
    other.mkdir()
    with pytest.raises(ValueError, match=OUTSIDE):
        Workspace(work).resolve(str(other / "a"))


def test_098_missing_file_inside(work: Path):
    assert not Workspace(work).resolve("no/such/file").path.exists()


def test_099_temporary_folder(work: Path):
    workspace = Workspace(work)
    assert not workspace.tempdir.created
    folder = workspace.tempdir.path
    resolved = workspace.resolve(str(folder / "x"))
    assert resolved.in_tempdir and not resolved.in_workdir
    workspace.close()
    with pytest.raises(ValueError, match=OUTSIDE):
        workspace.resolve(str(folder / "x"))


def test_100_temporary_folder_goes_a_given_one_stays(work: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(work)
    with Agent() as agent:
        made = agent.workspace.tempdir.path
        assert made.is_dir()
    assert not made.exists() and work.is_dir()
    given = Workspace(work)
    with Agent(workspace=given):
        kept = given.tempdir.path
    assert kept.is_dir()
    given.close()
    assert not kept.exists()


def test_101_returned_paths_are_absolute_but_those_of_a_search(work: Path):
    (work / "sub").mkdir()
    (work / "sub" / "a.txt").write_text("needle\n")
    agent: Agent[Any] = Agent(toolbox=ToolBox().with_defaults("search"), workspace=Workspace(work)).initialize()
    found = agent.toolbox.call_tool(agent, "glob", {"pattern": "**/*.txt"}).unwrap()
    assert found["paths"] == ["sub/a.txt"]
    matches = agent.toolbox.call_tool(agent, "grep", {"pattern": "needle"}).unwrap()["matches"]
    assert [match["path"] for match in matches] == ["sub/a.txt"]


def test_102_flags_home_and_zero_bytes(work: Path, monkeypatch: pytest.MonkeyPatch):
    workspace = Workspace(work)
    assert not workspace.resolve("/etc/passwd", raise_on_invalid=False).valid
    monkeypatch.setenv("HOME", str(work / "home"))
    assert workspace.resolve("~/a").path == work / "home" / "a"
    with pytest.raises(ValueError, match=r"NUL|null|zero"):
        workspace.resolve("a\0b")
    (work / "b").mkdir()
    resolved = workspace.resolve("b/new")
    os.rmdir(work / "b")
    (work / "b").symlink_to("/tmp")
    with pytest.raises(ValueError, match=OUTSIDE):
        workspace.write_bytes(resolved, b"x")


# -- questions --------------------------------------------------------------------------------------


def test_103_questions_and_their_source():
    chooser = Answers("b", True)
    agent: Agent[Any] = Agent(chooser=chooser)
    assert agent.get_choice("Which?", ["a", "b"], "More text", default="a") == ChoiceOutcome("b", "user")
    assert agent.get_confirm("Proceed?") == ChoiceOutcome(True, "user")
    first, second = chooser.asked
    assert [option.value for option in first.options] == ["a", "b"] and first.default == "a"
    assert (first.prompt, first.message, first.kind) == ("Which?", "More text", "choice")
    assert (second.kind, second.default) == ("confirm", True) and first.id != second.id
    with pytest.raises(ValueError, match="'c'"):
        agent.get_choice("Which?", ["a"], default="c")
    with pytest.raises(ValueError, match="choices"):
        agent.get_choice("Which?", [])


async def test_103_title_and_subtitle_are_shown_with_the_question():
    chooser = Answers("a", True, "a")
    agent: Agent[Any] = Agent(chooser=chooser)
    await agent.aget_choice("Which?", ["a"], message="More", title="Colours", subtitle="of the door")
    await agent.aget_confirm("Proceed?", message=None, title=" ", subtitle="It can't be taken back.")
    with Agent(chooser=chooser, toolbox=ToolBox().with_defaults("framework")) as asking:
        assert (
            await asking.toolbox.acall_tool(
                asking, "ask_preference", {"question": "Which?", "choices": ["a", "b"], "title": "Door"}
            )
        ).unwrap() == {"Q": "Which?", "A": "a"}
    shown = [(request.prompt, request.message) for request in chooser.asked]
    assert shown == [
        ("Colours: Which?", "of the door\nMore"),
        ("Proceed?", "It can't be taken back."),
        ("Door: Which?", ""),
    ]


def test_104_outcome_has_no_truth_value():
    outcome = ChoiceOutcome(True, "user")
    for use in (lambda: bool(outcome), lambda: not outcome, lambda: 1 if outcome else 2):
        with pytest.raises(TypeError, match="choice"):
            use()
    assert outcome.choice is True


def test_105_confirm_gives_a_bool():
    agent: Agent[Any] = Agent(chooser=Answers(False))
    assert agent.get_confirm("Proceed?").choice is False


def test_106_auto_confirm_takes_the_default():
    chooser = Answers("a")
    agent: Agent[Any] = Agent(config=AgentConfig(auto_confirm=True), chooser=chooser)
    outcome = agent.get_choice("Which?", ["a", "b"], default="b")
    assert (outcome.choice, outcome.source) == ("b", "auto")
    assert agent.get_confirm("Proceed?", default=False).choice is False
    assert chooser.asked == []
    assert agent.get_choice("Which?", ["a", "b"], skip_auto_confirm=True).source == "user"


def test_106_auto_confirm_without_default_warns():
    seen: list[Any] = []
    agent: Agent[Any] = Agent(config=AgentConfig(auto_confirm=True))
    agent.listener = seen.append
    assert agent.get_choice("Which?", ["a", "b"]) == ChoiceOutcome("a", "auto", decided_by="auto_confirm")
    assert [(type(event), event.level) for event in seen] == [(Notice, "warning")]
    assert "'a'" in seen[0].text and "Which?" in seen[0].text


def test_106_nobody_to_ask_is_an_error_and_never_hangs():
    def tool(ctx: ToolCallContext[Any]) -> str:
        return ctx.ask("Go on?")

    turns = [{"tool_calls": [{"name": "tool", "arguments": {}}]}, {"text": "done"}]
    agent: Agent[Any] = Agent(model=ScriptedModel(turns), toolbox=ToolBox(tool))
    with agent:
        agent.instruct("go").execute()
    [text] = [message.text for message in agent.history if message.role == "tool"]
    assert "Nobody can be asked" in text and "auto_confirm" in text


async def test_question_from_a_tool_without_a_run_is_asked_in_the_loop_of_the_caller():
    """As `/tool` does it: the chooser's future belongs to the loop that answers."""
    here = asyncio.get_running_loop()
    futures: list[asyncio.Future[Any]] = []

    class InLoop:
        async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
            futures.append(asyncio.get_running_loop().create_future())
            return await futures[0]

    def tool(ctx: ToolCallContext[Any]) -> str:
        ctx.agent.record(Notice(text="from a worker thread"))
        return ctx.agent.get_choice("Which?", ["a", "b"]).choice

    agent: Agent[Any] = Agent(toolbox=ToolBox(tool), chooser=InLoop())
    listened: list[int] = []
    agent.listener = lambda event: listened.append(threading.get_ident())
    call = asyncio.create_task(agent.toolbox.acall_tool(agent, "tool", {}, None))
    while not futures:
        await asyncio.sleep(0.001)
    assert futures[0].get_loop() is here
    futures[0].set_result(ChoiceOutcome("b"))
    assert (await asyncio.wait_for(call, 5)).unwrap() == "b"
    assert listened == [threading.get_ident()]


def test_question_from_a_tool_of_a_run():
    def sync_tool(ctx: ToolCallContext[Any]) -> str:
        return ctx.agent.get_choice("Sync?", ["a", "b"]).choice

    async def async_tool(ctx: ToolCallContext[Any]) -> str:
        with pytest.raises(RuntimeError, match="aget_choice"):
            ctx.agent.get_choice("Wrong?", ["a"])
        assert (await ctx.agent.aget_confirm("Sure?")).choice is True
        return (await ctx.agent.aget_choice("Async?", ["a", "b"])).choice

    turns = [
        {"tool_calls": [{"name": "sync_tool", "arguments": {}}]},
        {"tool_calls": [{"name": "async_tool", "arguments": {}}]},
        {"text": "done"},
    ]
    chooser = Answers("a", True, "b")
    agent: Agent[Any] = Agent(model=ScriptedModel(turns), toolbox=ToolBox(sync_tool, async_tool), chooser=chooser)
    with agent:
        agent.instruct("go").execute()
    assert [message.text for message in agent.history if message.role == "tool"] == ["a", "b"]
    assert [request.prompt for request in chooser.asked] == ["Sync?", "Sure?", "Async?"]
