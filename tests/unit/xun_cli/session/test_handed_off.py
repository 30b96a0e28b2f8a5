"""A session whose conversation was handed off is resumed as it was, with the results that a summary replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xun import Agent, ToolBox, Workspace
from xun.models import ScriptedModel
from xun_cli.places import Places
from xun_cli.session.session import Session
from xun_cli.session.store import SessionStore


def report() -> str:
    """Write a report."""
    return "all is well"


def call(tool: str, call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": tool, "arguments": arguments, "id": call_id}]}


def session_of(folder: Path, store: SessionStore, *turns: Any) -> Session:
    box = ToolBox(report).with_defaults("history")
    agent = Agent(model=ScriptedModel(turns), toolbox=box, workspace=Workspace(folder)).initialize()
    return Session(agent, store=store, model_name="scripted")


async def ask(session: Session, text: str) -> None:
    await session.submit(text)
    await session.wait_idle()


async def test_a_handed_off_session_is_resumed(tmp_path: Path):
    store = SessionStore.create(Places(*(tmp_path / name for name in "cdsk")), tmp_path)
    handoff = call("handoff", "h1", name="reading", summary="The report is read.")
    session = session_of(tmp_path, store, call("report", "r1"), {"text": "read"}, handoff, {"text": "on"})
    session.start()
    await ask(session, "read the report")
    await ask(session, "go on")
    live = session.agent.history
    assert "The report is read." in live[0].text
    await session.close()

    again = SessionStore.open(store.path)
    reading = call("extract_compacted_tool_result", "x1", toolcall_id="r1")
    resumed = session_of(tmp_path, again, reading, {"text": "read again"})
    resumed.start(resumed=again.load().envelopes)
    assert resumed.agent.history == live
    await ask(resumed, "what did it say?")
    assert resumed.agent.history[-2].text == "all is well"
    await resumed.close()
