"""What is said to leave a shell as it was does so in a real bash."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from xun_builtin_tools.cmd.inert import what_changes
from xun_policies.commands import CommandScope, evaluate
from xun_policies.store import PolicyState

DUMP = (
    "declare -p; declare -f; alias; shopt -p; set +o; trap; umask; ulimit -a; enable -a; hash; dirs; echo /proc/$$/fd/*"
)
PASSING = ("_", "PWD", "OLDPWD", "BASH", "EPOCH", "LINENO", "PIPESTATUS", "RANDOM", "SECONDS", "SRANDOM", "DIRSTACK")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
ARGUMENTS = ("", "A", "A=1", "-p A", "-v PATH x", "-n A", "-- A=1", "sub", "*")
SHAPES = ("{}", "true && {}", "{}; true", "true | {}", "CI=1 {}", "{} 2>&1", "{} || echo no")


def words_of_bash() -> list[str]:
    done = subprocess.run(["/bin/bash", "-c", "compgen -b; compgen -k"], capture_output=True, text=True, check=True)
    return sorted(set(done.stdout.split()))


def verdict(text: str, folder: Path, policy: PolicyState | None = None):
    scope = CommandScope(cwd=str(folder), roots=(str(folder),), home="/root", path=ENVIRONMENT["PATH"])
    return evaluate(text, policy or PolicyState(), scope)


def differences(texts: list[str], folder: Path) -> list[str]:
    """Run *texts* in one bash and return what it has afterwards and had not before, or the reverse."""
    each = 'for text in "${@:3}"; do eval "$text"; done <sub >/dev/null 2>&1'
    script = f'eval "$1" >"$2/before"; {each}; eval "$1" >"$2/after"'
    begin = ["/bin/bash", "--noprofile", "--norc", "-c", f"set +h; text=; {script}", "bash", DUMP, str(folder)]
    subprocess.run([*begin, *texts], cwd=folder, env=ENVIRONMENT, check=True, timeout=60)
    before, after = (set((folder / name).read_text().splitlines()) for name in ("before", "after"))
    return [line for line in before ^ after if not line.startswith("declare") or _lasting(line)]


def _lasting(line: str) -> bool:
    name = line.split()[-1].partition("=")[0] if "=" not in line else line.partition("=")[0].split()[-1]
    return name != "text" and not name.startswith(PASSING)


def test_no_word_of_bash_that_is_called_harmless_changes_anything(tmp_path):
    (tmp_path / "sub").touch()
    harmless = []
    for word in words_of_bash():
        for shape in SHAPES:
            texts = [shape.format(f"{word} {arguments}".strip()) for arguments in ARGUMENTS]
            harmless += [text for text in texts if not what_changes(verdict(text, tmp_path))]
    assert len(harmless) > 200, "echo and its like are harmless"
    assert differences(harmless, tmp_path) == []


def test_the_comparison_sees_a_change(tmp_path):
    (tmp_path / "sub").touch()
    for text in ("export A=1", "f() { :; }", "alias a=b", "set -f", "shopt -s nullglob", "trap : USR1", "exec 9<sub"):
        assert differences([text], tmp_path) != [], text


@pytest.mark.parametrize("word", words_of_bash())
def test_no_grant_makes_a_word_of_bash_harmless(tmp_path, word):
    policy = PolicyState()
    policy.command_allowlist.add((word,), exact=False, source="dialog")
    found = what_changes(verdict(f"{word} A=1 B", tmp_path, policy))
    assert (found == "") is (word in ("cd", "pwd", "echo", "true", "false", "type", "printf", "test", "["))


def test_a_grant_does_not_make_up_for_a_guard(tmp_path):
    policy = PolicyState()
    for word in ("printf", "test", "["):
        policy.command_allowlist.add((word,), exact=False, source="dialog")
    for text in ("printf -v PATH x", "test -v 'a[PATH=1]'", "[ -v 'a[PATH=1]' ]"):
        assert what_changes(verdict(text, tmp_path, policy)) == text


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("npm test", ""),
        ("make -j2 all", ""),
        ("cd sub && pytest -q", ""),
        ("cat /etc/hosts", ""),
        ("cd ..", ""),
        ("git push origin main", ""),
        ("./configure", "./configure"),
        ("export A=1", "export A=1"),
        ("true\nls", "true ls"),
        ("\n\n", "text that is not fully understood"),
        ("echo " + "x" * 100 + " ${A:=1}", None),
    ],
)
def test_what_it_names(tmp_path, text, named):
    found = what_changes(verdict(text, tmp_path))
    assert found == named if named is not None else len(found) == 60
    assert os.linesep not in found
