"""What a long session costs: statements T08 to T12 of the terminal page, at the sizes that it names (`make soak`)."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.demo_terminal import demo_terminals
from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")]

Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    yield from demo_terminals(tmp_path)


def flood(terminal: Terminal, turns: int) -> None:
    terminal.drawn = False  # the screen of the test is slower than the program
    terminal.send(f"flood {turns}\r")
    seen = len(terminal.raw)
    while b"end of flood" not in terminal.raw[max(seen, len(terminal.raw) - 3_000) :]:
        terminal.read(0.2)
    terminal.read(1.0)


def spinner(terminal: Terminal, seconds: float) -> float:
    """Return the processor time of a turn that only waits."""
    terminal.send(f"wait {seconds + 1}\r")
    terminal.read(0.5)
    before = terminal.cpu_seconds()
    terminal.read(seconds)
    used = terminal.cpu_seconds() - before
    terminal.read(1.5)
    return used


def echo_costs(terminal: Terminal, count: int = 40) -> list[float]:
    """Return the processor time of each typed key."""
    costs = []
    for index in range(count):
        before = terminal.cpu_seconds()
        terminal.send("abcdefghij"[index % 10])
        terminal.read(0.1)
        costs.append(terminal.cpu_seconds() - before)
    terminal.send("\x15")
    terminal.read(0.1)
    return costs


def focus_cost(terminal: Terminal) -> float:
    before = terminal.cpu_seconds()
    terminal.send("\x1b[O\x1b[I")
    terminal.read(0.5)
    return terminal.cpu_seconds() - before


def idle_cost(terminal: Terminal, seconds: float) -> float:
    terminal.read(2.5)
    before = terminal.cpu_seconds()
    terminal.read(seconds)
    return terminal.cpu_seconds() - before


def test_t09_t10_t11_t12_a_long_session_costs_no_more_than_a_short_one(start: Start) -> None:
    terminal = start()
    flood(terminal, 5)
    short, memory = spinner(terminal, 2.0), terminal.memory()
    flood(terminal, 300)
    assert terminal.memory() - memory < 40, "300 turns of 20 kB"
    assert spinner(terminal, 2.0) <= 1.5 * short + 0.03
    costs = sorted(echo_costs(terminal, 20))
    assert costs[int(len(costs) * 0.95)] < 0.05
    assert focus_cost(terminal) < 0.2


@pytest.mark.slow
def test_t08_half_a_minute_at_the_prompt_costs_nothing(start: Start) -> None:
    terminal = start()
    assert idle_cost(terminal, 30.0) < 0.15
    flood(terminal, 300)
    assert idle_cost(terminal, 30.0) < 0.15


@pytest.mark.slow
def test_t09_ten_seconds_of_a_spinner_cost_the_same_after_200_messages(start: Start) -> None:
    terminal = start()
    flood(terminal, 5)
    short = spinner(terminal, 10.0)
    flood(terminal, 200)
    assert spinner(terminal, 10.0) <= 1.5 * short


@pytest.mark.slow
def test_t10_t11_keys_and_focus_with_300_messages(start: Start) -> None:
    terminal = start()
    flood(terminal, 300)
    costs = sorted(echo_costs(terminal, 100))
    assert costs[94] < 0.05, statistics.median(costs)
    assert focus_cost(terminal) < 0.2


@pytest.mark.slow
def test_t12_memory_over_500_turns_of_20_kb(start: Start) -> None:
    terminal = start()
    flood(terminal, 5)
    before = terminal.memory()
    flood(terminal, 500)
    assert terminal.memory() - before < 60
