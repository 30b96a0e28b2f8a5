"""What runs the code of `run_code`, inside its own process; standard library only, and no import of xun.

It is handed to ``python -I -c`` as text, so that it works where xun is not installed. Its input and its
output are the channel to the host, JSON a line; the code itself gets an empty input and a pipe.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import types
from typing import Any

NAME = "<run_code>"
_DRAIN = 0.2
_TOP_LEVEL_AWAIT, _COROUTINE = 0x2000, 0x80  # ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, inspect.CO_COROUTINE


class ToolError(Exception):
    """A tool call failed; the text says why.

    Attributes:
        kind: A word for the kind of failure, such as "denied".
        facts: JSON values beside the text.
    """

    def __init__(self, message: str, kind: str = "error", facts: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.facts = facts or {}


class Channel:
    """The lines to and from the host."""

    def __init__(self) -> None:
        self._in = os.fdopen(os.dup(0), "rb")
        self._out = os.dup(1)
        self._lock = threading.Lock()
        self._calls: dict[int, tuple[Any, Any]] = {}
        self._made: list[tuple[str, Any]] = []
        self._last = 0

    def start(self) -> dict[str, Any]:
        """Return the first line, and follow the others."""
        task: dict[str, Any] = json.loads(self._in.readline())
        threading.Thread(target=self._follow, daemon=True).start()
        return task

    def send(self, message: dict[str, Any]) -> None:
        """Send one line."""
        data = json.dumps(message).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._out, data) :]

    def _follow(self) -> None:
        for line in self._in:
            message = json.loads(line)
            with self._lock:
                loop, future = self._calls.pop(message["id"], (None, None))
            if loop is not None and not loop.is_closed():
                loop.call_soon_threadsafe(_settle, future, message)
        os._exit(1)  # the host is gone

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool and return its value."""
        import asyncio

        try:
            json.dumps(arguments)
        except (TypeError, ValueError, RecursionError) as exc:
            raise TypeError(f"tools.{name}: the arguments must be JSON values: {exc}") from None
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        with self._lock:
            number = self._last = self._last + 1
            self._calls[number] = (loop, future)
        self.send({"call": {"id": number, "name": name, "arguments": arguments}})
        return await future

    def made(self, name: str, arguments: dict[str, Any]) -> Any:
        """Return the coroutine of a call, and remember it, so that a missing ``await`` is not lost."""
        coroutine = self.call(name, arguments)
        self._made.append((name, coroutine))
        return coroutine

    def forgotten(self) -> list[str]:
        """Return the names of the calls that were never awaited."""
        if not self._made:
            return []
        import inspect

        names = []
        for name, coroutine in self._made:
            if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                coroutine.close()
                names.append(name)
        return names


def _settle(future: Any, message: dict[str, Any]) -> None:
    if future.done():
        return
    if message["ok"]:
        future.set_result(message["value"])
    else:
        future.set_exception(ToolError(message["error"], message["kind"], message.get("facts")))


class Tools:
    """``tools.NAME(**arguments)``: a coroutine with the tool's value."""

    def __init__(self, channel: Channel, names: list[str]) -> None:
        self.__dict__["_parts"] = (channel, names)

    def __dir__(self) -> list[str]:
        return sorted(self._parts[1])

    def __repr__(self) -> str:
        return f"<tools: {', '.join(dir(self)) or 'none'}>"

    def __getattr__(self, name: str) -> Any:
        channel, names = self._parts
        if name not in names:
            there = ", ".join(sorted(names)) or "none"
            raise AttributeError(
                f"There is no tools.{name} in code; there are: {there}. "
                "A tool that you can call directly is called directly, outside of the code."
            )

        def call(*values: Any, **arguments: Any) -> Any:
            if values:
                raise TypeError(f"tools.{name} takes keyword arguments only, as the stub shows them.")
            return channel.made(name, arguments)

        call.__name__ = call.__qualname__ = name
        return call


class Output(threading.Thread):
    """Hands what the code and its children print to the host."""

    def __init__(self, channel: Channel) -> None:
        super().__init__(daemon=True)
        self._channel = channel
        self._read, write = os.pipe()
        os.dup2(write, 1)
        os.close(write)
        self._count = 0
        self._busy = False

    def run(self) -> None:
        """Follow the pipe to its end."""
        import base64

        while data := os.read(self._read, 65536):
            self._busy = True
            self._channel.send({"out": base64.b64encode(data).decode()})
            self._count += 1
            self._busy = False

    def drain(self) -> None:
        """Return once all is handed on; a child that keeps the pipe is not waited for."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
        while self.is_alive():
            before = self._count
            self.join(_DRAIN)
            if self._count == before and not self._busy:
                return


def execute(code: str, names: dict[str, Any]) -> None:
    """Run *code* as a module would, in an event loop when it awaits at its top level."""
    compiled = compile(code, NAME, "exec", _TOP_LEVEL_AWAIT, dont_inherit=True)
    if not compiled.co_flags & _COROUTINE:
        exec(compiled, names)
        return
    import asyncio

    async def through() -> None:
        await eval(compiled, names)

    asyncio.run(through())


def failure(exc: BaseException) -> dict[str, Any] | None:
    """Return what the host is told of *exc*; None for a clean exit."""
    if isinstance(exc, SystemExit):
        if exc.code in (None, 0):
            return None
        return {"error": f"The code ended itself with exit code {exc.code}.", "traceback": ""}
    import traceback

    told = traceback.TracebackException.from_exception(exc)
    seen: Any = told
    while seen is not None:
        first = next((i for i, frame in enumerate(seen.stack) if frame.filename == NAME), 0)
        seen.stack = traceback.StackSummary.from_list(
            frame
            for frame in seen.stack[first:]
            if frame.filename != "<string>"  # our own
        )
        seen = seen.__cause__ or seen.__context__
    said = "".join(told.format_exception_only()).strip()
    if isinstance(exc, SyntaxError):
        said = said.rsplit("\n", 1)[-1]  # before it stand the lines of the code
    return {"error": said, "traceback": "".join(told.format())}


def remember_source(code: str) -> None:
    """Let tracebacks show the lines of the code."""
    import linecache

    linecache.cache[NAME] = (len(code), None, code.splitlines(True), NAME)


def run(task: dict[str, Any], channel: Channel) -> dict[str, Any] | None:
    """Run the task and return its failure, if it failed."""
    module = types.ModuleType("__main__")
    module.__dict__.update(tools=Tools(channel, task["tools"]), ToolError=ToolError)
    sys.modules["__main__"] = module
    remember_source(task["code"])
    failed = None
    try:
        execute(task["code"], module.__dict__)
    except BaseException as exc:  # noqa: BLE001 - whatever the code raises is its result
        failed = failure(exc)
    forgotten = channel.forgotten()
    if forgotten and failed is None:
        text = f"tools.{forgotten[0]}(...) was called without await, so it did not run: put await before it."
        failed = {"error": text, "traceback": ""}
    return failed


def main() -> None:
    """Serve the host: one task, then the end."""
    own = os.getpid()
    channel = Channel()
    output = Output(channel)
    output.start()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    task = channel.start()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)  # type: ignore[union-attr]
    failed = run(task, channel)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # the code closed it
    if os.getpid() != own:
        os._exit(0)  # a fork of the code that came through to here
    output.drain()
    channel.send({"end": failed})


if __name__ == "__main__":
    main()
