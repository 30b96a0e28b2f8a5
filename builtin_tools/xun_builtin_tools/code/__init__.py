"""The code group: Python code that calls tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group."""
    from xun_builtin_tools.code.run import run_code

    return [run_code]
