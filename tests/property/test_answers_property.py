"""Whatever a server sends: an answer, or one ModelError; and an answer that is cut into pieces anywhere is the same."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from xun.errors import ModelError
from xun.messages import ModelReply
from xun.models.faults import Endpoint, refusal
from xun.models.reading import AnswerReader

WHERE = Endpoint("http://host.example/v1", "m")
LEAF = (
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats()
    | st.sampled_from(["", "a", "{}", '{"x": 1}', "0", "stop"])
)
KEYS = [
    *("choices", "delta", "message", "tool_calls", "function", "function_call", "name", "arguments", "id", "index"),
    *(
        "content",
        "refusal",
        "reasoning",
        "reasoning_content",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "total_tokens",
    ),
    *("prompt_tokens_details", "x_groq", "error", "code", "type", "metadata", "raw", "object", "extra_content", "text"),
    *("model", "status", "detail"),
]
ANY = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


def shaped(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Chunks that have the right form down to some depth, where anything follows."""
    function = st.fixed_dictionaries({}, optional={"name": inner, "arguments": inner})
    call = st.fixed_dictionaries(
        {}, optional={"index": inner, "id": inner, "function": function | inner, "extra_content": inner}
    )
    delta = st.fixed_dictionaries(
        {}, optional={"content": inner, "tool_calls": st.lists(call | inner, max_size=3) | inner}
    )
    choice = st.fixed_dictionaries(
        {"delta": delta | inner}, optional={"finish_reason": inner, "index": inner, "error": inner}
    )
    return st.fixed_dictionaries(
        {"choices": st.lists(choice | inner, max_size=2) | inner}, optional={"usage": inner, "error": inner}
    )


def read(data: bytes, cuts: list[int]) -> ModelReply | ModelError:
    async def pieces() -> AsyncIterator[bytes]:
        start = 0
        for cut in [*sorted(cuts), len(data)]:
            if data[start:cut]:
                yield data[start:cut]
                start = cut

    async def last() -> ModelReply:
        events = [event async for event in AnswerReader(WHERE, idle=60, names={"a"}).read(pieces())]
        assert isinstance(events[-1], ModelReply)
        return events[-1]

    try:
        return asyncio.run(last())
    except ModelError as exc:
        return exc


@settings(max_examples=40, deadline=None)
@given(st.lists(shaped(ANY) | ANY, max_size=4), st.booleans())
def test_any_chunks_are_an_answer_or_one_error(chunks: list[Any], done: bool) -> None:
    data = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n" * done
    answer = read(data.encode(), [])
    if isinstance(answer, ModelReply):
        ids = [call.id for call in answer.tool_calls]
        assert all(isinstance(ident, str) and ident for ident in ids) and len(set(ids)) == len(ids)
        assert all(isinstance(call.name, str) and isinstance(call.arguments, str) for call in answer.tool_calls)
        json.dumps(
            [answer.text, answer.reasoning, *(call.to_json() for call in answer.tool_calls)], ensure_ascii=False
        ).encode()
        assert answer.usage.input >= 0 and answer.usage.output >= 0
    else:
        assert "\n" not in str(answer) and len(str(answer)) < 700


@settings(max_examples=30, deadline=None)
@given(ANY, st.sampled_from([400, 401, 403, 404, 413, 418, 422, 429, 500, 503]))
def test_any_refusal_is_one_error(body: Any, status: int) -> None:
    error = refusal(status, {"retry-after": "soon"}, json.dumps(body), WHERE)
    assert isinstance(error, ModelError) and error.status == status and "\n" not in str(error)


@settings(max_examples=30, deadline=None)
@given(
    st.text(max_size=20),
    st.lists(
        st.tuples(st.sampled_from("ab"), st.dictionaries(st.text(max_size=3), st.text(max_size=8), max_size=2)),
        max_size=3,
    ),
    st.lists(st.integers(0, 2000), max_size=12),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 7),
)
def test_a_cut_anywhere_changes_nothing(
    text: str, calls: list[tuple[str, dict[str, str]]], cuts: list[int], end: str, size: int
) -> None:
    deltas: list[dict[str, Any]] = [{"content": text}]
    for index, (name, arguments) in enumerate(calls):
        deltas.append(
            {"tool_calls": [{"index": index, "id": f"c{index}", "function": {"name": name, "arguments": ""}}]}
        )
        whole = json.dumps(arguments, ensure_ascii=False)
        for start in range(0, len(whole), size):
            deltas.append({"tool_calls": [{"index": index, "function": {"arguments": whole[start : start + size]}}]})
    chunks = [{"choices": [{"index": 0, "delta": item}]} for item in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    data = "".join(f"data: {json.dumps(chunk)}{end}{end}" for chunk in chunks).encode()
    answer = read(data, [cut for cut in cuts if cut < len(data)])
    assert isinstance(answer, ModelReply) and answer.text == text.encode("utf-16", "replace").decode("utf-16")
    assert [(call.id, call.name, json.loads(call.arguments)) for call in answer.tool_calls] == [
        (f"c{index}", name, arguments) for index, (name, arguments) in enumerate(calls)
    ]
