"""Who answers questions, and when a key counts as an answer.

A key that was meant for the composer must never answer. So a question that arrives while somebody
types, or beside a draft, opens unfocused and waits for Tab; and in the first half second of a focus
no key counts. The controller knows no terminal: it gets key names and gives back what to do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from xun_cli.frontend.grant_text import GrantTextError, grants_text, parse_grants
from xun_cli.render.approval import FREE_TEXT, DialogState, available, editable, first_state, rows_of, scrolled, three
from xun_cli.render.approval_content import SPLIT_FROM

if TYPE_CHECKING:
    from xun.choice import ChoiceOutcome, ChoiceRequest
    from xun_policies.commands import CommandGrant

TYPING = 0.7
"""Seconds after a key press in which a question opens unfocused."""

GUARD = 0.5
"""Seconds after a focus in which no key answers."""

LABELS = {"reason": "reason", "edit": "command", "grant": "grant", "answer": "answer"}
"""What stands before the field that is being typed."""


class FocusGuard:
    """Knows since when keys go to a question, and when somebody last typed elsewhere."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._typed_at = self._focused_at = float("-inf")
        self.asked_for = False
        """The person turned the keys to the question; it did not open by itself."""

    @property
    def typing(self) -> bool:
        """Whether somebody typed a moment ago."""
        return self._clock() - self._typed_at < TYPING

    @property
    def left(self) -> float:
        """Seconds until keys count."""
        return max(0.0, self._focused_at + GUARD - self._clock())

    def typed(self) -> None:
        """Note a key press that went to the composer."""
        self._typed_at = self._clock()

    def sent(self) -> None:
        """Note that the draft went out: its last key was no typing into what comes now."""
        self._typed_at = float("-inf")

    def focus(self, *, asked_for: bool) -> None:
        """Note that keys go to the question from now on."""
        self._focused_at = self._clock()
        self.asked_for = asked_for


@dataclass(frozen=True, slots=True)
class DialogViews:
    """What a front end can do for a dialog beyond drawing it.

    Attributes:
        full: Opens a view of all that a question is about; False when the dialog has to show it itself.
        edit: Lets the person edit what a write question would write; None when this front end can't.
        split_from: Columns from which a diff can be shown side by side.
        split: Diffs begin side by side where the width allows it.
    """

    full: Callable[[], bool] = lambda: False
    edit: Callable[[ChoiceRequest], None] | None = None
    split_from: int = SPLIT_FROM
    split: bool = False

    def begun(self, state: DialogState, columns: int) -> DialogState:
        """Return the first *state* of a question as this front end shows it."""
        split = self.split and columns >= self.split_from
        return replace(state, split=split, split_from=self.split_from, edits=self.edit is not None)

    def toggled(self, state: DialogState, columns: int) -> DialogState:
        """Return *state* with its diffs the other way, or with the reason why not."""
        if columns >= self.split_from:
            return replace(state, split=not state.split, scroll=0)
        return replace(state, problem=f"Side by side needs {self.split_from} columns.")


class Dialog:
    """The question that is being asked, if any.

    Args:
        answer: Gives an outcome to whoever asked.
        interrupt: Ends the running turn; False when none runs.
        withdraw: Takes a question back that no turn has asked; False when a turn has.
        has_draft: Tells whether the composer holds text.
        size: Gives columns and the rows of the dialog.
        views: What the front end can do for it.
        clock: Gives seconds.
    """

    def __init__(
        self,
        answer: Callable[[str, ChoiceOutcome[Any]], bool],
        interrupt: Callable[[], bool],
        *,
        has_draft: Callable[[], bool],
        withdraw: Callable[[str], bool] = lambda request_id: False,
        size: Callable[[], tuple[int, int]],
        views: DialogViews | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.request: ChoiceRequest | None = None
        self.state = DialogState()
        self.field_text = ""
        self._answer = answer
        self._interrupt = interrupt
        self._has_draft = has_draft
        self._withdraw = withdraw
        self._size = size
        self._views = views or DialogViews()
        self.guard = FocusGuard(clock)

    @property
    def open(self) -> bool:
        """Whether a question waits."""
        return self.request is not None

    @property
    def focused(self) -> bool:
        """Whether keys go to the question."""
        return self.request is not None and self.state.focused

    @property
    def field(self) -> str:
        """The field that is being typed, or ""."""
        return self.state.field if self.focused else ""

    def update(self, pending: Sequence[ChoiceRequest]) -> None:
        """Take the questions that are open now, oldest first; a question that is gone is closed."""
        waiting = max(0, len(pending) - 1)
        if self.request is not None and any(request.id == self.request.id for request in pending):
            self.state = replace(self.state, waiting=waiting)
            return
        self.request = pending[0] if pending else None
        self.field_text = ""
        if self.request is None:
            self.state = DialogState()
            return
        focused = not self.guard.typing and not self._has_draft()
        self.state = self._views.begun(first_state(self.request, focused=focused, waiting=waiting), self._size()[0])
        if focused:
            self.guard.focus(asked_for=False)

    def focus(self) -> bool:
        """Turn keys to the question; False when none waits."""
        if self.request is None or self.state.focused:
            return False
        self.state = replace(self.state, focused=True)
        self.guard.focus(asked_for=True)
        return True

    def unfocus(self) -> None:
        """Turn keys back to the composer; the question stays open."""
        self.state = replace(self.state, focused=False, field="", problem="")

    def paste(self) -> None:
        """Note a paste: it never answers, and who pastes is writing."""
        self.guard.typed()
        if self.focused and not self.state.field:
            self.unfocus()

    def key(self, name: str, *, burst: bool = False) -> bool:
        """Take a key press while the question is focused.

        Args:
            name: The key: a character, or enter, escape, tab, up, c-e, ...
            burst: More characters came in with it, as when text is dropped into the terminal.

        Returns:
            False when the key belongs to the draft: the question has lost the focus then.
        """
        if self.request is None:
            return False
        self.state = replace(self.state, problem="")
        if name == "escape":
            self.back()
            return True
        if name == "c-c":
            self.refuse()
            return True
        if burst or self.guard.left > 0:
            if self.guard.asked_for and not burst:
                return True
            self.guard.typed()
            self.unfocus()
            return False
        handler = self._handlers().get(name)
        if handler is not None:
            handler()
        return True

    def back(self) -> None:
        """Leave the open field or view; from the short view deny and end the turn."""
        if self.state.field:
            self.state = replace(self.state, field="")
        elif self.state.view:
            self.state = replace(self.state, view="", scroll=0)
        else:
            self.refuse()

    def refuse(self) -> None:
        """Deny and end the turn."""
        request = self.request
        if request is None:
            return
        if three(request):
            self._give("deny", reason=self.state.reason)
            self._interrupt()
        elif not self._withdraw(request.id) and not self._interrupt():
            self._give(None)  # a command of the person asked: no choice was made

    def submit_field(self, text: str) -> None:
        """Take what was typed into the open field."""
        request, field = self.request, self.state.field
        if request is None:
            return
        if field == "reason":
            self._give("deny", reason=text.strip())
        elif field == "answer":
            if text.strip():
                self._give(text.strip())
        elif field == "edit":
            self._edited(request, text)
        elif field == "grant":
            self._regrant(request, text)

    # -- what the keys do -----------------------------------------------------------------

    def _handlers(self) -> dict[str, Callable[[], None]]:
        request = self.request
        handlers: dict[str, Callable[[], None]] = {
            "up": lambda: self._move(-1),
            "down": lambda: self._move(1),
            "enter": self._choose_selected,
            "tab": self._tab,
            "s-tab": self.unfocus,
            "c-e": self._whole,
            "?": lambda: self._view("explain"),
            "pageup": lambda: self._scroll(-1),
            "pagedown": lambda: self._scroll(1),
            "home": lambda: self._scroll(-1_000_000),
            "end": lambda: self._scroll(1_000_000),
        }
        if request is None:
            return handlers
        for index, value in enumerate(rows_of(request)):
            handlers[str(index + 1)] = lambda at=index: self._choose(at)  # type: ignore[misc]
            key = {"grant": "g", "once": "o", "deny": "d"}.get(str(value)) if three(request) else None
            if key is None and index < len(request.options):
                key = request.options[index].key
            if key:
                handlers[key] = lambda at=index: self._choose(at)  # type: ignore[misc]
        if request.kind == "command":
            handlers["e"] = lambda: self._open_field("edit", request.command.text if request.command else "")
        if request.kind == "write":
            handlers["left"] = lambda: self._widen(-1)
            handlers["right"] = lambda: self._widen(1)
            handlers["s"] = self._split
            handlers["e"] = self._edit_content
        return handlers

    def _move(self, by: int) -> None:
        request = self.request
        if request is None:
            return
        if self.state.view:
            self._scroll_rows(by)
            return
        rows = rows_of(request)
        at = self.state.selected
        for _ in rows:
            at = (at + by) % len(rows)
            if at >= len(request.options) or available(request, request.options[at]):
                break
        self.state = replace(self.state, selected=at)

    def _choose_selected(self) -> None:
        self._choose(self.state.selected)

    def _choose(self, index: int) -> None:
        request = self.request
        if request is None:
            return
        value = rows_of(request)[index]
        if value == FREE_TEXT and index >= len(request.options):
            self.state = replace(self.state, selected=index)
            self._open_field("answer", "")
            return
        if not available(request, request.options[index]):
            note = request.options[index].note or "hidden characters"
            self.state = replace(self.state, problem=f"Not offered here: {note}")
            return
        if value == "grant" and three(request):
            self._give("grant", grants=_granted(request, self.state))
        elif value == "deny" and three(request):
            self._give("deny", reason=self.state.reason)
        else:
            self._give(value)

    def _give(self, choice: Any, **more: Any) -> None:
        from xun.choice import ChoiceOutcome

        if self.request is not None:
            self._answer(self.request.id, ChoiceOutcome(choice, "user", **more))

    def _tab(self) -> None:
        request = self.request
        if request is None:
            return
        rows = rows_of(request)
        if not three(request):
            if FREE_TEXT in rows:
                self._choose(len(rows) - 1)
            return
        selected = rows[self.state.selected]
        option = request.options[self.state.selected]
        if selected == "grant" and request.kind == "command" and available(request, option):
            self._open_field("grant", grants_text(_granted(request, self.state) or ()))
            return
        self.state = replace(self.state, selected=rows.index("deny"))
        self._open_field("reason", self.state.reason)

    def _open_field(self, field: str, text: str) -> None:
        self.field_text = text
        self.state = replace(self.state, field=field)

    def _edited(self, request: ChoiceRequest, text: str) -> None:
        if not text.strip():
            self.state = replace(self.state, field="", problem="An empty command was not taken.")
        elif request.command is not None and text == request.command.text:
            self.state = replace(self.state, field="")
        else:
            self._give("once", edited=text)

    def _regrant(self, request: ChoiceRequest, text: str) -> None:
        try:
            grants = parse_grants(text, request)
        except GrantTextError as exc:
            self.state = replace(self.state, field="", problem=str(exc))
            return
        self.state = replace(self.state, field="", grants=grants)

    def _widen(self, by: int) -> None:
        request = self.request
        if request is not None and request.write_scopes:
            scope = max(0, min(len(request.write_scopes) - 1, self.state.scope + by))
            self.state = replace(self.state, scope=scope, selected=0)

    def _split(self) -> None:
        self.state = self._views.toggled(self.state, self._size()[0])

    def _whole(self) -> None:
        if self.state.view == "full" or not self._views.full():
            self._view("full")

    def _edit_content(self) -> None:
        request = self.request
        if request is None or self._views.edit is None:
            return
        if editable(request):
            self._views.edit(request)
        else:
            self.say("This can't be edited here: deny it with a reason instead.")

    def say(self, problem: str) -> None:
        """Show why something was not taken; the question stays open."""
        self.state = replace(self.state, problem=problem)

    def _view(self, view: str) -> None:
        self.state = replace(self.state, view="" if self.state.view == view else view, scroll=0)

    def _scroll(self, pages: int) -> None:
        _, rows = self._size()
        self._scroll_rows(pages * max(1, rows - 8))

    def _scroll_rows(self, by: int) -> None:
        request = self.request
        if request is not None:
            columns, rows = self._size()
            self.state = scrolled(request, columns, self.state, by, max(1, rows - 8))


def _granted(request: ChoiceRequest, state: DialogState) -> tuple[Any, ...] | None:
    """Return what "allow and grant" would add."""
    if request.kind == "command":
        return state.grants if state.grants is not None else _offered(request)
    if request.write_scopes:
        return request.write_scopes[min(state.scope, len(request.write_scopes) - 1)]
    return None


def _offered(request: ChoiceRequest) -> tuple[CommandGrant, ...] | None:
    return request.command.grants if request.command is not None else None
