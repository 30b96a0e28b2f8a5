"""What a question is about, as lines: a command with its segments, files with their diffs, or a free question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xun_cli.render.calls import relative
from xun_cli.render.diff import diff_rows, side_by_side
from xun_cli.render.safe import fold_spaces, safe
from xun_cli.render.suspicious import warnings
from xun_cli.render.text import (
    ADDED,
    BAD,
    BOLD,
    DIM,
    GOOD,
    HUNK,
    NAME,
    PLAIN,
    QUOTE,
    REMOVED,
    WARN,
    Line,
    cut,
    cut_left,
    cut_middle,
    hard_wrap,
    line_width,
    width,
    wrap,
)

if TYPE_CHECKING:
    from xun.choice import ChoiceRequest, FileDiff, Risk
    from xun_policies.commands import Segment

SPLIT_FROM = 140
"""Columns from which a diff can be shown side by side."""

_MARKS = {"allow": ("✓", GOOD), "ok": ("✓", DIM), "ask": ("✗", WARN)}


_ANSWERS = {
    "grant": "what the row names is not asked about again; /policy shows it and takes it back",
    "once": "allows this call only",
    "deny": "the model is told so, with your reason",
}
"""What the three answers do."""

_PRESENT = frozenset({"update", "delete", "move"})

_WHY_WRITE = (
    "A file that is there changes only with your yes, or under a permission that covers its path (/policy). "
    "/mode auto-edit does not ask within the project."
)
"""Why a write is asked about."""

_SEES = {
    "": "no network",
    "network": "with network",
    "reading": "read-only, no network",
    "machine": "read-only, with network",
}
"""What a wall leaves open, by the view behind it."""

_OPEN = {"none": "no sandbox", "outside": "outside the sandbox"}

_FOLDER = 16
"""Cells of a folder below which what holds a command in gets a row of its own."""

LONG_COMMAND = 8
"""Rows of a command above which the short view keeps its beginning and its end, with a count between."""


def content_lines(
    request: ChoiceRequest,
    columns: int,
    *,
    split: bool = False,
    short: bool = False,
    parts: bool = True,
    context: int | None = None,
    longest: int = 0,
    tight: bool = False,
) -> list[Line]:
    """Return everything that a person needs to decide, in the order of importance.

    With *short* the middle of a very long command is counted instead of shown, so that its parts and
    the reasons below it stay in sight; without *parts* these are left to `explain_lines`. *context*: how many
    unchanged lines stay at each change of a diff; None: as it came. *longest*: of so many removed or added lines in a
    row the rest is counted, 0 for none. *tight*: of a command the parts that are allowed are counted, and what the
    assessment says comes before the others.
    """
    if request.kind == "command" and request.command is not None:
        return _command(request, columns, short=short, parts=parts, tight=tight)
    if request.kind == "write":
        return _write(request, columns, split=split, context=context, longest=longest)
    return _message(request.message, columns)


def explain_lines(request: ChoiceRequest, columns: int) -> list[Line]:
    """Return the long explanation: how each segment was judged, and what the answers do."""
    lines: list[Line] = []
    if request.command is not None:
        text = request.command.explain(columns)
        lines += [[(PLAIN, piece)] for row in safe(text).split("\n") for piece in hard_wrap(row, columns)]
        lines.append([])
    if request.files and all(file.action in _PRESENT and not file.protected for file in request.files):
        lines += [*wrap([(PLAIN, _WHY_WRITE)], columns), []]
    for option in request.options:
        note = option.note or (_ANSWERS.get(str(option.value), "") if request.kind in ("command", "write") else "")
        lines += wrap([(BOLD, safe(option.label)), (PLAIN, f": {safe(note)}" if note else "")], columns)
    return lines


def command_rows(text: str, columns: int) -> list[Line]:
    """Return a command as it will run: every line on its own, long ones folded with a mark, blanks counted."""
    rows = text.split("\n")
    lines: list[Line] = []
    for index, row in enumerate(rows):
        shown = fold_spaces(safe(row, multiline=False, prompt=True))
        pieces = hard_wrap(shown, max(4, columns - 1))
        for at, piece in enumerate(pieces):
            line: Line = _marked(piece, BOLD)
            if at < len(pieces) - 1:
                line.append((DIM, "↩"))
            elif index < len(rows) - 1:
                line.append((WARN, "⏎"))
            lines.append(line)
    return lines


def _marked(text: str, style: str) -> Line:
    """Style *text*, and what safe() put in for hidden characters as a warning."""
    line: Line = []
    rest = text
    while (start := rest.find("<U+")) >= 0 and (end := rest.find(">", start)) >= 0:
        line += [(style, rest[:start]), (f"{WARN} reverse", rest[start : end + 1])]
        rest = rest[end + 1 :]
    return [*line, (style, rest)]


def risk_words(risk: Risk | None, *, short: bool = False) -> tuple[str, str]:
    """Return what the title says about the assessment, and its style."""
    if risk is None:
        return "", PLAIN
    style = {"allow": GOOD, "unsure": f"{BOLD} {WARN}", "reject": f"{BOLD} {BAD}"}[risk.verdict]
    if short:
        return f"risk: {'FAILED' if risk.failed else risk.verdict.upper()}", style
    took = "assessor failed" if risk.failed else f"assessor, {risk.seconds:.1f}s"
    return f"risk: {risk.verdict.upper()} ({took})", style


def _command(request: ChoiceRequest, columns: int, *, short: bool, parts: bool, tight: bool) -> list[Line]:
    verdict = request.command
    if verdict is None:
        return []
    lines = command_rows(verdict.text, columns)
    if short and len(lines) > LONG_COMMAND:
        mark: Line = [(BOLD, f"… {len(lines) - 6} more lines of the command, Ctrl-E shows all")]
        lines = [*lines[:4], mark, *lines[-2:]]
    for warning in warnings(verdict.text):
        lines += wrap([(BOLD, safe(warning))], columns, [(WARN, "! ")], [(PLAIN, "  ")])
    for row in safe(request.message.strip(), prompt=True).split("\n") if request.message.strip() else ():
        lines += wrap([(WARN, f"! {row}")], columns, rest=[(PLAIN, "  ")])
    lines += _where(request, columns)
    assessed: list[Line] = []
    if request.risk is not None and request.risk.reason:
        quoted = f"“{safe(request.risk.reason, multiline=False, prompt=True)}”"
        assessed = wrap([(QUOTE, quoted)], columns, [(DIM, "assessor: ")], [(DIM, "  ")])
    shown = [segment for segment in verdict.segments if not (segment.status == "ok" and segment.kind == "operator")]
    reasons: list[Line] = []
    if parts and (len(shown) > 1 or any(segment.status != "allow" for segment in shown)):
        reasons = _segments(verdict.segments, columns, tight=tight)
    elif verdict.reason and not shown:
        reasons = wrap([(PLAIN, safe(verdict.reason, multiline=False))], columns)
    return lines + (assessed + reasons if tight else reasons + assessed)


def _where(request: ChoiceRequest, columns: int) -> list[Line]:
    """Say in which folder a command will run, and behind what."""
    wall, _, view = request.held.partition("+")
    held: Line = [(DIM, f"{safe(wall, multiline=False)}, {_SEES.get(view, view)}")] if wall else []
    if wall in _OPEN:
        held = [(BOLD, _OPEN[wall])]
    folder = safe(request.cwd, multiline=False, prompt=True)
    if not folder:
        return [held] if held else []
    room = columns - 3 - (line_width(held) + 3 if held else 0)
    if held and room < min(width(folder), _FOLDER):
        return [[(DIM, "in "), (DIM, cut_left(folder, columns - 3))], [(PLAIN, "   "), *held]]
    line: Line = [(DIM, "in "), (DIM, cut_left(folder, room))]
    return [[*line, (DIM, " · "), *held] if held else line]


def _segments(segments: tuple[Segment, ...], columns: int, *, tight: bool) -> list[Line]:
    lines: list[Line] = []
    number, operator, allowed = 0, "", 0
    texts = min(max(10, columns // 2), max((width(_short(s)) for s in segments), default=10) + 3)
    for segment in segments:
        if segment.kind == "operator" and segment.status == "ok":
            operator = _short(segment)
            continue
        number += 1
        if tight and segment.status != "ask":
            operator, allowed = "", allowed + 1
            continue
        label = f"{operator} {_short(segment)}".strip() if operator else _short(segment)
        operator = ""
        lines += _segment(f"{number:>2} ", label, segment, texts, columns)
    if allowed:
        words = f"   ✓ {allowed} more part{'s are' if allowed > 1 else ' is'} allowed"
        lines.append([(GOOD, cut(words, columns))])
    return lines


def _short(segment: Segment) -> str:
    text = segment.text.replace("\n", " ") if segment.text.strip() else segment.text.replace("\n", "⏎")
    return fold_spaces(safe(text, multiline=False, prompt=True))


def _segment(number: str, label: str, segment: Segment, texts: int, columns: int) -> list[Line]:
    mark, style = _MARKS.get(segment.status, _MARKS["ask"])
    words = PLAIN if style == WARN else style
    reason = cut(safe(segment.reason, multiline=False, prompt=True), 160)
    left = cut_middle(label, texts)
    line: Line = [(DIM, number), *_marked(left, PLAIN), (PLAIN, " " * (texts - width(left) + 1)), (style, f"{mark} ")]
    if line_width(line) + width(reason) <= columns:
        return [[*line, (words, reason)]]
    if columns - line_width(line) >= 20:
        indent = [(PLAIN, " " * line_width(line))]
        return wrap([(words, reason)], columns, line, indent)
    first: Line = [(DIM, number), *_marked(cut_middle(label, columns - width(number)), PLAIN)]
    return [first, *wrap([(words, reason)], columns, [(PLAIN, "    "), (style, f"{mark} ")], [(PLAIN, "      ")])]


def _write(request: ChoiceRequest, columns: int, *, split: bool, context: int | None, longest: int) -> list[Line]:
    lines: list[Line] = []
    many = len(request.files) > 1
    for file in request.files:
        if lines and context is None:
            lines.append([])
        lines += _file(file, request.cwd, columns, many=many, split=split, context=context, longest=longest)
    said = {option.note for option in request.options}  # an answer gives it as its reason
    return lines if request.message in said else lines + _message(request.message, columns)


def _file(
    file: FileDiff, cwd: str, columns: int, *, many: bool, split: bool, context: int | None = None, longest: int = 0
) -> list[Line]:
    lines: list[Line] = []
    path = safe(relative(file.path, cwd), multiline=False, prompt=True)
    target = f" → {safe(relative(file.target, cwd), multiline=False, prompt=True)}" if file.target else ""
    if many or target or file.action in ("delete", "mkdir"):
        head: Line = [(NAME, f"{file.action} {path}{target}")]
        if file.added or file.removed:
            head.append((DIM, f"  +{file.added} −{file.removed}"))
        lines += wrap(head, columns)
    for warning in warnings(file.path + file.target):
        if warning.startswith(("contains hidden", "mixes")):
            lines += wrap([(BOLD, f"the path {safe(warning)}")], columns, [(WARN, "! ")], [(PLAIN, "  ")])
    if file.protected:
        text = "a protected path: asked about each time, never granted"
        lines += wrap([(BOLD, text)], columns, [(WARN, "! ")], [(PLAIN, "  ")])
    if file.note:
        lines += wrap([(BOLD, safe(file.note, prompt=True))], columns)
    if file.diff and split:
        lines += side_by_side(file.diff, columns)
    elif file.diff:
        lines += diff_rows(file.diff, columns, context=context, longest=longest)
    return lines


def file_lines(request: ChoiceRequest, index: int, columns: int, *, split: bool = False) -> list[Line]:
    """Return everything about one file of a write question."""
    return _file(request.files[index], request.cwd, columns, many=len(request.files) > 1, split=split)


def _message(message: str, columns: int) -> list[Line]:
    if not message.strip():
        return []
    has_diff = "\n@@ " in message
    lines: list[Line] = []
    for row in safe(message.rstrip(), prompt=True).split("\n"):
        style = {"+": ADDED, "-": REMOVED, "@": HUNK}.get(row[:1], PLAIN) if has_diff else PLAIN
        lines += wrap([(style, row)], columns)
    return lines
