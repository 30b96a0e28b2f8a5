"""What every chat model does, on the scripted, the chaos and the openai model over a local server."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager

import pytest

from tests.fakes.model_server import FakeModelServer
from xun.errors import ModelError
from xun.messages import Message, ModelReply, ToolCall, Usage
from xun.models import ChaosModel, ChatModel, OpenAIModel, ScriptedModel
from xun.models.base import ModelRequest, ReasoningDelta, Retrying, TextDelta
from xun.models.chaos import FAULTS
from xun.models.retry import RetryPolicy, stream_with_retry

TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]
ASK = ModelRequest([Message("system", "You are xun."), Message("user", "hello")], TOOLS)
READ = {"name": "read_file", "arguments": {"path": "ä.py"}, "id": "call_a"}
NO_WAIT = RetryPolicy(first=0.0, longest=0.0)


@contextmanager
def scripted(turns, risk=()):
    yield ScriptedModel(turns, risk)


@contextmanager
def chaotic(turns, risk=()):
    yield ChaosModel(ScriptedModel(turns, risk), [])


@contextmanager
def over_http(turns, risk=(), **options):
    with FakeModelServer(turns, risk) as server:
        yield OpenAIModel("fake-model", base_url=server.base_url, api_key="", **options)
    assert server.errors == []


@pytest.fixture(params=[scripted, chaotic, over_http], ids=lambda make: make.__name__)
def make(request):
    return request.param


async def play(model, request=ASK):
    events = [event async for event in model.stream(request)]
    await model.aclose()
    return events


async def test_text_comes_in_pieces_and_then_whole(make):
    with make([{"text": "Grüße, 世界 👋", "reasoning": "hm", "usage": {"input": 12, "output": 3}}]) as model:
        *pieces, reply = await play(model)
    assert "".join(e.text for e in pieces if isinstance(e, TextDelta)) == "Grüße, 世界 👋"
    assert "".join(e.text for e in pieces if isinstance(e, ReasoningDelta)) == "hm"
    assert len(pieces) > 2
    assert reply == ModelReply("Grüße, 世界 👋", (), "stop", Usage(12, 3, requests=1), "hm")


async def test_calls_come_whole_in_order_with_unique_ids(make):
    with make([{"text": "I read.", "tool_calls": [READ, {"name": "bash", "arguments": "{broken"}]}]) as model:
        reply = (await play(model))[-1]
    assert reply.finish_reason == "tool_calls"
    assert reply.tool_calls[0] == ToolCall("call_a", "read_file", '{"path": "ä.py"}')
    assert (reply.tool_calls[1].name, reply.tool_calls[1].arguments) == ("bash", "{broken")
    assert reply.tool_calls[1].id not in ("", "call_a")


async def test_the_answer_comes_last_and_once(make):
    with make([{"text": "a", "tool_calls": [READ]}, {}]) as model:
        for _ in range(2):
            events = await play(model)
            assert [isinstance(event, ModelReply) for event in events].count(True) == 1
            assert isinstance(events[-1], ModelReply)


async def test_a_script_is_played_over_several_requests(make):
    with make([{"tool_calls": [READ]}, {"text": "Done."}]) as model:
        first = (await play(model))[-1]
        history = [
            *ASK.messages,
            Message("assistant", first.text, tool_calls=first.tool_calls),
            Message("tool", "x = 1", tool_call_id="call_a", tool_name="read_file"),
        ]
        assert (await play(model, ModelRequest(history, TOOLS)))[-1].text == "Done."


async def test_risk_requests_have_their_own_answers(make):
    ask = ModelRequest([Message("system", "A risk assessment is wanted."), Message("user", "ls")], purpose="risk")
    with make([{"text": "turn"}], [{"verdict": "allow", "reason": "it lists"}]) as model:
        answers = [json.loads((await play(model, ask))[-1].text) for _ in range(2)]
        assert answers[0] == {"verdict": "allow", "reason": "it lists"}
        assert answers[1]["verdict"] == "unsure"
        assert (await play(model))[-1].text == "turn"


async def test_closing_early_leaves_the_model_usable(make):
    with make([{"text": "a long answer", "pieces": 5}, {"text": "next"}]) as model:
        stream = model.stream(ASK)
        assert isinstance(await anext(stream), TextDelta)
        await stream.aclose()
        assert (await play(model))[-1].text == "next"


async def test_a_slow_answer_can_be_cancelled(make):
    with make([{"text": "late", "delay": 30}, {"text": "next"}]) as model:
        task = asyncio.create_task(play(model))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 2)
        assert (await play(model))[-1].text == "next"


async def test_two_requests_at_once(make):
    with make([{"text": "x", "delay": 0.1}, {"text": "x", "delay": 0.1}]) as model:
        answers = await asyncio.gather(*[anext(e async for e in model.stream(ASK)) for _ in range(2)])
        await model.aclose()
    assert answers == [TextDelta("x"), TextDelta("x")]


def test_it_serves_one_event_loop_after_another(make):
    with make([{"text": "one"}, {"text": "two"}]) as model:
        assert asyncio.run(play(model))[-1].text == "one"
        assert asyncio.run(play(model))[-1].text == "two"


async def test_it_meets_the_protocol(make):
    with make([]) as model:
        assert isinstance(model, ChatModel)
        assert isinstance(model.name, str) and isinstance(model.capabilities, frozenset)
        assert model.context_window is None


# Faults: the same ones from ChaosModel and from a real server.

HTTP_FAULTS = {
    "cut": {"text": "half of it", "cut_after": 2},
    "stall": {"text": "half of it", "stall_after": 2},
    "http_429": {"status": 429, "body": {"error": {"message": "slow down"}}},
    "http_500": {"status": 500, "body": "oops"},
    "empty": {"events": [{"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]},
    "bad_json": {"tool_calls": [{**READ, "arguments": '{"path": "'}]},
    "unknown_tool": {"tool_calls": [{**READ, "name": "no_such_tool"}]},
    "duplicate_id": {"tool_calls": [READ, READ]},
    "bad_utf8": {"raw": [b'data: {"choices":[{"delta":{"content":"fi\xffne"},"finish_reason":"stop"}]}\n\n']},
}


@contextmanager
def chaos_fault(fault):
    yield ChaosModel(ScriptedModel([{"text": "fine", "tool_calls": [READ]}]), [fault], stall_seconds=0.2)


@contextmanager
def http_fault(fault):
    with over_http([HTTP_FAULTS[fault], {"text": "fine", "tool_calls": [READ]}], timeout=0.3) as model:
        yield model


@pytest.fixture(params=[chaos_fault, http_fault], ids=lambda make: make.__name__)
def faulty(request):
    return request.param


@pytest.mark.parametrize("fault", ["cut", "stall", "http_429", "http_500"])
async def test_a_passing_fault_is_retried_and_the_answer_comes(faulty, fault):
    with faulty(fault) as model:
        events = [event async for event in stream_with_retry(model, ASK, policy=NO_WAIT)]
        await model.aclose()
    retries = [event for event in events if isinstance(event, Retrying)]
    assert len(retries) == 1 and retries[0].reason
    assert (events[-1].text, [c.name for c in events[-1].tool_calls]) == ("fine", ["read_file"])


@pytest.mark.parametrize("fault", ["cut", "stall", "http_429", "http_500"])
async def test_a_passing_fault_is_a_retryable_error(faulty, fault):
    with faulty(fault) as model:
        with pytest.raises(ModelError) as caught:
            await play(model)
        await model.aclose()
    assert caught.value.retryable
    assert caught.value.status == {"http_429": 429, "http_500": 500}.get(fault)


async def test_an_empty_answer_is_an_answer(faulty):
    with faulty("empty") as model:
        reply = (await play(model))[-1]
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("", (), "stop")


async def test_broken_arguments_come_out_unrepaired(faulty):
    with faulty("bad_json") as model:
        reply = (await play(model))[-1]
    assert reply.tool_calls[0].name == "read_file"
    with pytest.raises(json.JSONDecodeError):
        json.loads(reply.tool_calls[0].arguments)


async def test_an_unknown_tool_comes_out_by_its_name(faulty):
    with faulty("unknown_tool") as model:
        reply = (await play(model))[-1]
    assert [c.name for c in reply.tool_calls] == ["no_such_tool"]


async def test_chaos_gives_one_id_to_all_calls():
    earlier = Message("assistant", tool_calls=(ToolCall("call_0", "read_file", "{}"),))
    with chaos_fault("duplicate_id") as model:
        reply = (await play(model, ModelRequest([*ASK.messages, earlier], TOOLS)))[-1]
    assert [c.id for c in reply.tool_calls] == ["call_0", "call_0"]


async def test_a_server_with_one_id_for_all_calls_is_put_right():
    with http_fault("duplicate_id") as model:
        reply = (await play(model))[-1]
    assert len({c.id for c in reply.tool_calls}) == 2


async def test_chaos_puts_a_lone_surrogate_into_the_text():
    with chaos_fault("bad_utf8") as model:
        reply = (await play(model))[-1]
    with pytest.raises(UnicodeEncodeError):
        reply.text.encode()


async def test_bytes_that_are_no_text_are_replaced():
    with http_fault("bad_utf8") as model:
        assert (await play(model))[-1].text == "fi\ufffdne"


@pytest.mark.parametrize("fault", ["bad_json", "unknown_tool", "duplicate_id"])
async def test_chaos_brings_its_fault_also_into_an_answer_without_calls(fault):
    model = ChaosModel(ScriptedModel([{"text": "x"}]), {0: fault})
    assert (await play(model))[-1].tool_calls


def test_chaos_knows_its_faults():
    assert set(HTTP_FAULTS) == set(FAULTS)
    with pytest.raises(ValueError, match=r"faults\[1\].*'cot'.*cut"):
        ChaosModel(ScriptedModel([]), ["cut", "cot"])
