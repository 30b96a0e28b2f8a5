"""A result of millions of characters is in a session as the model got it, not whole."""

from __future__ import annotations

import json

from xun.events import ToolCompleted
from xun_cli.session.envelope import Envelope
from xun_cli.session.lines import from_bytes, to_bytes


def record(result: object, content: str) -> dict[str, object]:
    event = ToolCompleted(agent="main", call_id="c", tool="ex__big", result=result, content=content)
    line = to_bytes(Envelope(1, "2026-01-01T00:00:00Z", "s", 1, event))
    kept = from_bytes(line)
    assert kept is not None and kept.event.content == content  # type: ignore[attr-defined]
    found: dict[str, object] = json.loads(line)
    return found


def test_what_was_cut_for_the_model_is_not_kept_whole() -> None:
    assert record("x" * 3_000_000, "xxx [cut]")["result"] is None
    assert record({"text": "x" * 3_000_000}, "xxx [cut]")["result"] is None


def test_what_the_model_got_is_kept() -> None:
    assert record({"text": "short"}, "short")["result"] == {"text": "short"}
    whole = "y" * 2_000_000
    assert record(whole, whole)["result"] == whole
