"""A session without a model: it plays scenes, by the first word of what is sent to it.

It has the methods that front ends use, with the real envelopes, policy and questions' shapes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from xun import events as ev
from xun.choice import ChoiceOutcome, ChoiceRequest, FileDiff, Option, Risk, WriteGrant
from xun.messages import Usage
from xun_cli.session.envelope import Envelope
from xun_policies.commands import CommandScope, evaluate
from xun_policies.store import PolicyState

DIFF = "@@ -1,3 +1,4 @@\n import os\n-print('old')\n+print('new')\n+print('more')\n x = 1"
NEW = "import os\nprint('new')\nprint('more')\nx = 1\n"

OPTIONS = (
    Option("grant", "Allow and grant", "g"),
    Option("once", "Allow this time only", "o"),
    Option("deny", "Deny", "d"),
)


def command_request(text: str, cwd: str = "/proj", *, risk: Risk | None = None, **changes: Any) -> ChoiceRequest:
    """Return the question that the gate asks about *text*."""
    policy = PolicyState()
    verdict = evaluate(text, policy, CommandScope(cwd=cwd, roots=(cwd,), home="/home/dev", path=None, git_probe=False))
    grant = Option("grant", "Allow and grant", "g", bool(verdict.grants), verdict.grant_refused)
    values: dict[str, Any] = {
        "id": "q1",
        "kind": "command",
        "prompt": f"Run {text[:60]}?",
        "options": (grant, *OPTIONS[1:]),
        "default": "deny" if risk is not None and risk.verdict == "reject" else "once",
        "tool": "bash",
        "call_id": "c1",
        "command": verdict,
        "cwd": cwd,
        "risk": risk,
    }
    return ChoiceRequest(**{**values, **changes})


def write_request(cwd: str = "/proj", diff: str = DIFF, **changes: Any) -> ChoiceRequest:
    """Return the question that the gate asks about a write of src/app.py."""
    path = f"{cwd}/src/app.py"
    values: dict[str, Any] = {
        "id": "q1",
        "kind": "write",
        "prompt": "Write src/app.py?",
        "options": OPTIONS,
        "default": "once",
        "tool": "replace",
        "call_id": "c1",
        "cwd": cwd,
        "files": (FileDiff(path, "update", diff, 2, 1, proposed=NEW),),
        "write_scopes": (
            (WriteGrant(path),),
            (WriteGrant(f"{cwd}/src", True),),
            (WriteGrant(cwd, True),),
        ),
    }
    return ChoiceRequest(**{**values, **changes})


SECTION = """## Section {n}

Some **bold** words and `code` in a paragraph that is long enough to be wrapped at least once in a
terminal of eighty columns, with a [link](http://example.com/{n}) in it.

- one item
- another item with *emphasis*
  1. and a nested one

```python
def section_{n}(value: int) -> int:
    return value + {n}  # a comment
```

| name | value |
|------|------:|
| n    | {n}   |

"""


def bulk_text(size: int) -> str:
    """Return about *size* characters of ordinary markdown."""
    parts: list[str] = []
    while sum(map(len, parts)) < size:
        parts.append(SECTION.replace("{n}", str(len(parts))))
    return "".join(parts)


class _Workspace:
    def __init__(self, workdir: str) -> None:
        self.workdir = workdir


class _Agent:
    def __init__(self, cwd: Path) -> None:
        self.workspace = _Workspace(str(cwd))
        self.name = "main"
        self.environment = SimpleNamespace(name="", wall="")
        self.model: Any = None
        self.state: dict[str, Any] = {}


class ScriptedSession:
    """Plays scenes."""

    def __init__(self, cwd: Path, *, model_name: str = "scripted", session_id: str = "s1") -> None:
        self.id, self.name, self.cwd, self.model_name = session_id, "", cwd, model_name
        self.agent = _Agent(cwd)
        self.store: Any = None
        self.usage, self.context_pct = Usage(), None
        self.policy = PolicyState()
        self.queue: list[str] = []
        self.attached: list[str] = []
        self.todos: tuple[dict[str, Any], ...] = ()
        self.turn = 0
        self.answers: list[tuple[str, ChoiceOutcome[Any]]] = []
        self.sent: list[tuple[str, str]] = []
        self.shells: list[str] = []
        self.steered: list[str] = []
        self.closed = False
        self._listeners: list[Callable[[Envelope], None]] = []
        self._history: list[Envelope] = []
        self._open: dict[str, tuple[ChoiceRequest, asyncio.Future[ChoiceOutcome[Any]]]] = {}
        self._task: asyncio.Task[None] | None = None
        self._waiting: list[tuple[str, str]] = []

    # -- what front ends use

    def subscribe(self, listener: Callable[[Envelope], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def history(self) -> list[Envelope]:
        return list(self._history)

    def emit(self, event: ev.Event) -> None:
        envelope = Envelope(len(self._history) + 1, "2026-01-01T00:00:00.000+00:00", self.id, self.turn or None, event)
        if event.type in ev.STORED:
            self._history.append(envelope)
        for listener in tuple(self._listeners):
            listener(envelope)

    @property
    def running(self) -> bool:
        return self._task is not None

    async def submit(self, text: str, *, shown: str = "", images: Sequence[Any] = ()) -> None:
        self.sent.append((text, shown))
        if self._task is not None:
            self._waiting.append((text, shown))
            self._queue_changed()
            return
        self._task = asyncio.get_running_loop().create_task(self._turn(text, shown))

    async def wait_idle(self) -> None:
        while self._task is not None:
            await asyncio.wait({self._task})

    def steer(self, text: str) -> bool:
        if self._task is None:
            return False
        self.steered.append(text)
        self.emit(ev.Steer(text=text))
        return True

    def interrupt(self, reason: str = "interrupted") -> bool:
        if self._task is None:
            return False
        self._task.cancel()
        return True

    def drop_queue(self, index: int | None = None) -> list[str]:
        taken = self._waiting if index is None else [self._waiting[index]]
        self._waiting = [] if index is None else [w for i, w in enumerate(self._waiting) if i != index]
        self._queue_changed()
        return [shown or text for text, shown in taken]

    def pending(self) -> list[ChoiceRequest]:
        return [request for request, _ in self._open.values()]

    def answer(self, request_id: str, outcome: ChoiceOutcome[Any]) -> bool:
        entry = self._open.pop(request_id, None)
        if entry is None:
            return False
        self.answers.append((request_id, outcome))
        entry[1].set_result(outcome)
        return True

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        future: asyncio.Future[ChoiceOutcome[Any]] = asyncio.get_running_loop().create_future()
        self._open[request.id] = (request, future)
        diff = "".join(f"--- {file.path}\n{file.diff}" for file in request.files)
        self.emit(ev.ApprovalRequested(request_id=request.id, call_id=request.call_id, kind=request.kind, diff=diff))
        try:
            outcome = await future
        finally:
            self._open.pop(request.id, None)
            if future.cancelled():
                self.emit(ev.ApprovalResolved(request_id=request.id, call_id=request.call_id, choice=None))
        self.emit(
            ev.ApprovalResolved(
                request_id=request.id,
                call_id=request.call_id,
                kind=request.kind,
                choice=outcome.choice,
                reason=outcome.reason,
                edited=outcome.edited,
            )
        )
        return outcome

    def report(self, error: BaseException) -> None:
        self.emit(ev.Error(kind="internal", message=f"{type(error).__name__}: {error}"))

    async def run_shell(self, command: str) -> dict[str, Any]:
        self.shells.append(command)
        if command == "break":
            raise RuntimeError("an error of ours")
        self.emit(ev.ToolStarted(call_id="shell1", tool="shell", args={"command": command}))
        value = {"stdout": "shell output\n", "stderr": "", "returncode": 0}
        self.emit(ev.ToolCompleted(call_id="shell1", tool="shell", result=value, duration_ms=12))
        return value

    async def close(self, exit_code: int = 0, result: Any = None) -> None:
        self.closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    # -- turns

    def _queue_changed(self) -> None:
        self.queue = [shown or text for text, shown in self._waiting]
        self.emit(ev.QueueChanged(items=tuple(self.queue)))

    async def _turn(self, text: str, shown: str) -> None:
        self.turn += 1
        self.emit(ev.TurnStarted(input=text, shown=shown))
        stop = "done"
        try:
            async for event in self._scene(text):
                self.emit(event)
        except asyncio.CancelledError:
            stop = "interrupted"
        finally:
            self._task = None
        self.emit(ev.TurnCompleted(stop=stop))
        if self._waiting and not self.closed:
            text, shown = self._waiting.pop(0)
            self._queue_changed()
            self._task = asyncio.get_running_loop().create_task(self._turn(text, shown))

    async def _scene(self, text: str) -> AsyncIterator[ev.Event]:
        word, _, rest = text.partition(" ")
        scene = {
            "stream": self._stream,
            "command": self._command,
            "write": self._write,
            "tools": self._tools,
            "slow": self._slow,
            "fail": self._fail,
            "ask": self._ask,
            "two": self._two,
            "nasty": self._nasty,
            "bulk": self._bulk,
            "flood": self._flood,
            "wait": self._wait,
        }.get(word, self._echo)
        async for event in scene(rest):
            yield event

    async def _echo(self, rest: str) -> AsyncIterator[ev.Event]:
        yield ev.MessageDelta(text=f"You said **{rest or 'nothing'}**.")
        yield ev.MessageCompleted(text="x")

    async def _stream(self, rest: str) -> AsyncIterator[ev.Event]:
        count, _, pause = (rest or "40").partition(" ")
        for number in range(1, int(count) + 1):
            for piece in ("line num", f"ber {number:04d}", " of the answer", "\n\n" if number % 3 == 0 else "\n"):
                yield ev.MessageDelta(text=piece)
            await asyncio.sleep(float(pause or 0.002))
        yield ev.MessageCompleted(text="x")

    async def _bulk(self, rest: str) -> AsyncIterator[ev.Event]:
        """A long markdown answer in pieces of 24 characters, as fast as they are taken."""
        text = bulk_text(int(rest or "200000"))
        for at in range(0, len(text), 24):
            yield ev.MessageDelta(text=text[at : at + 24])
            if at % 240 == 0:
                await asyncio.sleep(0)
        yield ev.MessageDelta(text="\n\nend of bulk\n")
        yield ev.MessageCompleted(text="x")

    async def _flood(self, rest: str) -> AsyncIterator[ev.Event]:
        """Many messages and calls with 20 kB of output each."""
        output = "some output of a tool\n" * 930
        for number in range(int(rest or "100")):
            yield ev.MessageDelta(text=f"Message {number} with **some** text.\n\n- a\n- b\n")
            yield ev.MessageCompleted(text="x")
            yield ev.ToolStarted(call_id=f"f{number}", tool="bash", args={"command": f"make {number}"})
            yield ev.ToolOutput(call_id=f"f{number}", text=output)
            value = {"stdout": output, "stderr": "", "returncode": 0}
            yield ev.ToolCompleted(call_id=f"f{number}", tool="bash", result=value, content=output)
            await asyncio.sleep(0)
        yield ev.MessageDelta(text="end of flood\n")
        yield ev.MessageCompleted(text="x")

    async def _wait(self, rest: str) -> AsyncIterator[ev.Event]:
        await asyncio.sleep(float(rest or "60"))
        yield ev.MessageDelta(text="waited\n")

    async def _tool(self, call_id: str, tool: str, args: dict[str, Any], **done: Any) -> AsyncIterator[ev.Event]:
        yield ev.ToolStarted(call_id=call_id, tool=tool, args=args)
        await asyncio.sleep(0.01)
        yield ev.ToolCompleted(call_id=call_id, tool=tool, **done)

    async def _command(self, rest: str) -> AsyncIterator[ev.Event]:
        text = rest or "pip install -r requirements.txt && python -m pytest -q > out.txt"
        yield ev.ToolStarted(call_id="c1", tool="bash", args={"command": text})
        risk = Risk("unsure", "Installs packages from the network and writes out.txt.", 1.8)
        outcome = await self.choose(command_request(text, str(self.cwd), risk=risk))
        if outcome.choice == "deny":
            error = {"error": f"Denied by the user: {outcome.reason or 'no reason given'}", "kind": "denied"}
            yield ev.ToolCompleted(call_id="c1", tool="bash", ok=False, status="denied", error=error)
            yield ev.MessageDelta(text="Then I leave it.\n")
            return
        value = {"stdout": "".join(f"row {n}\n" for n in range(1, 31)), "stderr": "", "returncode": 0}
        yield ev.ToolCompleted(call_id="c1", tool="bash", result=value, duration_ms=3200)
        yield ev.MessageDelta(text="Done.\n")

    async def _write(self, rest: str) -> AsyncIterator[ev.Event]:
        yield ev.ToolStarted(call_id="c1", tool="replace", args={"path": f"{self.cwd}/src/app.py"})
        outcome = await self.choose(write_request(str(self.cwd)))
        ok = outcome.choice != "deny"
        files = ({"path": f"{self.cwd}/src/app.py", "action": "update", "added": 2, "removed": 1},) if ok else ()
        yield ev.ToolCompleted(
            call_id="c1",
            tool="replace",
            ok=ok,
            status="ok" if ok else "denied",
            files=files,
            result={} if ok else None,
            error=None if ok else {"error": "Denied by the user.", "kind": "denied"},
            duration_ms=40,
        )
        text = "Written.\n" if ok else "Not written.\n"
        yield ev.MessageDelta(text=text)
        yield ev.MessageCompleted(text=text)

    async def _tools(self, rest: str) -> AsyncIterator[ev.Event]:
        yield ev.MessageDelta(text="I look at it first.\n")
        async for event in self._tool(
            "t1", "read_file", {"path": f"{self.cwd}/src/app.py"}, result={"total_lines": 120}, duration_ms=100
        ):
            yield event
        failed = {"stdout": "".join(f"test {n} ok\n" for n in range(40)) + "1 failed\n", "stderr": "", "returncode": 1}
        async for event in self._tool("t2", "bash", {"command": "pytest -q"}, result=failed, duration_ms=3200):
            yield event
        error = {"error": "The text to replace was not found in src/app.py.", "kind": "not_found"}
        async for event in self._tool("t3", "replace", {"path": "src/app.py"}, ok=False, status="error", error=error):
            yield event
        yield ev.TodoUpdated(items=({"description": "read", "status": "completed"},))
        yield ev.MessageDelta(text="The failure is in `src/app.py`.\n\n- one\n- two\n")

    async def _slow(self, rest: str) -> AsyncIterator[ev.Event]:
        yield ev.MessageDelta(text="I start a long command")
        yield ev.ToolStarted(call_id="t1", tool="bash", args={"command": "sleep 600"})
        for number in range(600):
            yield ev.ToolOutput(call_id="t1", text=f"tick {number}\n")
            await asyncio.sleep(0.1)

    async def _fail(self, rest: str) -> AsyncIterator[ev.Event]:
        yield ev.Retry(attempt=2, attempts=5, delay=0.3, reason="The server is busy (429)")
        await asyncio.sleep(0.3)
        yield ev.Error(kind="auth", message="The key of OPENAI_API_KEY was refused: set another one and try again.")

    async def _ask(self, rest: str) -> AsyncIterator[ev.Event]:
        request = ChoiceRequest(
            id="q1",
            kind="choice",
            prompt="Which database do you want?",
            options=(Option("sqlite", "SQLite"), Option("pg", "PostgreSQL")),
            allow_extra=True,
            skip_auto_confirm=True,
        )
        outcome = await self.choose(request)
        yield ev.MessageDelta(text=f"You chose {outcome.choice}.\n")

    async def _two(self, rest: str) -> AsyncIterator[ev.Event]:
        first = command_request("make install", str(self.cwd), id="q1", call_id="c1")
        second = command_request("make clean", str(self.cwd), id="q2", call_id="c2", agent="helper#1")
        a, b = await asyncio.gather(self.choose(first), self.choose(second))
        yield ev.MessageDelta(text=f"{a.choice} and {b.choice}.\n")

    async def _nasty(self, rest: str) -> AsyncIterator[ev.Event]:
        bad = (
            "\x1b]0;title\x07\x1b]52;c;ZXZpbA==\x07\x9b31m\x9d0;x\x1bc\x1b[6n\x1b]8;;http://evil.example\x07"
            "[here](http://evil.example)\x1b]8;;\x07 \u202eabc"
        )
        for char in bad + "\n\n`" + bad + "`\n\n```sh\n" + bad + "\n```\n":
            yield ev.MessageDelta(text=char)
        yield ev.MessageCompleted(text="x")
        name = "a\x1b]52;c;ZXZpbA==\x07b.txt"
        async for event in self._tool("t1", "read_file", {"path": name}, result={"total_lines": 1}):
            yield event
        value = {"stdout": bad + "\r\n", "stderr": "[red]x[/red] [/]", "returncode": 0}
        async for event in self._tool("t2", "bash", {"command": f"cat {name}"}, result=value):
            yield event
        yield ev.Error(kind="x", message=bad)
        await self.choose(command_request("rm -rf build\r\x1b[2Kls", str(self.cwd)))
