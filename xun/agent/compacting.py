"""Compaction as an agent and its runs do it: before the window is full, after a refusal, or when asked for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

from xun.agent.cancel import waking
from xun.agent.compaction import (
    CompactionDraft,
    ask_for_summary,
    find_cut,
    largest,
    summary_message,
)
from xun.agent.handoff import READ_COMPACTED, RESULTS, begun_anew, kept_after, listed_results
from xun.agent.requesting import Requesting
from xun.agent.runner import refuse_running_loop
from xun.errors import CancelledError, ContextOverflow, XunError
from xun.events import Compaction, Event, Notice, UsageUpdated
from xun.messages import Message, Usage, estimate_tokens
from xun.tools.running import run_blocking

if TYPE_CHECKING:
    from xun.agent.agent import Agent

_SHARE = 0.25
"""The part of the window that is kept whole."""

_GROWN = 0.1
"""The part of the window that must have been added before older messages are summed up again by themselves."""

_SHORT, _ENOUGH = 1_000, 16_000
"""A conversation of fewer tokens than the one is not what fills a window; instructions and tools need the other."""


class Compacting:
    """The part of an agent that sums up its conversation; mixed into `Agent`.

    Attributes:
        measured: How many messages the last request held, and how many tokens it took with its answer.
        compacted_to: The tokens of the history after the last compaction.
    """

    def __init__(self) -> None:
        self.measured: tuple[int, int] = (0, 0)
        self.compacted_to = 0

    def compact(self, focus: str = "") -> Compaction | None:
        """Replace the older messages by a summary that the model writes; the last turns stay as they are.

        Args:
            focus: What the summary is to keep above all.

        Returns:
            The event; None when there is too little to sum up.

        Raises:
            ModelError: No summary was made; the history is unchanged.
            RuntimeError: The agent is running, or this is called inside a running event loop: use `acompact` there.
        """
        refuse_running_loop("compact", "acompact")
        return run_blocking(self.acompact(focus))

    async def acompact(self, focus: str = "") -> Compaction | None:
        """The same as `compact` for async callers."""
        agent = cast("Agent[Any]", self)
        if agent.running:
            raise RuntimeError(f"Agent {agent.name!r} is running; its conversation can be compacted after this turn.")
        agent.initialize()
        event, usage = await make_compaction(agent, focus, _room(agent, 4))
        if usage.input or usage.output:
            agent.add_usage(usage)
            agent.record(usage_of(agent, usage))
        if event is not None:
            agent.record(event)
        return event

    def context_tokens(self) -> int:
        """Return about how many tokens the next request takes."""
        history = cast("Agent[Any]", self).history
        seen, tokens = self.measured
        if not tokens or seen > len(history):
            return estimate_tokens(history)
        return tokens + estimate_tokens(history[seen:])


def _room(agent: Agent[Any], part: int) -> int:
    """Return how many tokens stay as they are: one *part*-th of the history, or the share of the window if less."""
    keep = estimate_tokens(agent.history) // part
    return min(keep, int(agent.context_window * _SHARE)) if agent.context_window else keep


def usage_of(agent: Agent[Any], usage: Usage) -> UsageUpdated:
    """Return the event of a request for a summary: it says nothing of how full the window is."""
    return UsageUpdated(
        agent=agent.name, input=usage.input, output=usage.output, cached=usage.cached, cost_usd=usage.cost_usd
    )


async def make_compaction(agent: Agent[Any], focus: str, keep: int) -> tuple[Compaction | None, Usage]:
    """Replace the history of *agent* but for about *keep* tokens; return the event, which is the caller's to record.

    None for the event: there is too little to sum up.

    Raises:
        ModelError: No summary was made; the history is unchanged.
        XunError: The history was replaced meanwhile; it stays as it is.
    """
    history = agent.history
    cut = find_cut(history, keep)
    if not cut:
        return None, Usage()
    older = list(history[:cut])
    draft = CompactionDraft(agent, older, focus)
    await agent.hooks.before_compaction.invoke(draft)
    model = agent.config.compact_model or await agent.aresolve_model()
    summary, usage = await ask_for_summary(model, older, focus, agent.config.retry_attempts)
    text = summary_message(summary, older, draft.facts)
    if agent.toolbox.offers(READ_COMPACTED):
        text += listed_results(older)
    if agent.history[:cut] != older:
        raise XunError("The conversation was changed while it was being summed up; it stays as it is.")
    kept = kept_after(agent.history, cut)
    before, after = estimate_tokens(agent.history), estimate_tokens([Message("user", text), *agent.history[cut:]])
    if after >= before:
        return None, usage
    _replace(agent, text, kept, older)
    agent.compacted_to = after
    return Compaction(agent=agent.name, before=before, after=after, summary=text, kept=kept), usage


def _replace(agent: Agent[Any], text: str, kept: int, older: list[Message]) -> None:
    if agent.toolbox.offers(READ_COMPACTED):
        results = agent.state.setdefault(RESULTS, {})
        results.update({item.tool_call_id: item.text for item in older if item.role == "tool"})
    seen, tokens = agent.measured
    rest = max(0, tokens - estimate_tokens(agent.history[:seen])) if seen <= len(agent.history) else 0
    agent.history = begun_anew(agent.history, text, kept)
    agent.measured = (0, rest)


class Fitting(Requesting):
    """The part of a run that keeps its requests within the window; mixed into `Run`."""

    _no_summary = False

    async def _ask_fitting(self) -> AsyncGenerator[Event, None]:
        """Make one model request, after a compaction where the window is nearly full, or was found to be full."""
        if self._nearly_full():
            async for event in self._compact(""):
                yield event
        try:
            async with aclosing(self._ask()) as events:
                async for event in events:
                    yield event
            return
        except ContextOverflow as exc:
            overflow = exc
        smaller = False
        async for event in self._compact("it was refused as too long"):
            smaller = smaller or isinstance(event, Compaction)
            yield event
        if not smaller:
            raise self._too_long(overflow)
        try:
            async with aclosing(self._ask()) as events:
                async for event in events:
                    yield event
        except ContextOverflow as exc:
            raise self._too_long(exc) from None

    def _too_long(self, error: ContextOverflow) -> ContextOverflow:
        history = self.agent.history
        text = f"{error}. The largest part is {largest(history)}: "
        if estimate_tokens(history) < _SHORT:
            text += (
                "so it is the instructions and tools that do not fit. Load the model with a larger context, "
                f"{_ENOUGH:,} tokens or more"
            )
        else:
            text += "ask for less of it, or begin anew"
        return ContextOverflow(text, status=error.status, window=error.window)

    def _nearly_full(self) -> bool:
        agent, window = self.agent, self.agent.context_window
        share = agent.config.compact_at_pct
        if not window or not share or self._no_summary or agent.context_tokens() < window * share / 100:
            return False
        grown = estimate_tokens(agent.history) - agent.compacted_to
        return not agent.compacted_to or grown >= window * _GROWN

    async def _compact(self, why: str) -> AsyncGenerator[Event, None]:
        agent, window = self.agent, self.agent.context_window
        for event in self.channel.take_all():
            yield event
        keep = _room(agent, 4 if why else 2)
        if not find_cut(agent.history, keep):
            return
        full = why or f"the window is {100 * agent.context_tokens() // (window or 1)} % full"
        yield self._event(Notice, text=f"The conversation is being summed up: {full}.")
        task = asyncio.create_task(make_compaction(agent, "", keep))
        forget = self.token.on_cancel(waking(self.loop, task.cancel))
        try:
            done, usage = await task
        except asyncio.CancelledError:
            if self.token.reason is None:
                raise
            raise CancelledError(self.token.reason) from None
        except XunError as exc:
            self._no_summary = True
            yield self._event(Notice, level="warning", text=f"No summary was made, nothing was changed: {exc}.")
            return
        finally:
            forget()
            task.cancel()
        agent.add_usage(usage, cast("Any", self))
        yield usage_of(agent, usage)
        if done is not None:
            yield done
