"""Images as tool results: they follow the results of the step, as a user message."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from xun.messages import Image

if TYPE_CHECKING:
    from xun.agent.hooks import StepEnd
    from xun.tools.context import ToolCallContext

MAX_IMAGE_BYTES = 10 * 1024 * 1024
"""The largest encoded image, in bytes."""


def media_type(data: bytes) -> str | None:
    """Return the type that the content shows: PNG, JPEG, WebP or GIF.

    None for anything else, also for an image that is cut short.
    """
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return "image/png" if _whole_png(data) else None
    if data[:3] == b"\xff\xd8\xff":
        return "image/jpeg" if b"\xff\xd9" in data[-4096:] else None
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif" if len(data) > 13 and data.rstrip(b"\0")[-1:] == b";" else None
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) > 20:
        return "image/webp" if int.from_bytes(data[4:8], "little") <= len(data) - 8 else None
    return None


def _whole_png(data: bytes) -> bool:
    if data[12:16] != b"IHDR" or len(data) < 33 or 0 in struct.unpack(">II", data[16:24]):
        return False
    place = 8
    while place + 12 <= len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        if kind == b"IEND":
            return True
        place += size + 12
    return False


def check_image(image: Image | bytes) -> Image:
    """Return *image* with the media type of its content.

    Raises:
        ValueError: It is empty, damaged, no PNG, JPEG, WebP or GIF, or larger than 10 MiB.
    """
    data = image.data if isinstance(image, Image) else bytes(image)
    if len(data) > MAX_IMAGE_BYTES:
        raise ValueError(f"The image has {len(data)} bytes; the limit is {MAX_IMAGE_BYTES}. Scale it down first.")
    kind = media_type(data)
    if kind is None:
        raise ValueError("Not a PNG, JPEG, WebP or GIF image: the content shows none of these formats, or is cut short")
    return Image(data, kind)


def defer_tool_image(ctx: ToolCallContext[Any], image: Image | bytes, msg: str = "") -> None:
    """Send *image* to the model after the tool results of this step, with one line of text if given.

    Raises:
        ValueError: It is no image that can be sent; nothing is added.
    """
    checked = check_image(image)

    def add(end: StepEnd) -> None:
        end.add_user_message(msg, (checked,), call_id=ctx.call_id)

    ctx.agent.hooks.after_execution_step.add_once(add, run=ctx.run)
