"""The status line: model, context, cost, mode, branch, policy; parts fall away from the right."""

from __future__ import annotations

from dataclasses import dataclass

from xun_cli.render.safe import safe
from xun_cli.render.tally import token_words
from xun_cli.render.text import ACCENT, BAD, BOLD, DIM, PLAIN, WARN, Fragment, Line, cut, cut_line, width

_SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class Status:
    """What the status line tells.

    Attributes:
        model: The model's name; "" while xun starts.
        context_pct: How full the model's context is, None when unknown.
        cost_usd: US dollars so far.
        tokens: Tokens so far.
        mode: ask, plan or auto-edit.
        auto: How many questions will be answered by /auto.
        branch: The git branch, "" for none.
        sandbox: What holds commands in, and whether that is "bad" or "dim".
        background: How many commands and sub-agents run beside the turn.
        granted: Commands and paths granted in this session.
        own: What the person's own command says in place of all that is not about safety.
        hint: A passing remark that takes the place of everything else.
    """

    model: str = ""
    context_pct: float | None = None
    cost_usd: float = 0.0
    tokens: int = 0
    mode: str = "ask"
    auto: int = 0
    branch: str = ""
    sandbox: tuple[str, str] = ("", "dim")
    background: int = 0
    granted: tuple[int, int] = (0, 0)
    own: tuple[Fragment, ...] = ()
    hint: str = ""


def status_line(status: Status, columns: int) -> Line:
    """Return the status line for *columns* cells."""
    if status.hint:
        return [(BOLD, cut(safe(status.hint, multiline=False), columns))]
    if not status.model:
        return [(DIM, cut("starting …", columns))]
    if status.own:
        return cut_line([*_safety(status), (DIM, _SEPARATOR), *status.own], columns)
    parts = _parts(status)
    while len(parts) > 2 and sum(width(text) for _, text in parts) + len(_SEPARATOR) * (len(parts) - 1) > columns:
        parts.pop()
    line: Line = []
    room = columns - sum(width(text) + len(_SEPARATOR) for _, text in parts[1:])
    for index, (style, text) in enumerate(parts):
        if index:
            line.append((DIM, _SEPARATOR))
        line.append((style, cut(text, max(4, room)) if index == 0 else text))
    return line


def _mode(status: Status) -> Fragment:
    mode_style = {"plan": ACCENT, "auto-edit": WARN}.get(status.mode, PLAIN)
    return (WARN, f"auto {status.auto}") if status.auto else (mode_style or DIM, status.mode)


def _safety(status: Status) -> Line:
    """Return what no line of the person's own takes the place of: the mode, and a sandbox that is missing."""
    mark, style = status.sandbox
    return [_mode(status), (DIM, _SEPARATOR), (BAD, mark)] if mark and style == "bad" else [_mode(status)]


def _parts(status: Status) -> list[Fragment]:
    # The mode decides what happens unasked: it is the last to fall away.
    parts = [(DIM, safe(status.model, multiline=False)), _mode(status)]
    if status.background:
        parts.append((PLAIN, f"{status.background} in background"))
    if status.context_pct is not None:
        full = status.context_pct >= 80
        parts.append((BAD if full else DIM, f"ctx {status.context_pct:.0f}%"))
    elif status.tokens:
        parts.append((DIM, f"{token_words(status.tokens)} tokens"))
    if status.cost_usd >= 0.005:
        parts.append((DIM, f"${status.cost_usd:.2f}"))
    if status.branch:
        parts.append((DIM, safe(status.branch, multiline=False)))
    if status.sandbox[0]:
        parts.append((BAD if status.sandbox[1] == "bad" else DIM, status.sandbox[0]))
    if any(status.granted):
        parts.append((DIM, f"granted {status.granted[0]} cmd {status.granted[1]} path"))
    return parts
