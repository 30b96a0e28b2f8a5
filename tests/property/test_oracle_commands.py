"""What the gate allows is run by the real bash: it executes, writes and opens nothing else."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.fakes.command_grammar import Composer, tags
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


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    reason = missing_parts()
    if reason:
        pytest.skip(f"the oracle can't run here: {reason}")
    yield Oracle(tmp_path_factory.mktemp("odd"), odd=True, leads_out=True)


def gate(oracle: Oracle, policy: PolicyState) -> Gate:
    return lambda text: evaluate(text, policy, oracle.scope)


def test_allowed_rows_do_what_the_gate_understood(oracle: Oracle) -> None:
    findings, _, run = search(oracle, gate(oracle, PolicyState()), iter(ALLOWS))
    assert findings == []
    assert run >= len(ALLOWS) * 95 // 100


def test_mutants_that_are_allowed_do_what_the_gate_understood(oracle: Oracle) -> None:
    texts = mutants(ALLOWS * 4 + ASKS, FRAGMENTS, 4000, seed=20261129)
    findings, _, run = search(oracle, gate(oracle, PolicyState()), texts, most=140)
    assert findings == []
    assert run >= 100


def endless(text: str) -> bool:
    """Tell whether *text* may run on and on: what follows a file, and what repeats itself."""
    return ("tail" in text and re.search(r"-\S*[fF]|--follow|--retry", text) is not None) or "free" in text


def written(seed: int, count: int) -> Iterator[str]:
    """Yield *count* texts of the grammar, each that follows the last one sometimes changed a little."""
    composer = Composer(seed)
    texts = [composer.text() for _ in range(count)]
    changed = mutants(texts, FRAGMENTS, count // 2, seed=seed)
    return (text for text in (*texts[: count - count // 2], *changed) if not endless(text))


def test_texts_of_the_grammar_do_what_the_gate_understood(odd: Oracle) -> None:
    findings, _, run = search(odd, gate(odd, PolicyState()), written(20261130, 160), most=40)
    assert findings == []
    assert run >= 30


def test_every_production_is_written() -> None:
    composer = Composer(4)
    for _ in range(1200):
        composer.text()
    missing = tags() - set(composer.made)
    assert [tag for tag in missing if not tag.startswith("option ")] == []
    options = sum(tag.startswith("option ") for tag in composer.made)
    assert options > 1000, "each deck of options is dealt to its end before one comes again"


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
@pytest.mark.parametrize("leads_out", [False, True])
def test_many_texts_of_the_grammar(tmp_path: Path, leads_out: bool, capsys: pytest.CaptureFixture[str]) -> None:
    oracle = Oracle(tmp_path, odd=True, leads_out=leads_out)
    findings, tried, run = search(oracle, gate(oracle, PolicyState()), written(6 + leads_out, 12_000))
    with capsys.disabled():
        print(f"\noracle: texts of the grammar: {tried} texts, {run} allowed and run, {len(findings)} findings")
    assert findings == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_free_option_does_more_than_show(oracle: Oracle) -> None:
    findings, _, run = search(oracle, gate(oracle, PolicyState()), iter(option_texts()))
    assert findings == []
    assert run > 1000


def test_a_sample_of_free_options(oracle: Oracle) -> None:
    texts = random.Random(7).sample(option_texts(), 90)
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


SINCE_ADR_16: dict[str, tuple[str, Callable[[str], str]]] = {
    "a list in braces is one word": ("sort {-om1,a.txt}", lambda text: text.replace("{-om1,a.txt}", "x")),
    "a list in braces is its first word": ("sed {p,-i} a.txt", lambda text: text.replace("{p,-i}", "p")),
    "what ! negates succeeds as before": ("! cd missing && cat ../secret.txt", lambda text: text.removeprefix("! ")),
    "a cd that fails has moved": ("cd missing; cat ../secret.txt", lambda text: text.replace(";", " &&")),
    "find runs readers only": ("find a.txt -exec touch m1 \\;", lambda text: text.replace("touch m1", "cat {}")),
    "the words of a reader are not judged": (
        "find a.txt -exec grep -f ../secret.txt {} +",
        lambda text: text.replace("-f ../secret.txt", "x"),
    ),
    "a reader opens no links": (
        "find logs -name '*.log' -exec cat {} +",
        lambda text: text.replace("-exec", "-type f -exec"),
    ),
    "a quoted option is text": ("sort '-o' m1 a.txt", lambda text: text.replace("'-o' m1", "a.txt")),
    "quotes in the middle of a word part it": ("sort -'o'm1 a.txt", lambda text: text.replace("-'o'm1", "-f m1")),
    "$PWD is a name": ('cat "$PWD"/../secret.txt', lambda text: text.replace('"$PWD"', "src")),
    "a pattern is text": ("sort -?m9", lambda text: text.replace("-?m9", "x")),
    "a comment goes on in the next line": ("ls # x\ntouch m1", lambda text: text.replace("\n", " ")),
    "a blank before a sign is one behind it": ("echo x >m1", lambda text: text.replace(">", "")),
    "a group moves what follows it": (
        "(cd src); cat ../secret.txt",
        lambda text: text.replace("(cd src);", "cd src &&"),
    ),
}


@pytest.mark.parametrize("reading", SINCE_ADR_16)
def test_a_broken_reading_of_what_was_let_through_since_is_found(odd: Oracle, reading: str) -> None:
    text, change = SINCE_ADR_16[reading]

    def broken(text: str) -> CommandVerdict:
        return replace(evaluate(change(text), PolicyState(), odd.scope), text=text)

    assert not evaluate(text, PolicyState(), odd.scope).allowed
    assert broken(text).allowed, "the broken reading allows it"
    findings, _, _ = search(odd, broken, iter([text]))
    assert findings, f"no finding although {reading}"
