"""A file that a command behind a wall must not be able to make: the proof that the wall holds."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence

from xun_policies.paths.real import within


@contextlib.contextmanager
def forbidden_file(writable: Sequence[str]) -> Iterator[str]:
    """Give the path of a file that can be made here but not from behind the wall; "" when everything is *writable*."""
    made = ""
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp", os.path.expanduser("~")):
        if not any(within(os.path.realpath(place), root) for root in writable):
            with contextlib.suppress(OSError):
                made = tempfile.mkdtemp(prefix="xun-proof-", dir=place)
                break
    try:
        yield f"{made}/canary" if made else ""
    finally:
        if made:
            shutil.rmtree(made, ignore_errors=True)
