"""The side panel: the todo list, changed files, agents, permissions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from xun_cli.render.calls import relative
from xun_cli.render.live import todo_lines
from xun_cli.render.safe import safe
from xun_cli.render.text import ACCENT, BOLD, DIM, GOOD, PLAIN, REMOVED, Line, cut, cut_left, cut_line

if TYPE_CHECKING:
    from xun.events import Event
    from xun_cli.session.session import Session

_FILES_SHOWN = 12


class Facts:
    """What the panel tells that only events know: files that were changed, agents at work."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[int, int]] = {}
        self.agents: dict[str, str] = {}
        self.tasks: dict[str, str] = {}

    def take(self, event: Event) -> None:
        """Take in one event."""
        kind = event.type
        if kind == "tool.completed":
            for item in getattr(event, "files", ()):
                path = str(item.get("path", ""))
                added, removed = self.files.get(path, (0, 0))
                self.files[path] = (added + int(item.get("added", 0)), removed + int(item.get("removed", 0)))
        elif kind == "subagent.started":
            self.agents[getattr(event, "name", "")] = getattr(event, "task", "")
        elif kind == "subagent.completed":
            self.agents.pop(getattr(event, "name", ""), None)
        elif kind == "task.started":
            self.tasks[getattr(event, "id", "")] = getattr(event, "command", "")
        elif kind == "task.completed":
            self.tasks.pop(getattr(event, "id", ""), None)
        elif kind == "turn.completed" and event.agent == "main":
            self.agents.clear()


def panel_lines(session: Session, facts: Facts, columns: int, rows: int) -> list[Line]:
    """Return the panel for *columns* and *rows*."""
    parts = [
        _todo(session, columns),
        _files(facts, str(session.cwd), columns),
        _running("Agents", facts.agents, columns),
        _running("Background", facts.tasks, columns),
        _policy(session, columns),
    ]
    lines: list[Line] = []
    for part in parts:
        if part:
            lines += [*([[]] if lines else []), *part]
    return lines[:rows]


def _head(title: str, facts: str, columns: int) -> Line:
    return cut_line([(f"{BOLD} {ACCENT}", title), (DIM, f"  {facts}" if facts else "")], columns)


def _todo(session: Session, columns: int) -> list[Line]:
    if not session.todos:
        return [_head("Todo", "", columns), [(DIM, "nothing planned")]]
    done = sum(item.get("status") in ("completed", "cancelled") for item in session.todos)
    rows = todo_lines(tuple(session.todos), columns + 2)
    return [_head("Todo", f"{done}/{len(session.todos)}", columns), *(_outdented(row) for row in rows)]


def _outdented(row: Line) -> Line:
    """Take away the two blanks that a list in the transcript begins with."""
    if row and row[0][1].startswith("  "):
        return [(row[0][0], row[0][1][2:]), *row[1:]]
    return row


def _files(facts: Facts, cwd: str, columns: int) -> list[Line]:
    if not facts.files:
        return [_head("Files", "", columns), [(DIM, "nothing changed")]]
    added = sum(item[0] for item in facts.files.values())
    removed = sum(item[1] for item in facts.files.values())
    rows = [_head("Files", f"+{added} −{removed}", columns)]
    for path, (more, less) in list(facts.files.items())[-_FILES_SHOWN:]:
        counts: Line = [(GOOD, f" +{more}"), (REMOVED, f" −{less}")]
        room = columns - len(f" +{more} −{less}")
        name = cut_left(safe(relative(path, cwd), multiline=False), room)
        rows.append([(PLAIN, name), *counts])
    hidden = len(facts.files) - _FILES_SHOWN
    if hidden > 0:
        rows.append([(DIM, f"… and {hidden} more")])
    return rows


def _running(title: str, items: dict[str, str], columns: int) -> list[Line]:
    if not items:
        return []
    rows = [_head(title, str(len(items)), columns)]
    for name, task in items.items():
        head = safe(name, multiline=False) + " "
        rows.append(cut_line([(PLAIN, head), (DIM, safe(" ".join(task.split()), multiline=False))], columns))
    return rows


def _policy(session: Session, columns: int) -> list[Line]:
    policy = session.policy
    counts = (
        _count(len(policy.command_allowlist), "command"),
        _count(len(policy.write_allowlist), "path"),
    )
    mode = f"auto {policy.auto_remaining}" if policy.auto_remaining else policy.mode
    return [
        _head("Policy", mode, columns),
        [(PLAIN, cut("granted " + ", ".join(counts), columns))],
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def facts_of(events: Iterable[Event]) -> Facts:
    """Return what *events* tell."""
    facts = Facts()
    for event in events:
        facts.take(event)
    return facts
