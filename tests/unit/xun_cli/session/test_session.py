"""The session: one stream, a queue, steering, interrupting, questions, resume."""

from __future__ import annotations

import asyncio

import pytest

from xun import Agent, AgentConfig, ChoiceOutcome, ToolBox, Workspace
from xun.agent.history import normalise
from xun.events import UsageUpdated
from xun.models import ChaosModel, ScriptedModel
from xun_cli.places import Places
from xun_cli.session.session import Session
from xun_cli.session.store import SessionError, SessionStore, read_session


def bash(command):
    return {"tool_calls": [{"name": "bash", "arguments": {"command": command}}]}


@pytest.fixture
def make(tmp_path):
    def build(turns, *, risk=None, store=None, folder=None, model=None, **config):
        work = folder or tmp_path / "work"
        work.mkdir(exist_ok=True)
        agent = Agent(
            model=model or ScriptedModel(turns, risk=risk),
            toolbox=ToolBox().with_defaults("cmd", "fs", "patch", "framework"),
            workspace=Workspace(work),
            config=AgentConfig(**config),
        )
        agent.initialize()
        session = Session(agent, store=store, model_name="scripted")
        session.start()
        return session

    return build


def types(session):
    return [envelope.event.type for envelope in session.history()]


async def ask(session, text):
    await session.submit(text)
    await session.wait_idle()


async def until(condition, seconds=5.0):
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


async def test_a_turn_is_a_numbered_stream_that_begins_and_ends(make):
    session = make([{"text": "hello", "usage": {"input": 10, "output": 2}}])
    seen = []
    session.subscribe(seen.append)
    await ask(session, "hi")
    assert types(session) == ["session.started", "turn.started", "message.completed", "usage", "turn.completed"]
    assert [e.seq for e in seen] == list(range(2, 2 + len(seen)))
    assert {e.turn for e in seen} == {1}
    assert session.usage.to_json()["input"] == 10 and session.last_stop == "done"
    await session.close()


async def test_messages_queue_while_a_turn_runs_and_run_in_order(make):
    session = make([{"text": "one", "delay": 0.1}, {"text": "two"}, {"text": "three"}])
    await session.submit("a")
    await session.submit("b")
    await session.submit("c")
    assert session.queue == ["b", "c"]
    assert session.drop_queue(1) == ["c"] and session.queue == ["b"]
    await session.wait_idle()
    inputs = [e.event.input for e in session.history() if e.event.type == "turn.started"]
    assert inputs == ["a", "b"] and session.queue == []
    await session.close()


async def test_a_steer_reaches_the_running_turn(make):
    session = make([{"text": "thinking", "delay": 0.1}, {"text": "as you say"}])
    assert session.steer("too early") is False
    await session.submit("go")
    await asyncio.sleep(0.02)
    assert session.steer("use tabs") is True
    await session.wait_idle()
    roles = [(m.role, m.text) for m in session.agent.history]
    assert roles == [("user", "go"), ("assistant", "thinking"), ("user", "use tabs"), ("assistant", "as you say")]
    assert "steer" in types(session)
    await session.close()


async def test_an_interrupt_keeps_what_came_and_the_next_message_works(make):
    inner = ScriptedModel([{"text": "never seen"}, {"text": "fine"}])
    session = make([], model=ChaosModel(inner, ["stall"]), retry_attempts=1)
    await session.submit("go")
    await asyncio.sleep(0.1)
    assert session.interrupt() is True
    await session.wait_idle()
    assert session.last_stop == "interrupted" and session.interrupt() is False
    await ask(session, "again")
    assert session.last_stop == "done"
    normalise(session.agent.history)
    await session.close()


async def test_a_question_waits_for_its_answer_by_id(make, tmp_path):
    session = make([bash("touch made"), {"text": "done"}])
    await session.submit("go")
    await until(session.pending)
    request = session.pending()[0]
    assert session.answer("nonsense", ChoiceOutcome("once")) is False
    assert not (tmp_path / "work/made").exists()
    assert session.answer(request.id, ChoiceOutcome("once")) is True
    assert session.answer(request.id, ChoiceOutcome("deny")) is False
    await session.wait_idle()
    assert (tmp_path / "work/made").exists() and session.pending() == []
    kinds = [t for t in types(session) if t.startswith("approval")]
    assert kinds == ["approval.requested", "approval.resolved"]
    await session.close()


async def test_an_interrupt_withdraws_the_question(make, tmp_path):
    session = make([bash("touch made"), {"text": "done"}])
    await session.submit("go")
    await until(session.pending)
    session.interrupt()
    await session.wait_idle()
    assert session.pending() == [] and not (tmp_path / "work/made").exists()
    assert session.agent.history[-1].role == "tool"
    await session.close()


@pytest.mark.parametrize(("on_ask", "stop"), [("deny", "done"), ("fail", "denied")])
async def test_with_nobody_there_questions_are_denied(make, tmp_path, on_ask, stop):
    session = make([bash("touch made"), {"text": "went on"}])
    session.questions.on_ask = on_ask
    await ask(session, "go")
    assert session.last_stop == stop and len(session.denied) == 1
    assert not (tmp_path / "work/made").exists()
    resolved = [e.event for e in session.history() if e.event.type == "approval.resolved"]
    assert [r.source for r in resolved] == ["headless"]
    await session.close()


async def test_a_failed_model_is_said_once_and_the_queue_waits(make):
    session = make([], model=ChaosModel(ScriptedModel([{"text": "ok"}]), ["http_500"]), retry_attempts=1)
    await session.submit("a")
    await session.submit("b")
    await session.wait_idle()
    assert session.last_stop == "error" and session.queue == ["b"]
    assert types(session).count("error") == 1
    await session.close()


async def test_the_persons_own_command_goes_into_the_conversation(make):
    session = make([])
    got = await session.run_shell("echo mine; exit 4")
    assert (got["stdout"], got["returncode"]) == ("mine\n", 4)
    assert "mine" in session.agent.history[-1].text and session.pending() == []
    await session.close()


async def test_resume_brings_back_history_policy_todos_and_usage(make, tmp_path):
    places = Places(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "k")
    work = tmp_path / "work"
    work.mkdir()
    store = SessionStore.create(places, work)
    todo = {"tool_calls": [{"name": "write_todos", "arguments": {"todos": [{"description": "a"}]}}]}
    session = make([bash("touch made"), todo, {"text": "done", "usage": {"input": 7, "output": 3}}], store=store)
    await session.submit("go")
    await until(session.pending)
    session.answer(session.pending()[0].id, ChoiceOutcome("grant"))
    await session.wait_idle()
    before = session.policy.to_json()
    live = normalise(session.agent.history)
    await session.close()

    again = SessionStore.open(store.path)
    loaded = again.load()
    assert loaded.dropped == []
    resumed = make([], store=again)
    resumed.start(resumed=loaded.envelopes)
    assert normalise(resumed.agent.history) == live
    assert list(resumed.policy.command_allowlist) == list(session.policy.command_allowlist)
    assert resumed.policy.to_json()["commands"] == before["commands"]
    assert resumed.todos == ({"description": "a", "status": "pending"},)
    assert resumed.usage.input == 7 and resumed.turn == 1
    await resumed.close()


async def test_a_call_and_its_message_are_on_disk_before_it_runs(make, tmp_path):
    places = Places(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "k")
    store = SessionStore.create(places, tmp_path)
    session = make([bash("touch made"), {"text": "done"}], store=store)
    await session.submit("go")
    await until(session.pending)
    kept = [envelope.event for envelope in read_session(store.path).envelopes]
    assert [e.calls[0]["name"] for e in kept if e.type == "message.completed"] == ["bash"]
    session.answer(session.pending()[0].id, ChoiceOutcome("deny"))
    await session.wait_idle()
    await session.close()


async def test_closing_ends_what_runs(make, tmp_path):
    session = make([bash("echo x | cat; sleep 300"), {"text": "done"}], auto_confirm=True, risk_enabled=False)
    await session.submit("go")
    await until(lambda: "tool.started" in types(session))
    await asyncio.sleep(0.3)
    await session.close(exit_code=130)
    assert not session.running and types(session)[-1] == "session.ended"
    await session.close()
    assert types(session).count("session.ended") == 1


async def test_a_full_disk_is_said_once_and_later_records_are_tried_again(make, tmp_path):
    class FullForAWhile(SessionStore):
        refusing, flushed = False, 0

        def append(self, envelope):
            if self.refusing:
                raise SessionError("the disk is full")
            super().append(envelope)

        def flush(self):
            self.flushed += 1
            super().flush()

    places = Places(tmp_path / "c", tmp_path / "d", tmp_path / "s", tmp_path / "k")
    plain = SessionStore.create(places, tmp_path)
    store = FullForAWhile(plain.path, plain.id)
    session = make([{"text": "one"}, {"text": "two"}], store=store)
    await ask(session, "a")
    assert store.flushed == 1, "a finished turn is on the disk"
    store.refusing = True
    await ask(session, "b")
    warnings = [e.event.text for e in session.history() if e.event.type == "notice"]
    assert warnings == ["the disk is full"] and session.last_stop == "done"
    store.refusing = False
    await session.run_shell("echo back")
    kept = [envelope.event.type for envelope in read_session(store.path).envelopes]
    assert "context.added" in kept
    store.refusing = True
    await session.run_shell("echo again")
    warnings = [e.event.text for e in session.history() if e.event.type == "notice"]
    assert warnings == ["the disk is full"] * 2, "the next trouble is told too"
    store.refusing = False
    await session.close()


async def test_how_full_the_window_is_is_the_agents_own_but_the_costs_are_of_all(make):
    session = make([])
    session.emit(UsageUpdated(agent=session.agent.name, input=10, output=1, context_pct=40.0))
    session.emit(UsageUpdated(agent="helper#1", input=5, output=1, context_pct=90.0))
    assert (session.context_pct, session.usage.input) == (40.0, 15)
    again = make([])
    again.start(resumed=session.history())
    assert (again.context_pct, again.usage.input, again.agent.usage.input) == (40.0, 15, 15)
    await session.close()
    await again.close()
