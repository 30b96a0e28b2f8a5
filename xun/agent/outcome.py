"""From what a tool returned to what the model reads, what the person sees, and what hooks are shown."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from xun._serialize import to_jsonable
from xun.errors import PolicyError
from xun.messages import Image
from xun.result import ErrorInfo, Result
from xun.tools.function import Function, failure
from xun.tools.images import check_image
from xun.tools.output import ToolOutput
from xun.tools.spill import READ_OUTPUT, spill

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.toolbox import ToolBox

_log = logging.getLogger("xun.tools")

DISPLAY_KEY = "returnDisplay"
"""The key of a returned dict whose value goes to the person and not to the model."""


def unpack(result: Result[Any, Any], add_images: Callable[[str, tuple[Image, ...]], object]) -> tuple[Any, str]:
    """Take a ToolOutput, an image, or a dict with a display text, apart: images follow, the display is for the person.

    Returns the result without them, and the display.
    """
    output = result.value
    if not result.is_ok():
        return result, ""
    if isinstance(output, Image):
        output = ToolOutput("The image follows.", images=(output,))
    if isinstance(output, ToolOutput):
        try:
            images = tuple(check_image(image) for image in output.images)
        except ValueError as exc:
            return failure(exc), ""
        if images:
            add_images(output.msg, images)
        return Result.Ok(output.value), output.display
    if isinstance(output, dict) and DISPLAY_KEY in output:
        rest = {key: value for key, value in output.items() if key != DISPLAY_KEY}
        # What stands beside a display text under one of these names, and nothing else, is the value itself.
        if len(rest) == 1 and rest.keys() <= {"content", "result"}:
            rest = next(iter(rest.values()))
        return Result.Ok(rest), _shown(output[DISPLAY_KEY])
    return result, ""


def _shown(display: Any) -> str:
    if isinstance(display, str):
        return display
    try:
        return json.dumps(to_jsonable(display), ensure_ascii=False)
    except TypeError:
        return repr(display)


def rendering(tool: Function | None, value: Any) -> str | None:
    """Return *value* as the tool's renderer writes it; None when there is no renderer, or it fails."""
    if tool is None or tool.attr.renderer is None:
        return None
    try:
        text = tool.attr.renderer(value)
    except Exception:  # noqa: BLE001 - the boundary of foreign code
        _log.exception("the renderer of %s failed; the value goes out as JSON", tool.name)
        return None
    if not isinstance(text, str):
        kind = type(text).__name__
        _log.error("the renderer of %s gave %s instead of a text; the value goes out as JSON", tool.name, kind)
        return None
    return text


class Told(NamedTuple):
    """What a call came to, in the three forms in which it is told."""

    value: Any
    """The value as JSON; None for a failure."""
    text: str
    """What the model reads."""
    result: Result[Any, Any]
    """The Result; an Err also where the value could not be made JSON."""


def as_text(result: Result[Any, Any]) -> Told:
    """Return *result* as it is told."""
    if result.is_ok():
        try:
            value = to_jsonable(result.value)
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            return Told(value, text, result)
        except Exception as exc:  # noqa: BLE001 - model_dump and to_json are foreign code
            result = failure(exc)
    error = result.value
    return Told(None, error.error if isinstance(error, ErrorInfo) else str(error), result)


def fitted(agent: Agent[Any], toolbox: ToolBox, tool: str, text: str) -> str:
    """Return *text*, or what the model gets of it when it is too long: a handle to read it by, else its two ends."""
    limit = agent.config.max_output
    if len(text) <= limit or tool == READ_OUTPUT:
        return text
    if toolbox.offers(READ_OUTPUT):
        try:
            return spill(agent.workspace, text)
        except (OSError, PolicyError) as exc:
            _log.warning("an output of %s could not be kept: %s", tool, exc)
    return clip(text, limit)


def clip(text: str, limit: int) -> str:
    """Return *text* with its middle cut so that about *limit* characters stay."""
    if len(text) <= limit:
        return text
    half = limit // 2
    cut = len(text) - 2 * half
    return f"{text[:half]}\n[... {cut} characters cut of {len(text)} ...]\n{text[-half:]}"
