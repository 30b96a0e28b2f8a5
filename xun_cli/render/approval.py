"""The approval dialog as a pure function: a question and a state in, lines that always fit out.

The rules are those of the product's dialog design: three answers in fixed order, nothing hidden
without a count, what a grant covers shown exactly, the frame drawn by us alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xun_cli.render.approval_content import SPLIT_FROM, content_lines, explain_lines, risk_words
from xun_cli.render.calls import relative
from xun_cli.render.diff import COUNT
from xun_cli.render.safe import hides_something, safe
from xun_cli.render.text import (
    ACCENT,
    BOLD,
    DIM,
    NAME,
    PLAIN,
    SELECTED,
    WARN,
    Fragment,
    Line,
    cut,
    cut_line,
    cut_path,
    line_width,
    plain,
    width,
    wrap,
)

if TYPE_CHECKING:
    from xun.choice import ChoiceRequest, Option, WriteGrant
    from xun_policies.commands import CommandGrant

BOX_FROM = 50
"""Columns from which the dialog has a frame."""

HINT_FROM = 9
"""Rows of a dialog from which it has a line of hints; below, the content needs the row more."""

SMALL = 12
"""Rows of a diff below which a change that does not fit is shown without the lines around it."""

_COUNTS = (f"{COUNT} ", "✓ ")
"""What rows begin with that count others, which are hidden."""

KEYS = {"grant": "g", "once": "o", "deny": "d"}
"""The letters of the three answers."""

FREE_TEXT = "\x00free"
"""The row of a free answer, beside the options of a question that allows one."""


@dataclass(frozen=True, slots=True)
class DialogState:
    """What a person has done in a dialog so far.

    Attributes:
        selected: The row.
        focused: Keys go to the dialog; else it only says that it waits.
        view: "" for the short view, full for everything, explain for how it was judged.
        scroll: The first row of the content that is shown.
        scope: Which of the write scopes a grant takes.
        grants: The command grants as the person edited them; None as offered.
        field: reason, edit, grant or answer while that field is being typed, else "".
        reason: The reason for a denial as typed so far.
        split: Diffs side by side.
        split_from: Columns from which they can be.
        edits: What a write would write can be edited here.
        waiting: How many more questions wait.
        problem: Why the last input was not taken.
    """

    selected: int = 0
    focused: bool = True
    view: str = ""
    scroll: int = 0
    scope: int = 0
    grants: tuple[CommandGrant, ...] | None = None
    field: str = ""
    reason: str = ""
    split: bool = False
    split_from: int = SPLIT_FROM
    edits: bool = False
    waiting: int = 0
    problem: str = ""


def first_state(request: ChoiceRequest, *, focused: bool = True, waiting: int = 0) -> DialogState:
    """Return the state that a dialog opens with: the request's default, or deny when anything is hidden.

    Allow-and-grant is never preselected.
    """
    wanted = request.default
    if request.kind in ("command", "write"):
        wanted = "deny" if must_look(request) or wanted == "grant" else wanted
    rows = [option.value for option in request.options]
    cautious = max(0, len(rows) - 1) if three(request) or request.kind == "confirm" else 0
    selected = rows.index(wanted) if wanted in rows else cautious
    return DialogState(selected=selected, focused=focused, waiting=waiting)


def three(request: ChoiceRequest) -> bool:
    """Tell whether *request* has the three answers of a write or a command."""
    return request.kind in ("command", "write")


def must_look(request: ChoiceRequest) -> bool:
    """Tell whether *request* holds characters that can't be seen: then deny is preselected, grant is off."""
    if request.command is not None and hides_something(request.command.text):
        return True
    return any(hides_something(file.path) or hides_something(file.target) for file in request.files)


def available(request: ChoiceRequest, option: Option) -> bool:
    """Tell whether *option* can be chosen."""
    return option.available and not (option.value == "grant" and three(request) and must_look(request))


def editable(request: ChoiceRequest) -> bool:
    """Tell whether what *request* would write can be edited before it is allowed."""
    return request.kind == "write" and len(request.files) == 1 and request.files[0].proposed is not None


def rows_of(request: ChoiceRequest) -> list[Any]:
    """Return the value of each row, the row of a free answer included."""
    extra = [FREE_TEXT] if request.allow_extra or not request.options else []
    return [*(option.value for option in request.options), *extra]


def approval_view(request: ChoiceRequest, columns: int, height: int, state: DialogState) -> list[Line]:
    """Draw the dialog in *columns* x at most *height* cells; the answers and the title always fit."""
    if not state.focused:
        return [_waiting_line(request, columns, state)]
    box = columns >= BOX_FROM and height >= HINT_FROM
    inner = columns - 2 if box else columns
    title = _title(request, inner - 3, state)
    answers = _answers(request, inner, height, state)
    hint = _hint(request, inner, state)
    rows = [hint] if box or height >= HINT_FROM or state.problem else []
    content = _content(request, inner, max(0, height - 1 - len(answers) - len(rows)), state)
    if box:
        gap: list[Line] = [[]] if content and len(content) + len(answers) + 3 <= height else []
        return _boxed(title, [*content, *gap, *answers], hint, columns)
    return [_rule(title, columns), *(cut_line(row, columns) for row in [*content, *answers, *rows])]


def content_height(request: ChoiceRequest, columns: int, state: DialogState) -> int:
    """Return how many rows the whole content takes, for scrolling."""
    inner = columns - 2 if columns >= BOX_FROM else columns
    return len(_all_content(request, inner, state))


def grant_words(request: ChoiceRequest, state: DialogState) -> str:
    """Return exactly what "allow and grant" would add."""
    if request.kind == "command" and request.command is not None:
        grants = state.grants if state.grants is not None else request.command.grants
        return ", ".join(_grant_text(grant) for grant in grants)
    if request.write_scopes:
        scope = request.write_scopes[min(state.scope, len(request.write_scopes) - 1)]
        return ", ".join(_write_text(grant, request.cwd) for grant in scope)
    return ""


def _grant_text(grant: CommandGrant) -> str:
    return safe(grant.text, multiline=False, prompt=True) + (" (only exactly this)" if grant.exact else " …")


def _write_text(grant: WriteGrant, cwd: str) -> str:
    path = safe(relative(grant.path, cwd), multiline=False, prompt=True)
    if not grant.directory:
        return path
    return "all of this folder" if path == "." else f"{path.rstrip('/')}/ and all below"


def _waiting_line(request: ChoiceRequest, columns: int, state: DialogState) -> Line:
    more = f" (+{state.waiting} more)" if state.waiting else ""
    command = request.command.text if request.command is not None else ""
    what = safe(f"run {command}" if command else request.prompt, multiline=False, prompt=True)
    head: Line = [(WARN, "▲ "), (BOLD, f"approval waiting{more}, Tab to answer: ")]
    return cut_line([*head, (PLAIN, what)], columns)


def _title(request: ChoiceRequest, columns: int, state: DialogState) -> Line:
    views = {"full": "full view: ", "explain": "explained: "}
    line: Line = [(DIM, views[state.view])] if state.view else []
    if request.agent != "main":
        line.append((ACCENT, f"{safe(request.agent, multiline=False)}: "))
    if request.kind == "command":
        line.append((BOLD, "Run this command?"))
        words, style = risk_words(request.risk, short=columns < BOX_FROM)
        if words:
            line += [(PLAIN, "  "), (style, words)]
    elif request.kind == "write":
        line += _write_title(request, columns - line_width(line))
    else:
        return _prompt(request, columns, state)[0]
    return cut_line(line, columns)


def _prompt(request: ChoiceRequest, columns: int, state: DialogState) -> list[Line]:
    """Return a free question in as many rows as it takes: the first one is the title, the others follow it."""
    view = "full view: " if state.view else ""
    agent = f"{safe(request.agent, multiline=False)}: " if request.agent != "main" else ""
    prompt = (BOLD, safe(request.prompt, multiline=False, prompt=True))
    return wrap([(DIM, view), (ACCENT, agent), prompt], columns)


def _write_title(request: ChoiceRequest, columns: int) -> Line:
    added, removed = sum(file.added for file in request.files), sum(file.removed for file in request.files)
    counts = f"  +{added} −{removed}" if added or removed else ""
    if len(request.files) != 1:
        line: Line = [(BOLD, f"Change {len(request.files)} files?")]
    else:
        file = request.files[0]
        words = {"add": "Create", "delete": "Delete", "move": "Move", "copy": "Copy", "mkdir": "Create folder"}
        word = words.get(file.action, "Write")
        path = safe(relative(file.path, request.cwd), multiline=False, prompt=True)
        path = cut_path(path, max(8, columns - width(word) - 2 - width(counts)))
        line = [(BOLD, f"{word} "), (NAME, path), (BOLD, "?")]
    return [*line, (DIM, counts)] if counts else line


def _all_content(
    request: ChoiceRequest,
    columns: int,
    state: DialogState,
    *,
    context: int | None = None,
    longest: int = 0,
    tight: bool = False,
) -> list[Line]:
    if state.view == "explain":
        return explain_lines(request, columns)
    split = state.split and columns + 2 >= state.split_from  # the terminal may be narrower by now
    content = content_lines(
        request, columns, split=split, short=not state.view, context=context, longest=longest, tight=tight
    )
    if request.kind == "command" and request.command is None:
        return [*wrap([(PLAIN, safe(request.prompt, multiline=False, prompt=True))], columns), *content]
    return content if three(request) else [*_prompt(request, columns - 3, state)[1:], *content]


def _content(request: ChoiceRequest, columns: int, room: int, state: DialogState) -> list[Line]:
    rows = _all_content(request, columns, state)
    if len(rows) <= room:
        return rows
    if room <= 0:
        return []
    total = len(rows)
    if not state.view and not state.scroll:
        rows = _most_telling(request, columns, room - 1, state) or rows
    start = max(0, min(state.scroll, len(rows) - (room - 1)))
    shown = rows[start : start + room - 1]
    counts_only = sum(plain(row).lstrip().startswith(_COUNTS) for row in shown) if len(rows) != total else 0
    above, below = start, total - start - len(shown) + counts_only
    parts = [f"{above} above" if above else "", f"{below} below" if below else ""]
    counts = " and ".join(part for part in parts if part) if total == len(rows) else str(above + below)
    key = "PgUp/PgDn scroll" if state.view else "Ctrl-E shows all"
    mark = f"… {counts} of {total} lines hidden, {key}"
    short = f"… {above + below} of {total} lines hidden, {'PgDn' if state.view else 'Ctrl-E'}"
    return [*shown, [(BOLD, mark if width(mark) <= columns else cut(short, columns))]]


def _most_telling(request: ChoiceRequest, columns: int, room: int, state: DialogState) -> list[Line]:
    """Return the content such that what is decided about comes first, when not all fits; [] for as it is.

    Of a diff it is what changes, of a command what nothing allows.
    """
    if request.command is not None:
        asking = any(segment.status == "ask" for segment in request.command.segments)
        return _all_content(request, columns, state, tight=True) if asking else []
    if request.kind != "write":
        return []
    for context in (2, 1, 0):
        rows = _all_content(request, columns, state, context=context)
        if len(rows) <= room:
            return rows
    # A file that is written anew: some of what goes, and some of what comes in its place.
    for share in (2, 3, 4, 6):
        context = 1 if room >= SMALL else 0
        halves = _all_content(request, columns, state, context=context, longest=max(2, room // share))
        if len(halves) <= room:
            return halves
    return rows if room < SMALL else []


def _answers(request: ChoiceRequest, columns: int, height: int, state: DialogState) -> list[Line]:
    if state.view and three(request) and height < 14:
        return [_compact_answers(request, state)]
    if three(request) and height < 12:
        return [_short_answer(request, index, columns, state) for index in range(len(request.options))]
    rows = [_answer(request, index, columns, state) for index in range(len(rows_of(request)))]
    limit = max(3, height - 4)
    flat = [line for row in rows for line in row]
    if len(flat) <= limit:
        return flat
    heads = [cut_line([*row[0], (PLAIN, " "), *row[1]], columns) if len(row) > 1 else row[0] for row in rows]
    if len(heads) <= limit:
        return heads
    start = max(0, min(state.selected - limit // 2, len(heads) - limit))
    return heads[start : start + limit]


def _compact_answers(request: ChoiceRequest, state: DialogState) -> Line:
    """The three answers in one row, for the full view on a small terminal."""
    line: Line = []
    for index, option in enumerate(request.options):
        word = str(option.value) if available(request, option) else f"no {option.value}"
        style = SELECTED if index == state.selected else PLAIN if available(request, option) else DIM
        line += [(PLAIN, "  " if index else " "), (style, f"{KEYS.get(str(option.value), '')} {word}")]
    return line


def _short_answer(request: ChoiceRequest, index: int, columns: int, state: DialogState) -> Line:
    """One answer in one row: what a grant covers matters more than its full name."""
    option = request.options[index]
    if option.value != "grant":
        return _answer(request, index, columns, state)[0]
    pointer: Fragment = (ACCENT, "▸" if index == state.selected else " ")
    if not available(request, option):
        note = "hidden characters" if option.available else safe(option.note, multiline=False)
        return cut_line([pointer, (DIM, f"g  no grant: {note}")], columns)
    style = SELECTED if index == state.selected else PLAIN
    line: Line = [pointer, (BOLD, "g"), (PLAIN, "  "), (style, "Grant"), (PLAIN, " ")]
    words, room = grant_words(request, state), columns - line_width(line)
    return [*line, (ACCENT, cut_path(words, room) if request.kind == "write" else cut(words, room))]


def _answer(request: ChoiceRequest, index: int, columns: int, state: DialogState) -> list[Line]:
    selected = index == state.selected
    pointer: Fragment = (ACCENT, "▸" if selected else " ")
    if index >= len(request.options):
        return [[pointer, (PLAIN, f"{_number(index)}  "), (SELECTED if selected else PLAIN, "another answer…")]]
    option = request.options[index]
    key = KEYS.get(str(option.value), option.key) if three(request) else option.key or _number(index)
    label = safe(option.label, multiline=False, prompt=True)
    if not available(request, option):
        note = "hidden characters cannot be granted" if option.available else safe(option.note, multiline=False)
        head: Line = [pointer, (DIM, f"{key}  {label}"), (DIM, f"  not offered: {note}" if note else "  not offered")]
        return wrap(head, columns, rest=[(PLAIN, "     ")])
    head = [pointer, (BOLD, key[:1]), (PLAIN, "  "), (SELECTED if selected else PLAIN, label)]
    more = _answer_note(request, option, state, selected=selected)
    return wrap([*head, (PLAIN, "  "), *more] if more else head, columns, rest=[(PLAIN, "     ")])


def _number(index: int) -> str:
    """Return the key of a row, a blank for those that only the arrows reach."""
    return str(index + 1) if index < 9 else " "


def _answer_note(request: ChoiceRequest, option: Option, state: DialogState, *, selected: bool) -> Line:
    if not three(request):
        return [(DIM, safe(option.note, multiline=False, prompt=True))] if option.note else []
    if option.value == "grant":
        return _grant_note(request, state, selected=selected)
    if option.value == "deny":
        if state.reason:
            return [(DIM, "because: "), (PLAIN, safe(state.reason, multiline=False))]
        return [(DIM, "Tab: add a reason")] if selected else []
    return []


def _grant_note(request: ChoiceRequest, state: DialogState, *, selected: bool) -> Line:
    words = grant_words(request, state)
    # A sub-agent's permissions are its own and end with it.
    span = "for this session: " if request.agent == "main" else "for this sub-agent: "
    line: Line = [(DIM, span), (ACCENT, words)] if words else []
    if request.kind == "write" and len(request.write_scopes) > 1:
        line.append((DIM, f"  (←/→ {state.scope + 1} of {len(request.write_scopes)})"))
    elif request.kind == "command" and selected:
        line.append((DIM, "  (Tab: edit)"))
    return line


def _hint(request: ChoiceRequest, columns: int, state: DialogState) -> Line:
    if state.problem:
        return cut_line([(WARN, "! "), (BOLD, safe(state.problem, multiline=False))], columns)
    parts = ["Enter chooses"]
    if state.view:
        parts = ["PgUp/PgDn scroll", "Esc back"]
    elif request.kind == "command":
        parts = ["e edit", "Ctrl-E full view", "? explain"]
    elif request.kind == "write":
        edit = ["e edit"] if state.edits and editable(request) else []
        # Two columns of a framed dialog are its frame.
        split = [f"s {'one column' if state.split else 'side by side'}"] if columns + 2 >= state.split_from else []
        parts = [*edit, "Ctrl-E full view", *split, "? explain"]
    if not state.view:
        parts.append("Esc denies and stops" if three(request) else "Esc stops")
    if state.waiting:
        parts.insert(0, f"{state.waiting} more waiting")
    return [(DIM, cut(_fitted(parts, columns), columns))]


def _fitted(parts: list[str], columns: int) -> str:
    """Join *parts*, without what can be done without in *columns*: a count above names Ctrl-E when it is needed."""
    for word, shorter in (
        ("Ctrl-E full view", ""),
        ("s side by side", ""),
        ("Esc denies and stops", "Esc denies"),
        ("? explain", ""),
        ("e edit", ""),
    ):
        if width(" · ".join(parts)) <= columns:
            break
        parts = [shorter if part == word else part for part in parts]
        parts = [part for part in parts if part]
    return " · ".join(parts)


def _boxed(title: Line, body: list[Line], hint: Line, columns: int) -> list[Line]:
    """Frame *body* at its left: rows no wider than their text survive it when a terminal gets narrower."""
    rows: list[Line] = [[(DIM, "┌ "), *title, *_dashes(columns - line_width(title) - 3)]]
    rows += [[(DIM, "│ "), *cut_line(row, columns - 2)] for row in body]
    rows.append([(DIM, "└ "), *cut_line(hint, columns - 2)])
    return rows


def _rule(title: Line, columns: int) -> Line:
    fitted = cut_line(title, columns - 3)
    return [(DIM, "─ "), *fitted, *_dashes(columns - line_width(fitted) - 3)]


def _dashes(room: int) -> Line:
    return [(DIM, " " + "─" * min(room, 12))] if room > 0 else []


def scrolled(request: ChoiceRequest, columns: int, state: DialogState, by: int, page: int) -> DialogState:
    """Return *state* with the content moved by *by* rows, within its ends."""
    last = max(0, content_height(request, columns, state) - max(1, page))
    return replace(state, scroll=max(0, min(last, state.scroll + by)))
