"""What an MCP server answers, as the value of a tool."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.messages import Image
from xun.tools.images import MAX_IMAGE_BYTES, check_image
from xun.tools.output import ToolOutput

if TYPE_CHECKING:
    from mcp.types import CallToolResult


def value_of(result: CallToolResult) -> Any:
    """Return the structured content if there is any, else the text; images follow the results of the step.

    Raises:
        ToolError: The server calls it an error; the text is its own.
    """
    texts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        if block.type == "image":
            _add_image(block.data, texts, images)
        else:
            texts.append(_text_of(block))
    text = "\n".join(texts)
    structured = result.structured_content
    if result.is_error:
        raise ToolError(text or _json(structured) if structured is not None else text or "The tool failed.")
    value: Any = text
    if structured is not None:
        value = structured if _says_the_same(texts, structured) else {"text": text, "structured": structured}
    if images:
        return ToolOutput(value or f"[{len(images)} image(s) follow]", images=tuple(images))
    return value


def _add_image(data: str, texts: list[str], images: list[Image]) -> None:
    try:
        if len(data) > MAX_IMAGE_BYTES * 4 // 3 + 4:
            raise ValueError(f"larger than {MAX_IMAGE_BYTES} bytes")
        images.append(check_image(base64.b64decode(data, validate=True)))
    except (ValueError, binascii.Error) as exc:
        texts.append(f"[An image that can't be shown: {exc}]")


def _text_of(block: Any) -> str:
    if block.type == "text":
        return str(block.text)
    if block.type == "resource":
        text = getattr(block.resource, "text", None)
        return str(text) if text is not None else f"[A file that is no text: {block.resource.uri}]"
    if block.type == "resource_link":
        return f"[{block.name}: {block.uri}]"
    return f"[Content of the kind {block.type}, which can't be shown]"


def _says_the_same(texts: list[str], structured: Any) -> bool:
    """Tell whether the text is only the structured content once more, as servers send it for older clients."""
    inner = structured.get("result") if isinstance(structured, dict) and set(structured) == {"result"} else structured
    if not texts or "\n".join(texts) == inner:
        return True
    try:
        values = [json.loads(text) for text in texts]
    except ValueError:
        return isinstance(inner, list) and texts == inner
    return values[0] in (structured, inner) if len(values) == 1 else values == inner


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
