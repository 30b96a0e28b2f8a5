"""mypy --strict on a user's program: it says what the comments there expect, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SAMPLE = Path(__file__).with_name("sample_program.py")
ROOT = SAMPLE.parents[2]
_LINE = re.compile(r"^[^:]+:(\d+): (error|note): (.*)$")
_REVEALED = re.compile(r'Revealed type is "(.*)"')


def test_sample_program():
    """Compare line by line; takes some seconds without mypy's cache."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-codes"]
    done = subprocess.run(
        [*command, "--config-file", "pyproject.toml", str(SAMPLE.relative_to(ROOT))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.stderr == ""
    found: dict[int, str] = {}
    for line in done.stdout.splitlines():
        match = _LINE.match(line)
        assert match, line
        found[int(match[1])] = short(match[3])
    expected: dict[int, str] = {}
    for number, line in enumerate(SAMPLE.read_text().splitlines(), 1):
        if wanted := re.search(r"# [ER]: (.*)$", line):
            expected[number] = wanted[1]
    assert set(found) == set(expected), done.stdout
    wrong = [f"{n}: {found[n]!r} lacks {expected[n]!r}" for n in sorted(found) if expected[n] not in found[n]]
    assert not wrong, "\n".join(wrong)


def short(text: str) -> str:
    """Return a message of mypy with names as a person writes them."""
    match = _REVEALED.search(text)
    if match is None:
        return text
    plain = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])", "", match[1])
    return plain.replace("builtins.", "").replace("*", "")
