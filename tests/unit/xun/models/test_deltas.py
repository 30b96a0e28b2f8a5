from __future__ import annotations

import json
import time

import pytest

from xun.errors import ModelReplyInvalid
from xun.messages import ToolCall
from xun.models.base import COMPLETE, ReasoningDelta, TextDelta
from xun.models.deltas import ReplyAssembler
from xun.models.textcalls import find_calls


def chunk(finish=None, **delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(arguments=None, *, name=None, **entry):
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {**entry, "function": function}


def answer(*chunks, complete=True, names=()):
    assembler = ReplyAssembler()
    events = [event for item in chunks for event in assembler.add(item)]
    reply, rest = assembler.finish(complete=complete, names=names)
    return reply, events + rest


def calls_of(*entries, finish="tool_calls"):
    reply, _ = answer(*[chunk(tool_calls=[e] if isinstance(e, dict) else e) for e in entries], chunk(finish))
    return [(c.name, c.arguments) for c in reply.tool_calls]


TWO = [("a", '{"x": 1}'), ("b", '{"y": 2}')]

WAYS = {
    "the usual way": [
        call("", name="a", index=0, id="1"),
        call('{"x"', index=0),
        call(": 1}", index=0),
        call("", name="b", index=1, id="2"),
        call('{"y": 2}', index=1),
    ],
    "pieces of two calls mixed": [
        call("", name="a", index=0, id="1"),
        call("", name="b", index=1, id="2"),
        call('{"x"', index=0),
        call('{"y"', index=1),
        call(": 1}", index=0),
        call(": 2}", index=1),
    ],
    "both in one chunk": [[call('{"x": 1}', name="a", index=0, id="1"), call('{"y": 2}', name="b", index=1, id="2")]],
    "no index": [
        call('{"x"', name="a", id="1"),
        call(": 1}"),
        call("", name="b", id="2"),
        call('{"y": 2}'),
    ],
    "no index, the id in each piece": [
        call('{"x"', name="a", id="1"),
        call('{"y"', name="b", id="2"),
        call(": 1}", id="1"),
        call(": 2}", id="2"),
    ],
    "no index and no id": [call('{"x": 1}', name="a"), call('{"y": 2}', name="b")],
    "no index, no id, one chunk": [[call('{"x": 1}', name="a"), call('{"y": 2}', name="b")]],
    "all under index 0": [call('{"x": 1}', name="a", index=0, id="1"), call('{"y": 2}', name="b", index=0, id="2")],
    "all under index 0, no ids": [call('{"x": 1}', name="a", index=0), call('{"y": 2}', name="b", index=0)],
    "the same id twice": [call('{"x": 1}', name="a", index=0, id="1"), call('{"y": 2}', name="b", index=1, id="1")],
    "name and id in each piece": [
        call('{"x"', name="a", index=0, id="1"),
        call(": 1}", name="a", index=0, id="1"),
        call('{"y": 2}', name="b", index=1, id="2"),
    ],
    "the id changes in mid call": [
        call('{"x"', name="a", index=0, id="1"),
        call(": 1}", name="a", index=0, id="9"),
        call('{"y": 2}', name="b", index=1, id="2"),
    ],
    "the name in pieces": [
        {"index": 0, "id": "1", "function": {"name": "a"}},
        call('{"x": 1}', index=0),
        {"index": 1, "id": "2", "function": {"name": "b"}},
        call('{"y": 2}', index=1),
    ],
    "null and objects as arguments": [
        call(None, name="a", index=0, id="1"),
        call({"x": 1}, index=0),
        call({"y": 2}, name="b", index=1, id="2"),
    ],
    "indices that do not begin at 0": [
        call('{"x": 1}', name="a", index=3, id="1"),
        call('{"y": 2}', name="b", index=7, id="2"),
    ],
}


@pytest.mark.parametrize("way", WAYS)
def test_two_calls(way):
    reply, _ = answer(*[chunk(tool_calls=e if isinstance(e, list) else [e]) for e in WAYS[way]], chunk("tool_calls"))
    assert [(c.name, c.arguments) for c in reply.tool_calls] == TWO
    ids = [c.id for c in reply.tool_calls]
    assert all(ids) and len(set(ids)) == 2
    assert reply.finish_reason == "tool_calls"


def test_a_name_in_two_pieces():
    pieces = [call("", name="read_", index=0, id="1"), call("", name="file", index=0), call("{}", index=0)]
    assert calls_of(*pieces) == [("read_file", "{}")]


def test_two_calls_of_one_tool_without_arguments():
    assert calls_of(call("", name="a", index=0, id="1"), call("", name="a", index=0, id="2")) == [("a", ""), ("a", "")]


def test_what_is_no_call_is_left_out():
    assert calls_of([None, "x", {}], {"index": 0, "function": None}, call("{}", name="a", index=1)) == [("a", "{}")]


PIECES = {
    "an empty object first": ["{}", '{"x"', ": 1}"],
    "an empty object, then one": [{}, {"x": 1}],
    "the whole again at the end": ['{"x"', ": 1}", '{"x": 1}'],
    "nothing but an empty object": ["{}"],
    "an empty object twice": ["{}", "{}"],
    "an object in an argument": ['{"x": ', '{"x": ', "1}}"],
}
WHOLE = {
    "nothing but an empty object": "{}",
    "an empty object twice": "{}",
    "an object in an argument": '{"x": {"x": 1}}',
}


@pytest.mark.parametrize("way", PIECES)
def test_arguments_that_are_said_twice_count_once(way):
    entries = [call(piece, name=None if at else "a", index=0) for at, piece in enumerate(PIECES[way])]
    assert calls_of(*entries) == [("a", WHOLE.get(way, '{"x": 1}'))]


def test_forms_of_an_entry():
    assert calls_of({"id": "1", "name": "a", "arguments": "{}"}) == [("a", "{}")]
    assert calls_of(call('{"x"', name="a", index="0"), call(": 1}", index="0")) == [("a", '{"x": 1}')]
    assert answer(chunk(tool_calls=call("{}", name="a")), chunk("stop"))[0].tool_calls[0].name == "a"


def test_what_a_server_wants_back_is_kept_with_the_call():
    extra = {"google": {"thought_signature": "abc"}}
    reply, _ = answer(chunk(tool_calls=[{**call("{}", name="a", index=0), "extra_content": extra}]), chunk("stop"))
    assert json.loads(reply.tool_calls[0].extra) == extra
    assert ToolCall.from_json(json.loads(json.dumps(reply.tool_calls[0].to_json()))) == reply.tool_calls[0]


@pytest.mark.parametrize(
    "chunks",
    [
        [{"usage": {"prompt_tokens": 5}}, {"usage": {"prompt_tokens": 7}}],
        [{"usage": {"prompt_tokens": 7}}, {"usage": {"prompt_tokens": 0, "completion_tokens": 0}}],
        [{"x_groq": {"usage": {"prompt_tokens": 7}}}, {"x_groq": {"id": "r"}, "usage": None}],
    ],
)
def test_the_last_figures_count(chunks):
    assembler = ReplyAssembler()
    for item in chunks:
        assembler.add({"choices": [], **item})
    assert assembler.usage == {"prompt_tokens": 7}


def test_the_old_function_call():
    reply, _ = answer(
        chunk(function_call={"name": "a", "arguments": '{"x"'}),
        chunk(function_call={"arguments": ": 1}"}),
        chunk("function_call"),
    )
    assert [(c.name, c.arguments) for c in reply.tool_calls] == TWO[:1]


def test_broken_arguments_come_out_as_they_are():
    assert calls_of(call('{"a": 1}{"a"', name="a", index=0)) == [("a", '{"a": 1}{"a"')]


@pytest.mark.parametrize("finish", ["length", "content_filter", "something_new"])
def test_a_call_of_a_cut_answer_comes_out_with_the_reason(finish):
    reply, _ = answer(chunk(content="Let me"), chunk(tool_calls=[call('{"x', name="a", index=0)]), chunk(finish))
    assert (reply.finish_reason, reply.text) == (finish, "Let me") and finish not in COMPLETE
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("a", '{"x')]


@pytest.mark.parametrize(
    "finish", ["error", "abort", "network_error", "insufficient_system_resource", "function_call_filter: MALFORMED_X"]
)
def test_a_server_that_gives_up_is_a_failure_that_is_tried_again(finish):
    with pytest.raises(ModelReplyInvalid, match="broke off") as caught:
        answer(chunk(content="Let me"), chunk(tool_calls=[call("{}", name="a", index=0)]), chunk(finish))
    assert caught.value.retryable


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "STOP", None])
def test_a_call_of_a_finished_answer_does(finish):
    assert calls_of(call("{}", name="a", index=0), finish=finish) == [("a", "{}")]


def test_tool_calls_without_calls_is_a_stop():
    assert answer(chunk(content="x"), chunk("tool_calls"))[0].finish_reason == "stop"


def test_a_stream_that_ends_early_is_no_answer():
    with pytest.raises(ModelReplyInvalid, match="before its answer was complete"):
        answer(chunk(content="half"), complete=False)
    assert answer(chunk(content="whole"), chunk("stop"), complete=False)[0].text == "whole"


@pytest.mark.parametrize(
    "delta", [{"reasoning_content": "hm"}, {"reasoning": "hm"}, {"reasoning": "hm", "reasoning_content": "hm"}]
)
def test_reasoning(delta):
    reply, events = answer(chunk(**delta), chunk(content="yes"), chunk("stop"))
    assert events == [ReasoningDelta("hm"), TextDelta("yes")]
    assert (reply.reasoning, reply.text) == ("hm", "yes")


def test_a_refusal_and_parts_are_text():
    reply, _ = answer(chunk(refusal="I "), chunk(content=[{"type": "text", "text": "won't"}]), chunk("stop"))
    assert reply.text == "I won't"


def test_surrogate_pairs_cut_in_two_are_joined():
    pieces = [json.loads('"\\ud83d"'), json.loads('"\\udc4b!"'), json.loads('"\\ud800x"'), json.loads('"\\ud83d"')]
    reply, events = answer(*[chunk(content=piece) for piece in pieces], chunk("stop"))
    assert [event.text for event in events] == ["👋!", "\ufffdx", "\ufffd"]
    assert reply.text == "👋!\ufffdx\ufffd"


def test_surrogates_in_arguments_are_joined():
    pieces = [call('{"x": "\ud83d', name="a", index=0), call('\udc4b"}', index=0)]
    assert calls_of(*pieces) == [("a", '{"x": "👋"}')]


@pytest.mark.parametrize("choices", [{"a": 1}, "x", ["x"], [None]])
def test_choices_of_another_form(choices):
    with pytest.raises(ModelReplyInvalid, match="choices"):
        ReplyAssembler().add({"choices": choices})


def test_other_choices_and_empty_ones_are_left_out():
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "stop"}]}
    reply, _ = answer({"choices": []}, {"x": 1}, other, chunk(content="yes", finish="stop"))
    assert reply.text == "yes"
    both = {"choices": [*other["choices"], *chunk(content="yes", finish="stop")["choices"]]}
    assert answer(both)[0].text == "yes"


def test_a_whole_message_counts_only_when_no_pieces_came():
    whole = {"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}
    assert answer(whole)[0].text == "whole"
    assert answer(chunk(content="whole"), whole)[0].text == "whole"


TEXT_CALLS = [
    ('<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call>', [("a", '{"x": 1}')]),
    (
        'I look.\n<tool_call>{"name": "a", "arguments": {}}</tool_call>\n'
        '<tool_call>{"name": "b", "arguments": {"é": []}}</tool_call>',
        [("a", "{}"), ("b", '{"é": []}')],
    ),
    ('I look.\n```json\n{"name": "a", "arguments": {"x": 1}}\n```', [("a", '{"x": 1}')]),
    ('```\n{"name": "a", "parameters": {"x": 1}}\n```\n', [("a", '{"x": 1}')]),
    ('<tool_call>{"name": "a", "arguments": {"x": </tool_call>', []),
    ('<tool_call>{"name": "a", "arguments": {}}</tool_call><tool_call>{"name": "a"', []),
    ('<tool_call>{"name": "nope", "arguments": {}}</tool_call>', []),
    ('<tool_call>{"name": "a", "arguments": "{}"}</tool_call>', []),
    ('<tool_call>["a"]</tool_call>', []),
    ('Such a call: {"name": "a", "arguments": {}}', []),
    ('```json\n{"name": "a", "arguments": {}}\n```\nis how a call looks.', []),
    ('```json\n{"name": "x", "version": 1}\n```', []),
    ('```json\n{"name": "a", "arguments": {}}', []),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), TEXT_CALLS)
def test_calls_written_as_text(text, expected):
    assert [(c.name, c.arguments) for c in find_calls(text, {"a", "b"})] == expected


def test_text_calls_count_only_without_real_ones_and_in_a_finished_answer():
    text = '<tool_call>{"name": "a", "arguments": {}}</tool_call>'
    reply, _ = answer(chunk(content=text), chunk("stop"), names={"a"})
    assert [c.name for c in reply.tool_calls] == ["a"] and reply.tool_calls[0].id and reply.text == text
    real = chunk(tool_calls=[call("{}", name="b", index=0)])
    assert [c.name for c in answer(chunk(content=text), real, chunk("stop"), names={"a"})[0].tool_calls] == ["b"]
    assert answer(chunk(content=text), chunk("length"), names={"a"})[0].tool_calls == ()


def test_many_braces_take_no_time_with_the_square_of_their_number():
    assembler = ReplyAssembler()
    assembler.add(chunk(tool_calls=[call("", name="a", index=0, id="1")]))
    began = time.process_time()
    for _ in range(30_000):
        assembler.add(chunk(tool_calls=[call("{", index=0)]))
    assert time.process_time() - began < 1.5
