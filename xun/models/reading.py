"""Read a chat completion from the bytes of an HTTP answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from xun.errors import ModelError, ModelReplyInvalid, ModelTimeout
from xun.messages import ModelReply, Usage
from xun.models.base import ModelEvent
from xun.models.deltas import ReplyAssembler
from xun.models.faults import Endpoint, redact, stream_error, whole_words
from xun.models.sse import EVENT_LIMIT, EventParser, ServerEvent

ANSWER_LIMIT = 8 * EVENT_LIMIT
"""The longest answer that is taken, in bytes of its stream: beyond it a model repeats itself for ever."""

SHARE_SECONDS = 0.02
"""How long pieces that come without a wait are read before the rest of the loop has its turn: keys, a cancellation."""

DRAIN_SECONDS = 0.1
"""How long to wait for the end of the HTTP answer after [DONE], so that the connection can be used again."""


class AnswerReader:
    """Read one answer: a stream of server-sent events, or one JSON object from servers that don't stream."""

    def __init__(
        self,
        where: Endpoint,
        *,
        idle: float,
        names: Collection[str] = (),
        prices: Mapping[str, float] | None = None,
    ) -> None:
        """Read for *where*; *idle* is the longest silence in seconds, *names* are the tools on offer."""
        self._where = where
        self._idle = idle
        self._names = names
        self._prices = prices
        self._assembler = ReplyAssembler()
        self._parser = EventParser()
        self._body: list[bytes] | None = None
        self._size = 0
        self._chunks = 0
        self._done = False
        self.said = ""
        """What the server said of an error in the stream, as it came; for looking at only."""

    @property
    def begun(self) -> bool:
        """Whether a part of the answer has come."""
        return self._assembler.begun

    async def read(self, data: AsyncIterator[bytes]) -> AsyncIterator[ModelEvent]:
        """Yield the pieces of the answer and, last, the answer.

        Raises:
            ModelTimeout: No event came for too long; comments that keep a connection alive are no events.
            ModelReplyInvalid: It is no answer, or it ended early.
            ModelError: The server reported an error in the stream.
        """
        clock = asyncio.get_running_loop().time
        turn = clock()
        deadline = turn + self._idle
        while not self._done:
            if clock() - turn > SHARE_SECONDS:
                await asyncio.sleep(0)
                turn = clock()
            piece = await self._next(data, deadline)
            chunks = self._end() if piece is None else self._take(piece)
            for chunk in chunks:
                for event in self._assembler.add(chunk):
                    yield event
            if piece is None:
                break
            if chunks:
                deadline = clock() + self._idle
        await self._drain(data)
        if not self._chunks:
            raise ModelReplyInvalid(f"{self._where.base_url} answered with nothing")
        reply, rest = self._assembler.finish(complete=self._done, names=self._names)
        for event in rest:
            yield event
        yield self._with_usage(reply)

    async def _next(self, data: AsyncIterator[bytes], deadline: float) -> bytes | None:
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                return await anext(data, None)
        raise quiet(self._where, self._idle)

    async def _drain(self, data: AsyncIterator[bytes]) -> None:
        if not self._done or self._body is not None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                while await anext(data, None) is not None:
                    pass

    def _take(self, piece: bytes) -> list[dict[str, Any]]:
        if self._body is None and not self._size:
            start = piece.lstrip(b"\xef\xbb\xbf \t\r\n")
            if not start:
                return []
            if start[:1] in (b"{", b"<"):
                self._body = []
        self._size += len(piece)
        limit = ANSWER_LIMIT if self._body is None else EVENT_LIMIT
        if self._size > limit:
            raise ModelReplyInvalid(f"{self._where.base_url} answered with over {limit} bytes", retryable=False)
        if self._body is None:
            return self._decode(self._parser.feed(piece))
        self._body.append(piece)
        return []

    def _end(self) -> list[dict[str, Any]]:
        if self._body is None:
            return self._decode(self._parser.close())
        body = b"".join(self._body)
        if body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
            raise ModelReplyInvalid(
                f"{self._where.base_url} answered with a web page and not with a model's answer; check base_url",
                retryable=False,
            )
        # Several objects are those of a stream whose server left out the names of the fields.
        texts = _documents(body.decode("utf-8-sig", "replace").strip())
        chunks = [self._json(text, "") for text in texts if text.strip() != "[DONE]"]
        if not any(chunk.get("choices") for chunk in chunks):
            raise ModelReplyInvalid(f"{self._where.base_url} answered without choices: {self._quote(str(chunks[0]))}")
        # A whole answer needs no mark of its end; pieces do, or what was cut between two would pass for all.
        self._done = len(chunks) < len(texts) or any(_is_whole(chunk) for chunk in chunks)
        return chunks

    def _decode(self, events: list[ServerEvent]) -> list[dict[str, Any]]:
        chunks: list[dict[str, Any]] = []
        for event in events:
            data = event.data.strip()
            if data == "[DONE]":
                self._done = True
                break
            if data:
                chunks += [self._json(text, event.event) for text in _documents(data)]
        return chunks

    def _json(self, text: str, event: str) -> dict[str, Any]:
        self._chunks += 1
        try:
            chunk = json.loads(text)
        except (ValueError, RecursionError):
            chunk = None
        if event == "error" or (isinstance(chunk, dict) and _is_error(chunk)):
            given = _error_of(chunk) if isinstance(chunk, dict) else text
            self.said = whole_words(given if isinstance(given, str) else json.dumps(given))
            raise stream_error(given, self._where)
        if not isinstance(chunk, dict):
            raise ModelReplyInvalid(f"{self._where.base_url} sent what is no valid JSON object: {self._quote(text)}")
        return chunk

    def _quote(self, text: str) -> str:
        return redact(text[:2000], self._where.secrets)

    def _with_usage(self, reply: ModelReply) -> ModelReply:
        return replace(reply, usage=usage_of(self._assembler.usage or {}, self._prices))


def quiet(where: Endpoint, idle: float) -> ModelError:
    """Return the error for a server that went silent."""
    named = f"{where.model} at {where.base_url}" if where.model else where.base_url
    return ModelTimeout(f"{named} sent nothing for {idle:g} s; raise the timeout if it only is slow")


def usage_of(data: Mapping[str, Any], prices: Mapping[str, float] | None) -> Usage:
    """Return the figures of one request; prices are US dollars per million tokens: input, output, cached."""
    given, written = _count(data, "prompt_tokens"), _count(data, "completion_tokens")
    if given:
        # Google and xAI leave the tokens of the thinking out of this figure, but not out of the sum, or the bill.
        written = max(written, _count(data, "total_tokens") - given)
    details = data.get("prompt_tokens_details")
    cached = _count(details, "cached_tokens") if isinstance(details, dict) else 0
    cached = min(given, cached or _count(data, "prompt_cache_hit_tokens"))
    cost = 0.0
    if prices:
        fresh = prices.get("input", 0.0)
        cost = (given - cached) * fresh + cached * prices.get("cached", fresh) + written * prices.get("output", 0.0)
    return Usage(given, written, cached, cost / 1e6, 1)


def _count(data: Mapping[str, Any], key: str) -> int:
    value = data.get(key)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _is_error(chunk: Mapping[str, Any]) -> bool:
    """Whether a chunk tells of an error: by its own field, that of a choice (OpenRouter), or its kind (vLLM)."""
    return bool(chunk.get("error") or _error_of(chunk) is not chunk or chunk.get("object") == "error")


def _error_of(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if not chunk.get("error") and isinstance(first, dict) and first.get("error") else chunk


def _is_whole(chunk: Mapping[str, Any]) -> bool:
    choices = chunk.get("choices")
    return isinstance(choices, list) and any(
        isinstance(item, dict) and isinstance(item.get("message"), dict) for item in choices
    )


def _documents(data: str) -> list[str]:
    """Split the data of an event whose server left out the empty lines between events."""
    if "\n" not in data:
        return [data]
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return [line for line in data.split("\n") if line.strip()]
    return [data]
