"""Scripts of sed, awk and jq that the gate allows are run by the programs of this machine: they only print."""

from __future__ import annotations

import shlex
from itertools import islice
from pathlib import Path

import pytest

from tests.fakes.script_oracle import Bench, readers, scripts
from xun_policies.commands import CommandScope, evaluate
from xun_policies.store import PolicyState

_NAMES = {"sed": "sed", "awk": "awk", "jq": "jq -n"}


def findings(folder: Path, language: str, seed: int, count: int) -> list[tuple[list[str], str, str]]:
    """Return program, script and deed for the first *count* scripts that are allowed, of each reader."""
    programs = readers(language)
    if not programs:
        pytest.skip(f"no {language} is installed")
    bench, policy = Bench(folder), PolicyState()
    scope = CommandScope(str(folder), (str(folder),), "/home/dev", "/usr/bin:/bin")
    allowed = (
        script
        for script in islice(scripts(language, seed), 50 * count)
        if evaluate(f"{_NAMES[language]} {shlex.quote(script)} f", policy, scope).allowed
    )
    ran = [(program, script) for script in islice(allowed, count) for program in programs]
    assert len(ran) >= count, "the generator makes scripts that are allowed"
    return [(program, script, deed) for program, script in ran if (deed := bench.run(program, script))]


@pytest.mark.parametrize("language", ["sed", "awk", "jq"])
def test_a_free_script_only_prints(tmp_path: Path, language: str) -> None:
    assert findings(tmp_path, language, seed=20261130, count=25) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("language", ["sed", "awk", "jq"])
def test_many_free_scripts_only_print(tmp_path: Path, language: str) -> None:
    assert findings(tmp_path, language, seed=5, count=8000) == []


@pytest.mark.parametrize(
    ("language", "script"),
    [
        ("sed", "/[]/s/]/w m9\n/"),
        ("sed", "/[x/s/]/w m9\n/"),
        ("sed", "1e touch m8"),
        ("sed", "r SECRETF"),
        ("awk", 'BEGIN{print "x" > "m9"}'),
        ("awk", 'BEGIN{1system("touch m8")}'),
        ("jq", "$ENV.HIDDEN"),
    ],
)
def test_what_does_more_is_seen_and_not_free(tmp_path: Path, language: str, script: str) -> None:
    if not readers(language):
        pytest.skip(f"no {language} is installed")
    bench = Bench(tmp_path)
    assert any(bench.run(program, script) for program in readers(language))
    scope = CommandScope(str(tmp_path), (str(tmp_path),), "/home/dev", "/usr/bin:/bin")
    assert not evaluate(f"{_NAMES[language]} {shlex.quote(script)} f", PolicyState(), scope).allowed
