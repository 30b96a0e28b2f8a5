"""Standard input as part of a prompt: when it is read, how much of it, and how it is marked."""

from __future__ import annotations

import os
import re
import select
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass

LIMIT = 10_000_000
"""The most bytes that are taken from standard input."""

PATIENCE = 3.0
"""Seconds until a pipe that sends nothing is left alone, where there is a prompt without it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a headless run is asked.

    Attributes:
        text: For the model.
        shown: For people, where that is shorter; "" for the same.
    """

    text: str
    shown: str = ""


def whole_prompt(prompt: str, notice: Callable[[str], None]) -> Prompt:
    """Return *prompt* with what standard input has to add; its text is empty when there is neither."""
    piped = piped_text(bool(prompt), notice)
    shown = f"{prompt} (and {len(piped)} characters from standard input)" if prompt and piped.strip() else ""
    return Prompt(with_piped(prompt, piped), shown)


def piped_text(has_prompt: bool, notice: Callable[[str], None]) -> str:
    """Return the text of standard input, "" when it is a terminal, closed or empty.

    Args:
        has_prompt: There is a prompt already: then a silent pipe is not waited for without end.
        notice: Takes a sentence about what was cut, replaced or not waited for.
    """
    fd = 0  # whatever `sys.stdin` is by now
    try:
        mode = os.fstat(fd).st_mode
        if os.isatty(fd):
            return ""
    except OSError:
        return ""
    waits = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    if waits and has_prompt and not select.select([fd], [], [], PATIENCE)[0]:
        notice(f"standard input sent nothing for {PATIENCE:g} s; going on without it (close it with < /dev/null)")
        return ""
    raw = _read(fd, LIMIT + 1)
    if len(raw) > LIMIT:
        raw = raw[:LIMIT]
        notice(f"standard input is longer than {LIMIT // 1_000_000} MB; the rest is left out")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(raw) - 3 and len(raw) == LIMIT:
            return raw[: error.start].decode("utf-8")
        notice("standard input is not valid UTF-8; the bytes that are not are shown as U+FFFD")
        return raw.decode("utf-8", "replace")


def _read(fd: int, size: int) -> bytes:
    parts: list[bytes] = []
    try:
        while size > 0 and (part := os.read(fd, min(size, 1 << 20))):
            parts.append(part)
            size -= len(part)
    except OSError as error:
        sys.stderr.write(f"xun: standard input can't be read: {error.strerror}\n")
    return b"".join(parts)


def with_piped(prompt: str, piped: str) -> str:
    """Return *prompt* with *piped* after it as a fenced block that no line of it can close."""
    if not piped.strip():
        return prompt
    if not prompt:
        return piped
    longest = max((len(run) for run in re.findall("`{3,}", piped)), default=2)
    fence = "`" * (longest + 1)
    end = "" if piped.endswith("\n") else "\n"
    return f"{prompt}\n\nStandard input:\n{fence}\n{piped}{end}{fence}"
