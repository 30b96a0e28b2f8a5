"""The patch group: edits of files by text, by patch, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def tools() -> list[Callable[..., Any]]:
    """Return the functions of the group, in the order in which a model sees them."""
    from xun_builtin_tools.patch.applying import apply_patch
    from xun_builtin_tools.patch.comparing import diff_files
    from xun_builtin_tools.patch.editing import insert_lines, multi_edit, replace
    from xun_builtin_tools.patch.reverting import undo_edit

    return [replace, multi_edit, insert_lines, apply_patch, undo_edit, diff_files]
