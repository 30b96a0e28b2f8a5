"""replace, multi_edit and insert_lines."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from xun.errors import EditError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.edit.document import Document, Splice, fold_newlines
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.replacing import Replaced, replace_text, splice_document
from xun_builtin_tools.edit.writing import describe, open_text, told, write_text


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement of multi_edit."""

    old: str
    new: str
    replace_all: bool = False


@tool_attr(expose="direct", sequential=True)
def replace(
    ctx: ToolCallContext[Any], path: str, old: str, new: str, replace_all: bool = False, encoding: str | None = None
) -> dict[str, Any]:
    """Replace a text in a file.

    old is copied from the file with its indentation, with enough of the lines around it to occur exactly once. new
    takes its place character for character; "" deletes. replace_all replaces every exact occurrence. encoding is only
    for a file that is not UTF-8 when the text is not ASCII. Line ends are kept: write \\n. Returns the level of the
    match and the changed lines. When old is missing or ambiguous, nothing changes and the error shows the nearest text
    or the places."""
    opened = open_text(ctx, path, encoding)
    result = replace_text(opened.doc, old, new, replace_all=replace_all)
    facts = write_text(ctx, opened, result.doc, result.added, result.removed)
    return {"path": opened.path.shown, **told(facts, describe(result))}


@tool_attr(expose="direct", sequential=True)
def multi_edit(ctx: ToolCallContext[Any], path: str, edits: list[Edit]) -> dict[str, Any]:
    """Make several replacements in one file, all or none.

    edits are made in order, each on the result of those before; old, new and replace_all are as for replace. An error
    names the edit by its index, from 0. Returns what replace does, for each."""
    if not edits:
        raise edit_error("noop", "The list of edits is empty, so nothing was changed.")
    opened = open_text(ctx, path)
    doc = opened.doc
    results: list[Replaced] = []
    ranges: list[list[list[int]]] = []
    for index, edit in enumerate(edits):
        result = _one_edit(opened.doc, doc, index, edit)
        ranges = [[_moved(span, result.shifts) for span in spans] for spans in ranges]
        ranges.append(result.lines)
        results.append(result)
        doc = result.doc
    if doc.source == opened.doc.source:
        raise edit_error("noop", f"The edits together leave {opened.path.display} as it is, so nothing was changed.")
    facts = write_text(ctx, opened, doc, sum(r.added for r in results), sum(r.removed for r in results))
    said = [describe(result, spans, doc) for result, spans in zip(results, ranges, strict=True)]
    return {"path": opened.path.shown, **told(facts, {"edits": said})}


def _one_edit(start: Document, doc: Document, index: int, edit: Edit) -> Replaced:
    try:
        return replace_text(doc, edit.old, edit.new, replace_all=edit.replace_all, edit_index=index)
    except EditError as exc:
        if exc.kind != "not_found" or fold_newlines(edit.old) not in start.text:
            raise
        said = "It was in the file before the edits in front of it: each is made on the result of those."
        raise edit_error("not_found", f"{exc}\n{said}", **exc.facts) from None


def _moved(span: list[int], shifts: list[tuple[int, int]]) -> list[int]:
    by = sum(change for line, change in shifts if line < span[0])
    return [span[0] + by, span[1] + by]


@tool_attr(sequential=True)
def insert_lines(ctx: ToolCallContext[Any], path: str, line: int, text: str) -> dict[str, Any]:
    """Insert text into a file after line number line; 0 puts it at the top.

    text is one or more lines; a newline at its end is added when it has none. Returns what replace does."""
    opened = open_text(ctx, path)
    doc = opened.doc
    new = fold_newlines(text)
    if doc.mark and line == 0:
        new = new.removeprefix("\ufeff")
    if not new:
        raise edit_error("noop", "The text is empty, so nothing was inserted.")
    if not 0 <= line <= len(doc.lines):
        raise edit_error(
            "missing", f"{opened.path.display} has {len(doc.lines)} lines, so nothing can go after line {line}."
        )
    new = new.removesuffix("\n")
    doc.check_new_text(new)
    at = min(doc.starts[line], len(doc.text))
    if doc.starts[line] > len(doc.text):
        # Behind a last line that has no newline; the new last line has none either, unless it is empty.
        end = "" if new and not new.endswith("\n") else "\n"
        result = splice_document(doc, [Splice(at, at, "\n" + new + end)], "exact")
        first = line + 1
        last = first + new.count("\n")
        added = last - first + 1
        result = dataclasses.replace(result, lines=[[first, last]], added=added, removed=0, at=result.at + 1)
    else:
        result = splice_document(doc, [Splice(at, at, new + "\n")], "exact")
    facts = write_text(ctx, opened, result.doc, result.added, result.removed)
    return {"path": opened.path.shown, **told(facts, describe(result))}
