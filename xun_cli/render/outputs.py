"""What a slash command shows, as lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xun_cli.render.diff import diff_rows
from xun_cli.render.safe import safe
from xun_cli.render.table import table_lines
from xun_cli.render.text import BAD, PLAIN, Line, expand_tabs, width, wrap

_NUMBER = re.compile(r"[$~]?\d[\d,.]*( ?(%|s|kB|MB|B))?|\?|–")

if TYPE_CHECKING:
    from xun_cli.commands.output import Output


def output_lines(output: Output, columns: int) -> list[Line]:
    """Return one piece of a command's answer drawn for *columns* cells."""
    if output.kind == "error":
        return wrap([(BAD, safe(output.text, multiline=False))], columns, [(BAD, "✗ ")], [(PLAIN, "  ")])
    if output.kind == "markdown":
        from xun_cli.render.markdown import markdown_lines

        return markdown_lines(output.text, columns)
    if output.kind == "diff":
        return diff_rows(output.text, columns)
    lines = text_lines(output.text, columns) if output.text else []
    if output.kind == "table":
        header = [output.header] if output.header else []
        rows: list[list[Line]] = [
            [[(PLAIN, safe(cell, multiline=False))] for cell in row] for row in [*header, *output.rows]
        ]
        lines += table_lines(rows, columns, header=bool(header), aligns=_aligns(output.rows), whole=True)
    return lines


def _aligns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return right for each column of numbers: then their digits stand below each other."""
    count = max((len(row) for row in rows), default=0)
    cells = [[row[at] for row in rows if at < len(row) and row[at]] for at in range(count)]
    return ["right" if found and all(_NUMBER.fullmatch(cell) for cell in found) else "" for found in cells]


def text_lines(text: str, columns: int) -> list[Line]:
    """Return plain text: lines that fit stay as they are, longer ones wrap under their own indentation."""
    lines: list[Line] = []
    for row in expand_tabs(safe(text.rstrip("\n"))).split("\n"):
        if width(row) <= columns:
            lines.append([(PLAIN, row)])
            continue
        bare = row.lstrip(" ")
        indent = " " * min(len(row) - len(bare), columns // 2)
        lines += wrap([(PLAIN, bare)], columns, [(PLAIN, indent)], [(PLAIN, indent)])
    return lines
