"""What the gate allows is run by the real bash: it executes, writes and opens nothing else."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.command_oracle import Gate, Oracle, missing_parts, mutants, option_texts, search
from xun_policies.commands import evaluate
from xun_policies.store import PolicyState

pytestmark = pytest.mark.timeout(300)

ROWS = [
    json.loads(line) for line in (Path(__file__).parents[1] / "corpus/commands.jsonl").read_text("utf-8").splitlines()
]
ALLOWS = [row["command"] for row in ROWS if row["expect"] == "allow"]
ASKS = [row["command"] for row in ROWS if row["expect"] == "ask"]
FRAGMENTS = sorted({word for text in ASKS for word in text.split(" ") if word})


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    reason = missing_parts()
    if reason:
        pytest.skip(f"the oracle can't run here: {reason}")
    yield Oracle(tmp_path_factory.mktemp("oracle"))


def gate(oracle: Oracle, policy: PolicyState) -> Gate:
    return lambda text: evaluate(text, policy, oracle.scope)


def test_allowed_rows_do_what_the_gate_understood(oracle: Oracle) -> None:
    findings, _, run = search(oracle, gate(oracle, PolicyState()), iter(ALLOWS))
    assert findings == []
    assert run >= len(ALLOWS) * 95 // 100


def test_mutants_that_are_allowed_do_what_the_gate_understood(oracle: Oracle) -> None:
    texts = mutants(ALLOWS * 4 + ASKS, FRAGMENTS, 4000, seed=20261129)
    findings, _, run = search(oracle, gate(oracle, PolicyState()), texts, most=200)
    assert findings == []
    assert run >= 100


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_mutants(oracle: Oracle) -> None:
    for seed in range(4):
        texts = mutants(ALLOWS * 4 + ASKS, FRAGMENTS, 20_000, seed=seed)
        findings, _, _ = search(oracle, gate(oracle, PolicyState()), texts)
        assert findings == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_free_option_does_more_than_show(oracle: Oracle) -> None:
    findings, _, run = search(oracle, gate(oracle, PolicyState()), iter(option_texts()))
    assert findings == []
    assert run > 1000


def test_a_sample_of_free_options(oracle: Oracle) -> None:
    texts = random.Random(7).sample(option_texts(), 120)
    findings, _, _ = search(oracle, gate(oracle, PolicyState()), iter(texts))
    assert findings == []


@pytest.mark.parametrize("prefix", ["sort", "uniq", "find", "sed", "git diff"])
def test_a_broken_guard_is_found(oracle: Oracle, prefix: str) -> None:
    broken = PolicyState()
    broken.command_allowlist.add(prefix.split())  # a granted prefix is a guard that lets everything through
    rows = [text for text in ASKS if text.startswith(prefix)]
    findings, _, _ = search(oracle, gate(oracle, broken), iter(rows), most=12)
    assert findings, f"no finding although the guard of {prefix} is off"
