"""Which program of the desktop or of the person is started: never one that the project brings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping


def own_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of *name* by the PATH of *environ*; None when there is none.

    Relative folders of PATH are passed over, as is what lies in the current folder, which is the project's. A *name*
    that is an absolute path is what the person named.
    """
    if os.path.isabs(name):
        return shutil.which(name)
    if os.path.dirname(name):
        return None
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    for folder in environ.get("PATH", os.environ.get("PATH", os.defpath)).split(os.pathsep):
        found = shutil.which(name, path=folder) if os.path.isabs(folder) else None
        if found is not None and not any(_within(path, here) for path in (found, os.path.realpath(found))):
            return found
    return None


def _within(path: str, folder: str) -> bool:
    return folder not in ("", "/") and path.startswith(folder + os.sep)
