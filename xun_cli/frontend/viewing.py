"""The full-screen views of a front end: which key or command opens which, and what comes of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from xun_cli.frontend.threads import in_thread
from xun_cli.render.text import BAD, DIM, Line

if TYPE_CHECKING:
    from xun.choice import ChoiceRequest, FileDiff
    from xun.messages import Image
    from xun_cli.frontend.choosing import TurnPoint, Worker
    from xun_cli.frontend.conversation import Conversation
    from xun_cli.frontend.dialog import Dialog
    from xun_cli.frontend.full_screen import FullScreen
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings
    from xun_policies.store import PolicyState


OUTPUT_SHOWN = 500_000
"""Bytes at the end of a background command's output that are shown."""

READ_AGAIN = 1.0
"""Seconds after which the output of a background command that is looked at is read again."""


class Overlaying(Protocol):
    """Shows one view at a time over a front end."""

    @property
    def open(self) -> bool:
        """Whether a view is shown, or something else has the terminal."""

    async def show(self, view: FullScreen) -> Any:
        """Show *view* until it is closed and return its result; None when another one is open."""

    async def lend(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Give the terminal, in its ordinary modes, to *work*, such as an editor."""


class ViewHost(Protocol):
    """What views need of their front end."""

    def say(self, text: str) -> None:
        """Show a passing remark."""

    def put_draft(self, text: str) -> None:
        """Replace the draft, when it is empty."""

    def refresh(self) -> None:
        """Draw soon."""


class Viewing:
    """Opens views, one at a time.

    Args:
        host: The front end.
        overlays: Where views are shown.
        conversation: The session and what runs in it.
        settings: The settings in force.
    """

    def __init__(self, host: ViewHost, overlays: Overlaying, conversation: Conversation, settings: Settings) -> None:
        self._host, self._overlays, self._conversation, self._settings = host, overlays, conversation, settings
        self._dialog: Dialog | None = None

    def serve(self, dialog: Dialog) -> None:
        """Take the dialog whose questions can be viewed and edited."""
        self._dialog = dialog

    # -- what a line or key opens -----------------------------------------------------------

    def of_line(self, line: str) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Return what shows the view that a command without arguments asks for; None when it has none."""
        session = self._conversation.session
        table: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {"/transcript": self._transcript}
        if session is not None and _any_entry(session.policy):
            table["/policy"] = self._policy  # with nothing to look through, the text says more
        if session is not None and not session.running:
            table |= {"/resume": self._sessions, "/rewind": self._rewind}
        return table.get(line.strip())

    def question(self) -> bool:
        """Show all that the open question is about."""
        request = self._dialog.request if self._dialog is not None else None
        if request is None or self._overlays.open:
            return False
        self._conversation.spawn(self._question(request))
        return True

    def edit(self, request: ChoiceRequest) -> None:
        """Let the person edit what *request* would write."""
        if not self._overlays.open:
            self._conversation.spawn(self._edit(request))

    def transcript(self) -> None:
        """Show the whole session."""
        self._conversation.spawn(self._transcript())

    def work(self) -> None:
        """Show sub-agents and background commands."""
        self._conversation.spawn(self.work_view())

    def rewind(self) -> None:
        """Choose a turn to go back before."""
        session = self._conversation.session
        if session is not None and not session.running:
            self._conversation.spawn(self._rewind())

    def image(self) -> None:
        """Take the image of the clipboard along with the next message."""
        from xun_cli.frontend.clipboard_image import clipboard_image

        self._conversation.spawn(self._image(clipboard_image, "image of the clipboard"))

    def dropped(self, text: str) -> bool:
        """Take the image that the pasted *text* is the path of with the next message; False when it is other text."""
        from xun_cli.attachments import read_image
        from xun_cli.frontend.dropped import dropped_image

        session, path = self._conversation.session, dropped_image(text)
        model = session.agent.model if session is not None else None
        if path is None or model is None or "vision" not in model.capabilities:
            return False
        self._conversation.spawn(self._image(partial(read_image, path), path.name))
        return True

    def output(self, call: Any) -> None:
        """Show all that a finished call gave back."""
        from xun_cli.frontend.readings import output_pager

        session = self._conversation.session
        cwd = str(session.cwd) if session is not None else ""
        self._conversation.spawn(self._overlays.show(output_pager(call, cwd)))

    # -- reading ----------------------------------------------------------------------------

    async def _question(self, request: ChoiceRequest) -> None:
        from xun_cli.frontend.readings import question_pager

        ui = self._settings.ui
        await self._overlays.show(question_pager(request, split_from=ui.diff_split_min, split=ui.diff != "unified"))

    async def _transcript(self) -> None:
        from xun_cli.frontend.following import Going, going_pager
        from xun_cli.frontend.readings import turn_sections

        conversation, session = self._conversation, self._conversation.session
        if session is None:
            self._host.say("One moment: xun is starting.")
            return
        cwd = str(session.cwd)
        going = Going(
            session.history,
            conversation.journal,
            lambda history: turn_sections(history, cwd),
            cwd=cwd,
            clock=conversation.clock,
        )
        await self._overlays.show(going_pager(going, name=session.name or session.id))

    async def _edit(self, request: ChoiceRequest) -> None:
        from xun.choice import ChoiceOutcome
        from xun_cli.frontend.editing import EditorError, edited_text, environment

        before = request.files[0].proposed or ""

        async def work() -> str:
            return await edited_text(before, os.path.basename(request.files[0].path), environment())

        dialog = self._dialog
        try:
            text = await self._overlays.lend(work)
        except EditorError as error:
            if dialog is not None and dialog.request is request:
                dialog.say(str(error))
                self._host.refresh()
            else:
                self._warn(str(error))
            return
        if text is None or text == before:
            self._host.say("Nothing was changed: the question is still open.")
        elif not self._conversation.answer(request.id, ChoiceOutcome("once", "user", edited=text)):
            self._warn("The question was withdrawn while you edited: nothing was written.")

    async def edited(self, before: str, name: str) -> str | None:
        """Return what the person made of a text in their editor; None when something else has the terminal.

        Raises:
            EditorError: There is no editor, it failed, or it left nothing, or no text.
        """
        from xun_cli.frontend.editing import edited_text, environment

        async def work() -> str:
            return await edited_text(before, name, environment())

        text: str | None = await self._overlays.lend(work)
        return text

    async def edited_draft(self, before: str) -> str | None:
        """Return what the person made of their draft in their editor; None when nothing changed."""
        from xun_cli.frontend.editing import EditorError

        try:
            text = await self.edited(before, "draft.md")
        except EditorError as error:
            self._warn(str(error))
            return None
        return None if text is None or text == before else text.rstrip("\n")

    async def _image(self, read: Callable[[], Image], name: str) -> None:
        from xun_cli.attachments import ImageError, refuse_without_vision

        session = self._conversation.session
        if session is None:
            self._host.say("One moment: xun is starting.")
            return
        try:
            refuse_without_vision(session.agent.model)
            session.attach(await in_thread(read), name)
        except ImageError as error:
            self._warn(str(error))
            return
        self._host.refresh()

    # -- choosing ---------------------------------------------------------------------------

    async def _sessions(self) -> None:
        from xun_cli.commands.output import CommandResult
        from xun_cli.frontend.choosing import session_picker
        from xun_cli.session.listing import list_sessions

        context, session = self._conversation.context(), self._conversation.session
        if context is None or session is None:
            return
        found = await in_thread(lambda: list_sessions(context.places, session.cwd))
        others = [info for info in found if info.id != session.id]
        if not others:
            self._note("There is no other session of this folder. /sessions all lists those of other folders.")
            return
        chosen = await self._overlays.show(session_picker(others))
        if chosen is not None:
            await self._conversation.act(CommandResult(action="resume", data=chosen))

    async def _policy(self) -> None:
        from xun_cli.frontend.choosing import policy_picker

        session = self._conversation.session
        if session is not None:
            await self._overlays.show(policy_picker(lambda: session.policy, self._remove))

    def _remove(self, number: str) -> str:
        """Take the entry c2, w1, ... back, as /policy remove does."""
        from xun_cli.commands import policy_change, policy_hosts, policy_ops

        session = self._conversation.session
        if session is None:
            return ""
        policy = session.policy
        if number.startswith("c"):
            change = policy_ops.remove_command(policy, number)
        elif number.startswith("h"):
            change = policy_hosts.remove_host(policy, number)
        else:
            change = policy_ops.remove_write(policy, number, session.agent.workspace)
        policy_change.emit_change(session, policy, change.op, change.list, change.entry)
        return f"Taken back: {change.entry}. /policy undo brings it back."

    async def work_view(self) -> None:
        """Show sub-agents and background commands, and each that is chosen, until that is enough."""
        from xun_cli.frontend.choosing import work_picker, workers
        from xun_cli.frontend.readings import agent_pager

        session = self._conversation.session
        if session is None:
            return
        while True:
            chosen: Worker | None = await self._overlays.show(
                work_picker(lambda: workers(session.history()), self._stop)
            )
            if chosen is None:
                return
            if chosen.kind == "agent":
                await self._overlays.show(agent_pager(session.history, chosen.name, chosen.task, str(session.cwd)))
            else:
                await _show_output(self._overlays, self._host, session, chosen)

    def _stop(self, worker: Worker) -> str:
        if worker.kind != "command" or worker.state != "running":
            return "Only a running background command can be stopped here; Esc interrupts the turn."
        self._conversation.spawn(self._conversation.run_quietly(f"/tasks stop {worker.name}"))
        return f"{worker.name} is told to stop."

    async def _rewind(self) -> None:
        from xun_cli.commands.going_back import turns_named
        from xun_cli.frontend.choosing import BACK, TurnPoint, rewind_picker

        session = self._conversation.session
        if session is None:
            return
        points = [
            TurnPoint(point.turn, point.text, point.ts, len(point.files))
            for point in await in_thread(session.rewind_points)
        ]
        last = await in_thread(session.last_rewind)
        if not points and last is None:
            self._host.say("There is no turn to go back before.")
            return
        back = f"Forward again: take the last /rewind back ({turns_named(last.turns)})" if last is not None else ""
        chosen: TurnPoint | str | None = await self._overlays.show(rewind_picker(points, back=back))
        if isinstance(chosen, TurnPoint):
            await self._go_back(session, chosen)
        elif chosen == BACK:
            await self._conversation.command("/rewind back")

    async def _go_back(self, session: Session, point: TurnPoint) -> None:
        """Go back before a turn; its text becomes the draft, so that it can be asked another way."""
        from xun.errors import XunError
        from xun_cli.commands.output import CommandResult

        kind = await self._what_goes_back(session, point) if point.files else "talk"
        if not kind:
            return
        try:
            paths = await session.rewind_to(point.turn, files=kind == "both")
        except (RuntimeError, XunError) as error:
            self._warn(str(error))
            return
        await self._conversation.act(CommandResult(action="redraw"))
        put = f"; {len(paths)} file{'s' * (len(paths) != 1)} put back" if paths else ""
        self._note(f"back before turn {point.turn}{put}; its message is in the composer; /rewind back takes this back")
        self._host.put_draft(point.text)

    async def _what_goes_back(self, session: Session, point: TurnPoint) -> str:
        """Let the person choose whether files go back too; "" when they take it all back."""
        from xun.errors import XunError
        from xun_cli.frontend.choosing import rewind_kind_picker

        changes: list[FileDiff] = []
        refused = ""
        try:
            changes = await in_thread(partial(session.rewind_preview, point.turn))
        except XunError as error:
            refused = str(error)
        return await self._overlays.show(rewind_kind_picker(point, changes, refused, str(session.cwd))) or ""

    # -- saying -----------------------------------------------------------------------------

    def _note(self, text: str) -> None:
        self._conversation.own_lines(lambda transcript: transcript.note(text, DIM))

    def _warn(self, text: str) -> None:
        self._conversation.own_lines(lambda transcript: transcript.note(text, BAD, "✗"))


def _any_entry(policy: PolicyState) -> bool:
    lists = (policy.command_allowlist, policy.write_allowlist, policy.host_allowlist)
    return any(len(entries) for entries in lists) or bool(policy.excluded)


def _written(session: Session, name: str) -> str:
    """Return the end of what the background command *name* has written; "" when it is no longer kept."""
    from xun_builtin_tools.cmd.tasks import Tasks

    agents = [session.agent, *getattr(session.agent, "background", ())]
    found = [task for agent in agents for task in Tasks.among(agent) if task.id == name]
    return str(found[0].log.read(-OUTPUT_SHOWN, OUTPUT_SHOWN).text) if found else ""


async def _show_output(overlays: Overlaying, host: ViewHost, session: Session, worker: Worker) -> None:
    """Show what a background command writes, as it writes it."""
    from xun_cli.frontend.readings import command_pager

    read = partial(_written, session, worker.name)
    written = [await in_thread(read)]

    async def follow() -> None:
        while True:
            await asyncio.sleep(READ_AGAIN)
            text = await in_thread(read)
            if text and text != written[0]:  # what is no longer kept has been read
                written[0] = text
                host.refresh()

    following = asyncio.get_running_loop().create_task(follow())
    try:
        await overlays.show(command_pager(worker.name, worker.task, lambda: written[0]))
    finally:
        following.cancel()


def fits(lines: Sequence[Line], rows: int) -> bool:
    """Tell whether *lines* are few enough to be printed instead of opened."""
    return len(lines) <= max(10, rows * 2 // 3)
