"""One retry loop for every model: visible, bounded and ended at once by a cancellation."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xun.errors import ModelError, ModelReplyInvalid
from xun.messages import ModelReply
from xun.models.base import ModelEvent, ReasoningDelta, Retrying, TextDelta
from xun.models.streams import closing

if TYPE_CHECKING:
    from xun.models.base import ChatModel, ModelRequest


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long to try again; times are in seconds.

    Attributes:
        attempts: Tries in all, the first one included.
        first: The wait before the second try; each later one is twice as long.
        longest: No own wait is longer.
        jitter: The part of a wait that chance may add (or, without a server's wish, take away).
        longest_asked: A wait that the server asks for is honoured up to this; a longer one ends the tries.
        patience: Once own waits and tries that brought nothing have taken this long, the next failure is final.
    """

    attempts: int = 5
    first: float = 0.5
    longest: float = 8.0
    jitter: float = 0.2
    longest_asked: float = 120.0
    patience: float = 60.0

    def wait(self, failed: int, retry_after: float | None, chance: float) -> float:
        """Return the wait after *failed* failures; *chance* is from 0 to 1."""
        if retry_after is not None:
            # Never earlier than asked: the server would refuse again.
            return retry_after + min(retry_after * self.jitter, 1.0) * chance
        own = min(self.first * 2.0 ** (failed - 1), self.longest)
        return min(own * (1 + self.jitter * (2 * chance - 1)), self.longest)


async def stream_with_retry(
    model: ChatModel,
    request: ModelRequest,
    *,
    policy: RetryPolicy | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
) -> AsyncIterator[ModelEvent]:
    """Answer *request* as `model.stream` does, with failures that may pass tried again.

    Before each wait a `Retrying` is yielded; pieces that came before it are void. A cancellation,
    or closing the iterator, ends it at once.

    Raises:
        ModelError: It can't be retried, or every try failed; the error is that of the last try.
    """
    policy = policy or RetryPolicy()
    spent = 0.0
    failed = 0
    while True:
        began = clock()
        pieces = 0
        try:
            async with closing(_one_try(model, request)) as stream:
                async for event in stream:
                    pieces += isinstance(event, TextDelta | ReasoningDelta)
                    yield event
            return
        except ModelError as exc:
            error = exc
        failed += 1
        if not (pieces or error.begun):
            spent += clock() - began
        if not _may_retry(error, failed, spent, policy):
            raise error
        delay = policy.wait(failed, error.retry_after, chance())
        yield Retrying(attempt=failed + 1, attempts=policy.attempts, delay=delay, reason=str(error))
        await sleep(delay)
        if error.retry_after is None:
            spent += delay


def _may_retry(error: ModelError, failed: int, spent: float, policy: RetryPolicy) -> bool:
    if not error.retryable or failed >= policy.attempts or spent >= policy.patience:
        return False
    return error.retry_after is None or error.retry_after <= policy.longest_asked


async def _one_try(model: ChatModel, request: ModelRequest) -> AsyncIterator[ModelEvent]:
    async with closing(model.stream(request)) as stream:
        async for event in stream:
            yield event
            if isinstance(event, ModelReply):
                return
    raise ModelReplyInvalid(f"The model {model.name} ended its stream without an answer")
