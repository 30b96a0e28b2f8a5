"""Every event type, to JSON and back."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import pytest

from xun import events
from xun.events import STORED, TYPES, Event, ToolCompleted, from_json

SAMPLES: dict[str, Any] = {
    "str": "tëxt \ud800 \n",
    "int": 7,
    "float": 0.25,
    "bool": True,
    "int | None": 3,
    "float | None": 12.5,
    "str | None": "x",
    "Any": {"a": [1, None, {"b": "c"}]},
    "dict[str, Any] | None": {"error": "e", "kind": "k"},
    "tuple[str, ...]": ("a", "b"),
    "tuple[dict[str, Any], ...]": ({"a": 1}, {"b": [2]}),
    "tuple[dict[str, str], ...]": ({"a": "1"},),
}


def filled(cls: type[Event]) -> Event:
    return cls(**{item.name: SAMPLES[str(item.type)] for item in dataclasses.fields(cls)})


def through_json(event: Event) -> Event | None:
    return from_json(json.loads(json.dumps(event.to_json())))


@pytest.mark.parametrize("name", sorted(TYPES))
@pytest.mark.parametrize("make", [filled, lambda cls: cls()], ids=["filled", "defaults"])
def test_round_trip(name: str, make: Any):
    event = make(TYPES[name])
    assert event.to_json()["type"] == name
    assert through_json(event) == event


def test_every_class_has_a_type_of_its_own():
    classes = [value for value in vars(events).values() if isinstance(value, type) and issubclass(value, Event)]
    assert set(classes) - {Event} == set(TYPES.values()) == set(get_args(events.AnyEvent))
    assert {cls.type: cls for cls in classes if cls is not Event} == TYPES
    assert set(events.__all__) >= {cls.__name__ for cls in classes}


def test_events_are_frozen_and_slotted():
    event = TYPES["notice"](text="a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.text = "b"
    assert all(not hasattr(cls(), "__dict__") for cls in TYPES.values())


def test_stored_types():
    assert set(TYPES) - STORED == {"message.delta", "reasoning.delta", "tool.output", "queue.changed", "retry"}


def test_unknown_types_and_fields_are_ignored():
    assert from_json({"type": "of.tomorrow", "x": 1}) is None and from_json({}) is None
    assert from_json({"type": "notice", "text": "a", "new_field": 1}) == TYPES["notice"](text="a")


@pytest.mark.parametrize(
    ("fields", "content"),
    [
        ({"result": "text"}, "text"),
        ({"result": {"a": "ä"}}, '{"a": "ä"}'),
        ({"result": None}, "null"),
        ({"result": ""}, ""),
        ({"ok": False, "status": "error", "error": {"error": "boom", "kind": "k"}}, "boom"),
        ({"ok": False, "status": "error"}, ""),
    ],
)
def test_content_follows_from_the_result_and_is_not_stored_twice(fields: dict[str, Any], content: str):
    event = ToolCompleted(call_id="1", tool="t", **fields)
    assert event.content == content and "content" not in event.to_json() and through_json(event) == event
    cut = dataclasses.replace(event, content="cut for the model")
    assert cut.to_json()["content"] == "cut for the model" and through_json(cut) == cut


def test_events_compare_and_show_as_dataclasses_do():
    first, same, other = TYPES["notice"](text="a"), TYPES["notice"](text="a"), TYPES["notice"](text="b")
    assert first == same and hash(first) == hash(same) and first != other and first != TYPES["steer"](text="a")
    assert first != "a" and len({first, same, other}) == 2
    assert repr(first) == "Notice(agent='main', level='info', text='a')"
    assert dataclasses.asdict(first) == {"agent": "main", "level": "info", "text": "a"}
