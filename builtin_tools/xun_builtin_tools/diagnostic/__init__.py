"""The diagnostic group: is a file well-formed, and what does a linter say of it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group."""
    from xun_builtin_tools.diagnostic.asking import diagnostics
    from xun_builtin_tools.diagnostic.functions import check_lint, check_syntax

    return [check_syntax, check_lint, diagnostics]
