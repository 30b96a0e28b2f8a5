"""``--input stream-json``: a program speaks into the session, one JSON object per line."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from typing import TYPE_CHECKING, Any

from xun.choice import DENY, GRANT, ONCE, ChoiceOutcome, ChoiceRequest
from xun.events import ApprovalRequested, Notice

if TYPE_CHECKING:
    from xun_cli.session.envelope import Envelope
    from xun_cli.session.session import Session

_LINE_LIMIT = 20_000_000  # bytes: a prompt may carry a file


async def converse(session: Session, on_ask: str) -> None:
    """Do what standard input says until it ends, then finish what is queued.

    Questions wait for an answer while input can come; after its end they are denied.
    """
    lines: asyncio.Queue[bytes] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    reader = threading.Thread(target=_read, args=(loop, lines), daemon=True, name="stdin")
    reader.start()
    while line := await lines.get():
        if line.strip():
            await _obey(session, line)
    session.questions.on_ask = "fail" if on_ask == "fail" else "deny"
    stop = session.subscribe(lambda envelope: _late(session, loop, envelope))
    _deny_all(session)
    await session.wait_idle()
    stop()


def _read(loop: asyncio.AbstractEventLoop, lines: asyncio.Queue[bytes]) -> None:
    while True:
        line = sys.stdin.buffer.readline(_LINE_LIMIT)
        try:
            loop.call_soon_threadsafe(lines.put_nowait, line)
        except RuntimeError:  # the loop is closed: the run is over
            return
        if not line:
            return


def _late(session: Session, loop: asyncio.AbstractEventLoop, envelope: Envelope) -> None:
    if isinstance(envelope.event, ApprovalRequested):
        loop.call_soon(_deny_all, session)


def _deny_all(session: Session) -> None:
    for request in session.pending():
        session.answer(request.id, ChoiceOutcome(DENY, "auto", "no human present", decided_by="headless"))


async def _obey(session: Session, line: bytes) -> None:
    try:
        data = json.loads(line)
        await _ACTIONS[data["type"]](session, data)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        shown = line[:200].decode("utf-8", "replace").strip()
        kinds = ", ".join(_ACTIONS)
        session.emit(
            Notice(level="warning", text=f"Input line not understood ({error}): {shown} - the types are {kinds}")
        )


async def _user(session: Session, data: dict[str, Any]) -> None:
    await session.submit(_text(data))


async def _steer(session: Session, data: dict[str, Any]) -> None:
    if not session.steer(_text(data)):
        await session.submit(_text(data))


async def _interrupt(session: Session, data: dict[str, Any]) -> None:
    session.interrupt("interrupted by the client")


async def _answer(session: Session, data: dict[str, Any]) -> None:
    request = next((item for item in session.pending() if item.id == data["request_id"]), None)
    if request is None:
        raise ValueError(f"no open question {data['request_id']}")
    choice = data["choice"]
    _check(request, choice)
    session.answer(request.id, ChoiceOutcome(choice, "user", str(data.get("reason", ""))))


def _check(request: ChoiceRequest, choice: Any) -> None:
    options = {str(option.value): option for option in request.options}
    option = options.get(str(choice))
    if option is None and not (request.allow_extra and isinstance(choice, str)):
        names = (GRANT, ONCE, DENY) if request.kind in ("command", "write") else tuple(options)
        raise ValueError(f"choice must be one of {', '.join(names)}")
    if option is not None and not option.available:
        raise ValueError(f"{choice} can't be chosen here: {option.note}")


def _text(data: dict[str, Any]) -> str:
    text = data["text"]
    if not isinstance(text, str) or not text.strip():
        raise ValueError("text must be a text that is not empty")
    return text


_ACTIONS = {"user": _user, "answer": _answer, "steer": _steer, "interrupt": _interrupt}
