"""Whole folders: what is in them, and the removal of those that are too large to keep."""

from __future__ import annotations

import os
import secrets
import shutil

from xun.errors import EditError
from xun_builtin_tools.edit.changes import State, folder_state, os_error_kind, raise_os_error, state_in
from xun_builtin_tools.edit.messages import edit_error
from xun_policies.paths.held import TEMP_PREFIX, TEMP_SUFFIX
from xun_policies.workspace import ResolvedPath, Workspace

TREE_LIMIT = 5_000
"""Entries of a folder that are kept for undo, or copied."""

TREE_BYTES = 50_000_000
"""Bytes of a folder that are kept for undo, or copied."""

_SEARCHED = 50_000


def tree_states(workspace: Workspace, root: ResolvedPath) -> list[tuple[ResolvedPath, State]] | None:
    """Return the folder and all in it, outermost first, links not followed; None when it is too large or too odd.

    Raises:
        EditError: Something in it may not be read.
    """
    states: list[tuple[ResolvedPath, State]] = []
    size = 0
    folders = [root]
    try:
        while folders:
            folder = folders.pop()
            with workspace.hold(folder) as held:
                states.append((folder, folder_state(os.fstat(held.fd).st_mode & 0o7777)))
                for item in sorted(held.scan(), key=lambda item: item.name):
                    path = workspace.resolve(folder.path / item.name, follow=False)
                    if item.is_dir(follow_symlinks=False):
                        folders.append(path)
                        continue
                    state = state_in(held, item.name, path.display, keep=TREE_BYTES)
                    size += len(state.data or b"")
                    states.append((path, state))
                    if state.data is None or size > TREE_BYTES or len(states) > TREE_LIMIT:
                        return None
    except EditError as exc:
        if exc.kind == "not_regular":
            return None
        raise
    except OSError as exc:
        raise_os_error(exc, root.display, "read")
    return sorted(states, key=lambda item: len(item[0].path.parts))


def require_removable(states: list[tuple[ResolvedPath, State]]) -> None:
    """Refuse a folder from which something can't be removed, before it is put out of sight.

    Raises:
        EditError: kind ``denied``.
    """
    holding = {path.path.parent for path, _ in states}
    for path, state in states:
        if state.kind != "dir" or path.path not in holding:
            continue
        if not state.mode & 0o222 or not os.access(path.path, os.W_OK | os.X_OK):
            raise edit_error("denied", f"{path.display} is read-only, so what is in it can't be removed.")


def protected_below(workspace: Workspace, root: ResolvedPath) -> ResolvedPath | None:
    """Return a protected path in a folder, or None; for a folder too large to search, a path in it all the same."""
    folders = [root]
    seen = 0
    while folders:
        folder = folders.pop()
        try:
            with workspace.hold(folder) as held:
                for item in held.scan():
                    seen += 1
                    path = workspace.resolve(folder.path / item.name, follow=False)
                    if path.protected or seen > _SEARCHED:
                        return path
                    if item.is_dir(follow_symlinks=False):
                        folders.append(path)
        except OSError as exc:
            raise_os_error(exc, folder.display, "read")
    return None


def remove_large_tree(workspace: Workspace, root: ResolvedPath) -> None:
    """Remove a folder that is not kept: by one rename out of sight, then piece by piece, never through a link.

    Raises:
        EditError: The folder could not be renamed, and is whole; or a part of it is left under another name.
    """
    name = f"{TEMP_PREFIX}{secrets.token_hex(8)}{TEMP_SUFFIX}"
    try:
        with workspace.hold_parent(root) as parent:
            parent.move_to(root.path.name, parent, name)
            shutil.rmtree(name, dir_fd=parent.fd)
    except OSError as exc:
        left = workspace.stat(root) is None
        where = f"; what is left of it is in {root.path.parent / name}" if left else ""
        raise edit_error(
            os_error_kind(exc), f"{root.display} could not be removed ({exc.strerror or exc}){where}."
        ) from exc
