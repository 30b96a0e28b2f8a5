"""The limits of a run, checked before each model request; sub-agents draw on the purse of their parents."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from xun.errors import BudgetReached, CancelledError, StepLimitReached

if TYPE_CHECKING:
    from xun.agent.loop import Run


def check_limits(run: Run) -> None:
    """Return when *run* may ask its model once more.

    Raises:
        CancelledError: It was cancelled.
        StepLimitReached: It used all of its steps.
        BudgetReached: It, or the run that it is a part of, used all of its tokens, money or time.
    """
    if run.token.reason is not None:
        raise CancelledError(run.token.reason)
    if run.steps >= run.max_steps:
        steps = f"{run.max_steps} steps" if run.max_steps != 1 else "one step"
        raise StepLimitReached(f"The run used all of its {steps} without an answer{_calls_made(run)}.")
    payer: Run | None = run
    while payer is not None:
        _check_purse(payer, "The run" if payer is run else f"The run of {payer.agent.name!r}, with its sub-agents,")
        parent = payer.agent.parent
        payer = None if parent is None else parent.current_run()


def _calls_made(run: Run) -> str:
    """Say what the run called, the most frequent first."""
    answers = [message for message in run.agent.history if message.role == "assistant"]
    # Those of this run only: an earlier one may have ended without an answer, too.
    names = Counter(call.name for message in answers[-run.steps :] for call in message.tool_calls)
    listed = ", ".join(f"{name} {f'{count} times' if count > 1 else 'once'}" for name, count in names.most_common(5))
    return f"; it called {listed}" if listed else ""


def _check_purse(run: Run, who: str) -> None:
    config = run.agent.config
    used = run.usage.input + run.usage.output
    if config.max_tokens is not None and used >= config.max_tokens:
        raise BudgetReached(f"{who} used {used} tokens; its limit is {config.max_tokens}.")
    if config.max_cost_usd is not None and run.usage.cost_usd >= config.max_cost_usd:
        raise BudgetReached(f"{who} cost ${run.usage.cost_usd:.4f}; its limit is ${config.max_cost_usd:g}.")
    if config.max_seconds is not None and time.monotonic() - run.started >= config.max_seconds:
        raise BudgetReached(f"{who} passed its time limit of {config.max_seconds:g} s.")
