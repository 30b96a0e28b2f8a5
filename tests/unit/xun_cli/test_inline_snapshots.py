"""What a person sees inline, at three sizes: looked at, and kept as text."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.inline_sheet import Clock, InlineSheet, inline_sheet
from tests.fakes.scripted_session import ScriptedSession
from xun import events as ev
from xun_cli.render.text import line_width

SNAPSHOTS = Path(__file__).resolve().parents[2] / "snapshots" / "inline"
SIZES = ((80, 24), (120, 40), (40, 10))
FOLDER = Path("/proj/shop")

ANSWER = """The total is wrong because `gross` adds the tax **twice**.

1. `prices.py` multiplies by `1 + TAX`
2. the caller adds `tax_of(net)` again

```python
def gross(net):
    return net * (1 + TAX)
```

I would change the caller"""

WIDE = """| 名前 | 値 | emoji |
|:--|--:|:-:|
| 東京タワー | 333 | 🗼 |
| café | 1,204 | ☕ |

漢字とかなの混ざった長い段落は、端末の幅で正しく折り返されなければなりません。"""

OUTPUT = "\n".join(f"tests/test_{number:02}.py ........ ok" for number in range(60))


def emit(sheet: InlineSheet, *events: ev.Event) -> None:
    for event in events:
        sheet.session.emit(event)


def tool(call_id: str, name: str, args: dict[str, object], **done: object) -> tuple[ev.Event, ev.Event]:
    return ev.ToolStarted(call_id=call_id, tool=name, args=args), ev.ToolCompleted(call_id=call_id, tool=name, **done)  # type: ignore[arg-type]


async def welcome(sheet: InlineSheet, clock: Clock) -> None:
    await sheet.shows("Ask for")


async def streaming(sheet: InlineSheet, clock: Clock) -> None:
    emit(sheet, ev.TurnStarted(input="why is the total wrong?"), ev.MessageDelta(text=ANSWER))
    clock.now += 4
    await sheet.shows("answering")
    await sheet.shows("change the caller")


async def tools(sheet: InlineSheet, clock: Clock) -> None:
    emit(sheet, ev.TurnStarted(input="run the tests and fix what fails"))
    shown = {"path": "/proj/shop/prices.py", "total_lines": 120, "text": "x"}
    emit(sheet, *tool("a", "read_file", {"path": "prices.py"}, result=shown, duration_ms=80))
    failed = {"stdout": "F\nE   assert 3 == 4\n1 failed in 0.10s\n", "stderr": "", "returncode": 1}
    emit(sheet, *tool("b", "bash", {"command": "pytest -q"}, result=failed, duration_ms=3200))
    edit = {"path": "prices.py", "level": "exact", "lines": [[8, 8]], "added": 1, "removed": 1, "snippet": ""}
    args = {"path": "prices.py", "old": "    return net * TAX", "new": "    return net * (1 + TAX)"}
    files = ({"path": "/proj/shop/prices.py", "added": 1, "removed": 1},)
    emit(sheet, *tool("c", "replace", args, result=edit, files=files, duration_ms=12))
    emit(sheet, ev.ToolStarted(call_id="d", tool="bash", args={"command": "pytest -q"}))
    emit(sheet, ev.ToolOutput(call_id="d", text="....\n2 passed"))
    clock.now += 2
    await sheet.shows("2 passed")


async def command(sheet: InlineSheet, clock: Clock) -> None:
    await sheet.press("command\r")
    await sheet.shows("Run this command?")


async def write(sheet: InlineSheet, clock: Clock) -> None:
    await sheet.press("write\r")
    await sheet.shows("Write src/app.py?")


async def denied(sheet: InlineSheet, clock: Clock) -> None:
    await sheet.press("command make install\r")
    await sheet.shows("Run this command?")
    clock.now += 1
    await sheet.press("\x1b[B\t")
    await sheet.shows("reason ›")
    await sheet.press("use the test database\r")
    await sheet.until(lambda: not sheet.session.running)
    await sheet.shows("Then I leave it.")


async def error(sheet: InlineSheet, clock: Clock) -> None:
    emit(sheet, ev.TurnStarted(input="go on"), ev.MessageDelta(text="The first step is"))
    emit(sheet, ev.Retry(attempt=2, attempts=5, delay=8.0, reason="The server is overloaded (HTTP 529)."))
    clock.now += 1
    await sheet.shows("try 2 of 5")


async def menu(sheet: InlineSheet, clock: Clock) -> None:
    await sheet.press("/po", 0.2)
    await sheet.shows("/policy")


async def todo(sheet: InlineSheet, clock: Clock) -> None:
    items = (
        {"description": "read the code", "status": "completed"},
        {"description": "write the test", "status": "in_progress"},
        {"description": "fix the total", "status": "pending"},
    )
    emit(sheet, ev.TurnStarted(input="fix it"), ev.TodoUpdated(items=items))
    await sheet.shows("todo 1/3")
    await sheet.press("\x14")
    await sheet.shows("○ fix the total")


async def queue(sheet: InlineSheet, clock: Clock) -> None:
    emit(sheet, ev.TurnStarted(input="a long task"))
    emit(sheet, ev.QueueChanged(items=("then run the linter", "and write the change log", "and one more")))
    await sheet.press("a draft meanwhile")
    await sheet.shows("a draft meanwhile")
    await sheet.shows("3 queued")


async def folded(sheet: InlineSheet, clock: Clock) -> None:
    emit(sheet, ev.TurnStarted(input="run the tests"))
    value = {"stdout": OUTPUT, "stderr": "", "returncode": 0}
    emit(sheet, *tool("a", "bash", {"command": "pytest -v"}, result=value, duration_ms=8000))
    emit(sheet, ev.MessageCompleted(text="All of them pass."), ev.TurnCompleted())
    await sheet.shows("All of them pass.")


async def output(sheet: InlineSheet, clock: Clock) -> None:
    await folded(sheet, clock)
    await sheet.press("\x0f")
    await sheet.shows("q back")


async def wide(sheet: InlineSheet, clock: Clock) -> None:
    emit(sheet, ev.TurnStarted(input="表を見せて"), ev.MessageCompleted(text=WIDE), ev.TurnCompleted())
    await sheet.shows("りません")


async def view(sheet: InlineSheet, clock: Clock) -> None:
    await write(sheet, clock)
    clock.now += 1
    await sheet.press("\x05")
    await sheet.shows("q back")


STATES: dict[str, Callable[[InlineSheet, Clock], Awaitable[None]]] = {
    "welcome": welcome,
    "streaming": streaming,
    "tools": tools,
    "command": command,
    "write": write,
    "denied": denied,
    "retry": error,
    "menu": menu,
    "todo": todo,
    "queue": queue,
    "folded": folded,
    "output": output,
    "wide": wide,
    "question-view": view,
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize(("columns", "rows"), SIZES, ids=[f"{columns}x{rows}" for columns, rows in SIZES])
async def test_snapshot_of_the_screen(
    state: str, columns: int, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    async with inline_sheet(
        tmp_path, columns, rows, session=ScriptedSession(FOLDER), clock=clock, shown=FOLDER
    ) as sheet:
        await STATES[state](sheet, clock)
        text = await compared(sheet, f"{state}-{columns}x{rows}")
    assert all(line_width([("", row)]) <= columns for row in text.split("\n"))


async def test_snapshot_of_a_session_that_goes_on(tmp_path: Path) -> None:
    session = ScriptedSession(FOLDER)
    session.turn = 2
    for turn, event in (
        (1, ev.SessionStarted(cwd=str(FOLDER), model="scripted")),
        (1, ev.TurnStarted(input="what does gross do?")),
        (1, ev.MessageCompleted(text="It adds the tax.")),
        (1, ev.TurnCompleted()),
        (2, ev.TurnStarted(input="and tax_of?")),
        (2, ev.MessageCompleted(text="It gives the tax alone.")),
        (2, ev.TurnCompleted()),
    ):
        session.turn = turn
        session.emit(event)
    session._history = [replace(item, turn=item.turn) for item in session._history]
    session.emit(ev.SessionStarted(cwd=str(FOLDER), model="scripted", resumed=True))
    async with inline_sheet(tmp_path, 80, 24, session=session, shown=FOLDER) as sheet:
        await sheet.shows("resumed")
        await compared(sheet, "resumed-80x24")


def last_screen(sheet: InlineSheet) -> str:
    """Return as many last rows as the terminal has: how far it has scrolled by then depends on the pace of drawing."""
    screen = sheet.screen()
    rows = [row.rstrip() for row in screen.display]
    if not screen.alternate:
        past = ["".join(row[x].data for x in range(screen.columns)).rstrip() for row in screen.history.top]
        rows = [*past, *rows]
        while rows and not rows[-1]:
            rows.pop()
    return "\n".join(rows[-sheet.size.rows :]) + "\n"


async def compared(sheet: InlineSheet, name: str) -> str:
    """Compare the screen with its snapshot, once it has come to rest; returns it."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("XUN_UPDATE_SNAPSHOTS"):
        await asyncio.sleep(0.5)
        SNAPSHOTS.mkdir(parents=True, exist_ok=True)
        path.write_text(last_screen(sheet), encoding="utf-8")
    assert path.exists(), f"make snap writes {path.name}"
    wanted, text = path.read_text(encoding="utf-8"), ""
    for _ in range(200):
        text = last_screen(sheet)
        if text == wanted:
            break
        await asyncio.sleep(0.02)
    assert text == wanted, f"{path.name} is another one now; make snap writes it anew"
    return text
