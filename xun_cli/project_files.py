"""The commands and skills that come with a project, read without following a link, within limits.

They are foreign text until the user trusts the folder; their content is a part of what is trusted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from xun.errors import ConfigError
from xun_cli.toml_file import short

MAX_FILES = 200
"""Files of commands and skills that a project may bring."""

MAX_BYTES = 2_000_000
"""Bytes of all of them."""

_DEPTH = 6


def read_extensions(folder: Path) -> dict[str, bytes]:
    """Return the content of ``commands/*.md`` and of all files in ``skills/`` below *folder*, by relative path.

    Raises:
        ConfigError: They are too many or too large, or one is a link or no regular file; the text names it.
    """
    found: dict[str, bytes] = {}
    size = 0
    for path in (*_below(folder / "commands", 0, ".md"), *_below(folder / "skills", _DEPTH, "")):
        name = os.path.relpath(path, folder)
        if len(found) >= MAX_FILES:
            raise ConfigError(f"{short(folder)} holds more than {MAX_FILES} files of commands and skills")
        found[name] = _content(path, MAX_BYTES - size)
        size += len(found[name])
    return found


def _below(folder: Path, depth: int, ending: str) -> Iterator[Path]:
    if not os.path.lexists(folder):
        return
    if folder.is_symlink():
        raise ConfigError(f"{short(folder)} is a link; a project's own commands and skills may not be")
    try:
        entries = sorted(os.scandir(folder), key=lambda item: item.name)
    except NotADirectoryError:
        return
    except OSError as error:
        raise ConfigError(f"{short(folder)}: can't be read: {error.strerror}") from None
    for entry in entries:
        if entry.is_symlink():
            raise ConfigError(f"{short(entry.path)} is a link; a project's own commands and skills may not be")
        if entry.is_dir():
            if depth:
                yield from _below(Path(entry.path), depth - 1, ending)
        elif entry.name.endswith(ending):
            yield Path(entry.path)


def _content(path: Path, room: int) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        fd = os.open(path, flags)
    except OSError as error:
        raise ConfigError(f"{short(path)}: can't be read: {error.strerror}") from None
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ConfigError(f"{short(path)}: not a regular file; replace it by one or remove it")
        data = file.read(room + 1)
    if len(data) > room:
        raise ConfigError(f"{short(path)}: with it the commands and skills are more than {MAX_BYTES // 1000} kB")
    return data
