"""Draws entries of a journal again, piece by piece, while it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xun.events import Event
    from xun_cli.frontend.journal import Entry
    from xun_cli.render.text import Line
    from xun_cli.render.transcript import Transcript


class Redrawing:
    """Gives entries to a fresh transcript, one after the other.

    The end of a message takes its pieces out of the journal, also those that are not drawn yet: what of the message
    is missing then is taken from its end.

    Args:
        transcript: What draws them.
    """

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self._said = ""

    def draw(self, entry: Entry) -> list[Line]:
        """Draw *entry* and return the lines that are final with it."""
        event = entry.event
        if event is None or event.agent != "main":
            return entry.draw(self.transcript)
        rest = self._rest(event)
        if event.type == "message.delta":
            self._said += getattr(event, "text", "")
        elif event.type in ("message.completed", "turn.started", "retry"):
            self._said = ""
        if not rest:
            return entry.draw(self.transcript)
        from xun.events import MessageDelta

        return self.transcript.feed(MessageDelta(text=rest), at=entry.at) + entry.draw(self.transcript)

    def _rest(self, event: Event) -> str:
        """Return what of the message that ends with *event* was not drawn."""
        whole: str = getattr(event, "text", "") if event.type == "message.completed" else ""
        return whole[len(self._said) :] if self._said and whole.startswith(self._said) else ""
