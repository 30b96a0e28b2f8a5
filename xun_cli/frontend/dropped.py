"""A file that is dropped into a terminal comes as a paste of its path: here an image is told from other text."""

from __future__ import annotations

import shlex
from pathlib import Path
from urllib.parse import unquote, urlsplit

from xun_cli.attachments import ENDINGS

LONGEST = 4096
"""Characters of a path that are looked at."""


def dropped_image(raw: str) -> Path | None:
    """Return the image file that the pasted text *raw* names and nothing else; None when it is other text.

    Terminals put quotes around a path, backslashes before its blanks, or ``file://`` in front of it.
    """
    text = raw.strip()
    if len(text) > LONGEST or not text.lower().rstrip("'\"").endswith(ENDINGS) or "\n" in text or "\0" in text:
        return None
    if text.startswith("file://"):
        words = [unquote(urlsplit(text).path)]
    else:
        try:
            words = shlex.split(text)
        except ValueError:
            return None
    if len(words) != 1:
        words = [text]  # blanks that nothing protects
    path = Path(words[0]).expanduser() if words[0].startswith("~/") else Path(words[0])
    try:
        return path if path.is_absolute() and path.is_file() else None
    except OSError:
        return None
