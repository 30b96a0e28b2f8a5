"""The gate's speed, as multiples of a fixed loop of the same run, with room for a busy machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from xun_policies.commands import CommandScope, evaluate
from xun_policies.store import PolicyState

ROWS = [
    json.loads(line)["command"]
    for line in (Path(__file__).parents[2] / "corpus/commands.jsonl").read_text("utf-8").splitlines()
]
SCOPE = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", "/usr/local/bin:/usr/bin:/bin")


def loop() -> int:
    value = 0
    for number in range(1000):
        value = (value * 31 + number) & 0xFFFF
    return value


def least(work: Callable[[], object], rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@pytest.fixture
def unit() -> float:
    """The processor time of the fixed loop, just before the test: some 50 us on the machine of the limits."""
    return least(loop, 300)


def test_the_corpus(unit: float) -> None:
    policy = PolicyState()
    times = sorted(least(lambda text=text: evaluate(text, policy, SCOPE), 7) for text in ROWS)  # type: ignore[misc]
    assert sum(times) / len(times) <= 2.0 * unit
    assert times[int(len(times) * 0.99)] <= 6.0 * unit


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("echo " + "word " * 1990, 500),
        ('echo "' + "\\$" * 4990 + '"', 500),
        ("(" * 9990, 500),
        ("echo " + "{" * 9990, 500),
        ("echo " + "{,}" * 3300, 500),
        ("echo " + "$(" * 4900, 500),
        ("ls " + "*/" * 4900, 500),
        ("; ".join(["git diff --stat | head -3"] * 100), 900),
        ("cd a; " * 50 + "ls", 500),
    ],
    ids=["words", "escapes", "parentheses", "braces", "lists", "substitutions", "patterns", "commands", "folders"],
)
def test_long_inputs(unit: float, text: str, loops: int) -> None:
    assert least(lambda: evaluate(text, PolicyState(), SCOPE), 9) <= loops * unit


def test_importing_the_gate_loads_little() -> None:
    code = (
        "import dataclasses, re, pathlib, enum, sys; before = set(sys.modules); "
        "import xun_policies.commands, xun_policies.store; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = eval(done.stdout)
    assert [name for name in loaded if not name.startswith(("xun_policies", "__future__", "_virtualenv"))] == []
    assert len(loaded) <= 6, loaded
