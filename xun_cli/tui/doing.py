"""What keys of the full-screen front end do beyond what every front end's do."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun_cli.tui.app import FullScreen
    from xun_cli.tui.face import Face


class Doing:
    """The actions.

    Args:
        face: What is shown.
        app: The widgets.
    """

    def __init__(self, face: Face, app: FullScreen) -> None:
        self._face, self._app = face, app

    def expand(self) -> None:
        """Show the last folded output in full."""
        call = self._face.transcript.folded
        if call is None:
            self._face.hint.say("Nothing is folded.")
        else:
            self._face.views.output(call)

    def show_todos(self) -> None:
        """Show the todo list: it stands in the side panel."""
        session = self._face.conversation.session
        if self._face.drawing.panel_open or (session is not None and session.todos):
            self._face.toggle_panel()
        else:
            self._face.hint.say("There is no todo list.")

    def view_of(self, line: str) -> Callable[[], Coroutine[Any, Any, None]] | None:
        """Return what shows the view that a typed command asks for: /agents opens them while some work."""
        if line.strip() == "/agents" and self._face.facts.agents:
            return self._face.views.work_view
        return self._face.views.of_line(line)

    def redraw(self) -> None:
        """Draw everything anew, also what another program has written over."""
        self._app.refresh(repaint=True, layout=True)
        self._app.screen.refresh(layout=True)
        self._app.transcript.reload()

    def copy_selection(self) -> bool:
        """Copy what is selected and select nothing; False when nothing is, or when that was done at once."""
        text = self._app.screen.get_selected_text()
        if not text:
            return False
        self._app.screen.clear_selection()
        if self._face.copies_on_select:
            return False
        self._face.copy_text(text)
        return True

    def edit_draft(self) -> None:
        """Open the draft in the person's editor."""
        self._face.conversation.spawn(self._edit_draft())

    async def _edit_draft(self) -> None:
        from xun_cli.frontend.editing import EditorError, edited_text, environment

        composer = self._app.composer
        before = composer.peek().text

        async def work() -> str:
            return await edited_text(before, "draft.md", environment())

        try:
            text = await self._face.overlay.lend(work)
        except EditorError as error:
            self._face.hint.say(str(error))
            return
        if text is not None and text != before:
            composer.pasted = True
            composer.put(text.rstrip("\n"))
