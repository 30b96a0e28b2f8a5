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
    """Return the type that the content shows: PNG, JPEG, WebP or GIF; None for anything else."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 33 and data[12:16] == b"IHDR":
        width, height = struct.unpack(">II", data[16:24])
        return "image/png" if width and height else None
    if data[:3] == b"\xff\xd8\xff" and len(data) > 20:
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) > 13:
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) > 20:
        return "image/webp"
    return None


def check_image(image: Image | bytes) -> Image:
    """Return *image* with the media type of its content.

    Raises:
        ValueError: It is empty, no PNG, JPEG, WebP or GIF, or larger than 10 MiB.
    """
    data = image.data if isinstance(image, Image) else bytes(image)
    if len(data) > MAX_IMAGE_BYTES:
        raise ValueError(f"The image has {len(data)} bytes; the limit is {MAX_IMAGE_BYTES}. Scale it down first.")
    kind = media_type(data)
    if kind is None:
        raise ValueError("Not a PNG, JPEG, WebP or GIF image: the content shows none of these formats")
    return Image(data, kind)


def defer_tool_image(ctx: ToolCallContext[Any], image: Image | bytes, msg: str = "") -> None:
    """Send *image* to the model after the tool results of this step, with one line of text if given.

    Raises:
        ValueError: It is no image that can be sent; nothing is added.
    """
    checked = check_image(image)

    def add(end: StepEnd) -> None:
        end.add_user_message(msg, (checked,))

    ctx.agent.hooks.after_execution_step.add_once(add, run=ctx.run)
