"""Compaction: what stays, what the summary holds, when it happens by itself, and that a failure changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.fakes.runs import of
from xun import Agent, AgentConfig, Hooks, ToolBox, tool_attr
from xun.agent.compaction import CHANGED, DENIED, MARK, READ, SAID, find_cut, summary_request, transcript
from xun.agent.history import from_events, normalise
from xun.errors import ContextOverflow, ModelError, ModelUnreachable, ToolError
from xun.events import Compaction, Event, MessageCompleted, Notice, UsageUpdated
from xun.messages import Image, Message, ToolCall, estimate_tokens
from xun.models import ScriptedModel
from xun.models.base import ModelRequest

LONG = "words " * 400


@tool_attr(read_only=True)
def look(path: str) -> str:
    """Look."""
    return f"{path}: {LONG}"


def change(path: str) -> dict[str, Any]:
    """Change."""
    if path == "secret":
        raise ToolError("Denied by the user: not that one.")
    return {"files": [{"path": f"/p/{path}", "action": "update"}]}


class Full(ScriptedModel):
    """Refuses requests of more than *room* tokens, as a provider does."""

    def __init__(self, turns: Any, room: int, **more: Any) -> None:
        super().__init__(turns, **more)
        self.room, self.refused = room, 0

    async def stream(self, request: ModelRequest) -> Any:
        if estimate_tokens(request.messages) > self.room:
            self.refused += 1
            raise ContextOverflow("The request is larger than the context of m; start a new one", status=400)
        async for item in super().stream(request):
            yield item


class Broken(ScriptedModel):
    """Fails where a summary is asked for."""

    async def stream(self, request: ModelRequest) -> Any:
        if request.purpose == "summary":
            self.requests.append(request)
            raise ModelUnreachable("no route", retryable=False)
        async for item in super().stream(request):
            yield item


def call(name: str, call_id: str, /, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments, "id": call_id}]}


def agent_of(model: ScriptedModel, **config: Any) -> Agent[Any]:
    return Agent(model=model, toolbox=ToolBox(look, change), config=AgentConfig(**config)).initialize()


async def turn(agent: Agent[Any], text: str) -> list[Event]:
    return [event async for event in agent.instruct(text).events()]


def worked() -> list[dict[str, Any]]:
    return [
        call("look", "c1", path="a.py"),
        call("change", "c2", path="b.py"),
        call("change", "c3", path="secret"),
        {"text": f"Done. {LONG}"},
        {"text": "Hello again."},
    ]


async def test_a_compaction_keeps_the_last_turn_whole_and_the_facts():
    model = ScriptedModel([*worked(), {"text": "Goal: fix a.", "usage": {"input": 9, "output": 4}}, {"text": "Yes."}])
    agent = agent_of(model)
    agent.listener = (events := []).append
    agent.hooks.before_compaction.add(lambda draft: draft.facts.append(("Todo:", ["[pending] test it"])))
    stored = await turn(agent, "never touch secret") + await turn(agent, "hello")
    event = await agent.acompact("the tests")
    assert [message.role for message in agent.history] == ["user", "user", "assistant"]
    assert agent.history[1].text == "hello"
    text = agent.history[0].text
    assert text.startswith(f"{MARK}\nGoal: fix a.\n\n")
    assert f'{SAID}\n- "never touch secret"\n' in text
    assert f"{READ}\n- a.py\n" in text and f"{CHANGED}\n- b.py\n- /p/b.py\n" in text
    assert f'{DENIED}\n- change {{"path": "secret"}}: Denied by the user: not that one.' in text
    assert text.endswith("Todo:\n- [pending] test it")
    request = model.requests[-1]
    assert request.purpose == "summary" and not request.tools
    assert "keep above all: the tests" in request.messages[1].text and "[call] look" in request.messages[1].text
    assert of(events, UsageUpdated)[0].input == 9 and of(events, UsageUpdated)[0].context_pct is None
    assert of(events, Compaction) == [event] and event.after < event.before
    # What is stored gives the same conversation again, and it goes on.
    assert from_events([*stored, event]) == agent.history
    await turn(agent, "and now?")
    assert [message.text for message in model.requests[-1].messages][1:3] == ["hello", "Hello again."]
    agent.finalize()


async def test_a_second_compaction_carries_on_what_the_first_kept():
    model = ScriptedModel(
        [*worked(), {"text": "note one"}, {"text": f"More. {LONG}"}, {"text": "ok"}, {"text": "second"}]
    )
    agent = agent_of(model)
    await turn(agent, "the task")
    await turn(agent, "hello")
    await agent.acompact()
    await turn(agent, "more")
    await turn(agent, "short")
    assert await agent.acompact() is not None
    text = agent.history[0].text
    assert "second" in text and "note one" not in text
    assert '- "the task"\n- "hello"\n- "more"' in text
    assert "- /p/b.py" in text and 'change {"path": "secret"}' in text
    agent.finalize()


async def test_a_short_conversation_is_left_alone():
    model = ScriptedModel([{"text": "Hi."}])
    agent = agent_of(model)
    await turn(agent, "hello")
    assert await agent.acompact() is None
    assert len(model.requests) == 1 and len(agent.history) == 2
    agent.finalize()


@pytest.mark.parametrize("model", [Broken(worked()), ScriptedModel([*worked(), {"text": "  "}])])
async def test_a_failed_summary_changes_nothing(model):
    agent = agent_of(model, retry_attempts=1)
    await turn(agent, "the task")
    await turn(agent, "hello")
    before = list(agent.history)
    with pytest.raises(ModelError):
        await agent.acompact()
    assert agent.history == before
    agent.finalize()


async def test_a_summary_longer_than_what_it_replaces_is_not_taken():
    agent = agent_of(ScriptedModel([*worked(), {"text": "blah " * 4000}]))
    await turn(agent, "the task")
    await turn(agent, "hello")
    before = list(agent.history)
    assert await agent.acompact() is None
    assert agent.history == before
    agent.finalize()


async def test_the_sync_form_and_a_model_of_its_own():
    other = ScriptedModel([{"text": "by the other"}], name="other")
    agent = agent_of(ScriptedModel(worked()), compact_model=other)
    await turn(agent, "the task")
    await turn(agent, "hello")
    with pytest.raises(RuntimeError, match="acompact"):
        agent.compact()
    await agent.acompact()
    assert "by the other" in agent.history[0].text and other.requests
    agent.finalize()


def test_outside_of_a_loop_compact_blocks():
    agent = agent_of(ScriptedModel([*worked(), {"text": "notes"}]))
    agent.instruct("the task").execute()
    agent.instruct("hello").execute()
    event = agent.compact()
    assert event is not None and "notes" in event.summary
    agent.finalize()


async def test_a_window_that_fills_up_is_compacted_before_the_next_request():
    model = ScriptedModel(
        [
            call("look", "c1", path="a.py"),
            {**call("look", "c2", path="b.py"), "usage": {"input": 850, "output": 20}},
            {"text": "the notes"},
            {"text": "Done."},
        ],
        context_window=1000,
    )
    agent = agent_of(model)
    events = await turn(agent, "look at both")
    assert [request.purpose for request in model.requests] == ["turn", "turn", "summary", "turn"]
    [event] = of(events, Compaction)
    # The turn itself was too long: its last step stays whole, the request is in the notes word for word.
    assert [message.role for message in agent.history] == ["user", "assistant", "tool", "assistant"]
    assert '- "look at both"' in agent.history[0].text and event.kept == 1
    assert from_events(events) == agent.history
    assert any("% full" in notice.text for notice in of(events, Notice))
    agent.finalize()


async def test_compaction_by_itself_can_be_switched_off():
    turns = [
        {**call("look", "c1", path="a.py"), "usage": {"input": 990, "output": 1}},
        {"text": "Done."},
    ]
    model = ScriptedModel(turns, context_window=1000)
    agent = agent_of(model, compact_at_pct=0)
    assert not of(await turn(agent, "look"), Compaction)
    agent.finalize()


async def test_a_refusal_as_too_long_compacts_once_and_tries_again():
    turns = [call("look", "c1", path="a.py"), {"text": f"Seen. {LONG}"}, {"text": "notes"}, {"text": "Done."}]
    model = Full(turns, room=1400)
    agent = agent_of(model)
    await turn(agent, "look")
    events = await turn(agent, f"now go on {LONG}")
    assert model.refused == 1 and of(events, MessageCompleted)[-1].text == "Done."
    assert len(of(events, Compaction)) == 1
    assert agent.last_result.unwrap() == "Done."
    assert from_events(await turn(agent, "x"), "main") is not None
    agent.finalize()


async def test_what_is_too_long_even_so_is_named_and_ends_the_turn():
    model = Full([call("look", "c1", path="a.py"), {"text": "notes"}], room=300)
    agent = agent_of(model)
    events = await turn(agent, "look")
    error = agent.last_result.unwrap_err()
    assert error.kind == "context_overflow" and "the result of look (2," in error.error
    assert model.refused <= 2 and events[-1].stop == "error"
    assert normalise(agent.history)
    agent.finalize()


async def test_a_summary_that_fails_by_itself_is_told_and_the_run_goes_on():
    turns = [
        call("look", "c0", path="a.py"),
        {**call("look", "c1", path="b.py"), "usage": {"input": 900, "output": 1}},
        {**call("look", "c2", path="c.py"), "usage": {"input": 950, "output": 1}},
        {"text": "Done."},
    ]
    model = Broken(turns, context_window=1000)
    agent = agent_of(model, retry_attempts=1)
    events = await turn(agent, "look")
    assert [request.purpose for request in model.requests].count("summary") == 1
    assert any("nothing was changed" in notice.text for notice in of(events, Notice))
    assert agent.last_result.unwrap() == "Done."
    agent.finalize()


async def test_cancelling_ends_a_compaction():
    model = ScriptedModel(
        [
            call("look", "c0", path="a.py"),
            {**call("look", "c1", path="a.py"), "usage": {"input": 900, "output": 1}},
            {"text": "notes", "delay": 30},
        ],
        context_window=1000,
    )
    agent = agent_of(model, cancel_grace=0.1)
    agent.hooks.before_compaction.add(lambda draft: agent.cancel("stop"))
    events = await turn(agent, "look")
    assert events[-1].stop == "interrupted" and len(agent.history) == 5
    agent.finalize()


async def test_a_model_with_a_smaller_window_gets_the_conversation_summed_up():
    agent = agent_of(ScriptedModel([{"text": LONG}, {"text": LONG}]))
    await turn(agent, "first")
    await turn(agent, "second")
    agent.model = ScriptedModel([{"text": "notes"}, {"text": "ok"}], context_window=1200)
    events = await turn(agent, "third")
    assert len(of(events, Compaction)) == 1 and agent.last_result.unwrap() == "ok"
    assert estimate_tokens(agent.model.requests[-1].messages) < 1200
    agent.finalize()


def test_hooks_have_the_point():
    assert len(Hooks().before_compaction) == 0


def history(*parts: str) -> list[Message]:
    """u user, a answer, c call, t result; each of 100 tokens."""
    text, made = "x" * 400, []
    for index, part in enumerate("".join(parts)):
        if part == "u":
            made.append(Message("user", text))
        elif part == "a":
            made.append(Message("assistant", text))
        elif part == "c":
            made.append(Message("assistant", "", tool_calls=(ToolCall(f"i{index}", "look", "y" * 396),)))
        else:
            made.append(Message("tool", text, tool_call_id=f"i{index - 1}", tool_name="look"))
    return made


@pytest.mark.parametrize(
    ("shape", "keep", "begins"),
    [
        ("uauauaua", 400, 4),
        ("uauaua", 399, 4),
        ("uaua", 10, 3),
        ("uctctaua", 200, 6),
        ("uctctct", 250, 5),
        ("uctctct", 1, 5),
        ("uctctct", 450, 3),
        ("ua", 100, 0),
        ("", 100, 0),
        ("uctua", 10_000, 0),
    ],
)
def test_where_the_kept_part_begins(shape, keep, begins):
    assert find_cut(history(shape), keep) == begins


def test_a_transcript_fits_its_limit_and_images_count():
    assert len(transcript(history("uctct" * 40), 5000)) <= 5200
    assert estimate_tokens([Message("user", "look", (Image(b"x", "image/png"),))]) == 1001


@pytest.mark.parametrize(("window", "kept"), [(None, 4), (100_000, 4), (1200, 2)])
async def test_asked_for_a_quarter_is_kept_but_no_more_than_a_quarter_of_the_window(window, kept):
    agent = agent_of(ScriptedModel([{"text": "notes"}], context_window=window))
    agent.history = history("ua" * 10)
    assert await agent.acompact() is not None
    assert len(agent.history) == 1 + kept
    agent.finalize()


async def test_before_the_window_is_full_half_is_kept_and_after_a_refusal_a_quarter():
    # A window that is large beside the history, so that only the part of the history counts.
    turns = [{"text": "ok", "usage": {"input": 9500, "output": 1}}, {"text": "notes"}, {"text": "Done."}]
    agent = agent_of(ScriptedModel(turns, context_window=10_000))
    await turn(agent, "go")
    agent.history = history("ua" * 10)
    agent.measured = (20, 9500)
    await turn(agent, "go on")
    assert len(agent.history) == 1 + 8 + 2  # four turns of 200 are half of what there is with the new message
    agent.finalize()
    model = Full([{"text": "notes"}, {"text": "Done."}], room=1500)
    agent = agent_of(model)
    agent.history = history("ua" * 10)
    await turn(agent, "go on")
    assert model.refused and len(agent.history) == 1 + 4 + 2
    agent.finalize()


async def test_what_stays_long_after_a_compaction_is_not_summed_up_at_each_request():
    turns = [{"text": "notes"}, *({"text": "ok", "usage": {"input": 1190, "output": 1}} for _ in range(3))]
    model = ScriptedModel(turns, context_window=1200)
    agent = agent_of(model)
    agent.history = history("ua" * 10)
    for _ in range(3):
        await turn(agent, "go on")
    assert [request.purpose for request in model.requests] == ["summary", "turn", "turn", "turn"]
    agent.finalize()


async def test_what_a_summary_costs_counts_as_the_runs_own():
    turns = [{"text": "notes", "usage": {"input": 70, "output": 3}}, {"text": "ok", "usage": {"input": 8, "output": 1}}]
    agent = agent_of(ScriptedModel(turns, context_window=1200))
    agent.history = history("ua" * 10)
    events = await turn(agent, "go on")
    assert (agent.usage.input, agent.usage.output) == (78, 4)
    assert [event.input for event in of(events, UsageUpdated)] == [70, 8]
    agent.finalize()


def test_the_request_for_a_summary_fits_half_of_the_window():
    long = history("uct" * 40)
    assert len(summary_request(long, "", 500).messages[1].text) < 1200
    assert len(summary_request(long, "", None).messages[1].text) > 10_000


async def test_what_stands_around_the_conversation_still_counts_after_a_compaction():
    agent = agent_of(ScriptedModel([{"text": "notes"}]))
    agent.history = history("ua" * 10)
    agent.measured = (20, 2000 + 500)  # the system message and the tools take 500
    assert agent.context_tokens() == 2500
    await agent.acompact()
    assert agent.context_tokens() == estimate_tokens(agent.history) + 500
    agent.finalize()


async def test_a_summary_that_is_refused_as_too_long_is_asked_for_with_half_of_what_it_held():
    model = Full([{"text": "notes"}], room=1200)
    agent = agent_of(model)
    agent.history = history("ua" * 20)
    assert await agent.acompact() is not None
    assert 1 <= model.refused <= 2
    agent.finalize()
