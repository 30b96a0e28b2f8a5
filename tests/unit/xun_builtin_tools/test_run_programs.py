"""Programs that read a text for a tool: all of it reaches them, however late they begin to read."""

from __future__ import annotations

import os
from pathlib import Path

from xun_builtin_tools.programs import find_checker, run


def nothing() -> None:
    return


def test_a_program_that_begins_to_read_late_gets_all_of_a_large_text():
    ended = run(["/bin/sh", "-c", "sleep 0.3; wc -c; echo bad >&2; exit 3"], b"x" * 300_000, os.environ, nothing)
    assert (ended.status, ended.output.strip(), ended.errors) == (3, "300000", "bad\n")


def test_a_program_may_leave_its_text_unread():
    assert run(["/bin/true"], b"x" * 300_000, os.environ, nothing).status == 0


def test_the_programs_of_the_workspace_do_not_count(tmp_path: Path, monkeypatch):
    own = tmp_path / "bin" / "sh"
    own.parent.mkdir()
    own.write_text("#!/bin/true\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", f"{own.parent}:/bin")
    assert find_checker("sh", [str(tmp_path)]) == os.path.realpath("/bin/sh")
    assert find_checker("sh", []) == str(own)
