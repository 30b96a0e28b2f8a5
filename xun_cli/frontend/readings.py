"""What can be read on the whole screen: a question, a folded output, the session, a sub-agent's work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from xun_cli.frontend.pager import Pager, Section
from xun_cli.render.approval_content import content_lines, explain_lines, file_lines
from xun_cli.render.calls import relative
from xun_cli.render.cards import expanded_lines
from xun_cli.render.outputs import text_lines
from xun_cli.render.safe import safe
from xun_cli.render.text import BOLD, DIM, NAME, PLAIN, Line
from xun_cli.render.transcript import Transcript

if TYPE_CHECKING:
    from xun.choice import ChoiceRequest
    from xun.events import Event
    from xun_cli.render.calls import Call
    from xun_cli.session.envelope import Envelope


def question_pager(request: ChoiceRequest, *, split_from: int, split: bool = False) -> Pager:
    """Return everything that *request* is about: the whole command, or the whole diff of each file."""
    if request.kind == "write" and request.files:
        words = "Write" if len(request.files) == 1 else f"{len(request.files)} files, write"
        path = relative(request.files[0].path, request.cwd) if len(request.files) == 1 else ""
        name = safe(path, multiline=False, prompt=True)
        sections = [_file_section(request, index) for index in range(len(request.files))]
        title: Line = [(BOLD, f"{words}? "), (NAME, name)]
        return Pager(title, sections, noun="file", split_from=split_from, split=split)
    title = [(BOLD, "Run this command?" if request.kind == "command" else safe(request.prompt, multiline=False))]
    return Pager(title, [Section(lambda columns, split: _whole_question(request, columns))])


def _file_section(request: ChoiceRequest, index: int) -> Section:
    def lines(columns: int, split: bool) -> list[Line]:
        gap: list[Line] = [[]] if index else []
        return [*gap, *file_lines(request, index, columns, split=split)]

    return Section(lines)


def _whole_question(request: ChoiceRequest, columns: int) -> list[Line]:
    lines = content_lines(request, columns, parts=False)
    if request.command is not None:
        lines += [[], [(BOLD, "How it was judged")], *explain_lines(request, columns)]
    return lines


def output_pager(call: Call, cwd: str) -> Pager:
    """Return all that a finished *call* gave back."""

    def lines(columns: int, split: bool) -> list[Line]:
        return expanded_lines(call, columns, cwd, limit=0)[1:]

    title: Line = [(NAME, safe(call.tool, multiline=False)), (PLAIN, "  " + call.title(cwd))]
    return Pager(title, [Section(lines)], at_end=False)


def turn_sections(history: Sequence[Envelope], cwd: str) -> list[Section]:
    """Return a section for each turn of *history* that counts."""
    from xun_cli.session.rewinding import live

    turns: dict[int, list[Envelope]] = {}
    for item in live(history):
        turns.setdefault(item.turn or 0, []).append(item)
    return [_turn_section(items, cwd) for items in turns.values() if _shows(items, cwd)]


def _shows(items: Sequence[Envelope], cwd: str) -> bool:
    """Tell whether a group of events draws anything; those before the first turn mostly do not."""
    return any(item.event.type == "turn.started" for item in items) or bool(_drawn(items, 80, cwd))


def _turn_section(items: Sequence[Envelope], cwd: str) -> Section:
    return Section(
        lambda columns, split: [*_drawn(items, columns, cwd), []],
        lambda: "\n".join(texts_of(item.event for item in items)),
    )


def _drawn(items: Iterable[Envelope], columns: int, cwd: str) -> list[Line]:
    transcript = Transcript(lambda: columns, clock=lambda: 0.0, animated=False, whole=True)
    transcript.cwd = cwd
    return [line for item in items for line in transcript.feed(item.event, at=item.at)]


def texts_of(events: Iterable[Event]) -> Iterable[str]:
    """Yield what *events* say, as it came."""
    for event in events:
        for name in ("shown", "input", "text", "content", "display", "message", "command", "task", "args", "subject"):
            value: Any = getattr(event, name, "")
            if value:
                yield value if isinstance(value, str) else str(value)


def growing(make: Callable[[int], list[Line]], version: Callable[[], object]) -> Section:
    """Return a section that is made anew when its *version* is another one."""
    made: tuple[object, list[Line]] = (None, [])

    def lines(columns: int, split: bool) -> list[Line]:
        nonlocal made
        key = (columns, version())
        if made[0] != key:
            made = (key, make(columns))
        return made[1]

    return Section(lines, grows=True)


def command_pager(name: str, command: str, output: Callable[[], str]) -> Pager:
    """Return what a background command has written so far; *output* gives it at each moment."""

    def lines(columns: int) -> list[Line]:
        return text_lines(output(), columns) if output() else [[(DIM, " It has written nothing.")]]

    sections = [growing(lines, lambda: (len(output()), output()[-100:]))]
    title: Line = [(BOLD, safe(name, multiline=False)), (DIM, "  " + safe(" ".join(command.split()), multiline=False))]
    return Pager(title, sections, at_end=True, renew=lambda: sections)


def agent_pager(history: Callable[[], Sequence[Envelope]], agent: str, task: str, cwd: str) -> Pager:
    """Return what the sub-agent *agent* said and did so far, as the session shows its own turns."""

    def lines(columns: int) -> list[Line]:
        items = [
            replace(item, event=replace(item.event, agent="main")) for item in history() if item.event.agent == agent
        ]
        return [*_drawn(items, columns, cwd), []] if items else [[(DIM, " Nothing of it is stored.")]]

    title: Line = [(BOLD, safe(agent, multiline=False)), (DIM, "  " + safe(" ".join(task.split()), multiline=False))]
    sections = [growing(lines, lambda: len(history()))]
    return Pager(title, sections, at_end=True, renew=lambda: sections)
