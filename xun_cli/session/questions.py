"""The open questions of a session: asked as events, answered by request id."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from xun.choice import DENY, GRANT, ChoiceOutcome, ChoiceRequest, subject_of
from xun.errors import Denied
from xun.events import ApprovalRequested, ApprovalResolved

if TYPE_CHECKING:
    from xun_cli.session.session import Session

OnAsk = Literal["person", "deny", "fail"]


class Questions:
    """The chooser of a session's agent.

    Attributes:
        on_ask: person: ask; deny: nobody is there, so the answer is no; fail: the same, and the run ends.
        failed: A question ended the run.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._open: dict[str, tuple[ChoiceRequest, asyncio.Future[ChoiceOutcome[Any]]]] = {}
        self.on_ask: OnAsk = "person"
        self.failed = False

    def pending(self) -> list[ChoiceRequest]:
        """Return the open questions, oldest first; one that was answered this moment is none any more."""
        return [request for request, future in self._open.values() if not future.done()]

    async def choose(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        """Ask, and return the answer.

        Raises:
            Denied: Nobody is there to answer a free question.
        """
        session = self._session
        if self.on_ask != "person":
            return self._nobody(request)
        future: asyncio.Future[ChoiceOutcome[Any]] = asyncio.get_running_loop().create_future()
        self._open[request.id] = (request, future)
        session.emit(requested(request))
        try:
            outcome = await future
        except asyncio.CancelledError:
            session.emit(_resolved(request, ChoiceOutcome(None, "auto", decided_by="interrupted")))
            raise
        finally:
            self._open.pop(request.id, None)
        session.emit(_resolved(request, outcome))
        return outcome

    def _nobody(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        session = self._session
        outcome: ChoiceOutcome[Any] = ChoiceOutcome(DENY, "auto", "no human present", decided_by="headless")
        session.emit(requested(request))
        if self.on_ask == "fail":
            self.failed = True
            session.agent.cancel("a question came up and no human is present")
        if request.kind in ("command", "write"):
            return outcome
        session.emit(_resolved(request, outcome))
        raise Denied(
            f"No human present to answer: {request.prompt} Decide yourself, or end with what you have.",
            source="headless",
        )

    def answer(self, request_id: str, outcome: ChoiceOutcome[Any]) -> bool:
        """Answer an open question; False when there is none of this id."""
        entry = self._open.get(request_id)
        if entry is None or entry[1].done():
            return False
        entry[1].set_result(outcome)
        return True

    def withdraw_all(self) -> None:
        """Take all open questions back."""
        for _, future in self._open.values():
            future.cancel()


def requested(request: ChoiceRequest) -> ApprovalRequested:
    """Return *request* as an event."""
    command = request.command
    options = tuple(
        {"value": o.value, "label": o.label, "key": o.key, "available": o.available, "note": o.note}
        for o in request.options
    )
    return ApprovalRequested(
        agent=request.agent,
        request_id=request.id,
        call_id=request.call_id,
        kind=request.kind,
        prompt=request.prompt,
        options=options,
        default=request.default,
        command="" if command is None else command.text,
        cwd=request.cwd,
        diff="".join(f"--- {file.path}\n{file.diff}" for file in request.files),
        segments=() if command is None else tuple(command.to_json()["segments"]),
        grant_preview=tuple(_preview(request)),
    )


def _preview(request: ChoiceRequest) -> list[str]:
    if request.command is not None:
        return [grant.text for grant in request.command.grants]
    if request.write_scopes:
        return _paths(request.write_scopes[0])
    return []


def _paths(grants: Sequence[Any]) -> list[str]:
    return [grant.path + ("/" if grant.directory else "") for grant in grants]


def _resolved(request: ChoiceRequest, outcome: ChoiceOutcome[Any]) -> ApprovalResolved:
    granted: tuple[str, ...] = ()
    if outcome.choice == GRANT:
        grants = outcome.grants
        if grants is None:
            granted = tuple(_preview(request))
        elif request.kind == "write":
            granted = tuple(_paths(grants))
        else:
            granted = tuple(grant.text for grant in grants)
    return ApprovalResolved(
        agent=request.agent,
        request_id=request.id,
        call_id=request.call_id,
        kind=request.kind,
        choice=outcome.choice,
        subject=subject_of(request),
        source=outcome.decided_by if outcome.source == "auto" else "user",
        reason=outcome.reason,
        edited=outcome.edited,
        granted=granted,
    )
