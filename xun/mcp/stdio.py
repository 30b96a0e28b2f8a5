"""An MCP server as a process: messages over its standard streams, and an end for all that it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from xun.environment.processes import GRACE, LocalProcess, ProcessTable
from xun.mcp.lines import MAX_MESSAGE, Lines, messages_of

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

    from xun.mcp.complaints import Complaints

_PIECE = 256 * 1024
_UNSENT = 1024 * 1024
_LINGER = 0.2
_POLL = 0.02


@asynccontextmanager
async def server_process(
    command: Sequence[str], env: Mapping[str, str], cwd: str | None, complaints: Complaints
) -> AsyncGenerator[tuple[Output, Input]]:
    """Start a server; at the end it is asked to leave, and nothing that it started goes on.

    Raises:
        OSError: It can't be started.
        ValueError: A word of it holds a NUL character.
    """
    # A table of its own: its tag tells the processes of this server from all others, also at the next start of xun.
    process = ProcessTable().start(command, cwd=cwd or os.getcwd(), env=env, stdin=True)
    try:
        complaints.watch(process.stderr)
        output, given = Output(process, complaints.heard), Input(process)
        try:
            yield output, given
        finally:
            output.stop()
            given.stop()
    finally:
        complaints.stop()
        # In a thread: it takes seconds where the server does not want to, and is not given up half done.
        await asyncio.shield(asyncio.to_thread(_end, process))


def _end(process: LocalProcess) -> None:
    process.close_stdin()
    until = time.monotonic() + GRACE
    streams = [process.stdout.fileno(), process.stderr.fileno()]
    while process.poll() is None and time.monotonic() < until:
        for number in streams:  # so that it can write what it still has to say
            with contextlib.suppress(BlockingIOError):
                while time.monotonic() < until and os.read(number, _PIECE):
                    pass
        time.sleep(_POLL)
    process.kill(GRACE if process.poll() is None else 0.0)
    process.close()


class Output:
    """The messages of a server, read when they are asked for; it ends with the server or its output."""

    def __init__(self, process: LocalProcess, noise: Callable[[str], None]) -> None:
        self._process, self._noise = process, noise
        self._number = process.stdout.fileno()
        os.set_blocking(self._number, False)
        self._lines, self._ready = Lines(), deque[Any]()
        self._stopped = False
        self._wake = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._number, self._readable)
        self._exit = _exit_descriptor(process.pid)
        if self._exit is not None:
            self._loop.add_reader(self._exit, self._over)

    def _readable(self) -> None:
        # Until it is asked for, no more is taken: a server that writes without end waits.
        self._loop.remove_reader(self._number)
        self._wake.set()

    def _over(self) -> None:
        # What it started may hold its output open for ever.
        self._loop.remove_reader(self._exit or 0)
        self._loop.call_later(_LINGER, self._wake.set)

    async def receive(self) -> SessionMessage:
        """Return the next message.

        Raises:
            anyio.EndOfStream: There will be no more.
        """
        import anyio
        from mcp.shared.message import SessionMessage

        while not self._ready:
            await self._wake.wait()
            if not self._take():
                raise anyio.EndOfStream
            await asyncio.sleep(0)  # a flood is no reason to do nothing else
        return SessionMessage(self._ready.popleft())

    def _take(self) -> bool:
        """Read a piece; return whether there may be more."""
        if self._stopped:
            return False
        try:
            data = os.read(self._number, _PIECE)
        except BlockingIOError:
            if self._process.poll() is not None:
                return False
            self._wake.clear()
            self._loop.add_reader(self._number, self._readable)
            return True
        except OSError:
            return False
        for line, whole in self._lines.feed(data):
            found = messages_of(line, whole)
            self._ready += found
            self._noise("" if found else line[:_PIECE].decode("utf-8", "replace"))
        return bool(data) or bool(self._ready)

    def stop(self) -> None:
        """Read no more."""
        if not self._stopped:
            self._stopped = True
            self._loop.remove_reader(self._number)
            if self._exit is not None:
                self._loop.remove_reader(self._exit)
                os.close(self._exit)
            self._wake.set()

    async def aclose(self) -> None:
        """Read no more."""
        self.stop()

    def __aiter__(self) -> Output:
        return self

    async def __anext__(self) -> SessionMessage:
        import anyio

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Output:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.stop()


class Input:
    """What a server is sent. A message that was begun is sent to its end, whoever is cancelled meanwhile."""

    def __init__(self, process: LocalProcess) -> None:
        stream = process.stdin
        self._number = stream.fileno()
        os.set_blocking(self._number, False)
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._room = asyncio.Event()
        self._room.set()
        self._stopped = False

    async def send(self, item: SessionMessage) -> None:
        """Send a message; wait while the server does not read.

        Raises:
            anyio.BrokenResourceError: The server reads no more.
        """
        import anyio

        if len(self._unsent) > MAX_MESSAGE:
            self.stop()  # it has read nothing for several calls
        if self._stopped:
            raise anyio.BrokenResourceError
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        if not self._unsent:
            self._loop.add_writer(self._number, self._write)
        self._unsent += text.encode() + b"\n"
        self._write()
        if len(self._unsent) > _UNSENT:
            self._room.clear()
            await self._room.wait()
        if self._stopped:
            raise anyio.BrokenResourceError

    def _write(self) -> None:
        try:
            while self._unsent:
                del self._unsent[: os.write(self._number, self._unsent[:_PIECE])]
        except BlockingIOError:
            return
        except OSError:
            self.stop()
            return
        self._loop.remove_writer(self._number)
        self._room.set()

    def stop(self) -> None:
        """Send no more."""
        if not self._stopped:
            self._stopped = True
            self._loop.remove_writer(self._number)
            self._room.set()

    async def aclose(self) -> None:
        """Send no more."""
        self.stop()

    async def __aenter__(self) -> Input:
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.stop()


def _exit_descriptor(pid: int) -> int | None:
    """Return a descriptor that is readable once *pid* is over; Linux only."""
    opener = getattr(os, "pidfd_open", None)
    try:
        return None if opener is None else int(opener(pid))
    except OSError:
        return None
