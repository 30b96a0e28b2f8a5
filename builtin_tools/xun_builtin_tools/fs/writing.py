"""write_file."""

from __future__ import annotations

import codecs
from typing import Any

from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.byte_marks import mark_of
from xun_builtin_tools.edit.changes import Change, file_state, read_state
from xun_builtin_tools.edit.document import RAW, Document
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.state import EditState
from xun_builtin_tools.edit.writing import (
    EDIT_LIMIT,
    Opened,
    Touched,
    carry_out,
    count_bytes,
    hard_link_note,
    require_writable,
    told,
    write_new,
    write_text,
)
from xun_builtin_tools.gate import PlannedWrite
from xun_policies.workspace import ResolvedPath, current_umask


@tool_attr(expose="direct", sequential=True)
def write_file(ctx: ToolCallContext[Any], path: str, content: str, encoding: str | None = None) -> dict[str, Any]:
    """Write a whole file, new or in the place of an existing one; missing folders are made.

    encoding is only for text that is not UTF-8. An existing file keeps its mode, encoding, byte order mark and CRLF
    line ends. To change a part use replace or apply_patch. Returns created, and the lines added and removed."""
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    if path.endswith("/"):
        raise edit_error("is_dir", f"{path} ends with a slash, so it names a folder; give the name of the file.")
    before = read_state(workspace, resolved, keep=EDIT_LIMIT)
    if before.kind == "dir":
        raise edit_error("is_dir", f"{resolved.display} is a folder, not a file.")
    if before.kind == "link":
        raise edit_error("outside", f"Path {resolved.display} is not within the agent's workspace: it became a link.")
    if before.kind == "absent":
        doc = _new_document(resolved, content, encoding)
        new = write_new(ctx, resolved, doc.to_bytes(), 0o666 & ~current_umask())
        return {"path": resolved.shown, "created": True, **new}
    require_writable(resolved, before)
    old = before.data
    if old is not None:
        EditState.of(ctx.agent).check(str(resolved.path), resolved.display, before)
    doc = _new_document(resolved, content, encoding) if old is None else _like(resolved, old, content, encoding)
    data = doc.to_bytes()
    added, removed = count_bytes(old or b"", data)
    facts: dict[str, Any] = {}
    if data == old:
        EditState.of(ctx.agent).note(str(resolved.path), before)
    elif old is None:
        note = f"replaces {before.digest[:12]}, which is too large to show or to undo"
        note = "; ".join(filter(None, (note, hard_link_note(workspace, resolved))))
        planned = PlannedWrite("update", resolved, None, data, note=note)
        change = Change(resolved, before, file_state(data, before.mode))
        carry_out(ctx, [change], [planned], [Touched(str(resolved.path), "update", added, removed)])
    else:
        facts = write_text(ctx, Opened(resolved, before, doc), doc, added, removed)
    return {"path": resolved.shown, "created": False, **told(facts, {"added": added, "removed": removed})}


def _new_document(resolved: ResolvedPath, content: str, encoding: str | None) -> Document:
    plain = (encoding or "").lower().replace("_", "-")
    mark = {"utf-8-sig": codecs.BOM_UTF8, "utf-16": codecs.BOM_UTF16_LE, "utf-32": codecs.BOM_UTF32_LE}.get(plain, b"")
    # Through the loader, for its checks of the name; a file that is empty but for its mark is in every encoding.
    doc = Document.load(resolved.display, mark, encoding)
    doc.check_new_text(content)
    return Document(resolved.display, content, doc.codec, mark)


def _like(resolved: ResolvedPath, old: bytes, content: str, encoding: str | None) -> Document:
    """Return *content* in the form of the old file."""
    if b"\0" in old and mark_of(old)[1] in ("", "utf-8"):
        return _new_document(resolved, content, encoding)
    if encoding is not None and encoding.lower().replace("_", "-") in ("utf-8", "utf8") and not mark_of(old)[0]:
        # Said in so many words: the file becomes UTF-8, whatever it was.
        return _new_document(resolved, content, encoding)
    present = Document.load(resolved.display, old, encoding)
    content = content.removeprefix("\ufeff") if present.mark else content
    present.check_new_text(content)
    if (
        "\r\n" in present.source
        and "\r\n" not in content
        and present.source.count("\n") == present.source.count("\r\n")
    ):
        content = content.replace("\n", "\r\n")
    return Document(resolved.display, content, present.codec if present.codec != RAW else "utf-8", present.mark)
