"""The run_code tool."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from xun.agent.nested import CodeCalls
from xun.environment.base import CodeFailed, CodeStopped, EnvironmentUnusable
from xun.environment.confinement import in_view
from xun.errors import CancelledError, CommandError, ToolError
from xun.result import ErrorInfo, Result
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.running import in_thread
from xun_builtin_tools import gate
from xun_builtin_tools.cmd.capture import Capture, call_capture
from xun_builtin_tools.cmd.walled import note
from xun_builtin_tools.code.clock import Clock

MAX_TIMEOUT = 3600
"""The longest limit of one piece of code, in seconds."""
_ERRORS_SHOWN = 2000


@tool_attr(sequential=True, expose="code")
async def run_code(ctx: ToolCallContext[Any], code: str, timeout_seconds: float = 120) -> str:
    """Run a Python program that can call tools, and return what it prints.

    code is the text of the program. `await tools.NAME(argument=value)` calls a tool, with arguments by name, and gives
    its value as plain Python data; a failure raises ToolError. await works at the top level, and asyncio.gather makes
    calls side by side. Which tools there are is in the stub file that the system message names. The program runs in
    a process of its own in the project folder, has no input, and nothing of it lasts to the next call. The person may
    be shown it first.
    timeout_seconds is the limit, up to 3600; the time of its tool calls counts, the time in which the person is asked
    does not. After it the program and all that it started are ended.

    Returns what it printed to stdout; a long output keeps its head and tail and names the file with the whole. When the
    program raises, the error holds the output so far and the traceback."""
    if ctx.code_mode:
        raise ToolError("run_code can't be called from code that run_code runs; write it all in one program.")
    if not code.strip():
        raise ToolError("The code is empty; give the text of a Python program.")
    if not 0 < timeout_seconds <= MAX_TIMEOUT:
        raise ToolError(f"timeout_seconds must be above 0 and at most {MAX_TIMEOUT}, got {timeout_seconds:g}.")
    approved = await in_thread(partial(gate.code, ctx, code, str(ctx.agent.workspace.workdir)))
    program = _Program(ctx, approved, timeout_seconds)
    await program.through()
    note = (
        f"[The user changed the code before allowing it; what ran is:\n{approved.text}\n]\n" if approved.edited else ""
    )
    return note + program.stdout.text


class _Program:
    """One run of one program."""

    def __init__(self, ctx: ToolCallContext[Any], approved: gate.ApprovedCommand, limit: float) -> None:
        self._ctx, self._approved, self._limit = ctx, approved, limit
        self._calls = CodeCalls(ctx)
        self._clock = Clock(ctx.agent, limit)
        self._stop = threading.Event()
        self._loop = asyncio.get_running_loop()
        self.stdout, self._stderr = call_capture(ctx, "stdout"), call_capture(ctx, "stderr")

    async def through(self) -> None:
        """Run it to its end.

        Raises:
            ToolError: It failed; the text holds what it printed, and the traceback.
            CancelledError: The run was cancelled.
        """
        work = asyncio.ensure_future(in_thread(self._work))
        work.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may end unheard
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            self._stop.set()
            await asyncio.wait({work}, timeout=self._ctx.agent.config.cancel_grace)
            raise
        except CodeStopped as exc:
            self._ctx.check_cancel()
            text = f"The code passed its limit of {self._limit:g} s and was ended with all that it started."
            raise CommandError(self._told(text), kind="timeout") from exc
        except CodeFailed as exc:
            said = self.stdout.text
            raise ToolError(self._told(str(exc), exc.traceback), kind=exc.kind, output=said) from exc
        except (OSError, ValueError, EnvironmentUnusable) as exc:
            raise CommandError(f"The code could not be started: {exc}", kind="spawn") from exc
        finally:
            await self._calls.end(self._ctx.agent.config.cancel_grace)

    def _work(self) -> None:
        outputs: dict[str, Capture] = {"stdout": self.stdout, "stderr": self._stderr}

        def write(data: bytes, stream: str) -> None:
            text = outputs[stream].feed(data)
            if text:
                self._ctx.emit(text, stream)

        try:
            in_view(self._ctx.agent.environment, self._approved.confinement.view).run_code(
                self._approved.text,
                tools=self._calls.names,
                call_tool=self._call,
                write=write,
                env=self._approved.environment,
                cancelled=self._over(),
            )
        finally:
            for capture in outputs.values():
                capture.feed(b"", final=True)

    def _over(self) -> Callable[[], bool]:
        return lambda: self._stop.is_set() or self._ctx.cancelled or self._clock.over()

    def _call(self, name: str, arguments: dict[str, Any]) -> Future[Result[Any, ErrorInfo]]:
        future: Future[Result[Any, ErrorInfo]] = Future()

        def settle(task: asyncio.Task[Result[Any, ErrorInfo]]) -> None:
            if not future.set_running_or_notify_cancel():
                return
            if task.cancelled():
                future.set_exception(CancelledError("the code ended"))
            elif (exc := task.exception()) is not None:
                future.set_exception(exc)
            else:
                future.set_result(task.result())

        # The process may be gone before the call is through, which must not cut the call short.
        self._loop.call_soon_threadsafe(lambda: self._calls.start(name, arguments).add_done_callback(settle))
        return future

    def _told(self, text: str, traceback: str = "") -> str:
        parts = [text]
        if self.stdout.text:
            parts.append(f"Output so far:\n{self.stdout.text.rstrip()}")
        if self._stderr.text:
            parts.append(f"Error output:\n{self._stderr.text[-_ERRORS_SHOWN:].rstrip()}")
        if traceback:
            parts.append(traceback.rstrip())
        if walled := note(self._approved.confinement, 1, text, self._stderr.text):
            parts.append(f"{walled} Only bash has that parameter.")
        return "\n\n".join(parts)
