"""Markdown of a model in a document of ours: it stays text, and opens or loads nothing where it is shown."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!(?:https?|mailto):[^\s<>]*>)")


def quiet(text: str) -> str:
    """Return Markdown whose HTML is text and whose images are links; code stays as it is."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            lines.append(line)
            # As Markdown has it: the same sign, at least as often, and nothing after it.
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in line[found.end() :]):
            fence = found[1]
            lines.append(line)
        else:
            lines.append(_outside_code(line))
    if fence:  # else what follows in the document would be code too
        lines.append(fence)
    return "\n".join(lines)


def quiet_line(text: str) -> str:
    """Return one line of plain text as Markdown that shows it as it is."""
    return re.sub(r"([\\`*\[\]!])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")


def _outside_code(line: str) -> str:
    parts: list[str] = []
    at = 0
    for code in _CODE.finditer(line):
        parts += [_still(line[at : code.start()]), code.group()]
        at = code.end()
    return "".join([*parts, _still(line[at:])])


def _still(text: str) -> str:
    return _TAG.sub("&lt;", text).replace("![", r"\![")
