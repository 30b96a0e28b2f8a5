"""What goes into the log file: every event with ``--debug`` or ``XUN_LOG``, and never a key of this process."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from xun_cli.session.lines import to_line

if TYPE_CHECKING:
    from xun_cli.session.envelope import Envelope
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings


_SHORTEST = 8
_SHORTEST_ENCODED = 16


class KeyMask(logging.Filter):
    """Replaces keys in a record, its traceback included, before a handler writes it."""

    def __init__(self, keys: Iterable[str]) -> None:
        super().__init__()
        self._keys = tuple(keys)

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record; it always passes."""
        record.msg, record.args = self._masked(record.getMessage()), ()
        if record.exc_info:
            record.exc_text = self._masked(logging.Formatter().formatException(record.exc_info))
        return True

    def _masked(self, text: str) -> str:
        for key in self._keys:
            text = text.replace(key, "***")
        return text


def hidden_keys(settings: Settings) -> tuple[str, ...]:
    """Return the person's own keys, which are written nowhere but where they come from.

    One of a few characters is no key: it would be found in ordinary words.
    """
    known = settings.credentials.known_values() if settings.credentials is not None else []
    keys = {key for key in known if len(key) >= _SHORTEST}
    return tuple(sorted(keys.union(*map(_encoded, keys)), key=len, reverse=True))


def _encoded(key: str) -> set[str]:
    """Return what *key* looks like inside something in Base64, as a header for a login is, wherever it stands there."""
    forms = set()
    for shift in range(3):
        data = b"\0" * shift + key.encode("utf-8", "replace")
        # The first and the last characters also hold bits of what is before and behind.
        text = base64.b64encode(data[: len(data) // 3 * 3]).decode("ascii")[4 if shift else 0 :]
        forms |= {text, text.replace("+", "-").replace("/", "_")}
    return {form for form in forms if len(form) >= _SHORTEST_ENCODED}


def masked(text: str, settings: Settings) -> str:
    """Return *text* without the person's own keys: a running session still holds what its file does not."""
    for key in hidden_keys(settings):
        text = text.replace(key, "***")
    return text


def log_events(session: Session, settings: Settings) -> None:
    """Mask the keys in the log, which must be set up by now, and log the events of *session* where that is wanted."""
    keys = hidden_keys(settings)
    for handler in logging.getLogger("xun").handlers:
        handler.addFilter(KeyMask(keys))
    if settings.log != "debug":
        return
    log = logging.getLogger("xun.events")

    def note(envelope: Envelope) -> None:
        if not envelope.event.type.endswith(".delta"):
            log.debug("%s", to_line(envelope.to_json()))

    session.subscribe(note)
