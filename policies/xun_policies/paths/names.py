r"""Names that are no text: how tools show them, and how what they show leads back.

A file name is bytes. Each byte that is no UTF-8 is shown as ``\xNN``, as in ``caf\xe9``, since neither JSON nor a
terminal can carry it. A path with such an escape means the name that stands there as it is written, if there is one,
else the one with the byte.
"""

from __future__ import annotations

import os
import re

_ESCAPED = re.compile(rb"\\x([89a-fA-F][0-9a-fA-F])")
_MARK = re.compile(r"\\x[89a-fA-F]")


def shown_name(text: str) -> str:
    """Return a name or path as text that can be sent: bytes that are no UTF-8 as escapes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            return os.fsencode(text).decode("utf-8", "backslashreplace")
        except UnicodeEncodeError:
            # Not one of a file: a lone surrogate that somebody wrote.
            return text.encode("utf-8", "replace").decode()
    return text


def as_there(absolute: str) -> str:
    """Return *absolute* with the escapes of `shown_name` taken back where that leads to what is there."""
    if not _MARK.search(absolute):
        return absolute
    found = ""
    for part in absolute.split("/")[1:]:
        if _MARK.search(part) and not os.path.lexists(f"{found}/{part}"):
            meant = os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), os.fsencode(part)))
            part = meant if os.path.lexists(f"{found}/{meant}") else part
        found = f"{found}/{part}"
    return found
