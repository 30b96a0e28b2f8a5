from __future__ import annotations

import asyncio

import pytest

from xun.errors import ModelAuth, ModelError, ModelRateLimited, ModelReplyInvalid, ModelTimeout
from xun.messages import Message, ModelReply
from xun.models import ChaosModel, ScriptedModel
from xun.models.base import ModelRequest, Retrying, TextDelta
from xun.models.retry import RetryPolicy, stream_with_retry

ASK = ModelRequest([Message("user", "hello")])


class Failing:
    """Fails with each error in turn, then answers."""

    name, capabilities, context_window = "failing", frozenset(), None

    def __init__(self, *errors, before=()):
        self.errors = list(errors)
        self.before = before
        self.asked = 0
        self.closed = 0

    async def stream(self, request):
        self.asked += 1
        try:
            for event in self.before:
                yield event
            if self.errors:
                raise self.errors.pop(0)
            yield ModelReply("fine")
        finally:
            self.closed += 1

    async def aclose(self):
        pass


class Waits(list):
    """A sleep that takes no time, and a clock that only it moves."""

    now = 0.0

    async def __call__(self, seconds):
        self.append(seconds)
        self.now += seconds

    def clock(self):
        return self.now


async def run(model, policy=None, chance=0.5):
    waits = Waits()
    events = []
    try:
        async for event in stream_with_retry(
            model, ASK, policy=policy, sleep=waits, clock=waits.clock, chance=lambda: chance
        ):
            events.append(event)
    except ModelError as exc:
        return events, waits, exc
    return events, waits, None


def server_error():
    return ModelError("The server answered 500", status=500, retryable=True)


async def test_failures_that_pass_are_retried_with_growing_waits():
    events, waits, error = await run(Failing(*[server_error() for _ in range(4)]))
    assert error is None
    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert events[0] == Retrying(attempt=2, attempts=5, delay=0.5, reason="The server answered 500")
    assert events[-1] == ModelReply("fine")


async def test_the_last_error_comes_out_after_all_attempts():
    model = Failing(*[server_error() for _ in range(20)])
    _, waits, error = await run(model)
    assert (model.asked, model.closed) == (5, 5)
    assert len(waits) == 4 and sum(waits) < 60
    assert error.status == 500


@pytest.mark.parametrize(("chance", "low", "high"), [(0.0, 0.39, 0.41), (1.0, 0.59, 0.61)])
async def test_jitter_spreads_the_waits(chance, low, high):
    _, waits, _ = await run(Failing(server_error()), chance=chance)
    assert low < waits[0] < high


async def test_no_own_wait_is_longer_than_the_cap():
    assert RetryPolicy().wait(30, None, 1.0) == 8.0


@pytest.mark.parametrize("chance", [0.0, 1.0])
async def test_retry_after_is_honoured_and_never_cut_short(chance):
    _, waits, error = await run(Failing(ModelRateLimited("slow", status=429, retry_after=2)), chance=chance)
    assert error is None
    assert 2 <= waits[0] <= 3


async def test_a_wait_beyond_the_limit_ends_the_tries():
    model = Failing(ModelRateLimited("slow", status=429, retry_after=3600))
    events, waits, error = await run(model)
    assert (events, waits, model.asked) == ([], [], 1)
    assert error.retry_after == 3600


async def test_what_cannot_pass_is_not_retried():
    model = Failing(ModelAuth("no"))
    events, _, error = await run(model)
    assert isinstance(error, ModelAuth)
    assert (model.asked, events) == (1, [])


async def test_a_stream_cut_after_text_is_retried():
    events, _, error = await run(Failing(ModelReplyInvalid("cut"), before=[TextDelta("par")]))
    assert error is None
    assert [type(event) for event in events] == [TextDelta, Retrying, TextDelta, ModelReply]


async def test_a_stream_without_an_answer_is_an_error():
    class Silent(Failing):
        async def stream(self, request):
            self.asked += 1
            if False:
                yield

    model = Silent()
    _, _, error = await run(model, RetryPolicy(attempts=2))
    assert isinstance(error, ModelReplyInvalid) and "failing" in str(error)
    assert model.asked == 2


async def test_patience_ends_tries_that_bring_nothing():
    waits = Waits()

    class Hanging(Failing):
        async def stream(self, request):
            self.asked += 1
            waits.now += 120
            raise ModelTimeout("nothing for 120 s")
            yield

    model = Hanging()
    with pytest.raises(ModelTimeout):
        async for _ in stream_with_retry(model, ASK, sleep=waits, clock=waits.clock):
            pass
    assert model.asked == 1


async def test_tries_that_brought_part_of_a_call_are_not_counted_as_nothing():
    waits = Waits()

    class Breaking(Failing):
        async def stream(self, request):
            self.asked += 1
            waits.now += 120
            error = ModelTimeout("nothing for 120 s")
            error.begun = True
            raise error
            yield

    model = Breaking()
    with pytest.raises(ModelTimeout):
        async for _ in stream_with_retry(model, ASK, sleep=waits, clock=waits.clock):
            pass
    assert model.asked == 5


async def test_cancelling_ends_a_wait_at_once():
    model = Failing(ModelRateLimited("slow", status=429, retry_after=60))
    waiting = asyncio.Event()

    async def consume():
        async for event in stream_with_retry(model, ASK):
            if isinstance(event, Retrying):
                waiting.set()

    task = asyncio.create_task(consume())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1)
    assert model.asked == 1


async def test_closing_the_iterator_closes_the_stream():
    model = Failing(before=[TextDelta("a"), TextDelta("b")])
    stream = stream_with_retry(model, ASK)
    assert await anext(stream) == TextDelta("a")
    await stream.aclose()
    assert model.closed == 1


async def test_a_script_loses_no_turn_to_faults():
    model = ChaosModel(ScriptedModel([{"text": "one two"}, {"text": "three"}]), ["http_429", "cut", "http_500", None])
    events, _, _ = await run(model)
    assert events[-1].text == "one two"
    assert [type(event) for event in events[:4]] == [Retrying, TextDelta, TextDelta, Retrying]
    events, _, _ = await run(model)
    assert events[-1].text == "three"


@pytest.mark.parametrize(("asked", "chance", "waited"), [(2, 0.0, 2.0), (2, 1.0, 2.4), (30, 1.0, 31.0)])
async def test_not_all_who_were_told_the_same_time_come_back_at_once(asked, chance, waited):
    assert RetryPolicy().wait(1, asked, chance) == pytest.approx(waited)


async def test_the_longest_wait_that_may_be_asked_for_is_still_kept():
    limit = RetryPolicy().longest_asked
    _, waits, error = await run(Failing(ModelRateLimited("slow", status=429, retry_after=limit)), chance=0.0)
    assert error is None and waits == [limit]


async def test_patience_is_over_once_it_is_used_up_and_what_a_server_asks_for_does_not_use_it():
    policy = RetryPolicy(attempts=9, first=1.0, jitter=0.0, patience=3.0)
    _, waits, error = await run(Failing(*[server_error() for _ in range(9)]), policy)
    assert error is not None and waits == [1.0, 2.0]
    slow = ModelRateLimited("slow", status=429, retry_after=50)
    _, waits, error = await run(Failing(slow, slow, server_error()), policy)
    assert error is None and waits == [50, 50, 4.0]
