"""The person's own keys do not get into records, and a key that is a word takes nothing with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from xun import events as ev
from xun_cli.session.envelope import Envelope
from xun_cli.session.lines import HIDDEN, from_bytes, to_bytes


def record(event: ev.Event, *hidden: str) -> dict[str, Any]:
    data = to_bytes(Envelope(seq=1, ts="2026-01-01T00:00:00Z", session="s", turn=1, event=event), hidden)
    assert from_bytes(data) is not None
    loaded: dict[str, Any] = json.loads(data)
    return loaded


@pytest.mark.parametrize(
    "key", ["sk-test-AAAA", 'odd"\\key\n', "ключ-ключ", "completed", "message.completed", "message"]
)
def test_texts_are_masked_and_the_record_stays_whole(key: str) -> None:
    found = record(ev.MessageCompleted(text=f"it is {key}!", calls=()), key)
    assert found["text"] == f"it is {HIDDEN}!" and found["type"] == "message.completed"


def test_results_and_arguments_are_masked_at_every_depth() -> None:
    key = "sk-test-AAAA"
    event = ev.ToolCompleted(
        call_id="c1", tool="read_file", ok=True, status="ok", result={"rows": [{"text": f"x{key}"}]}, duration_ms=1
    )
    assert key not in json.dumps(record(event, key))
    assert record(event, key)["result"] == {"rows": [{"text": f"x{HIDDEN}"}]}
    assert record(event)["result"] == {"rows": [{"text": f"x{key}"}]}
