"""Images of tools: statements 88 to 91 of the tool contract."""

from __future__ import annotations

import asyncio
import struct
import zlib
from typing import Any

import pytest

from tests.fakes.runs import calls, scripted, tool_texts
from xun import Agent, ToolCallContext, ToolOutput, defer_tool_image, tool_attr
from xun.messages import Image, Message


def add(a: int, b: int = 2) -> int:
    """Add."""
    return a + b


def play(*turns: Any, tools: Any) -> Agent[Any]:
    """Run the scripted *turns* to the end and return the agent."""
    agent = scripted(*turns, tools=tools)
    with agent:
        agent.instruct("go").execute()
    return agent


def png(extra: int = 0) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(b"\0\0")) + (chunk(b"teXt", bytes(extra)) if extra else b"")
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IEND", b"")


def show(ctx: ToolCallContext[Any], text: str = "") -> str:
    defer_tool_image(ctx, png(), text)
    return "shown"


def test_088_image_follows_the_results_of_the_round_once():
    turns = calls(("show", {"text": "look"}), ("add", {"a": 1})), calls(("add", {"a": 2})), {"text": "done"}
    agent = play(*turns, tools=[show, add])
    assert [(message.role, len(message.images)) for message in agent.history] == [
        ("user", 0),
        ("assistant", 0),
        ("tool", 0),
        ("tool", 0),
        ("user", 1),
        ("assistant", 0),
        ("tool", 0),
        ("assistant", 0),
    ]
    assert agent.history[4] == Message("user", "look", (Image(png(), "image/png"),))


def test_089_two_images_in_call_order():
    @tool_attr(sequential=True)
    def in_order(ctx: ToolCallContext[Any], text: str) -> str:
        return show(ctx, text)

    agent = play(calls(("in_order", {"text": "1"}), ("in_order", {"text": "2"})), {"text": ""}, tools=[in_order])
    assert [message.text for message in agent.history if message.images] == ["1", "2"]


def test_089_call_order_also_when_the_second_is_faster():
    async def slow_first(ctx: ToolCallContext[Any], text: str, seconds: float) -> str:
        await asyncio.sleep(seconds)
        defer_tool_image(ctx, png(), text)
        return text

    def output(text: str) -> ToolOutput:
        return ToolOutput(text, images=[png()], msg=text)

    turn = calls(
        ("slow_first", {"text": "1", "seconds": 0.1}),
        ("output", {"text": "2"}),
        ("slow_first", {"text": "3", "seconds": 0}),
    )
    agent = play(turn, {"text": ""}, tools=[slow_first, output])
    assert [message.text for message in agent.history if message.images] == ["1", "2", "3"]


def test_090_image_without_text():
    agent = play(calls(("show", {})), {"text": ""}, tools=[show])
    assert [message.text for message in agent.history if message.images] == [""]


JPEG = b"\xff\xd8\xff\xe0" + bytes(30) + b"\xff\xd9"
GIF = b"GIF89a" + bytes(20) + b";"
WEBP = b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8 " + bytes(14)


@pytest.mark.parametrize(
    ("data", "kind"), [(png(), "image/png"), (JPEG, "image/jpeg"), (GIF, "image/gif"), (WEBP, "image/webp")]
)
def test_091_formats(data: bytes, kind: str):
    def tool(ctx: ToolCallContext[Any]) -> None:
        # The content decides, not what the caller says.
        defer_tool_image(ctx, Image(data, "image/bmp"))

    agent = play(calls(("tool", {})), {"text": ""}, tools=[tool])
    assert [message.images for message in agent.history if message.images] == [(Image(data, kind),)]


@pytest.mark.parametrize(
    "data",
    [b"BM" + bytes(60), b"just text", b"", png()[:40], JPEG[:-2], GIF[:-1], WEBP[:-1], png(10 * 1024 * 1024)],
    ids=["bmp", "text", "empty", "cut png", "cut jpeg", "cut gif", "cut webp", "large"],
)
def test_091_what_is_no_image(data: bytes):
    def tool(ctx: ToolCallContext[Any]) -> None:
        with pytest.raises(ValueError, match=r"image|Not a PNG"):
            defer_tool_image(ctx, data)

    agent = play(calls(("tool", {})), {"text": ""}, tools=[tool])
    assert [message.role for message in agent.history] == ["user", "assistant", "tool", "assistant"]
    assert tool_texts(agent) == ["null"]
