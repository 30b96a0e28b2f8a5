"""Tools in a resumed session: what was found by search, called by name, or granted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xun import Agent, ChoiceOutcome, ToolBox, Workspace, tool_attr
from xun.models import ScriptedModel
from xun_cli.commands.policy_change import emit_change
from xun_cli.places import Places
from xun_cli.session.session import Session
from xun_cli.session.store import SessionStore
from xun_policies.store import PolicyState


@tool_attr(deferred=True)
def weather(city: str) -> str:
    """Tell the weather."""
    return city


@tool_attr(deferred=True)
def tides(place: str) -> str:
    """Tell the tides."""
    return place


@tool_attr(deferred=True)
def stars() -> str:
    """Tell the stars."""
    return ""


@tool_attr(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def session_of(folder: Path, store: SessionStore, *turns: Any) -> Session:
    box = ToolBox(weather, tides, stars, pay).with_defaults("framework")
    agent = Agent(model=ScriptedModel(turns), toolbox=box, workspace=Workspace(folder)).initialize()
    return Session(agent, store=store, model_name="scripted")


async def test_loaded_and_granted_tools_survive_a_saved_session(tmp_path: Path) -> None:
    store = SessionStore.create(Places(*(tmp_path / name for name in "cdsk")), tmp_path)
    turns = [call("tool_search", query="weather"), call("tides", place="x"), call("pay", amount=1), {"text": "x"}]
    session = session_of(tmp_path, store, *turns)
    session.start()
    await session.submit("go")
    task = session.spawn(session.wait_idle())
    while not session.pending():
        await session.spawn(_tick())
    session.answer(session.pending()[0].id, ChoiceOutcome("grant"))
    await task
    assert session.agent.toolbox.loaded == {"weather", "tides"}
    await session.close()

    again = SessionStore.open(store.path)
    resumed = session_of(tmp_path, again, call("pay", amount=2), {"text": "y"})
    resumed.start(resumed=again.load().envelopes)
    assert resumed.agent.toolbox.loaded == {"weather", "tides"}
    await resumed.submit("go on")
    await resumed.wait_idle()
    assert resumed.agent.history[-2].text == "paid 2" and resumed.pending() == []
    await resumed.close()


async def _tick() -> None:
    import asyncio

    await asyncio.sleep(0.01)


async def test_what_was_allowed_before_a_resume_can_be_taken_back_after_it(tmp_path: Path) -> None:
    store = SessionStore.create(Places(*(tmp_path / name for name in "cdsk")), tmp_path)
    session = session_of(tmp_path, store, {"text": "x"})
    session.start()
    await session.submit("go")
    await session.wait_idle()
    for tokens in (("npm", "test"), ("make",)):
        emit_change(session, allowed(session.policy, tokens), "add", "commands", " ".join(tokens))
    session.policy.undo()
    emit_change(session, session.policy, "undo", "all", "")
    await session.close()
    opened = SessionStore.open(store.path)
    again = session_of(tmp_path, opened)
    again.start(resumed=opened.load().envelopes)
    assert [entry.tokens for entry in again.policy.command_allowlist] == [("npm", "test")]
    assert again.policy.undo() and len(again.policy.command_allowlist) == 0
    assert not again.policy.undo()
    await again.close()


def allowed(policy: PolicyState, tokens: tuple[str, ...]) -> PolicyState:
    policy.snapshot()
    policy.command_allowlist.add(tokens)
    return policy
