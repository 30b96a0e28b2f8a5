"""Programs on PATH that no project can have put there: the one search that whatever starts a program by name uses."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from xun_policies.paths.real import within


def find_program(name: str, avoid: Iterable[str], path: str | None = None) -> str | None:
    """Return the absolute path of the first *name* on PATH that is not in *avoid* and does not lead there, or None.

    Relative folders of PATH are passed over: they mean another place in every folder.

    Args:
        name: The name of a program; one with a slash is never found.
        avoid: Canonical folders that a project or an agent may write to.
        path: The PATH to search; None for that of this process.
    """
    folders = tuple(avoid)
    if os.path.dirname(name):
        return None
    for folder in (os.environ.get("PATH", os.defpath) if path is None else path).split(os.pathsep):
        found = shutil.which(name, path=folder) if os.path.isabs(folder) else None
        if found is not None and not leads_into(found, folders):
            return found
    return None


def leads_into(program: str, folders: Iterable[str]) -> bool:
    """Tell whether the absolute path *program*, its folder or what it links to is in one of the canonical *folders*.

    The root of the file system is passed over: else no program were left.
    """
    folder, name = os.path.split(os.path.abspath(program))
    places = (os.path.join(folder, name), os.path.join(os.path.realpath(folder), name), os.path.realpath(program))
    return any(within(place, root) for root in folders if root != "/" for place in places)
