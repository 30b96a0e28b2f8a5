"""What a model reads when an edit does not fit: short, with what it needs to repair the call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xun.errors import EditError
from xun_builtin_tools.edit.document import Document
from xun_builtin_tools.edit.linediff import line_opcodes
from xun_builtin_tools.edit.matching import CANDIDATES_LIMIT
from xun_builtin_tools.edit.nearest import find_nearest

LIMIT = 4000
"""Characters that a message may have."""

# What stands for a byte that is not UTF-8 in a decoded text, and how `repr` writes that.
_HELD = re.compile("[\udc80-\udcff]")
_BYTE = re.compile(r"\\udc([89a-f][0-9a-f])")

_SHOWN_LINES = 12
_SHOWN_CHARS = 160
_LISTED = 10


def cut(text: str, limit: int = _SHOWN_CHARS) -> str:
    """Return *text*, cut to *limit* characters, with a word about what is missing."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - limit} more characters)"


def quoted(text: str) -> str:
    """Return *text* as a literal; a byte of a file that is not UTF-8 as that byte."""
    return _BYTE.sub(r"\\x\1", repr(text)) if _HELD.search(text) else repr(text)


def edit_error(kind: str, message: str, **facts: Any) -> EditError:
    """Return an `EditError` whose text keeps to the limit."""
    if len(message) > LIMIT:
        message = message[: LIMIT - 24].rstrip() + "\n(message cut short)"
    return EditError(message, kind=kind, **{name: fact for name, fact in facts.items() if fact is not None})


def numbered(lines: Sequence[str], first: int, count: int) -> str:
    """Return *count* lines from index *first* on, numbered from 1, long ones cut."""
    shown = lines[first : first + min(count, _SHOWN_LINES)]
    plain = [_HELD.sub("\ufffd", cut(line)) for line in shown]
    text = "\n".join(f"{first + step + 1:>6}  {line}" for step, line in enumerate(plain))
    return text + (f"\n        ({count - len(shown)} more lines)" if count > len(shown) else "")


def not_found(
    doc: Document, old_lines: Sequence[str], new: str, *, what: str, hint: str = "", **facts: Any
) -> EditError:
    """Return the error for *old_lines* that are nowhere in *doc*; *what* names them, *hint* says why already."""
    message = [f"{what} was not found in {doc.path}, so nothing was changed."]
    near = None if hint else find_nearest(doc.lines, old_lines)
    if hint:
        message.append(hint)
    elif near is not None:
        facts["nearest_line"] = near.first + 1
        message.append(f"The nearest region starts at line {near.first + 1}:")
        message.append(numbered(doc.lines, near.first, len(old_lines)))
        message += _divergence(doc, old_lines, near.first + near.diverging, near.diverging, near.cause)
    already = _already(doc, new)
    if already:
        facts["already_line"] = already
        message.append(f"The new text is already there, at line {already}: it may have been written before.")
    if near is None and not hint:
        message.append("No region is near it. Read the file again and copy the text from it.")
    return edit_error("not_found", "\n".join(message), **facts)


def _divergence(doc: Document, old_lines: Sequence[str], at: int, step: int, cause: str) -> list[str]:
    have = doc.lines[at] if at < len(doc.lines) else ""
    return [
        f"First line that differs: line {at + 1}, because {cause}.",
        f"  file:  {quoted(cut(have))}",
        f"  yours: {quoted(cut(old_lines[step]))}",
    ]


def _already(doc: Document, new: str) -> int | None:
    text = new.strip("\n")
    if len(text.strip()) < 8:
        return None
    at = doc.text.find(text)
    return doc.line_at(at) if at >= 0 else None


def ambiguous(doc: Document, lines: Sequence[int], *, what: str, way_out: str, **facts: Any) -> EditError:
    """Return the error for a text that stands at each of *lines*, numbers from 1 that may repeat."""
    distinct = list(dict.fromkeys(lines))
    times = f"{len(lines)} times" if len(lines) < CANDIDATES_LIMIT else f"{CANDIDATES_LIMIT:,} times or more"
    message = [f"{what} is in {doc.path} {times}, so it is not clear which one is meant; nothing was changed."]
    for number in distinct[:_LISTED]:
        before = f" (after {cut(doc.lines[number - 2], 80)!r})" if number > 1 else " (at the top)"
        message.append(f"  line {number}{before}")
    if len(distinct) > _LISTED:
        message.append(f"  and {len(distinct) - _LISTED} more lines")
    message.append(way_out)
    return edit_error("ambiguous", "\n".join(message), lines=distinct[:_LISTED], count=len(lines), **facts)


def stale(path: str, then: bytes | None, now: bytes) -> EditError:
    """Return the error for a file whose content is not what was read before."""
    ranges = _changed_ranges(then, now)
    where = f" Changed since then: {ranges}." if ranges else ""
    return edit_error(
        "stale",
        f"{path} was changed by something else since you read it, so nothing was changed.{where} "
        "Read it again before you edit it.",
    )


def _changed_ranges(then: bytes | None, now: bytes) -> str:
    if then is None or max(len(then), len(now)) > 2_000_000:
        return ""
    old, new = then.split(b"\n"), now.split(b"\n")
    texts = [[line.decode("latin-1") for line in side] for side in (old, new)]
    codes = [code for code in line_opcodes(*texts) if code[0] != "equal"]
    spans = [(j1 + 1, max(j2, j1 + 1)) for _, _, _, j1, j2 in codes]
    named = [f"line {a}" if a == b else f"lines {a} to {b}" for a, b in spans[:_LISTED]]
    return ", ".join(named) + (f" and {len(spans) - _LISTED} more places" if len(spans) > _LISTED else "")
