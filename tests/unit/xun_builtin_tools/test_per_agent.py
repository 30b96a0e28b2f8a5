"""What a tool keeps for one agent: its own also in a shared state, ended once, and with nothing left behind."""

from __future__ import annotations

from typing import Any

from xun import Agent, Hooks
from xun_builtin_tools.per_agent import PerAgent


class Kept(PerAgent):
    key = "__kept_for_test"

    def __init__(self, agent: Agent[Any]) -> None:
        super().__init__(agent)
        self.ended = 0

    def end(self) -> None:
        self.ended += 1


def test_it_ends_with_its_agent_and_leaves_neither_a_handler_nor_its_slot() -> None:
    agent = Agent().initialize()
    first = Kept.of(agent)
    assert Kept.of(agent) is first
    agent.finalize()
    assert (first.ended, len(agent.hooks.before_finalize), Kept.key in agent.state) == (1, 0, False)
    agent.initialize()
    second = Kept.of(agent)
    agent.finalize()
    assert (first.ended, second.ended) == (1, 1)


def test_agents_that_share_state_and_hooks_have_one_each() -> None:
    state: dict[str, Any] = {}
    hooks = Hooks()
    one, other = Agent(state=state, hooks=hooks).initialize(), Agent(state=state, hooks=hooks).initialize()
    mine, theirs = Kept.of(one), Kept.of(other)
    assert mine is not theirs
    one.finalize()
    assert (mine.ended, theirs.ended) == (1, 0) and state[Kept.key] is theirs
    other.finalize()
    assert (mine.ended, theirs.ended) == (1, 1) and Kept.key not in state
