"""Lists in braces: what the gate takes them for is what the real bash makes of them."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from xun_policies.shell.grammar import parse

SIGNS = "{{{},,,.ab-=:*?%@+/_1'\\~$["


def understood(count: int) -> list[tuple[str, list[str]]]:
    """Return words of which the gate knows the alternatives, with these, until *count* are found."""
    chance = random.Random(20261130)
    found: list[tuple[str, list[str]]] = []
    while len(found) < count:
        word = "".join(chance.choice(SIGNS) for _ in range(chance.randint(4, 14)))
        parsed = parse(f"echo {word}") if "{" in word and "," in word else None
        if parsed is not None and parsed.problem is None and len(parsed.commands[0].words) > 2:
            found.append((word, [one.text for one in parsed.commands[0].words[1:]]))
    return found


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_makes_the_same_words() -> None:
    words = understood(150)
    script = "\n".join(f'printf "%s\\0" {word}; printf "\\1"' for word, _ in words)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-f"], input=script, capture_output=True, text=True, check=True, timeout=60
    )
    made = [part.split("\0")[:-1] for part in done.stdout.split("\1")[:-1]]
    assert made == [texts for _, texts in words]


def test_what_bash_may_read_otherwise_is_not_taken_apart() -> None:
    for word in (
        "{,a}",
        "{1..3}",
        "{a,b..c}",
        "a{b,c}{d,e}",
        "{a,{b,c}}",
        "{a,'b'}",
        "{~,a}",
        "X={a,b}",
        "{a,b}}",
        "{a,$x}",
    ):
        assert parse(f"echo {word}").problem is not None, word
    assert parse("echo " + "{a," + "b" * 500 + "}").problem is not None
