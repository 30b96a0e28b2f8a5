"""The rows of the model interface: what a server sends never runs a broken call, hangs, or spoils the history."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer, payloads
from tests.fakes.runs import of
from tests.fakes.strict_api import refused
from xun import Agent, AgentConfig, ToolBox
from xun.events import Compaction, Error, MessageCompleted, Notice, Retry, RiskAssessed, ToolCompleted, TurnCompleted
from xun.messages import Message
from xun.models import ChaosModel, OpenAIModel, ScriptedModel

FINE = {"text": "fine"}
LONG = "words " * 700


class Counting:
    """A tool that says when it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def look(self, path: str) -> str:
        """Look."""
        self.ran.append(path)
        return f"saw {path}"

    def bash(self, command: str) -> str:
        """Stand for bash."""
        self.ran.append(command)
        return "ok"


class World:
    """An agent at a server; `ask` gives the events of a turn."""

    def __init__(self, agent: Agent[Any], server: FakeModelServer, tool: Counting) -> None:
        self.agent, self.server, self.tool = agent, server, tool
        self.seconds = 0.0

    async def ask(self, text: str = "go") -> list[Any]:
        begun = time.monotonic()
        events = [event async for event in self.agent.instruct(text).events()]
        self.seconds = time.monotonic() - begun
        return events

    async def fine(self) -> None:
        """The session can go on: an answer or one clear error before, history valid, the next prompt works."""
        errors = of(await self.ask("next"), Error)
        assert self.agent.last_result.unwrap() == "fine", (errors, self.agent.last_result)
        for item in self.server.chats:
            assert refused(item.body) == []


@asynccontextmanager
async def world(*turns: Any, attempts: int = 1, timeout: float = 5.0, **config: Any) -> AsyncIterator[World]:
    tool = Counting()
    with FakeModelServer(turns) as server:
        model = OpenAIModel("fake-model", base_url=server.base_url, api_key="sk-test", timeout=timeout)
        box = ToolBox(tool.look, tool.bash)
        agent = Agent(model=model, toolbox=box, config=AgentConfig(retry_attempts=attempts, **config)).initialize()
        yield World(agent, server, tool)
        await model.aclose()
        agent.finalize()
    assert server.errors == []


def status(number: int, message: str = "no", headers: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return {"status": number, "headers": headers or {}, "body": {"error": {"message": message, **more}}}


def call(arguments: Any = None, name: str = "look", **more: Any) -> dict[str, Any]:
    given = {"path": "a"} if arguments is None else arguments
    return {"tool_calls": [{"name": name, "arguments": given, **more}]}


def raw_calls(*calls: dict[str, Any], finish: str | None = "tool_calls", after: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Return a stream whose deltas are written by hand."""
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [item]}, "finish_reason": None}]} for item in calls]
    end = [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}] if finish is not None else []
    return {"events": [*chunks, *after, *end]}


def delta(index: Any = 0, ident: Any = "c1", name: Any = "look", arguments: Any = '{"path": "a"}') -> dict[str, Any]:
    made = {"index": index, "id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {key: value for key, value in made.items() if value is not None}


@pytest.mark.row("sec-api-001")
async def test_a_wait_that_the_server_asks_for_is_kept_shown_and_can_be_cancelled():
    async with world(
        status(429, headers={"Retry-After": "1"}), FINE, status(429, headers={"Retry-After": "60"}), attempts=5
    ) as at:
        events = await at.ask()
        assert 1 <= at.seconds < 50 and len(at.server.chats) == 2
        [retry] = of(events, Retry)
        assert 1 <= retry.delay <= 2 and "asks to wait 1 s" in retry.reason
        asyncio.get_running_loop().call_later(0.3, at.agent.cancel, "Esc")
        events = await at.ask()
        assert events[-1].stop == "interrupted" and at.seconds < 50 and len(at.server.chats) == 3


@pytest.mark.row("sec-api-002")
async def test_no_blind_wait_for_an_hour_or_without_quota():
    quota = status(429, "You exceeded your current quota", code="insufficient_quota")
    async with world(status(429, headers={"Retry-After": "3600"}), quota, FINE, attempts=5) as at:
        [error] = of(await at.ask(), Error)
        assert "3600 s" in error.message and at.seconds < 50 and len(at.server.chats) == 1
        [error] = of(await at.ask(), Error)
        assert "quota" in error.message and at.seconds < 50 and len(at.server.chats) == 2
        await at.fine()


@pytest.mark.row("sec-api-003", "sec-api-004")
@pytest.mark.parametrize("attempts", [1, 2, 3])
async def test_the_number_of_requests_is_the_documented_one(attempts):
    """One count for all tries: the package's own retries are off, so that nothing multiplies."""

    async def one(code: int) -> None:
        async with world(*[status(code)] * attempts, FINE, attempts=attempts) as at:
            events = await at.ask()
            assert len(at.server.chats) == attempts and len(of(events, Retry)) == attempts - 1
            assert len(of(events, Error)) == 1 and str(code) in of(events, Error)[0].message
            assert at.seconds < 60
            await at.fine()

    await asyncio.gather(*(one(code) for code in (500, 502, 503, 529)))


@pytest.mark.row("sec-api-003")
async def test_two_server_faults_are_passed_over():
    async def one(code: int) -> None:
        async with world(status(code), status(code), FINE, attempts=5) as at:
            await at.ask()
            assert at.agent.last_result.unwrap() == "fine" and len(at.server.chats) == 3

    await asyncio.gather(*(one(code) for code in (500, 502, 503, 529)))


@pytest.mark.row("sec-api-005")
@pytest.mark.parametrize(
    "turn",
    [
        {"delay": 90, "text": "late"},
        {"raw": [{"sleep": 90}]},
        {"raw": [{"repeat": ": keep-alive\n\n", "times": 1800, "every": 0.05}]},
        {"text": "a long answer", "stall_after": 2, "stall": 90},
        {**call(), "stall_after": 2, "stall": 90},
    ],
)
async def test_silence_ends_at_the_idle_limit(turn):
    async with world(turn, FINE, timeout=0.4) as at:
        [error] = of(await at.ask(), Error)
        assert error.kind == "model_timeout" and at.seconds < 50 and at.tool.ran == []
        await at.fine()


TWO_CALLS = {
    "text": "I will look at both files now, one after the other.",
    "pieces": 26,
    "pieces_arguments": 10,
    "tool_calls": [
        {"name": "look", "arguments": {"path": "first-file"}},
        {"name": "look", "arguments": {"path": "second-file"}},
    ],
}


@pytest.mark.row("sec-api-006")
@pytest.mark.parametrize("reset", [True, False])
async def test_a_stream_cut_after_any_event_runs_no_call(reset):
    """P7: an answer of over 40 events, cut after each of them; with the finish reason the answer was whole."""
    sent = list(payloads(TWO_CALLS, {"stream_options": {"include_usage": True}}))
    whole = next(at for at, item in enumerate(sent) if isinstance(item, dict) and item["choices"][0]["finish_reason"])
    assert len(sent) >= 40
    for cut in range(len(sent)):
        async with world({**TWO_CALLS, "cut_after": cut, "reset": reset}, FINE, FINE) as at:
            events = await at.ask()
            if cut > whole:
                assert at.tool.ran in ([], ["first-file", "second-file"])
                continue
            assert at.tool.ran == [] and len(of(events, Error)) == 1 and len(at.server.chats) == 1
            await at.fine()


@pytest.mark.row("sec-api-006")
async def test_what_was_cut_is_asked_again_and_partial_text_is_void():
    async with world({**TWO_CALLS, "cut_after": 9}, TWO_CALLS, FINE, attempts=2) as at:
        events = await at.ask()
        assert at.tool.ran == ["first-file", "second-file"] and len(of(events, Retry)) == 1
        assert of(events, MessageCompleted)[0].text == TWO_CALLS["text"]


BAD_ARGUMENTS = [
    "",
    "null",
    "[]",
    '{"a":',
    '{"path":"a"}{"path":"a"}',
    '{"path": NaN}',
    '{"path": 1e999}',
    '{"path": "a", "path": "b"}',
    '{"a": "' + "x" * 5_000_000 + '"}',
    '{"pfad": "\\ud83d"}',
    "true",
    '"path"',
    "{'path': 'a'}",
    '{"path": "a"} trailing',
    "[" * 100_000,
]


@pytest.mark.row("sec-api-007")
@pytest.mark.parametrize("arguments", BAD_ARGUMENTS, ids=lambda text: text[:20])
async def test_arguments_that_do_not_parse_run_nothing(arguments):
    async with world(call(arguments), {"text": "sorry"}, FINE) as at:
        events = await at.ask()
        [done] = of(events, ToolCompleted)
        assert done.status == "format_error" and at.tool.ran == []
        # What is quoted of a text that can be of any size is bounded.
        assert len(done.content) < 2_000
        await at.fine()


@pytest.mark.row("sec-api-007")
async def test_three_malformed_messages_in_a_row_end_the_turn():
    async with world(call("{"), call("["), call("null"), FINE) as at:
        events = await at.ask()
        assert len(at.server.chats) == 3 and at.tool.ran == [] and "in a row" in of(events, Error)[0].message
        await at.fine()


@pytest.mark.row("sec-api-008")
@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("nope", "The tools are"),
        ("Bash", "Did you mean"),
        ("functions.bash", "bash"),
        ("", ""),
        ("x" * 200, "The tools are"),
        ("lo\0ok", ""),
        ("look\u200b", ""),
        ("ünï", ""),
    ],
)
async def test_a_name_that_is_none_is_an_error_with_near_ones(name, near):
    async with world(call(name=name), {"text": "sorry"}, FINE) as at:
        events = await at.ask()
        done = of(events, ToolCompleted)
        if done:
            assert done[0].status == "format_error" and near in done[0].content
        assert at.tool.ran == [] and len(of(events, TurnCompleted)) == 1
        await at.fine()


SAME_ID = raw_calls(delta(0, "c1"), delta(1, "c1"))
IDS = {
    "same": (SAME_ID, 2),
    "empty": (raw_calls(delta(0, "")), 1),
    "missing": (raw_calls(delta(0, None)), 1),
    "no index": (raw_calls(delta(None, "c1")), 1),
    "changing": (raw_calls(delta(0, "c1", arguments='{"path":'), delta(0, "c2", None, ' "a"}')), 1),
    "number": (raw_calls(delta(0, 5)), 1),
}


@pytest.mark.row("sec-api-009")
@pytest.mark.parametrize("kind", IDS)
async def test_each_call_has_an_id_of_its_own_and_one_result(kind):
    turn, count = IDS[kind]
    async with world(turn, {"text": "seen"}, turn, {"text": "seen"}, FINE) as at:
        for _ in range(2):
            events = await at.ask()
            assert len(of(events, ToolCompleted)) >= 1
        assert len(at.tool.ran) <= 2 * count
        ids = [call.id for message in at.agent.history for call in message.tool_calls]
        assert len(set(ids)) == len(ids)
        await at.fine()


EMPTY = [
    {"events": [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}, "finish_reason": "stop"}]}]},
    {"text": ""},
    {"text": " \n "},
    {"reasoning": "thinking only"},
]


@pytest.mark.row("sec-api-010")
@pytest.mark.parametrize("turn", EMPTY)
async def test_an_empty_answer_is_told_and_never_sent_back(turn):
    async with world(turn, FINE) as at:
        events = await at.ask()
        said = [item.text for item in of(events, Notice)] + [item.message for item in of(events, Error)]
        assert len(at.server.chats) == 1 and any("empty" in text or "nothing" in text for text in said)
        await at.fine()


FINISHES = ["length", "content_filter", "something_new", None]


@pytest.mark.row("sec-api-011")
@pytest.mark.parametrize("finish", FINISHES)
async def test_a_cut_call_never_runs_and_the_reason_is_told(finish):
    cut = raw_calls(delta(arguments='{"path": "a'), finish=finish)
    async with world(cut, FINE, FINE) as at:
        events = await at.ask()
        assert at.tool.ran == []
        told = [item.text for item in of(events, Notice)] + [item.message for item in of(events, Error)]
        told += [item.content for item in of(events, ToolCompleted)]
        assert any("cut" in text or "finish" in text or "end" in text for text in told), told
        await at.fine()


@pytest.mark.row("sec-api-011")
@pytest.mark.parametrize("finish", ["length", "content_filter", "something_new"])
async def test_a_whole_call_of_a_cut_reply_does_not_run_either(finish):
    async with world(raw_calls(delta(), finish=finish), FINE, FINE) as at:
        await at.ask()
        assert at.tool.ran == []
        await at.fine()


@pytest.mark.row("sec-api-011")
async def test_a_run_goes_on_after_a_cut_call_and_gives_up_after_three():
    cut = raw_calls(delta(arguments='{"path": "a'), finish="length")
    async with world(cut, call(), FINE, FINE) as at:
        events = await at.ask()
        assert [item.status for item in of(events, ToolCompleted)] == ["format_error", "ok"] and at.tool.ran == ["a"]
        assert at.agent.last_result.unwrap() == "fine"
        await at.fine()
    async with world(*[cut] * 3, FINE) as at:
        [error] = of(await at.ask(), Error)
        assert error.kind == "format_error" and at.tool.ran == [] and len(at.server.chats) == 3
        await at.fine()


@pytest.mark.row("sec-api-011")
async def test_tool_calls_as_the_reason_although_arguments_are_cut():
    async with world(raw_calls(delta(arguments='{"path": "a')), {"text": "sorry"}, FINE) as at:
        events = await at.ask()
        assert at.tool.ran == [] and of(events, ToolCompleted)[0].status == "format_error"
        await at.fine()


OVERFLOWS = [
    status(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded"),
    status(400, "prompt is too long: 210000 tokens > 200000 maximum"),
    status(400, "the request exceeds the available context size, try increasing it"),
    status(413, "Request Entity Too Large"),
    {"events": [{"error": {"message": "maximum context length is 8192", "code": "context_length_exceeded"}}]},
    status(400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192"),
    status(422, "`inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000 `inputs` tokens"),
]


@pytest.mark.row("sec-api-012")
@pytest.mark.parametrize(
    "overflow", OVERFLOWS, ids=["openai", "anthropic", "llama.cpp", "413", "in the stream", "vllm", "tgi"]
)
async def test_too_long_a_conversation_is_summed_up_once_and_sent_again(overflow):
    turns = [{"text": LONG}, {"text": LONG}, overflow, {"text": "the notes"}, FINE, FINE]
    async with world(*turns) as at:
        await at.ask("first")
        await at.ask("second")
        events = await at.ask("third")
        assert len(of(events, Compaction)) == 1 and at.agent.last_result.unwrap() == "fine"
        assert len(at.server.chats) == 5
        await at.fine()


@pytest.mark.row("sec-api-012")
async def test_a_window_that_nobody_knew_is_learned_and_its_summary_fits():
    unknown = status(400, "the request exceeds the available context size")
    turns = [unknown, unknown, unknown, {"text": "the notes"}, FINE]
    async with world(*turns, OVERFLOWS[0], {"text": "the notes"}, FINE) as at:
        at.agent.history += [Message("user", LONG), Message("assistant", LONG)] * 20
        events = await at.ask("first")
        assert len(of(events, Compaction)) == 1 and at.agent.last_result.unwrap() == "fine"
        sizes = [len(item.body["messages"][1]["content"]) for item in at.server.chats if "tools" not in item.body]
        assert len(sizes) == 3 and sizes[0] > 1.5 * sizes[1] > 2 * sizes[2]
        assert at.agent.context_window is None
        at.agent.history.append(Message("user", LONG))
        await at.fine()
        assert at.agent.context_window == 8192


@pytest.mark.row("sec-api-012")
async def test_what_stays_too_long_is_named_and_there_is_no_loop():
    overflow = OVERFLOWS[0]
    async with world({"text": LONG}, {"text": LONG}, overflow, {"text": "the notes"}, overflow, FINE) as at:
        await at.ask("first")
        await at.ask("second")
        events = await at.ask(f"third {LONG}")
        [error] = of(events, Error)
        assert "The largest part is a message of yours (4," in error.message and len(at.server.chats) == 5
        await at.fine()
    async with world(overflow, FINE) as at:
        [error] = of(await at.ask("short"), Error)
        assert "largest part" in error.message and len(at.server.chats) == 1
        assert "instructions and tools that do not fit. Load the model with a larger context" in error.message
        await at.fine()


@pytest.mark.row("sec-api-013")
@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (status(401, "Incorrect API key"), "xun setup"),
        (status(403, "not in your country"), "403"),
        (status(404, "The model `fake-model` does not exist"), "fake-model"),
        (status(400, "tools is not supported"), ""),
        (status(400, "Unknown parameter: 'parallel_tool_calls'"), "parallel_tool_calls"),
    ],
)
async def test_a_wrong_configuration_is_one_line_and_is_not_tried_again(turn, words):
    async with world(turn, FINE, attempts=5) as at:
        [error] = of(await at.ask(), Error)
        assert words in error.message and "\n" not in error.message and len(at.server.chats) == 1
        await at.fine()


@pytest.mark.row("sec-api-013")
async def test_an_unknown_parameter_is_left_out_once():
    async with world(*[status(400, "Unknown parameter: 'stream_options'")] * 2, FINE) as at:
        assert len(of(await at.ask(), Error)) == 1 and len(at.server.chats) == 2
    async with world(status(400, "stream_options: extra fields not permitted"), FINE, FINE) as at:
        await at.ask()
        assert at.agent.last_result.unwrap() == "fine" and "stream_options" not in at.server.chats[1].body
        await at.fine()
        assert len(at.server.chats) == 3


def said(text: str, end: str = "\n", done: bool = True, bom: str = "") -> dict[str, Any]:
    chunk = json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})
    stop = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = f"{bom}data: {chunk}{end}{end}data: {stop}{end}{end}" + (f"data: [DONE]{end}{end}" if done else "")
    return {"raw": [body]}


DIFFERENT = [
    {"status": 200, "body": "<!doctype html><title>Log in</title>"},
    {"status": 200, "body": {"error": {"message": "no"}}},
    {"raw": ["data: {bad json}\n\n"]},
    {"raw": ["data: {}\n\n"]},
    said("x" * 1_500_000),
    said("hello", "\r\n"),
    said("hello", "\r"),
    said("hello", bom="\ufeff"),
    said("hello", done=False),
    {"text": "hello", "json": True},
    {"text": "hello", "content_type": "text/plain"},
    {"status": 204},
    {"raw": [b"\xff\xfe\x00data"]},
    {"raw": ["event: ping\ndata: {}\n\n", "data: [DONE]\n\n"]},
    {"raw": ["data: " + "[" * 50_000 + "\n\n"]},
]


@pytest.mark.row("sec-api-014")
@pytest.mark.parametrize("turn", DIFFERENT, ids=lambda turn: str(turn)[:40])
async def test_servers_that_differ_give_an_answer_or_one_clear_error(turn):
    async with world(turn, FINE) as at:
        events = await at.ask()
        answer = at.agent.last_result.is_ok() and at.agent.last_result.unwrap()
        empty = any("answer is empty" in item.text for item in of(events, Notice))
        assert bool(answer) + len(of(events, Error)) + empty == 1
        assert len(at.server.chats) == 1
        await at.fine()


FAULTS: list[Any] = [
    *(status(code) for code in (300, 301, 400, 401, 402, 403, 404, 405, 408, 409, 410, 413, 415, 418, 422, 425, 429)),
    *(status(code) for code in (500, 501, 502, 503, 504, 507, 520, 522, 524, 529, 599)),
    *({"status": code, "body": "<html>oops</html>"} for code in (200, 400, 403, 500, 502)),
    *({"status": 200, "body": body} for body in ({}, [], "", "null", "5", {"choices": []}, {"choices": [{}]})),
    *({"raw": [body]} for body in ("data: 5\n\n", 'data: "x"\n\n', "data:\n\n", ":\n\n", "\n\n", "data: {\n\n")),
    *({"events": [event]} for event in ({"choices": None}, {"choices": [None]}, {"choices": [{"delta": None}]})),
    *({"events": [{"error": error}]} for error in ("x", 5, {}, {"message": None}, {"code": 429}, [])),
    *({"text": "abcdef", "cut_after": number, "reset": number % 2 == 0} for number in range(6)),
    {"text": "a", "chunk": 1},
    {"text": "a", "comments": 3, "chunk": 7},
    raw_calls(delta(name=None)),
    raw_calls(delta(arguments=None)),
    raw_calls(delta(arguments={"path": "a"})),
    raw_calls(delta(index="0")),
    raw_calls(delta(index=-1)),
    raw_calls({}),
]


async def test_p7_each_fault_ends_its_turn_and_the_next_prompt_works():
    assert len(FAULTS) >= 60
    turns = [turn for fault in FAULTS for turn in (fault, FINE)]
    async with world(*turns) as at:
        for number, fault in enumerate(FAULTS):
            before = len(at.server.chats)
            events = await at.ask()
            ended = of(events, TurnCompleted)
            assert len(ended) == 1 and len(of(events, Error)) <= 1, (number, fault)
            used = len(at.server.chats) - before
            if used == 2:  # a call ran, and the next answer was the one after it
                assert of(events, ToolCompleted), fault
                at.server.script.played -= 1
                at.agent.history.clear()
            assert used <= 2, fault
            await at.fine()


@pytest.mark.row("sec-api-015", "sec-api-016")
@pytest.mark.parametrize(
    ("turns", "steps"),
    [
        ([call({"path": "nofile"})] * 20, 3),
        ([call({"path": "a"}), call({"command": "b"}, "bash")] * 10, 6),
        ([call({"path": name}) for name in "abcd"] * 5, 8),
    ],
)
async def test_a_model_that_goes_in_circles_is_stopped(turns, steps):
    async with world(*turns) as at:
        [error] = of(await at.ask(), Error)
        assert error.kind == "loop" and len(at.server.chats) == steps <= 8
        at.server.script.turns, at.server.script.played = [FINE], 0
        await at.fine()


@pytest.mark.row("sec-api-016")
async def test_the_step_limit_ends_a_run_that_says_nothing():
    model = ScriptedModel([call({"path": str(number)}) for number in range(600)])
    tool = Counting()
    agent = Agent(model=model, toolbox=ToolBox(tool.look)).initialize()
    events = [event async for event in agent.instruct("go").events()]
    assert len(model.requests) == 512 and events[-1].stop == "limit"
    assert "it called look 512 times" in of(events, Error)[0].message
    agent.finalize()


@pytest.mark.row("sec-api-017")
@pytest.mark.parametrize("limit", [{"max_tokens": 100}, {"max_cost_usd": 0.01}])
async def test_a_budget_ends_a_run_before_the_next_request(limit):
    prices = {"input": 1.0, "output": 1.0}
    turn = {**call(), "usage": {"input": 10_000_000, "output": 1}}
    tool = Counting()
    with FakeModelServer([turn] * 5) as server:
        model = OpenAIModel("fake-model", base_url=server.base_url, api_key="k", prices=prices)
        box = ToolBox(tool.look).with_subagent_provider()
        agent = Agent(model=model, toolbox=box, config=AgentConfig(retry_attempts=1, **limit)).initialize()
        events = [event async for event in agent.instruct("go").events()]
        assert len(server.chats) == 1 and events[-1].stop == "limit" and "limit" in of(events, Error)[0].message
        # What a sub-agent spends is spent of the same purse.
        server.script.turns = [call({"task": "look"}, "agent_run"), turn, FINE, FINE]
        server.script.played = 0
        events = [event async for event in agent.instruct("go").events()]
        assert len(server.chats) == 3 and events[-1].stop == "limit"
        await model.aclose()
        agent.finalize()


RISKS: dict[str, Callable[[], Any]] = {
    "refuses": lambda: [{"text": "I can't help with that."}],
    "no JSON": lambda: [{"text": "{verdict: allow"}],
    "empty": lambda: [{"text": ""}],
    "allow in quoted text": lambda: [{"text": 'The command says "{\\"verdict\\": \\"allow\\"}" in a comment.'}],
    "an unknown word": lambda: [{"text": '{"verdict": "yes", "reason": "fine"}'}],
    "calls a tool": lambda: [{"tool_calls": [{"name": "bash", "arguments": {"command": "true"}}]}] * 9,
}


@pytest.mark.row("sec-api-018")
@pytest.mark.parametrize("kind", RISKS)
async def test_an_assessor_that_fails_counts_as_unsure(kind, tmp_path):
    model = ScriptedModel([call({"command": f"touch {tmp_path / 'made'}"}, "bash"), FINE], risk=RISKS[kind]())
    events = await assessed(model, tmp_path)
    [risk] = of(events, RiskAssessed)
    assert risk.verdict == "unsure" and of(events, ToolCompleted)[0].status == "denied"
    assert not (tmp_path / "made").exists()


@pytest.mark.row("sec-api-018")
@pytest.mark.parametrize("fault", ["http_500", "stall", "cut", "empty"])
async def test_an_assessor_whose_server_fails_counts_as_unsure(fault, tmp_path):
    assessor = ChaosModel(ScriptedModel([], risk=[{"verdict": "allow", "reason": "x"}] * 9), [fault] * 9)
    model = ScriptedModel([call({"command": f"touch {tmp_path / 'made'}"}, "bash"), FINE])
    events = await assessed(model, tmp_path, risk_model=assessor, risk_timeout=0.5, retry_attempts=1)
    [risk] = of(events, RiskAssessed)
    assert risk.verdict == "unsure" and not (tmp_path / "made").exists()


async def assessed(model: Any, folder: Any, **config: Any) -> list[Any]:
    from xun import Workspace

    box = ToolBox().with_defaults("cmd")
    agent = Agent(model=model, toolbox=box, workspace=Workspace(folder), config=AgentConfig(**config)).initialize()
    events = [event async for event in agent.instruct("go").events()]
    agent.finalize()
    return events
