"""Random scripts of sed, awk and jq, and the programs that read them: what the gate allows must do no more than print.

Dangerous text stands where it is data for the gate: in regular expressions, replacements, strings. A program that ends
such a part elsewhere makes a command of it, which leaves a file behind or prints what it had to open.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.fakes.script_words import AWK_PARTS, JQ_PARTS, SED_COMMANDS, SED_DELIMITERS, SED_PARTS

SECRET = "SEKRET"
_PROGRAMS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "sed": (("sed",), ("busybox", "sed"), ("sed", "--posix"), ("sed", "-E")),
    "awk": (("gawk",), ("mawk",), ("original-awk",), ("busybox", "awk")),
    "jq": (("jq", "-n"),),
}


def readers(language: str) -> list[list[str]]:
    """Return the programs for *language* that this machine has, with their options."""
    found = ((shutil.which(words[0]), words[1:]) for words in _PROGRAMS[language])
    return [[path, *rest] for path, rest in found if path is not None]


def scripts(language: str, seed: int) -> Iterator[str]:
    """Yield scripts of *language* without end."""
    chance = random.Random(seed)
    make = _MAKERS[language]
    while True:
        yield make(chance)


def _some(chance: random.Random, parts: tuple[str, ...], most: int) -> str:
    return "".join(chance.choice(parts) for _ in range(chance.randint(0, most)))


def _sed(chance: random.Random) -> str:
    commands = [_sed_command(chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
    script = chance.choice((";", "\n", "; ", " ;")).join(commands)
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        at = chance.randint(0, len(script))
        script = script[:at] + _some(chance, SED_PARTS, 1) + script[at + chance.randint(0, 2) :]
    return script


def _sed_command(chance: random.Random) -> str:
    sign = chance.choice(SED_DELIMITERS)
    data = [_some(chance, SED_PARTS, 4) for _ in range(3)]
    address = chance.choice(("", "", "1", "$", "1,2", "/a/I"))
    if chance.random() < 0.5:
        # Where its end is in doubt, so is all that stands behind it.
        bracket = chance.choice(("[", "[^", "[]", "[x", "[]x]", "[x]", ""))
        address = chance.choice(
            (f"/{bracket}{data[2]}/", f"\\{sign}{bracket}{data[2]}{sign}", f"1,/{bracket}{data[2]}/")
        )
    kind = chance.random()
    if kind < 0.6:
        return f"{address}s{sign}{data[0]}{sign}{data[1]}{sign}{chance.choice(('', 'g', 'p', '2', 'I'))}"
    if kind < 0.7:
        return f"{address}y{sign}{data[0]}{sign}{data[1]}{sign}"
    return address + chance.choice(SED_COMMANDS)


def _awk(chance: random.Random) -> str:
    body = "".join(chance.choice(AWK_PARTS) + chance.choice(("", " ")) for _ in range(chance.randint(1, 7)))
    return chance.choice(("{{{}}}", "{}", "BEGIN{{{}}}", "{{print {}}}", "{{x={}}}")).format(body)


def _jq(chance: random.Random) -> str:
    return "".join(chance.choice(JQ_PARTS) + chance.choice(("", "", " ")) for _ in range(chance.randint(1, 7)))


_MAKERS: Mapping[str, Callable[[random.Random], str]] = {"sed": _sed, "awk": _awk, "jq": _jq}


class Bench:
    """A folder with a file to read, and one with a secret that no free script names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "f").write_text('{"env":1,"name":"a/b error"}\nfoo;w [z] \\ line\n')
        (folder / "SECRETF").write_text(f"{SECRET}\n")
        self._names = set(os.listdir(folder))
        self._environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HIDDEN": SECRET}

    def run(self, program: list[str], script: str) -> str:
        """Return what *program* did besides printing when it ran *script*; "" for nothing."""
        try:
            done = subprocess.run(
                [*program, script, "f"],
                cwd=self.folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=1,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ""
        made = set(os.listdir(self.folder)) - self._names
        for name in made:
            (self.folder / name).unlink()
        return f"made {sorted(made)}" if made else "told the secret" if SECRET.encode() in done.stdout else ""
