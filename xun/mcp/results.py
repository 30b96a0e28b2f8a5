"""What an MCP server answers, as the value of a tool."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.mcp.listing import unbounded
from xun.messages import Image
from xun.tools.images import MAX_IMAGE_BYTES, check_image
from xun.tools.output import ToolOutput

if TYPE_CHECKING:
    from mcp.types import CallToolResult

_SHOWN = 300


def value_of(result: CallToolResult, schema: Mapping[str, Any] | None = None) -> Any:
    """Return the structured content if there is any, else the text; images follow the results of the step.

    Args:
        result: What the server answered.
        schema: What the structured content was said to be; where it is not, a note says so.

    Raises:
        ToolError: The server calls it an error; the text is its own.
    """
    texts: list[str] = []
    images: list[Image] = []
    for block in result.content:
        data = _image_data(block)
        if data is not None:
            _add_image(data, texts, images)
        else:
            texts.append(_text_of(block))
    text = "\n".join(texts)
    structured = result.structured_content
    if result.is_error:
        told = "The tool failed." if structured is None else _json(structured)
        raise ToolError(text or told)
    value: Any = text
    if structured is not None:
        value = structured if _says_the_same(texts, structured) else {"text": text, "structured": structured}
        wrong = _misfit(structured, schema)
        if wrong:
            value = {"text": text, "structured": structured, "note": f"It is not what the tool promises: {wrong}"}
    if images:
        return ToolOutput(value or f"[{len(images)} image(s) follow]", images=tuple(images))
    return value


def _image_data(block: Any) -> str | None:
    if block.type == "image":
        return str(block.data)
    resource = getattr(block, "resource", None)
    kind = getattr(resource, "mime_type", None) or ""
    blob = getattr(resource, "blob", None)
    return str(blob) if kind.startswith("image/") and blob is not None else None


def _misfit(structured: Any, schema: Mapping[str, Any] | None) -> str:
    """Return why *structured* does not fit *schema*; "" when it does, or the schema can't be applied."""
    if schema is None:
        return ""
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    checked = unbounded(dict(schema))
    try:
        kind = validator_for(checked, Draft202012Validator)
        kind.check_schema(checked)
        error = next(kind(checked, registry=Registry()).iter_errors(structured), None)
    except (SchemaError, Unresolvable, RecursionError):
        return ""
    return "" if error is None else str(error.message)[:_SHOWN]


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
        about = f" ({block.description})" if block.description else ""
        return f"[{block.name}: {block.uri}{about}]"
    kind = getattr(block, "mime_type", "")
    return f"[Content of the kind {block.type}{f' ({kind})' if kind else ''}, which can't be shown]"


def _says_the_same(texts: list[str], structured: Any) -> bool:
    """Tell whether the text is only the structured content once more, as servers send it for older clients."""
    inner = structured.get("result") if isinstance(structured, dict) and set(structured) == {"result"} else structured
    if not texts or "\n".join(texts) == inner:
        return True
    try:
        values = [json.loads(text) for text in texts]
    except (ValueError, RecursionError):
        return isinstance(inner, list) and texts == inner
    return values[0] in (structured, inner) if len(values) == 1 else values == inner


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
