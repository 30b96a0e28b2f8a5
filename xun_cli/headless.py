"""xun without a person: one answer on stdout, or JSON; everything else on stderr.

It is a subscriber of the session like every front end.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from xun.events import Error, Event, MessageCompleted, SessionStarted, TurnCompleted
from xun_cli.exit_codes import DENIED, FAILED, LIMIT, NOT_CONFIGURED, OK, RETRY, SCHEMA, SIGNALLED
from xun_cli.options import StartOptions
from xun_cli.plain_text import answer_text, event_line
from xun_cli.prompt_input import Prompt
from xun_cli.session.envelope import Envelope, never_started
from xun_cli.session.lines import out_line, to_line
from xun_cli.settings import Settings
from xun_cli.streams import discard_stdout, say

if TYPE_CHECKING:
    from xun_cli.last_file import LastFile
    from xun_cli.session.session import Session

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_NOT_CONFIGURED_KINDS = frozenset({"auth", "config", "not_found", "payment"})
_GRACE = 5.0  # seconds that an interrupted turn gets to end by itself


def run_headless(options: StartOptions, settings: Settings, prompt: Prompt, build: Callable[[], Session]) -> int:
    """Run *prompt*, or what standard input says, and return the exit code.

    Raises:
        ConfigError: The session can't be built.
        UsageError: The file of ``--last`` can't be written.
    """
    last = _last_file(options.last) if options.last else None
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        with asyncio.Runner() as runner:
            return runner.run(HeadlessRun(options, settings, prompt, last).run(build))
    finally:
        if last is not None:
            last.close()


def _last_file(path: str) -> LastFile:
    from xun_cli.last_file import LastFile

    return LastFile(path)


class HeadlessRun:
    """One run: what came out of it so far, and how it will end."""

    def __init__(self, options: StartOptions, settings: Settings, prompt: Prompt, last: LastFile | None = None) -> None:
        self._options = options
        self._last_file = last
        self._prompt = prompt
        self._settings = settings
        self._session: Session | None = None
        self._signal = 0
        self._timed_out = False
        self._turn: TurnCompleted | None = None
        self._error: Error | None = None
        self._answer = ""
        self._unwritten = 0
        self._work: asyncio.Task[None] | None = None
        self._ended: dict[str, Any] | None = None

    async def run(self, build: Callable[[], Session]) -> int:
        """Build the session, run it to its end, close it, and return the exit code."""
        self._catch_signals()
        session = await asyncio.to_thread(build)
        self._session = session
        unsubscribe = session.subscribe(self._on)
        self._replay_start(session)
        if not self._signal:
            self._work = asyncio.ensure_future(self._converse(session))
            await self._finish(session, self._work)
        code = self.exit_code()
        await session.close(code, self._result())
        unsubscribe()
        if self._options.output == "json":
            self._write(_json(self._last(code)) + "\n")
        return self.exit_code()

    def exit_code(self) -> int:
        """Return the code of the run so far."""
        if self._signal:
            return SIGNALLED + self._signal
        if self._unwritten:
            return self._unwritten
        if self._timed_out:
            return LIMIT
        if self._turn is None and self._error is None and self._options.input == "stream-json":
            return OK  # nothing was asked
        stop = self._turn.stop if self._turn is not None else "error"
        if stop == "denied":
            return DENIED
        if stop == "limit":
            return SCHEMA if self._error is not None and self._error.kind == "schema" else LIMIT
        if stop != "done":
            return self._failure_code()
        return DENIED if self._session is not None and self._session.denied else OK

    def _failure_code(self) -> int:
        error = self._error
        if error is None:
            return FAILED
        if error.kind in _NOT_CONFIGURED_KINDS:
            return NOT_CONFIGURED
        trouble = error.retryable or (error.status or 0) >= 500
        return RETRY if trouble else FAILED

    # -- the conversation -------------------------------------------------------------------------

    async def _converse(self, session: Session) -> None:
        from xun_cli.attachments import prepare

        if self._options.input == "stream-json":
            from xun_cli.headless_input import converse

            await converse(session, self._options.on_ask)
            return
        session.questions.on_ask = "fail" if self._options.on_ask == "fail" else "deny"
        # Of what was typed, not of what was piped in: foreign text names no image that is sent along.
        sent = await asyncio.to_thread(prepare, self._options.prompt, self._options.cwd, session.agent.model)
        for note in sent.notes:
            _warn(note)
        await session.submit(self._prompt.text, shown=self._prompt.shown, images=sent.images)
        await session.wait_idle()

    async def _finish(self, session: Session, work: asyncio.Task[None]) -> None:
        await asyncio.wait({work}, timeout=self._options.timeout)
        if not work.done():
            if not self._signal:
                self._timed_out = True
                _warn(f"stopped: the time limit of {self._options.timeout:g} s is reached (--timeout)")
            session.interrupt("time limit reached" if self._timed_out else "interrupted")
            await asyncio.wait({asyncio.ensure_future(session.wait_idle())}, timeout=_GRACE)
            work.cancel()
        await asyncio.wait({work})
        if not work.cancelled():
            work.result()

    def _catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            if number is not None and sys.platform != "win32":
                loop.add_signal_handler(number, self._on_signal, int(number))

    def _on_signal(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_signal_handler(number)  # a second one ends the process at once
        self._signal = self._signal or number
        if self._session is not None:
            self._session.interrupt(f"interrupted by {signal.Signals(number).name}")
        if self._work is not None:
            loop.call_later(_GRACE, self._work.cancel)
            if not (self._session and self._session.running):
                self._work.cancel()

    # -- the stream -------------------------------------------------------------------------------

    def _replay_start(self, session: Session) -> None:
        history = session.history()
        starts = [place for place, item in enumerate(history) if isinstance(item.event, SessionStarted)]
        for envelope in history[starts[-1] :] if starts else ():
            self._on(envelope)

    def _on(self, envelope: Envelope) -> None:
        event = envelope.event
        self._note(event)
        if event.type == "session.ended":
            self._ended = envelope.to_json()
        if self._options.output == "stream-json":
            self._write(_json(self._with_error(envelope.to_json())) + "\n")
        elif line := event_line(event, detail=self._settings.log == "debug"):
            _warn(line)

    def _note(self, event: Event) -> None:
        if event.agent != "main":
            return
        if isinstance(event, TurnCompleted):
            self._turn = event
            if event.stop == "done":
                self._error = None
                self._give_answer(event)
        elif isinstance(event, MessageCompleted) and event.partial and event.text:
            self._answer = event.text
        elif isinstance(event, Error):
            self._error = event

    def _give_answer(self, event: TurnCompleted) -> None:
        text = event.text if event.value is None else to_line(event.value)
        self._answer = text
        if self._options.output == "text" and text:
            self._write(answer_text(text, terminal=sys.stdout.isatty()))
        if self._last_file is not None:
            try:
                self._last_file.write(text)
            except OSError as error:
                _warn(f"--last {self._options.last}: can't be written: {error.strerror}")

    def _write(self, text: str) -> None:
        """Write to stdout; when that fails the run is ended, since nobody gets what it makes."""
        if self._unwritten:
            return
        try:
            _write(text)
        except OSError as error:
            self._unwritten = discard_stdout(error)
            if self._session is not None:
                self._session.interrupt("the output can't be written")

    def _result(self) -> Any:
        if self._turn is not None and self._turn.value is not None:
            return self._turn.value
        return self._answer or None

    def _last(self, code: int) -> dict[str, Any]:
        ended = self._ended or never_started(code)
        return self._with_error(ended)

    def _with_error(self, record: dict[str, Any]) -> dict[str, Any]:
        if record["type"] == "session.ended" and self._error is not None:
            record = {**record, "error": {"kind": self._error.kind, "message": self._error.message}}
        return record


def report_failure(options: StartOptions, code: int, error: BaseException) -> None:
    """Tell of a start that failed: one sentence on stderr, and a record on stdout for the JSON outputs."""
    _warn(str(error))
    if options.output != "text":
        record = {**never_started(code), "error": {"kind": getattr(error, "kind", "error"), "message": str(error)}}
        _write(_json(record) + "\n")


def _json(data: dict[str, Any]) -> str:
    return out_line(data, terminal=sys.stdout.isatty())


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _warn(text: str) -> None:
    for line in text.splitlines() or [""]:
        say(line)
