"""Servers that refuse the usual form of a request: it is made again in theirs, once per form."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer
from tests.fakes.strict_api import refused
from xun import Agent, AgentConfig, ToolBox
from xun.agent.history import normalise
from xun.errors import ModelError
from xun.events import Error, MessageCompleted, Retry
from xun.messages import Image, Message, ToolCall
from xun.models import OpenAIModel
from xun.models.base import ModelRequest
from xun.models.dialect import Dialect
from xun.models.wire import request_body

SIGNED = '{"google": {"thought_signature": "abc"}}'
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "parameters": {
            "type": "object",
            "properties": {
                "title": {"type": "string", "minLength": 1},
                "edits": {"type": "array", "items": {"$ref": "#/$defs/E"}},
            },
            "$defs": {"E": {"type": "object", "additionalProperties": False, "properties": {}}},
            "required": ["title"],
            "additionalProperties": False,
        },
    },
}
HISTORY = [
    Message("system", "Be brief."),
    Message("user", "look", images=(Image(b"\x89PNG", "image/png"),)),
    Message("user", "at this"),
    Message("assistant", "", tool_calls=(ToolCall("functions.look:0", "look", "{}"),), reasoning="hm"),
    Message("tool", "", tool_call_id="functions.look:0", tool_name="look"),
    Message("user", "go on"),
    Message("assistant", "yes"),
    Message("assistant", "and no"),
    Message("user", "why?"),
]
ASK = ModelRequest(HISTORY, (TOOL,))


def learns(dialect: Dialect, status: int, said: str, request: ModelRequest = ASK) -> bool:
    known = tuple(dialect.learned)
    return dialect.learn(status, said, dialect.body(request, "m"), known)


def learned(status: int, said: str, request: ModelRequest = ASK) -> tuple[Dialect, dict[str, Any]]:
    dialect = Dialect()
    assert learns(dialect, status, said, request), said
    return dialect, dialect.body(request, "m")


REFUSALS = [
    (400, "Unrecognized request argument supplied: stream_options", "stream_options"),
    (400, "Your organization must be verified to stream this model.", "stream"),
    (400, "Tool call id was functions.look:0 but must be a-z, A-Z, 0-9, with a length of 9.", "ids"),
    (400, "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a maximum length of 40", "ids"),
    (400, "messages.2.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "ids"),
    (400, "Unexpected role 'user' after role 'tool'", "turns"),
    (500, "Jinja Exception: After the optional system message, conversation roles must alternate user and", "turns"),
    (400, "Conversation roles must alternate user/assistant/user/assistant/...", "turns"),
    (500, "Jinja Exception: System role not supported", "system"),
    (400, "Missing `reasoning_content` field in the assistant message at message index 2", "reasoning"),
    (400, "The `reasoning_content` in the thinking mode must be passed back to the API.", "reasoning"),
    (400, "Function call is missing a thought_signature in functionCall parts.", "signatures"),
    (400, "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.", "names"),
    (500, "image input is not supported - hint: you may need to provide the mmproj", "images"),
    (404, "No endpoints found that support image input", "images"),
    (400, "messages[1]: unknown variant `image_url`, expected `text`", "images"),
    (400, 'Invalid JSON payload received. Unknown name "$defs" at \'tools[0].function_declarations[0]', "schemas"),
    (500, "failed to parse grammar", "schemas"),
    (400, "messages[3]: missing field `content`: expected a string, got null", "content"),
]


@pytest.mark.parametrize(("status", "said", "form"), REFUSALS)
def test_what_a_refusal_asks_for(status: int, said: str, form: str) -> None:
    dialect, _ = learned(status, said)
    assert dialect.learned == [form]
    assert not learns(dialect, status, said), "once per form"


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "thought_signature"), (429, "must alternate"), (503, "image"), (400, ""), (400, "Invalid 'temperature'")],
)
def test_what_is_no_question_of_form(status: int, said: str) -> None:
    dialect = Dialect()
    assert not learns(dialect, status, said)


def test_a_form_that_would_change_nothing_is_not_tried() -> None:
    plain = ModelRequest([Message("user", "a nice image, a tool_call_id and a thought_signature")])
    dialect = Dialect()
    for _, said, form in REFUSALS:
        if form not in ("stream", "stream_options"):
            assert not learns(dialect, 400, said, plain), said


def test_the_usual_form_is_not_touched_and_takes_no_extras() -> None:
    dialect, messages = Dialect(), copy.deepcopy(HISTORY)
    signed = ModelRequest([HISTORY[1], Message("assistant", "", tool_calls=(ToolCall("c", "look", "{}", SIGNED),))])
    assert dialect.body(ASK, "m") == {**request_body(ASK, "m"), "stream_options": {"include_usage": True}}
    assert "extra_content" not in str(dialect.body(signed, "m")) and "reasoning" not in str(dialect.body(ASK, "m"))
    for _, said, _ in REFUSALS:
        learns(dialect, 400, said)
    dialect.body(ASK, "m")
    assert messages == HISTORY and TOOL["function"]["parameters"]["additionalProperties"] is False  # type: ignore[index]


def test_requests_at_the_same_time_learn_the_same() -> None:
    dialect = Dialect()
    known, bodies = tuple(dialect.learned), [dialect.body(ASK, "m") for _ in range(2)]
    assert [dialect.learn(400, "roles must alternate", body, known) for body in bodies] == [True, True]
    assert [dialect.learn(400, "image exceeds 5 MB maximum", body, known) for body in bodies] == [True, True]
    assert dialect.learned == ["turns"]


def test_ids_of_nine_letters_and_digits_stay_the_same() -> None:
    dialect, body = learned(400, "Tool call id was x")
    ident = body["messages"][3]["tool_calls"][0]["id"]
    assert len(ident) == 9 and ident.isalnum() and body["messages"][4]["tool_call_id"] == ident
    assert dialect.body(ASK, "m") == body
    several = [Message("assistant", "", tool_calls=tuple(ToolCall(f"{n}", "a", "{}") for n in range(300)))]
    assert len({call["id"] for call in dialect.body(ModelRequest(several), "m")["messages"][0]["tool_calls"]}) == 300
    kept = [Message("assistant", "", tool_calls=(ToolCall("Abc123xyz", "a", "{}"),))]
    assert dialect.body(ModelRequest(kept), "m")["messages"][0]["tool_calls"][0]["id"] == "Abc123xyz"


def test_turns_alternate_and_nothing_is_lost() -> None:
    _, body = learned(400, "roles must alternate")
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant", "user"]
    assert body["messages"][1]["content"][-1] == {"type": "text", "text": "at this"}
    assert body["messages"][6]["content"] == "yes\n\nand no" and body["messages"][4]["content"]
    assert refused(body) == []


def test_the_system_message_goes_to_the_person() -> None:
    _, body = learned(500, "System role not supported")
    assert body["messages"][0]["role"] == "user" and body["messages"][0]["content"][0]["text"] == "Be brief."
    assert len(body["messages"]) == len(HISTORY) - 1


def test_what_the_model_thought_goes_back() -> None:
    _, body = learned(400, "reasoning_content is missing")
    notes = [message.get("reasoning_content") for message in body["messages"]]
    assert notes == [None, None, None, "hm", None, None, " ", " ", None]


def test_signatures_go_back_and_others_are_marked() -> None:
    dialect, body = learned(400, "missing a thought_signature")
    assert "skip" in body["messages"][3]["tool_calls"][0]["extra_content"]["google"]["thought_signature"]
    calls = (ToolCall("1", "look", "{}", SIGNED), ToolCall("2", "look", "{}"), ToolCall("3", "look", "{}", "{broken"))
    history = normalise([Message("user", "x"), Message("assistant", "", tool_calls=calls)])
    sent = dialect.body(ModelRequest(history), "m")["messages"][1]["tool_calls"]
    assert [call.get("extra_content") for call in sent] == [{"google": {"thought_signature": "abc"}}, None, None]


def test_the_other_forms() -> None:
    assert learned(400, "function_response.name: Name cannot be empty")[1]["messages"][4]["name"] == "look"
    stream = learned(400, "streaming is not supported")[1]
    assert stream["stream"] is False and "stream_options" not in stream
    images = learned(400, "this model does not support image input")[1]["messages"][1]["content"]
    assert images.startswith("look\n[1 image(s) left out") and base64.b64encode(b"\x89PNG").decode() not in images
    assert learned(400, "content: field required")[1]["messages"][3]["content"] == ""
    parameters = learned(400, "Unsupported schema")[1]["tools"][0]["function"]["parameters"]
    assert parameters["properties"]["title"] == {"type": "string"} and "additionalProperties" not in str(parameters)
    assert parameters["properties"]["edits"]["items"] == {"$ref": "#/$defs/E"} and parameters["required"] == ["title"]


BAD_IMAGES = [
    "You uploaded an unsupported image. Please make sure your image is valid.",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
    "Model 'x' supports at most 1 image per prompt.",
    "The image format is not supported",
    "Image type image/bmp is not supported; use png",
    "Image media types other than png are not allowed",
    "image dimensions of 1x1 are not allowed",
    "This endpoint does not support image/bmp",
    "Invalid 'messages[1].content[1].image_url.url': string too long. Expected at most 20971520 characters",
]


@pytest.mark.parametrize("words", BAD_IMAGES)
def test_images_that_are_refused_for_what_they_are_do_not_end_the_taking_of_others(words: str) -> None:
    dialect, body = learned(400, words)
    assert dialect.learned == [] and "image_url" not in str(body) and "left out" in str(body)
    assert not learns(dialect, 400, words), "there is none left"
    both = (Image(b"\x89PNG", "image/png"), Image(b"other", "image/png"))
    after = dialect.body(ModelRequest([*HISTORY, Message("user", "and this", images=both)]), "m")["messages"]
    assert isinstance(after[1]["content"], str)
    assert [part["type"] for part in after[-1]["content"]] == ["text", "image_url", "text"]


def test_a_failure_that_only_names_images_is_no_refusal_of_them() -> None:
    dialect = Dialect()
    assert not learns(dialect, 500, "the image service is down, see revision 5")
    too_long = (
        "The prompt is longer than the maximum model length of 8192. For image inputs, the number of image tokens"
    )
    assert not learns(dialect, 400, too_long), "what is too long is summed up, with its images"


def test_blanks_are_never_sent_as_a_text() -> None:
    blank = [
        Message("user", " "),
        Message("assistant", "\n\n", tool_calls=(ToolCall("c", "look", "{}"),)),
        Message("tool", "", tool_call_id="c", tool_name="look"),
    ]
    sent = request_body(ModelRequest(normalise(blank)), "m")["messages"]
    assert [message["content"] for message in sent] == ["(empty)", None, "(empty)"]


# Through the client and a server


def said(status: int, words: str) -> dict[str, Any]:
    return {"status": status, "body": {"error": {"message": words}}}


def look(path: str = "") -> str:
    """Look."""
    return f"saw {path}"


async def turn(
    *turns: dict[str, Any], prompts: int = 1, **options: Any
) -> tuple[Agent[Any], list[Any], FakeModelServer]:
    with FakeModelServer(turns) as server:
        model = OpenAIModel("fake-model", base_url=server.base_url, api_key="sk-test", timeout=5)
        agent = Agent(model=model, toolbox=ToolBox(look), config=AgentConfig(retry_attempts=2)).initialize()
        events: list[Any] = []
        for number in range(prompts):
            events += [event async for event in agent.instruct(f"prompt {number}").events()]
        await model.aclose()
        agent.finalize()
    assert server.errors == []
    return agent, events, server


CALL = {"tool_calls": [{"name": "look", "arguments": {"path": "a"}, "id": "functions.look:0"}]}


async def test_a_refusal_is_answered_without_a_retry_and_remembered() -> None:
    words = "Tool call id was functions.look:0 but must be a-z, A-Z, 0-9, with a length of 9."
    agent, events, server = await turn(CALL, said(400, words), CALL, {"text": "one"}, {"text": "two"}, prompts=2)
    assert agent.last_result.unwrap() == "two" and not [item for item in events if isinstance(item, Retry | Error)]
    assert len(server.chats) == 5
    ids = [message["tool_call_id"] for message in server.chats[-1].body["messages"] if message["role"] == "tool"]
    assert len(set(ids)) == 2 and all(len(ident) == 9 for ident in ids)
    assert all(refused(item.body) == [] for item in server.chats)


async def test_a_refusal_inside_the_stream_counts_too() -> None:
    words = "Error rendering prompt with jinja template: Conversation roles must alternate user/assistant"
    refusal = {"raw": [f'event: error\ndata: {{"error": {{"message": "{words}", "code": 400}}}}\n\n']}
    agent, events, server = await turn(CALL, refusal, {"text": "fine"})
    assert agent.last_result.unwrap() == "fine" and len(server.chats) == 3
    assert not [item for item in events if isinstance(item, Retry | Error)]


async def test_a_signature_is_stored_and_sent_back() -> None:
    entry = {"index": 0, "id": "c", "function": {"name": "look", "arguments": "{}"}}
    delta = {"tool_calls": [{**entry, "extra_content": {"google": {"thought_signature": "abc"}}}]}
    signed = {"events": [{"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}]}
    _, events, server = await turn(signed, {"text": "fine"})
    [stored] = [item for item in events if isinstance(item, MessageCompleted) and item.calls]
    assert "abc" in stored.calls[0]["extra"]
    sent = server.chats[1].body["messages"][-2]["tool_calls"][0]
    assert sent["extra_content"] == {"google": {"thought_signature": "abc"}}


async def test_a_server_that_refuses_every_form_is_left() -> None:
    everything = " ".join(words for _, words, _ in REFUSALS)
    with FakeModelServer([said(400, everything)] * 50) as server:
        model = OpenAIModel("fake-model", base_url=server.base_url, api_key="sk-test", timeout=5)
        with pytest.raises(ModelError, match="400"):
            _ = [event async for event in model.stream(ASK)]
        await model.aclose()
    assert len(server.chats) <= 13 and server.errors == []
    assert "vision" not in model.capabilities
