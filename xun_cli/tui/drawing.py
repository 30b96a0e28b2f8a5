"""What stands in each part of the full-screen front end at this moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xun_cli.frontend.dialog import LABELS
from xun_cli.frontend.texts import input_mark, notes_of, status_of
from xun_cli.render.approval import approval_view
from xun_cli.render.safe import safe
from xun_cli.render.status import status_line
from xun_cli.render.text import ACCENT, BOLD, DIM, PLAIN, WARN, Line, cut, fitting, width
from xun_cli.tui.completing import MENU_ROWS
from xun_cli.tui.rows import in_frame
from xun_cli.tui.side import panel_lines

if TYPE_CHECKING:
    from xun_cli.tui.app import FullScreen
    from xun_cli.tui.face import Face

COMPOSER_ROWS = 8
HINT = ("Ask for something", "/ commands", "@ files", "! shell")
ROOMY = 16
"""Rows of a terminal from which the composer has a frame."""

PANEL = 34
"""Columns of the side panel; on a terminal that is narrower than twice that it takes the transcript's place."""


class Drawing:
    """Gives the widgets their lines; what has not changed costs nothing.

    Args:
        face: What is shown.
        app: The widgets.
    """

    def __init__(self, face: Face, app: FullScreen) -> None:
        self._face, self._app = face, app
        self.panel_open = False
        """Whether the side panel is shown."""

    def paint(self) -> None:
        """Bring every part up to date."""
        app = self._app
        if self._face.overlay.open:
            app.over.set_lines(self._face.overlay.lines(app.size.width, app.size.height))
            return
        self._paint_input()
        tail, state = self._face.transcript.live_parts(max(3, app.transcript.size.height - 2))
        app.transcript.set_live(tail)
        app.working.set_lines(self._working(state))
        app.dialog.set_lines(self._dialog_lines())
        app.menu.set_lines(self._menu())
        app.status.set_lines([self._status()])
        self._paint_panel()

    def _paint_input(self) -> None:
        app, field = self._app, self._face.dialog.field
        app.composer.muted = self._face.dialog.focused
        rows = max(1, min(COMPOSER_ROWS, app.size.height // 3))
        for area in (app.composer, app.field):
            if area.styles.max_height is None or area.styles.max_height.value != rows:
                area.styles.max_height = rows
        if bool(field) is not app.field.display:
            app.field.display, app.composer.display = bool(field), not field
            if field:
                app.field.put(self._face.dialog.field_text)
            # At once, not with the next message: the person types as soon as the field is to be seen.
            app.screen.set_focus(app.field if field else app.composer, scroll_visible=False)
        hint = self._hint()
        if app.composer.placeholder != hint:
            app.composer.placeholder = hint
        app.prompt.set_lines([self._prompt()])
        app.prompt.styles.width = max(2, width(self._prompt()[0][1]))

    def _hint(self) -> str:
        """Return what an empty composer says."""
        if not self._face.hints or self._face.dialog.open:
            return ""
        return fitting(HINT, max(0, self._app.size.width - 6 - width(self._prompt()[0][1])))

    def _prompt(self) -> Line:
        if self._face.dialog.field:
            return [(f"{BOLD} {ACCENT}", LABELS.get(self._face.dialog.field, "") + " › ")]
        style = DIM if self._face.dialog.focused else f"{BOLD} {ACCENT}"
        vi = self._face.router.vi
        mode = "" if vi is None else "N" if vi.normal else "I"
        return [(style, input_mark(self._app.composer.text, mode))]

    def _working(self, state: list[Line]) -> list[Line]:
        columns = self._app.size.width - 2
        if self._face.dialog.focused:
            state = []  # the question says what is waited for, and needs the rows
        lines = [*state, *notes_of(self._face.conversation, columns)]
        recall = self._app.composer.recall
        if recall.searching:
            word = "nothing found for" if recall.failed else "search"
            lines.append(
                [(WARN if recall.failed else ACCENT, f"{word}: "), (PLAIN, safe(recall.query, multiline=False))]
            )
        if not self._app.transcript.follows:
            lines.append([(DIM, cut("↓ more below · End goes there", columns))])
        return lines

    def dialog_columns(self) -> int:
        """Return the width of a question."""
        return max(20, self._app.size.width - 2)

    def dialog_rows(self) -> int:
        """Return how many rows a question may take."""
        app = self._app
        roomy = app.size.height >= ROOMY
        composer = min(app.composer.rows, max(1, app.size.height // 3)) + (2 if roomy else 0)
        around = composer + len(app.working.lines) + 1 + (2 if roomy else 1)  # the status line, and some transcript
        return max(4, app.size.height - around)

    def _dialog_lines(self) -> list[Line]:
        request = self._face.dialog.request
        if request is None:
            return []
        rows = self.dialog_rows() if self._face.dialog.focused else 1
        return [in_frame(line) for line in approval_view(request, self.dialog_columns(), rows, self._face.dialog.state)]

    def _menu(self) -> list[Line]:
        if self._face.dialog.focused or not self._face.completing.open:
            return []
        columns = self._app.size.width - 2
        rule: list[Line] = [[(DIM, "─" * columns)]] if self._app.size.height >= ROOMY else []
        return [*rule, *self._face.completing.lines(columns, self._menu_rows())]

    def offer_at(self, row: int) -> int:
        """Return which completion stands in *row* of the menu."""
        rule = 1 if self._app.size.height >= ROOMY else 0
        rows = len(self._app.menu.lines) - rule
        return self._face.completing.first_shown(rows) + max(0, row - rule)

    def _menu_rows(self) -> int:
        return min(MENU_ROWS, max(1, self._app.size.height // 3 - 1))

    def _status(self) -> Line:
        face = self._face
        status = status_of(
            face.conversation.session, hint=face.hint.text, branch=face.branch, command=face.status_command
        )
        return status_line(status, max(1, self._app.size.width - 2))

    def _paint_panel(self) -> None:
        app, session = self._app, self._face.conversation.session
        beside = app.size.width >= 2 * PANEL
        app.side.display = self.panel_open
        app.transcript.display = beside or not self.panel_open
        if not self.panel_open:
            return
        app.side.styles.width = PANEL if beside else "1fr"
        app.side.set_class(not beside, "alone")
        if session is not None:
            columns, rows = app.side.size.width or PANEL - 4, app.side.size.height or app.size.height
            app.side.set_lines(panel_lines(session, self._face.facts, columns, rows))
