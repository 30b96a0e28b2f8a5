"""The system group: facts about the machine and the time."""

from __future__ import annotations

import datetime as _dt
import locale
import os
import platform
import time
from collections.abc import Callable
from typing import Any

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext

MAX_SLEEP = 600
"""The longest sleep, in seconds."""


@tool_attr(name="datetime")
def system_time() -> str:
    """Return the local date and time with the offset from UTC, in ISO 8601."""
    return _dt.datetime.now().astimezone().isoformat(timespec="seconds")


def system_info() -> dict[str, Any]:
    """Return the operating system, its release, the processor architecture, the time zone and the locale."""
    now = _dt.datetime.now().astimezone()
    return {
        "os": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "cpu_count": os.cpu_count(),
        "timezone": now.tzname(),
        "utc_offset": now.strftime("%z"),
        "locale": locale.getlocale()[0] or "C",
    }


def sleep(ctx: ToolCallContext[Any], seconds: float) -> dict[str, str]:
    """Wait before going on, for something outside that takes time.

    seconds is above 0 and at most 600. It ends early when the person interrupts.

    Returns the time at the start and now."""
    if not 0 < seconds <= MAX_SLEEP:
        raise ToolError(f"seconds must be above 0 and at most {MAX_SLEEP}, got {seconds:g}.")
    start = system_time()
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        ctx.check_cancel()
        time.sleep(min(0.1, left))
    return {"start": start, "now": system_time()}


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group."""
    return [system_time, system_info, sleep]
