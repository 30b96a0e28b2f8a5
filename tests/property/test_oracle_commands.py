"""What the gate allows is run by the real bash: it executes, writes and opens nothing else."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fakes.command_oracle import Gate, Oracle, missing_parts, mutants, option_texts, search
from xun_policies.commands import CommandVerdict, evaluate
from xun_policies.store import PolicyState

pytestmark = pytest.mark.timeout(300)

CORPUS = Path(__file__).parents[1] / "corpus"


def rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (CORPUS / name).read_text("utf-8").splitlines()]


ROWS = rows("commands.jsonl")
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


def composed(count: int) -> list[str]:
    """Return *count* texts that hypothesis puts together from words, operators and blanks of both corpora."""
    own = [row["command"] for row in rows("commands_own.jsonl")]
    heads = sorted({text.split(" ")[0] for text in ALLOWS + own if text.strip()})
    words = sorted({word for text in ALLOWS + own for word in text.split(" ") if word})
    part = st.one_of(st.sampled_from(words), st.sampled_from(FRAGMENTS), st.text("ab./-*'\"\\$ ", max_size=5))
    command = st.tuples(st.sampled_from(heads), st.lists(part, max_size=4)).map(lambda it: " ".join([it[0], *it[1]]))
    joined = st.tuples(command, st.sampled_from([" | ", " && ", "; ", " || ", "\n", " & "]), command).map("".join)
    found: list[str] = []

    @settings(
        max_examples=count,
        database=None,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.one_of(command, command, joined))
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return found


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_many_mutants(oracle: Oracle, capsys: pytest.CaptureFixture[str]) -> None:
    """The soak: mutants of all rows, of both corpora, and of what hypothesis composes, in one sitting."""
    own = rows("commands_own.jsonl")
    seeds = ALLOWS * 4 + ASKS + [row["command"] for row in own if row["expect"] == "allow"] * 2
    asks = ASKS + [row["command"] for row in own if row["expect"] == "ask"]
    texts = composed(6000)
    plan = [
        ("hypothesis", iter(texts)),
        ("mutants of all rows", mutants(seeds + asks, FRAGMENTS, 30_000, seed=1)),
        ("mutants of ask rows", mutants(asks, FRAGMENTS, 16_000, seed=2)),
        ("mutants of hypothesis", mutants(texts, FRAGMENTS, 8_000, seed=3)),
    ]
    started = time.monotonic()
    total = [0, 0, 0]
    found: list[object] = []
    for name, source in plan:
        findings, tried, run = search(oracle, gate(oracle, PolicyState()), source)
        found += findings
        total = [total[0] + tried, total[1] + run, total[2] + len(findings)]
        minutes = (time.monotonic() - started) / 60
        with capsys.disabled():
            print(
                f"\noracle: {name}: {tried} texts, {run} allowed and run, {len(findings)} findings ({minutes:.1f} min)"
            )
    with capsys.disabled():
        print(f"oracle: in all {total[0]} texts, {total[1]} allowed and run, {total[2]} findings")
    assert found == []
    assert total[0] >= 20_000 and total[1] >= 1_000


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


@pytest.mark.parametrize("prefix", ["sort", "uniq", "find", "sed", "git diff", "awk", "xxd"])
def test_a_broken_guard_is_found(oracle: Oracle, prefix: str) -> None:
    broken = PolicyState()
    broken.command_allowlist.add(prefix.split())  # a granted prefix is a guard that lets everything through
    texts = [text for text in ASKS if text.startswith(prefix)]
    findings, _, _ = search(oracle, gate(oracle, broken), iter(texts), most=12, first=True)
    assert findings, f"no finding although the guard of {prefix} is off"


BROKEN_READINGS: dict[str, Callable[[str], str]] = {
    "a line end is a blank": lambda text: text.replace("\n", " "),
    "a redirection is a word": lambda text: text.replace(">", " "),
    "a background sign ends nothing": lambda text: text.replace("&", ""),
    "what quotes hold is dropped": lambda text: text.replace('"', "").replace("'", ""),
    "a substitution is a word": lambda text: text.replace("$(", " ").replace("`", " ").replace(")", " "),
}


@pytest.mark.parametrize("reading", BROKEN_READINGS)
def test_a_broken_reading_is_found(oracle: Oracle, reading: str) -> None:
    """The gate looks at another text than bash gets, with all guards in force but none for that text."""
    policy = PolicyState()
    policy.command_allowlist.add(("touch",))

    def broken(text: str) -> CommandVerdict:
        return replace(evaluate(BROKEN_READINGS[reading](text), policy, oracle.scope), text=text)

    own = [row["command"] for row in rows("commands_own.jsonl") if row["expect"] == "ask"]
    texts = (text for text in ASKS + own if BROKEN_READINGS[reading](text) != text)
    findings, _, _ = search(oracle, broken, texts, most=25, first=True)
    assert findings, f"no finding although {reading}"
