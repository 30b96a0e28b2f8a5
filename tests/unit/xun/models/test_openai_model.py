from __future__ import annotations

import asyncio
import base64
import gc
import json
import socket
import subprocess
import sys
import traceback
from contextlib import asynccontextmanager

import pytest

from tests.fakes.model_server import FakeModelServer
from xun.errors import (
    ConfigError,
    ContextOverflow,
    ModelAuth,
    ModelError,
    ModelRateLimited,
    ModelReplyInvalid,
    ModelTimeout,
    ModelUnreachable,
)
from xun.messages import Image, Message, ToolCall
from xun.models import OpenAIModel
from xun.models.base import ModelRequest, Retrying, TextDelta
from xun.models.faults import Endpoint, Secret
from xun.models.reading import AnswerReader
from xun.models.retry import RetryPolicy, stream_with_retry

KEY = "sk-proj-Zx81kQpLmN0aBcDeFgHiJkLmNoPqRsTuVw9731"
ASK = ModelRequest([Message("user", "hello")])
ENV = ("XUN_API_KEY", "OPENAI_API_KEY", "XUN_BASE_URL", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ENV:
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def model_of(*turns, name="fake-model", api_key=KEY, server=None, **options):
    with FakeModelServer(turns, **(server or {})) as fake:
        model = OpenAIModel(name, base_url=fake.base_url, api_key=api_key, **options)
        model.server = fake
        yield model
        await model.aclose()
    assert fake.errors == []


async def play(model, request=ASK):
    return [event async for event in model.stream(request)]


async def failure(*turns, **options):
    """Return the error that the first request brings; no text around it may hold the key."""
    async with model_of(*turns, **options) as model:
        with pytest.raises(ModelError) as caught:
            await play(model)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(vars(caught.value))
    assert KEY not in shown and KEY[:12] not in shown and KEY[-8:] not in shown
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 700
    return caught.value, model


def refused(status, message="", headers=None, **more):
    return {"status": status, "headers": headers or {}, "body": {"error": {"message": message, **more}}}


# What is sent


async def test_the_request_is_that_of_chat_completions():
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]
    history = [
        Message("system", "Be brief."),
        Message("user", "look", images=(Image(b"\x89PNG", "image/png"),)),
        Message("assistant", "", tool_calls=(ToolCall("c1", "read_file", '{"path": "a"}'),), reasoning="secret notes"),
        Message("tool", "text \udcff of a file", tool_call_id="c1", tool_name="read_file"),
        Message("assistant", "It is a file."),
    ]
    async with model_of({"text": "x"}) as model:
        await play(model, ModelRequest(history, tools, schema={"type": "object"}))
        (sent,) = model.server.requests
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    call = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
    assert sent.body == {
        "model": "fake-model",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": url}}],
            },
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "text \ufffd of a file"},
            {"role": "assistant", "content": "It is a file."},
        ],
        "tools": tools,
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": False},
        },
    }


async def test_own_headers_are_sent_along():
    async with model_of({"text": "x"}, headers={"X-Team": "blue"}) as model:
        await play(model)
        assert model.server.requests[0].headers["x-team"] == "blue"


async def test_without_a_key_no_key_is_sent():
    async with model_of({"text": "x"}, api_key="") as model:
        await play(model)
        assert "authorization" not in model.server.requests[0].headers


@pytest.mark.parametrize(
    ("names", "sent"),
    [(["XUN_API_KEY", "OPENAI_API_KEY"], "XUN_API_KEY"), (["OPENAI_API_KEY"], "OPENAI_API_KEY")],
)
async def test_the_key_comes_from_the_environment(monkeypatch, names, sent):
    for name in names:
        monkeypatch.setenv(name, f"value-of-{name}")
    async with model_of({"text": "x"}, api_key=None) as model:
        await play(model)
        assert model.server.requests[0].headers["authorization"] == f"Bearer value-of-{sent}"


async def test_the_base_url_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert OpenAIModel("m").base_url == "http://127.0.0.1:1/v1"
    monkeypatch.setenv("XUN_BASE_URL", "http://127.0.0.1:2/v1/")
    assert OpenAIModel("m").base_url == "http://127.0.0.1:2/v1"


async def test_a_proxy_of_the_environment_gets_no_loopback_request(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with model_of({"text": "x"}) as model:
        assert (await play(model))[-1].text == "x"


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("ALL_PROXY", "socks5://user:hunter2@127.0.0.1:1", "socksio"),
        ("HTTPS_PROXY", "ftp://user:hunter2@127.0.0.1", "scheme"),
        ("HTTPS_PROXY", "http://[::1", "port"),
        ("SSL_CERT_FILE", "no-such-file.pem", "No such file"),
    ],
)
async def test_an_environment_that_no_client_takes_is_said_in_one_sentence(monkeypatch, name, value, word):
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=word) as caught:
        await play(OpenAIModel("m", base_url="https://host.example/v1", api_key=KEY))
    assert name in str(caught.value) and "hunter2" not in str(caught.value)


async def test_one_connection_serves_many_requests():
    async with model_of(*[{"text": "x"}] * 5) as model:
        for _ in range(5):
            await play(model)
        assert model.server.connections == 1


@pytest.mark.row("sec-secrets-007")
@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("http://example.com/v1", "plain http"),
        ("http://192.168.1.5:8080/v1", "plain http"),
        ("http://127.0.0.1.example.com/v1", "plain http"),
        ("http://localhost@example.com/v1", "user or password"),
        ("https://user:hunter2@example.com/v1", "user or password"),
        ("ftp://example.com", "must be a URL"),
        ("example.com/v1", "must be a URL"),
        ("http://[::1", "proper URL"),
        ("https://host:99999/v1", "proper URL"),
        ("https://host/v1?key=abc", "must hold no ?"),
    ],
)
def test_a_base_url_that_is_refused(url, word):
    with pytest.raises(ConfigError) as caught:
        OpenAIModel("m", base_url=url)
    assert word in str(caught.value) and "base_url" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["http://localhost:1/v1", "http://127.0.0.9:1/v1", "http://[::1]:1/v1", "https://example.com/v1"]
)
def test_a_base_url_that_is_taken(url):
    assert OpenAIModel("m", base_url=url + "/chat/completions").base_url == url


def test_nothing_shows_the_key():
    model = OpenAIModel("m", base_url="https://example.com/v1", api_key=KEY, headers={"X-Key": KEY})
    assert KEY not in repr(model) + repr(vars(model)) + str(Secret(KEY))


# What comes back


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
async def test_a_stream_cut_anywhere_is_the_same(size, newline):
    arguments = {"path": "ü/👋.py", "text": "a\nb"}
    turn = {
        "text": "Grüße 世界 👋",
        "tool_calls": [{"name": "write_file", "arguments": arguments, "id": "c"}],
        "chunk": size,
        "newline": newline,
        "comments": 1,
        "pieces_arguments": 9,
    }
    async with model_of(turn) as model:
        *pieces, reply = await play(model)
    assert "".join(piece.text for piece in pieces) == reply.text == "Grüße 世界 👋"
    assert json.loads(reply.tool_calls[0].arguments) == arguments


async def test_usage_and_its_price():
    event = {
        "choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}},
    }
    prices = {"input": 2.0, "output": 10.0, "cached": 0.5}
    async with model_of({"events": [event]}, prices=prices) as model:
        usage = (await play(model))[-1].usage
    assert (usage.input, usage.output, usage.cached, usage.requests) == (1000, 100, 400, 1)
    assert usage.cost_usd == pytest.approx((600 * 2 + 400 * 0.5 + 100 * 10) / 1e6)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "many"}, {"prompt_tokens": -5}, {"prompt_tokens": True}])
async def test_usage_of_another_form_counts_nothing(usage):
    event = {"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
    async with model_of({"events": [event]}) as model:
        assert (await play(model))[-1].usage.input == 0


async def test_a_server_that_does_not_stream():
    turn = {"text": "whole", "json": True, "tool_calls": [{"name": "a", "arguments": {}, "id": "c"}]}
    async with model_of(turn) as model:
        events = await play(model)
    assert events[0] == TextDelta("whole")
    assert (events[-1].tool_calls, events[-1].usage.input) == ((ToolCall("c", "a", "{}"),), 10)


async def test_objects_without_the_fields_of_a_stream():
    one = json.dumps({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]})
    two = json.dumps({"choices": [{"index": 0, "delta": {"content": "b"}, "finish_reason": "stop"}]})
    async with model_of({"raw": [f"{one}\n{two}\n"]}, {"raw": [": hi\n\n", f"{one}\n\n{two}\n\n"]}) as model:
        assert [(await play(model))[-1].text for _ in range(2)] == ["ab", "ab"]
    async with model_of({"raw": [f"{one}\n{one}\n[DONE]\n"]}, {"raw": [f"{one}\n{one}\n"]}) as model:
        assert (await play(model))[-1].text == "aa"
        with pytest.raises(ModelReplyInvalid, match="ended before its answer was complete"):
            await play(model)


async def test_tokens_of_thinking_that_only_the_sum_holds():
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115}
    events = [{"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}]
    async with model_of({"events": events}, prices={"input": 1.0, "output": 10.0}) as model:
        reply = (await play(model))[-1]
    assert (reply.usage.input, reply.usage.output) == (10, 105)
    assert reply.usage.cost_usd == pytest.approx(0.00106)


async def test_what_comes_after_done_is_left_out():
    good = 'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'
    async with model_of({"raw": [good, "data: [DONE]\n\n", "data: {bad\n\n", {"sleep": 0.5}]}, {"text": "y"}) as model:
        assert (await play(model))[-1].text == "x"
        assert (await play(model))[-1].text == "y"


@pytest.mark.parametrize(
    "raw",
    [
        'data: {"choices":[{"delta":{"content":"x"},"finish_reason":null}]}\n\ndata: [DONE]\n\n',
        'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n',
        'data: {"choices":[{"delta":{"content":"x"}}]}\ndata: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
        '\ufeff\n\ndata: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}',
        '\ufeff{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}',
    ],
    ids=["no finish reason", "no DONE", "no empty lines", "byte order mark, no end", "json"],
)
async def test_loose_servers(raw):
    async with model_of({"raw": [raw], "chunk": 11}) as model:
        assert (await play(model))[-1].text == "x"


async def test_an_event_of_five_megabytes():
    arguments = {"content": "x" * 5_000_000}
    turn = {"tool_calls": [{"name": "write_file", "arguments": arguments}], "pieces_arguments": 1, "chunk": 65_536}
    async with model_of(turn) as model:
        reply = (await play(model))[-1]
    assert json.loads(reply.tool_calls[0].arguments) == arguments


async def test_a_call_written_as_text_is_a_call_of_an_offered_tool():
    tools = [{"type": "function", "function": {"name": "list_dir", "parameters": {}}}]
    text = '<tool_call>{"name": "list_dir", "arguments": {"path": "."}}</tool_call>'
    async with model_of({"text": text}, {"text": text}) as model:
        assert (await play(model, ModelRequest(ASK.messages, tools)))[-1].tool_calls[0].name == "list_dir"
        assert (await play(model))[-1].tool_calls == ()


# What goes wrong


@pytest.mark.parametrize(
    ("turn", "kind", "retryable", "words"),
    [
        (refused(401, f"Incorrect API key provided: {KEY}."), ModelAuth, False, ["the api_key given", "xun setup"]),
        (refused(403, "Country not supported"), ModelAuth, False, ["Country not supported", "403"]),
        (refused(401, f"bad key {KEY[:8]}********{KEY[-4:]}"), ModelAuth, False, ["401"]),
        (refused(402, "Pay first"), ModelError, False, ["payment", "Pay first"]),
        (refused(408), ModelError, True, ["408"]),
        (refused(429, "slow"), ModelRateLimited, True, ["429", "slow"]),
        (
            refused(429, "You exceeded your current quota", code="insufficient_quota"),
            ModelRateLimited,
            False,
            ["quota"],
        ),
        (refused(500, "boom"), ModelError, True, ["500", "boom"]),
        (refused(502), ModelError, True, ["502"]),
        (refused(503, headers={"x-should-retry": "false"}), ModelError, False, ["503"]),
        (refused(529, "overloaded"), ModelError, True, ["529", "overloaded"]),
        (refused(400, "Invalid value", headers={"x-should-retry": "true"}), ModelError, True, ["Invalid value"]),
        (refused(400, "Invalid 'temperature'"), ModelError, False, ["400", "Invalid 'temperature'"]),
        (refused(400, "llama2 does not support tools"), ModelError, False, ["takes no tools", "/model"]),
        (refused(404, "No endpoints found that support tool use"), ModelError, False, ["404"]),
        ({"status": 500, "body": "<html><h1>nginx</h1></html>"}, ModelError, True, ["an HTML page"]),
        ({"status": 500, "body": f"trace\x1b[31m {KEY}\nline two " + "x" * 5000}, ModelError, True, ["line two", "…"]),
        ({"status": 200, "body": "<!doctype html><title>Log in</title>"}, ModelReplyInvalid, False, ["web page"]),
        ({"status": 200, "body": {"error": {"message": "no", "code": 503}}}, ModelError, True, ["no"]),
        ({"status": 200, "body": {"ok": True}}, ModelReplyInvalid, True, ["without choices"]),
        ({"status": 200, "body": ""}, ModelReplyInvalid, True, ["nothing"]),
        ({"status": 204}, ModelReplyInvalid, True, ["nothing"]),
        ({"raw": ["data: {bad json}\n\n"]}, ModelReplyInvalid, True, ["valid JSON", "{bad json}"]),
        ({"raw": ["data: [1]\n\n"]}, ModelReplyInvalid, True, ["valid JSON"]),
        ({"raw": ["hello there\n\n"]}, ModelReplyInvalid, True, ["nothing"]),
        ({"raw": ["data: [DONE]\n\n"]}, ModelReplyInvalid, True, ["nothing"]),
        ({"events": [{"error": {"message": f"died {KEY}", "type": "server_error"}}]}, ModelError, True, ["died"]),
        ({"events": [{"error": {"message": "slow", "code": "rate_limit_exceeded"}}]}, ModelRateLimited, True, ["slow"]),
        ({"events": [{"error": "out of memory"}]}, ModelError, True, ["out of memory"]),
        ({"raw": ['event: error\ndata: {"message": "gone"}\n\n']}, ModelError, True, ["gone"]),
        ({"raw": ['error: {"message": "gone", "code": 500}\n\ndata: [DONE]\n\n']}, ModelError, True, ["gone"]),
        (
            {"raw": ['error: {"code": 400, "message": "exceeds the available context size"}\n\ndata: [DONE]\n\n']},
            ContextOverflow,
            False,
            ["available context size"],
        ),
        ({"raw": [": hi\n\n", '{"error": {"message": "upstream gone"}}\n\n']}, ModelError, True, ["upstream gone"]),
        (
            {"events": [{"object": "error", "message": "too many tokens", "code": 400}]},
            ContextOverflow,
            False,
            ["too many tokens"],
        ),
        (
            {"events": [{"choices": [{"index": 0, "delta": {}, "error": {"message": "lost", "code": 502}}]}]},
            ModelError,
            True,
            ["lost"],
        ),
        (
            {"events": [{"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "error"}]}]},
            ModelReplyInvalid,
            True,
            ["broke off", "error"],
        ),
        ({"events": [{"error": {"message": "maximum context length is 8192"}}]}, ContextOverflow, False, ["8192"]),
        ({"text": "abc", "cut_after": 2}, ModelUnreachable, True, ["middle of the answer"]),
        ({"text": "abc", "cut_after": 0, "reset": True}, ModelUnreachable, True, ["middle of the answer"]),
    ],
)
async def test_what_goes_wrong_is_one_clear_sentence(turn, kind, retryable, words):
    error, model = await failure(turn)
    assert type(error) is kind
    assert error.retryable is retryable
    assert [word for word in words if word not in str(error)] == []
    assert len(model.server.chats) == 1


@pytest.mark.parametrize(
    "turn",
    [
        refused(400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."),
        refused(400, "too long", code="context_length_exceeded", type="invalid_request_error"),
        refused(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        refused(400, "the request exceeds the available context size. try increasing the context size"),
        refused(422, "Input length 9000 exceeds the maximum 8192"),
        refused(413, "Payload Too Large"),
        {"status": 400, "body": {"object": "error", "message": "Please reduce the length of the messages"}},
    ],
)
async def test_a_request_that_is_too_large(turn):
    error, _ = await failure(turn)
    assert isinstance(error, ContextOverflow)
    assert "fake-model" in str(error) and "compact" in str(error)


async def test_a_key_from_the_environment_is_named_by_its_variable(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    error, _ = await failure(api_key=None, server={"api_key": "another"})
    assert isinstance(error, ModelAuth) and "OPENAI_API_KEY" in str(error)


async def test_a_secret_names_its_own_source():
    error, _ = await failure(api_key=Secret(KEY, "TEAM_KEY of config.toml"), server={"api_key": "another"})
    assert "TEAM_KEY of config.toml" in str(error)


async def test_a_missing_key_says_where_to_put_one():
    error, _ = await failure(api_key="", server={"api_key": "another"})
    assert isinstance(error, ModelAuth) and "XUN_API_KEY" in str(error) and "xun setup" in str(error)


async def test_openai_itself_is_not_asked_without_a_key():
    with pytest.raises(ModelAuth, match=r"No API key for .*OPENAI_API_KEY"):
        await play(OpenAIModel("gpt-5-mini"))


@pytest.mark.parametrize(("value", "seconds"), [("2", 2), ("0.5", 0.5), ("3600", 3600), ("soon", None), ("-3", None)])
async def test_retry_after(value, seconds):
    error, _ = await failure(refused(429, headers={"Retry-After": value}))
    assert error.retry_after == seconds


async def test_retry_after_as_a_date_and_in_milliseconds():
    error, _ = await failure(refused(503, headers={"Retry-After": "Wed, 01 Jan 2020 00:00:00 GMT"}))
    assert error.retry_after == 0
    error, _ = await failure(refused(429, headers={"Retry-After": "9", "Retry-After-Ms": "1500"}))
    assert error.retry_after == 1.5


async def test_an_unknown_model_brings_the_nearest_names():
    turn = refused(404, "The model `gpt-5-mimi` does not exist", code="model_not_found")
    names = ["gpt-5-mini", "gpt-5", "llama3"]
    error, _ = await failure(turn, name="gpt-5-mimi", server={"models": names})
    assert error.kind == "unknown_model" and error.status == 404 and not error.retryable
    assert "'gpt-5-mimi'" in str(error) and "gpt-5-mini" in str(error) and "/model" in str(error)


async def test_an_unknown_address_says_so():
    with FakeModelServer() as server:
        model = OpenAIModel("m", base_url=server.base_url.removesuffix("/v1") + "/api", api_key="")
        with pytest.raises(ModelError, match=r"404.*end in /v1"):
            await play(model)
        await model.aclose()


@pytest.mark.row("sec-secrets-008")
async def test_no_redirect_is_followed():
    with FakeModelServer([{"text": "stolen"}]) as thief:
        turn = {"status": 307, "headers": {"Location": f"{thief.base_url}/chat/completions"}, "body": ""}
        error, _ = await failure(turn)
    assert isinstance(error, ModelUnreachable) and not error.retryable
    assert thief.requests == [] and thief.base_url in str(error)


@pytest.mark.parametrize("name", ["stream_options", "response_format"])
async def test_a_refused_parameter_is_left_out_from_then_on(name):
    request = ModelRequest(ASK.messages, schema={"type": "object"})
    async with model_of({"text": "1"}, {"text": "2"}, server={"refuse": [name]}) as model:
        assert [(await play(model, request))[-1].text for _ in range(2)] == ["1", "2"]
        assert [name in item.body for item in model.server.chats] == [True, False, False]


async def test_a_server_that_refuses_for_ever_is_asked_no_more_than_once_more():
    turns = [refused(400, "stream_options is not allowed")] * 5
    async with model_of(*turns) as model:
        with pytest.raises(ModelError, match="stream_options"):
            await play(model)
        assert len(model.server.chats) == 2


@pytest.mark.parametrize(
    "turn",
    [
        {"text": "x", "delay": 60},
        {"text": "x", "stall_after": 0, "stall": 60},
        {"text": "x", "stall_after": 2, "stall": 60},
        {"raw": [{"repeat": ": keep-alive\n\n", "times": 1200, "every": 0.05}]},
        {"raw": [{"repeat": "\n", "times": 1200, "every": 0.05}]},
        {"raw": [{"repeat": "data", "times": 1200, "every": 0.05}]},
    ],
    ids=["no headers", "headers only", "stalls in the middle", "comments only", "empty lines", "an endless line"],
)
async def test_a_silent_server_times_out(turn):
    loop = asyncio.get_running_loop()
    start = loop.time()
    error, _ = await failure(turn, timeout=0.3)
    assert isinstance(error, ModelTimeout) and error.retryable and "0.3 s" in str(error)
    assert loop.time() - start < 50, "the server would be silent for a minute"


async def test_a_slow_but_steady_server_does_not():
    async with model_of({"text": "abcdefgh", "pieces": 8, "event_delay": 0.05}, timeout=0.3) as model:
        assert (await play(model))[-1].text == "abcdefgh"


async def test_a_slow_reader_does_not_either():
    async with model_of({"text": "abc", "pieces": 3, "event_delay": 0.05}, timeout=0.2) as model:
        async for _ in model.stream(ASK):
            await asyncio.sleep(0.25)


async def test_an_unreachable_server_is_named():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        model = OpenAIModel("m", base_url=url, api_key=KEY)
        with pytest.raises(ModelUnreachable) as caught:
            await play(model)
        await model.aclose()
    assert url in str(caught.value) and "running" in str(caught.value) and caught.value.retryable


async def test_a_server_that_hangs_up_is_named():
    async def hang_up(reader, writer):
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        model = OpenAIModel("m", base_url=url, api_key=KEY)
        with pytest.raises(ModelUnreachable, match=r"can't be reached: \S"):
            await play(model)
        await model.aclose()


@pytest.mark.parametrize("reset", [False, True])
async def test_a_stream_cut_after_any_event_runs_no_unfinished_call(reset):
    calls = [{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {"y": 2}}]
    whole = {"text": "some text", "tool_calls": calls}
    # Role, three of text, two times (head and three of arguments), finish, usage, [DONE].
    turns = [{**whole, "cut_after": n, "reset": reset} for n in range(15)]
    seen = 0
    async with model_of(*turns) as model:
        for _ in turns:
            try:
                reply = (await play(model))[-1]
            except ModelError as exc:
                assert exc.retryable
            else:
                seen += 1
                assert [json.loads(c.arguments) for c in reply.tool_calls] == [{"x": 1}, {"y": 2}]
    assert seen <= 2


@pytest.mark.parametrize(("after", "begun"), [(1, False), (2, True), (4, True)])
async def test_an_error_says_whether_a_part_of_the_answer_had_come(after, begun):
    call = {"tool_calls": [{"name": "look", "arguments": {"path": "a"}}], "cut_after": after}
    assert (await failure(call))[0].begun == begun
    assert (await failure({"text": "abcdef", "cut_after": after}))[0].begun == begun


async def test_a_cut_stream_is_asked_again():
    async with model_of({"text": "half of", "cut_after": 3}, {"text": "the whole"}) as model:
        stream = stream_with_retry(model, ASK, policy=RetryPolicy(first=0, longest=0))
        events = [event async for event in stream]
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("Retrying") > kinds.index("TextDelta")
    assert events[-1].text == "the whole"


async def test_retries_are_not_multiplied():
    async with model_of(*[refused(500)] * 20) as model:
        with pytest.raises(ModelError):
            async for event in stream_with_retry(model, ASK, policy=RetryPolicy(attempts=4, first=0, longest=0)):
                assert isinstance(event, Retrying)
        assert len(model.server.chats) == 4


# Names


async def test_without_a_name_the_first_chat_model_is_taken():
    names = ["nomic-embed-text", "whisper-1", "qwen3:8b", "llama3"]
    async with model_of({"text": "1"}, {"text": "2"}, name=None, server={"models": names}) as model:
        assert model.name == "auto"
        assert (await play(model))[-1].text == "1"
        assert model.name == "qwen3:8b"
        await play(model)
        assert [item.path for item in model.server.requests].count("/v1/models") == 1
        assert model.server.chats[0].body["model"] == "qwen3:8b"


@pytest.mark.parametrize("models", [[], {"body": {"object": "list", "data": None}}])
async def test_a_server_without_models_says_so(models):
    error, _ = await failure(name=None, server={"models": models})
    assert error.kind == "no_model" and "lists no model" in str(error) and not error.retryable


@pytest.mark.parametrize("body", ["<html>", {"models": ["a"]}, {"data": "x"}, {"data": [{"name": "a"}]}, []])
async def test_what_is_no_list_of_models(body):
    error, _ = await failure(name=None, server={"models": {"body": body}})
    assert isinstance(error, ModelReplyInvalid) and "/models is no list" in str(error)


async def test_limits_go_by_the_name_unless_given():
    known = OpenAIModel("gpt-5-mini", api_key=KEY)
    assert (known.context_window, known.capabilities) == (400_000, {"vision"})
    own = OpenAIModel("gpt-5-mini", api_key=KEY, capabilities=[], context_window=1000)
    assert (own.context_window, own.capabilities) == (1000, frozenset())
    assert OpenAIModel("llama3", api_key=KEY).context_window is None


# Loading and closing


def test_connections_go_with_their_loop():
    async def once(model):
        assert (await play(model))[-1].text == "x"

    with FakeModelServer([{"text": "x"}] * 2) as server:
        model = OpenAIModel("m", base_url=server.base_url, api_key="")
        asyncio.run(once(model))
        asyncio.run(once(model))
        assert server.connections == 2
    del model
    # A socket left open would warn here, and warnings are errors.
    gc.collect()


async def test_it_can_be_used_after_it_was_closed():
    async with model_of({"text": "1"}, {"text": "2"}) as model:
        assert (await play(model))[-1].text == "1"
        await model.aclose()
        assert (await play(model))[-1].text == "2"
        assert model.server.connections == 2


def test_the_package_is_loaded_at_the_first_request_only():
    code = (
        "import sys; from xun.models import OpenAIModel; m = OpenAIModel('m', api_key='k')\n"
        "assert 'openai' not in sys.modules and 'pydantic' not in sys.modules\n"
        "m.preload()\nassert 'openai' in sys.modules"
    )
    path = [entry for entry in sys.path if entry]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{code}"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


async def test_pieces_that_come_without_a_wait_leave_the_loop_its_turn():
    turns = 0

    async def ticking():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def pieces():
        for _ in range(8000):
            yield b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'

    ticker = asyncio.create_task(ticking())
    with pytest.raises(ModelReplyInvalid):
        _ = [event async for event in AnswerReader(Endpoint("http://host"), idle=60).read(pieces())]
    ticker.cancel()
    assert turns > 3
