"""Slash commands on a real session with a scripted model: questions, records, resume."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_session import places
from xun import Agent
from xun.choice import ChoiceOutcome
from xun.events import ApprovalRequested
from xun.models import ScriptedModel
from xun.tools.toolbox import ToolBox
from xun_builtin_tools.edit.state import EditState
from xun_cli.commands.output import CommandResult
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.places import Places
from xun_cli.session.session import Session
from xun_cli.session.store import SessionStore
from xun_cli.settings import Settings
from xun_policies.workspace import Workspace


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Places:
    return places(tmp_path / "home")


def open_session(project: Path, store: SessionStore, turns: list[dict[str, Any]]) -> Session:
    """Open a session as the composition root does, over what *store* holds."""
    agent: Any = Agent(
        model=ScriptedModel(turns), toolbox=ToolBox().with_defaults("fs", "patch", "cmd"), workspace=Workspace(project)
    ).initialize()
    session = Session(agent, store=store, model_name="scripted")
    loaded = store.load()
    EditState.of(agent).journal.persist_to(store.path.with_suffix(".undo"))
    session.start(resumed=loaded.envelopes, dropped=loaded.dropped)
    return session


def answering(session: Session, choice: Any) -> None:
    """Answer every question with *choice*, as a person at the keyboard would."""

    def listen(envelope: Any) -> None:
        if isinstance(envelope.event, ApprovalRequested):
            asyncio.get_running_loop().call_soon(
                session.answer, envelope.event.request_id, ChoiceOutcome(choice, "user")
            )

    session.subscribe(listen)


async def run(session: Session, home: Places, line: str) -> CommandResult:
    return await default_registry().run(CommandContext(session, home, Settings()), line)


async def shown(session: Session, home: Places, line: str) -> str:
    return "\n".join(output.plain() for output in (await run(session, home, line)).outputs)


async def test_policy_is_the_same_after_a_resume(project: Path, home: Places) -> None:
    store = SessionStore.create(home, project)
    session = open_session(project, store, [{"text": "hello"}])
    await session.submit("hi")
    await session.wait_idle()
    for line in ("allow command npm test", "remove command git diff", "allow write . --dir"):
        assert (await run(session, home, f"/policy {line}")).ok
    await run(session, home, "/mode auto-edit")
    await run(session, home, "/auto 3")
    assert (await run(session, home, "/rename my work")).ok
    before = await shown(session, home, "/policy show --builtin")
    await session.close()

    again = open_session(project, SessionStore.open(store.path), [])
    assert await shown(again, home, "/policy show --builtin") == before
    assert "auto 3" in before and "mode auto-edit" in before and again.name == "my work"
    listed = await shown(again, home, "/sessions")
    assert "my work" in listed and "this one" in listed
    await again.close()


async def test_a_question_of_a_command_is_answered_by_the_person(project: Path, home: Places) -> None:
    session = open_session(project, SessionStore.create(home, project), [])
    answering(session, False)
    assert "Nothing granted" in await shown(session, home, "/policy allow command python")
    await session.close()


async def test_undo_after_a_resume_takes_back_the_models_write(project: Path, home: Places) -> None:
    call = {"name": "replace", "arguments": {"path": "a.txt", "old": "one", "new": "two"}}
    store = SessionStore.create(home, project)
    session = open_session(project, store, [{"tool_calls": [call]}, {"text": "done"}])
    session.policy.mode = "auto-edit"
    await session.submit("change it")
    await session.wait_idle()
    assert (project / "a.txt").read_text() == "two\n"
    assert "-one" in await shown(session, home, "/diff")
    await session.close()

    again = open_session(project, SessionStore.open(store.path), [])
    answering(again, True)
    assert "Undone: a.txt" in await shown(again, home, "/undo")
    assert (project / "a.txt").read_text() == "one\n"
    assert "/undo" in again.agent.history[-1].text
    await again.close()


async def test_status_and_tools_of_a_real_session(project: Path, home: Places) -> None:
    session = open_session(project, SessionStore.create(home, project), [])
    assert "scripted" in await shown(session, home, "/status")
    assert "read_file" in await shown(session, home, "/tools")
    assert "one" in await shown(session, home, "/tool read_file path=a.txt")
    assert "tool results" not in await shown(session, home, "/context")
    assert not (await run(session, home, "/model other")).ok
    await session.close()


@pytest.mark.parametrize(
    ("verdict", "words"), [("allow", "so: ALLOW"), ("unsure", "so: ASK."), ("reject", "so: ASK, with deny preselected")]
)
async def test_policy_test_risk_asks_the_assessor_and_runs_nothing(
    project: Path, home: Places, verdict: str, words: str
) -> None:
    agent: Any = Agent(
        model=ScriptedModel([], risk=[{"verdict": verdict, "reason": "it writes a file"}]), workspace=Workspace(project)
    ).initialize()
    session = Session(agent, model_name="scripted")
    session.start()
    text = await shown(session, home, "/policy test --risk touch made-by-risk")
    assert f"risk: {verdict}" in text and "it writes a file" in text and words in text
    assert not (project / "made-by-risk").exists()
    await session.close()
