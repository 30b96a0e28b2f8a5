"""The history of a conversation: what a request may hold, and how it is rebuilt from events."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from xun.agent.handoff import begun_anew
from xun.events import Compaction, ContextAdded, Event, MessageCompleted, Steer, ToolCompleted, TurnStarted
from xun.messages import Image, Message, ToolCall
from xun.unseen import noted

_NAME = re.compile(r"[^A-Za-z0-9_-]")
_MEDIA_TYPE = re.compile(r"image/[A-Za-z0-9.+-]{1,60}")
_UNANSWERED = "This call has no result: the run ended before the tool came back. It may have run."


def normalise(history: Sequence[Message]) -> list[Message]:
    """Return *history* as every provider accepts it; a pure function, the same live and on resume.

    Every call is answered exactly once, directly after it and in order; results of unknown calls
    are dropped, and what came between a call and its result follows the results. Ids are unique;
    names hold only letters, digits, ``_`` and ``-``; arguments are the text of a JSON object; no
    text holds a lone surrogate, nor what tools and people say letters that nobody sees (`xun.unseen`); images have a
    media type of images; there is no assistant message of blanks alone and without calls.
    """
    return _normal(history, set())


class Normaliser:
    """`normalise` for a history that grows: what was settled before is not looked at again.

    Without it the work of a step grows with the conversation, and with the size of every argument in it.
    """

    def __init__(self) -> None:
        self._settled: list[Message] = []
        self._messages: list[Message] = []
        self._used: set[str] = set()

    def __call__(self, history: Sequence[Message]) -> list[Message]:
        """Return what `normalise` returns; a history that was changed inside is read anew."""
        start = len(self._settled)
        # Lists of the same objects are compared by identity, which costs next to nothing. What follows must be
        # an assistant message again: anything else would still belong to the last one that is settled.
        open_end = start < len(history) and history[start].role != "assistant"
        if open_end or list(history[:start]) != self._settled:
            self._settled, self._messages, self._used, start = [], [], set(), 0
        # Results of the last assistant message may still come; all before it is settled.
        last = next((i for i in range(len(history) - 1, start - 1, -1) if history[i].role == "assistant"), start)
        new = history[start:last]
        self._messages += _normal(new, self._used)
        self._settled += new
        return [*self._messages, *_normal(history[last:], set(self._used))]


def _normal(history: Sequence[Message], used: set[str]) -> list[Message]:
    messages: list[Message] = []
    index = 0
    while index < len(history):
        message = history[index]
        index += 1
        if message.role == "tool":
            continue
        if message.role != "assistant":
            messages += _spoken(message)
            continue
        results: dict[str, list[Message]] = {}
        between: list[Message] = []
        while index < len(history) and history[index].role != "assistant":
            if history[index].role == "tool":
                results.setdefault(history[index].tool_call_id, []).append(history[index])
            else:
                between += _spoken(history[index])
            index += 1
        messages.extend(_step(message, results, used))
        messages.extend(between)
    return messages


def _step(message: Message, results: dict[str, list[Message]], used: set[str]) -> list[Message]:
    if not message.tool_calls:
        return [_clean(message)] if message.text.strip() else []
    calls: list[ToolCall] = []
    answers: list[Message] = []
    for call in message.tool_calls:
        unique = _unique(call.id, used)
        name = _NAME.sub("_", call.name)[:64] or "unnamed"
        found = results.get(call.id)
        text = noted(scrub(found.pop(0).text)) if found else _UNANSWERED
        calls.append(ToolCall(unique, name, _arguments(call.arguments), call.extra))
        answers.append(Message("tool", text, tool_call_id=unique, tool_name=name))
    return [replace(_clean(message), tool_calls=tuple(calls)), *answers]


def _arguments(text: str) -> str:
    """Return arguments that a provider can decode; it did not run if it had to be wrapped."""
    text = scrub(text) if text.strip() else "{}"
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    return json.dumps({"malformed_arguments": text}, ensure_ascii=False)


def unique_ids(calls: Iterable[ToolCall], used: set[str]) -> tuple[ToolCall, ...]:
    """Return *calls* with ids that are not empty and not in *used*, and add them to it.

    Some servers count anew in every message, or send none; events and results are told apart by id.
    """
    return tuple(replace(call, id=_unique(call.id, used)) for call in calls)


def _unique(call_id: str, used: set[str]) -> str:
    base = scrub(call_id) or "call"
    unique, number = base, 2
    while unique in used:
        unique, number = f"{base}_{number}", number + 1
    used.add(unique)
    return unique


def _spoken(message: Message) -> list[Message]:
    """Return a message of the user, clean; nothing where it says and shows nothing, which some servers refuse."""
    if not (message.text or message.images):
        return []
    said = _clean(message)
    text = noted(said.text)
    return [said if text == said.text else replace(said, text=text)]


def _clean(message: Message) -> Message:
    text = scrub(message.text)
    if message.images and not all(_MEDIA_TYPE.fullmatch(image.media_type) for image in message.images):
        # It comes from servers and stored records, and becomes a part of a URL.
        images = tuple(image for image in message.images if _MEDIA_TYPE.fullmatch(image.media_type))
        text = f"{text}\n[{len(message.images) - len(images)} image(s) of no known type left out]".lstrip()
        return replace(message, text=text, images=images)
    return message if text == message.text else replace(message, text=text)


def scrub(text: str) -> str:
    """Return *text* with lone surrogates replaced, so that it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def attachments(images: Iterable[Image]) -> tuple[dict[str, Any], ...]:
    """Return *images* in the JSON form of events."""
    return tuple({"media_type": i.media_type, "data": base64.b64encode(i.data).decode()} for i in images)


def images_of(items: Iterable[dict[str, Any]]) -> tuple[Image, ...]:
    """Return the images of an event's attachments."""
    return tuple(Image(base64.b64decode(item["data"]), item["media_type"]) for item in items)


def without_images(messages: Iterable[Message]) -> list[Message]:
    """Return *messages* with a note in the place of images, for a model that takes none."""
    return [_noted(message) if message.images else message for message in messages]


def _noted(message: Message) -> Message:
    count = len(message.images)
    note = f"[{count} image{'s' * (count != 1)} left out: this model takes no images]"
    return replace(message, text=f"{message.text}\n{note}".lstrip(), images=())


def from_events(events: Iterable[Event], agent: str = "main") -> list[Message]:
    """Rebuild the history of *agent* from stored events."""
    history: list[Message] = []
    for event in events:
        if event.agent != agent:
            continue
        if isinstance(event, TurnStarted):
            history.append(Message("user", event.input, images_of(event.attachments)))
        elif isinstance(event, MessageCompleted):
            calls = tuple(ToolCall.from_json(c) for c in event.calls)
            history.append(Message("assistant", event.text, tool_calls=calls, reasoning=event.reasoning))
        elif isinstance(event, ToolCompleted):
            history.append(Message("tool", event.content, tool_call_id=event.call_id, tool_name=event.tool))
        elif isinstance(event, Steer):
            history.append(Message("user", event.text))
        elif isinstance(event, ContextAdded):
            history.append(Message("user", event.text, images_of(event.attachments)))
        elif isinstance(event, Compaction):
            history = begun_anew(history, event.summary, event.kept)
    return history
