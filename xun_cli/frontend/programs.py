"""Which program of the desktop or of the person is started: never one that the project brings."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from xun_policies.paths.programs import find_program


def own_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the absolute path of *name* by the PATH of *environ*; None when there is none.

    Relative folders of PATH are passed over, as is what lies in the current folder, which is the project's. A *name*
    that is an absolute path is what the person named.
    """
    if os.path.isabs(name):
        return shutil.which(name)
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    path = environ.get("PATH", os.environ.get("PATH", os.defpath))
    return find_program(name, [here] if here else [], path)
