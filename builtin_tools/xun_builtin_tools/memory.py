"""What xun remembers of a project from one session to the next: a section of its AGENTS.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xun.errors import EditError, ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext

if TYPE_CHECKING:
    from xun_builtin_tools.edit.document import Document
    from xun_builtin_tools.edit.writing import Opened

FILE_NAME = "AGENTS.md"
HEADING = "## Memory"
"""The heading of the section; it ends at the next heading of its level or above."""

MAX_FACT = 500
"""Characters of one fact."""

_MARK = "- "
_FENCES = ("```", "~~~")


@tool_attr(deferred=True, sequential=True, search_hint="remember note fact preference keep next session AGENTS.md")
def save_memory(ctx: ToolCallContext[Any], fact: str) -> dict[str, Any]:
    """Remember a fact about this project for later sessions, when the person asks for it or it will matter again.

    fact is one sentence of at most 500 characters that can be understood by itself. It is added to the section Memory
    of the project's AGENTS.md; the person is asked. Never put secrets into it.

    Returns success and path."""
    text = " ".join(fact.split())
    if not text or len(text) > MAX_FACT:
        raise ToolError(f"fact must have 1 to {MAX_FACT} characters, got {len(text)}.")
    if not text.isprintable():
        raise ToolError("fact holds characters that can't be seen; leave them out.")
    path = ctx.agent.workspace.workdir / FILE_NAME
    present = _opened(ctx, to_write=True)
    if present is not None and text in remembered(present.doc.text):
        return {"success": True, "path": str(path), "note": "it was remembered already"}
    if present is None:
        _write_new(ctx, f"{HEADING}\n\n{_MARK}{text}\n")
    else:
        from xun_builtin_tools.edit.writing import write_text

        doc, added = _with_fact(present.doc, text)
        doc.check_new_text(text)
        write_text(ctx, present, doc, added, 0, editable=False)
    return {"success": True, "path": str(path)}


@tool_attr(read_only=True, deferred=True, search_hint="recall remembered facts notes earlier sessions AGENTS.md")
def read_memory(ctx: ToolCallContext[Any]) -> dict[str, Any]:
    """Return the facts that were remembered about this project, and the path of the file that keeps them."""
    present = _opened(ctx)
    facts = [] if present is None else remembered(present.doc.text)
    return {"path": str(ctx.agent.workspace.workdir / FILE_NAME), "facts": facts}


def _opened(ctx: ToolCallContext[Any], *, to_write: bool = False) -> Opened | None:
    """Return the file as it was opened, or None when there is none.

    Raises:
        EditError: It can't be read as a text.
    """
    from xun_builtin_tools.edit.state import EditState
    from xun_builtin_tools.edit.writing import Opened, existing_file, load_text, require_writable

    workspace = ctx.agent.workspace
    resolved = workspace.resolve(FILE_NAME)
    try:
        before = existing_file(workspace, resolved, FILE_NAME)
    except EditError as exc:
        if exc.kind == "missing":
            return None
        raise
    if before.data is None:
        raise ToolError(f"{resolved.display} is too large to be read.")
    if to_write:
        require_writable(resolved, before)
    # Only a line is added, to the text as it is now: that it was not read before does no harm.
    EditState.of(ctx.agent).note(str(resolved.path), before)
    return Opened(resolved, before, load_text(workspace, resolved, before.data))


def _write_new(ctx: ToolCallContext[Any], text: str) -> None:
    from xun_builtin_tools.edit.changes import ABSENT, Change, file_state
    from xun_builtin_tools.edit.writing import Touched, carry_out
    from xun_builtin_tools.gate import PlannedWrite
    from xun_policies.workspace import current_umask

    resolved = ctx.agent.workspace.resolve(FILE_NAME)
    data = text.encode()
    # Other than for an ordinary new file the person is asked: later sessions obey this one.
    planned = PlannedWrite("add", resolved, None, data, note="later sessions read this file as instructions")
    change = Change(resolved, ABSENT, file_state(data, 0o666 & ~current_umask()))
    carry_out(ctx, [change], [planned], [Touched(str(resolved.path), "add", text.count("\n"), 0)])


def _section(lines: list[str]) -> tuple[int, int] | None:
    """Return the index of the heading and that of the end of its section; None when there is no such heading."""
    start, fence = -1, ""
    for at, line in enumerate(lines):
        plain = line.strip()
        if plain.startswith(_FENCES) and (not fence or plain.startswith(fence)):
            fence = "" if fence else plain[:3]
        elif not fence and start < 0 and plain == HEADING:
            start = at
        elif not fence and start >= 0 and line.startswith(("# ", "## ")):
            return start, at
    return None if start < 0 else (start, len(lines))


def remembered(text: str) -> list[str]:
    """Return the facts in the section Memory of *text*."""
    lines = text.split("\n")
    found = _section(lines)
    if found is None:
        return []
    inside = (line.strip() for line in lines[found[0] + 1 : found[1]])
    return [line.removeprefix(_MARK).strip() for line in inside if line.startswith(_MARK)]


def _with_fact(doc: Document, fact: str) -> tuple[Document, int]:
    """Return *doc* with one more fact, and the lines that this adds; all other lines stay as they are."""
    from xun_builtin_tools.edit.document import Splice

    text = doc.text
    lines = text.split("\n")
    found = _section(lines)
    if found is None:
        gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        at, new = len(text), f"{gap}{HEADING}\n\n{_MARK}{fact}\n"
    else:
        start, stop = found
        last = max(at for at in range(start, stop) if lines[at].strip())
        at = len("\n".join(lines[: last + 1]))
        new = ("\n\n" if last == start else "\n") + f"{_MARK}{fact}"
    return doc.splice([Splice(at, at, new)]), new.count("\n")
