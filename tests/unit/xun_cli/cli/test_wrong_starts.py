"""Starts that can't work: one sentence each that names the thing and the way out."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xun_cli.arguments import parse
from xun_cli.usage import HELP, UsageError

XUN = Path(sys.executable).with_name("xun")


def run(folder: Path, *args: str, before: Callable[[], None] | None = None) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("XUN_", "OPENAI_"))}
    return subprocess.run(
        [str(XUN), "-p", "--demo", "hello", *args],
        cwd=folder,
        env={**env, "XUN_HOME": str(folder / "home")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=before,
    )


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("--allow-command", "ls | x", "--allow-command: 'ls | x' can't be a prefix"),
        ("--allow-command", "A=1 ls", "without operators, redirections, assignments"),
        ("--allow-command", "./run.sh", "name the command without a path"),
        ("--allow-command", " ", "--allow-command: an entry is empty"),
        ("--allow-write", "/etc", "--add-dir DIR opens a folder"),
        ("--policy", "missing.toml", "The policy file missing.toml can't be read: No such file or directory.\n"),
        ("--schema", "missing.json", "The schema file missing.json can't be read: No such file or directory.\n"),
    ],
)
def test_a_flag_that_would_do_nothing_is_refused(tmp_path: Path, flag: str, value: str, words: str) -> None:
    done = run(tmp_path, flag, value)
    assert (done.returncode, done.stdout) == (3, "")
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_a_full_disk_is_a_warning_with_a_way_out(tmp_path: Path) -> None:
    def nothing_fits() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    done = run(tmp_path, before=nothing_fits)
    assert done.returncode == 0 and done.stdout
    assert "error of its own" not in done.stderr and "start with --no-session" in done.stderr
    assert done.stderr.count("not saved") == 1
    assert run(tmp_path, "--no-session", before=nothing_fits).returncode == 0


@pytest.mark.parametrize(("word", "near"), [("polcy", "policy"), ("doctr", "doctor"), ("session", "sessions")])
def test_a_misspelt_command_is_no_prompt(word: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean `xun {near}`"):
        parse([word])
    assert parse(["-p", word])[0].prompt == word


@pytest.mark.parametrize("word", ["test", "hello", "refactor", "help", "configure it", "run", ""])
def test_other_words_are_prompts(word: str) -> None:
    assert parse([word])[0].prompt == word


@pytest.mark.parametrize("words", [["help"], ["run", "-h"], ["-h"]])
def test_help_is_asked_for_in_several_ways(words: list[str]) -> None:
    assert subprocess.check_output([str(XUN), *words], text=True, timeout=60) == HELP


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("words", [["policy", "test", "ls > x"], ["policy", "show"], ["doctor", "--offline"]])
def test_a_terminal_that_lacks_a_character_stops_nothing(tmp_path: Path, encoding: str, words: list[str]) -> None:
    env = {**os.environ, "XUN_HOME": str(tmp_path / "home"), "PYTHONIOENCODING": encoding}
    done = subprocess.run([str(XUN), *words], cwd=tmp_path, env=env, capture_output=True, timeout=60, check=False)
    assert done.returncode in (0, 4) and done.stderr == b""
    if words[:2] == ["policy", "test"]:
        assert b"not allowed by list ? risk assessor decides" in done.stdout
