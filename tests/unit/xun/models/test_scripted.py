from __future__ import annotations

import json

import pytest

from xun.errors import ConfigError
from xun.messages import Message, ModelReply, ToolCall, Usage
from xun.models import ChatModel, ScriptedModel
from xun.models.base import ModelRequest, ReasoningDelta, TextDelta

ASK = ModelRequest([Message("user", "hello")])
RISK = ModelRequest([Message("user", "is it safe?")], purpose="risk")


async def play(model, request=ASK):
    return [event async for event in model.stream(request)]


async def test_a_turn_is_streamed_in_pieces_and_then_whole():
    model = ScriptedModel([{"text": "abcdefg", "reasoning": "hm", "usage": {"input": 7, "output": 2}}])
    *pieces, reply = await play(model)
    assert pieces == [ReasoningDelta("hm"), TextDelta("abc"), TextDelta("def"), TextDelta("g")]
    assert reply == ModelReply("abcdefg", (), "stop", Usage(7, 2, requests=1), "hm")
    assert model.requests == [ASK]


async def test_pieces_says_in_how_many_parts_the_text_comes():
    pieces = await play(ScriptedModel([{"text": "abcd", "pieces": 1}]))
    assert pieces[:-1] == [TextDelta("abcd")]


async def test_ids_are_kept_or_made_unique():
    calls = [{"name": "a", "arguments": {"x": "é"}}, {"name": "b", "arguments": "{broken", "id": "call_1"}]
    model = ScriptedModel([{"tool_calls": calls}, {"tool_calls": [{"name": "c"}]}])
    first, second = (await play(model))[-1], (await play(model))[-1]
    assert first.tool_calls == (ToolCall("call_2", "a", '{"x": "é"}'), ToolCall("call_1", "b", "{broken"))
    assert first.finish_reason == "tool_calls"
    assert second.tool_calls == (ToolCall("call_3", "c", "{}"),)


async def test_past_the_end_comes_an_empty_answer_and_a_warning():
    model = ScriptedModel([{"text": "only"}])
    await play(model)
    assert await play(model) == [ModelReply(usage=Usage(requests=1))]
    assert model.warnings == ["Request 2 came after the last of 1 scripted turns; the answer is empty"]


async def test_risk_has_its_own_list_and_then_unsure():
    model = ScriptedModel([{"text": "turn"}], risk=[{"verdict": "reject", "reason": "no"}, {"text": "gibberish"}])
    answers = [(await play(model, RISK))[-1].text for _ in range(3)]
    assert json.loads(answers[0]) == {"verdict": "reject", "reason": "no"}
    assert answers[1] == "gibberish"
    assert json.loads(answers[2])["verdict"] == "unsure"
    assert (await play(model))[-1].text == "turn"
    assert model.warnings == []


@pytest.mark.parametrize(
    ("turns", "risk", "words"),
    [
        ([{"txt": "x"}], [], ["turns[0]", "'txt'", "'text'"]),
        (["x"], [], ["turns[0]", "an object", "a string"]),
        ([{}, {"tool_calls": [{"arguments": {}}]}], [], ["turns[1], tool_calls[0]", "name"]),
        ([{"tool_calls": {}}, {"tool_calls": "x"}], [], ["turns[1]", "tool_calls", "a list"]),
        ([{"usage": {"in": 1}}], [], ["turns[0]", "usage", "'in'"]),
        ([{"delay": -1}], [], ["turns[0]", "delay", "-1"]),
        ([{"text": 3}], [], ["turns[0]", "text", "a number"]),
        ([], [{"verdict": "maybe"}], ["risk[0]", "allow, unsure, reject", "'maybe'"]),
    ],
)
def test_a_malformed_script_is_named(turns, risk, words):
    with pytest.raises(ConfigError) as caught:
        ScriptedModel(turns, risk)
    assert [word for word in words if word not in str(caught.value)] == []


@pytest.mark.parametrize("data", [[{"text": "x"}], {"turns": [{"text": "x"}], "risk": [{"verdict": "allow"}]}])
async def test_a_script_is_read_from_a_file(tmp_path, data):
    path = tmp_path / "s.json"
    path.write_text(json.dumps(data))
    model = ScriptedModel.from_file(path)
    assert model.name == "scripted:s.json"
    assert (await play(model))[-1].text == "x"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", ["valid JSON", "line 1"]),
        (b'"x"', ["a list of turns"]),
        (b'{"turn": []}', ["a list of turns"]),
        (b'{"turns": [], "risks": []}', ["'risks'", "'risk'"]),
        (b'{"turns": {}}', ["turns must be a list"]),
        (b'{"turns": {"a": 1}}', ["turns must be a list"]),
        (b'[{"text": 1}]', ["turns[0]"]),
        (b"\xff\xfe\x00", ["UTF-8"]),
        (b"[" * 100_000, ["nested"]),
    ],
)
def test_a_malformed_file_is_named(tmp_path, data, words):
    path = tmp_path / "bad.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as caught:
        ScriptedModel.from_file(path)
    assert [word for word in [str(path), *words] if word not in str(caught.value)] == []


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.json can't be read"):
        ScriptedModel.from_file(tmp_path / "none.json")


def test_it_is_a_chat_model():
    assert isinstance(ScriptedModel([]), ChatModel)
