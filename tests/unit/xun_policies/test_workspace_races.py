"""Races: another process swaps what is between the check and the opening, all the time."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from xun_policies.errors import PathOutsideWorkspace, PolicyError
from xun_policies.workspace import Workspace

SECONDS = 1.5


@contextlib.contextmanager
def attacker(swap: Callable[[], None]) -> Iterator[None]:
    child = os.fork()
    if child == 0:
        try:
            while True:
                swap()
        finally:
            os._exit(1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "w" / "sub").mkdir(parents=True)
    (tmp_path / "w" / "sub" / "name").write_text("inside")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "name").write_text("outside")
    return tmp_path


def test_a_folder_swapped_for_a_link_never_gives_what_is_outside(room: Path) -> None:
    sub, hidden, outside = room / "w" / "sub", room / "w" / "hidden", room / "out"

    def swap() -> None:
        os.rename(sub, hidden)
        os.symlink(outside, sub)
        os.unlink(sub)
        os.rename(hidden, sub)

    workspace = Workspace(room / "w")
    seen: dict[str, int] = {}
    with attacker(swap):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                found = workspace.read_bytes("sub/name").decode()
            except PathOutsideWorkspace:
                found = "refused"
            except FileNotFoundError:
                found = "missing"
            seen[found] = seen.get(found, 0) + 1
    assert "outside" not in seen
    # Reads came before, between and after the steps of the swap, so the race was run.
    assert seen.get("inside", 0) and seen.get("refused", 0) + seen.get("missing", 0), seen


def test_a_file_swapped_for_a_link_never_gets_the_write(room: Path) -> None:
    target, fresh, victim = room / "w" / "target", room / "w" / "fresh", room / "out" / "name"
    target.write_text("start")

    def swap() -> None:
        os.symlink(victim, fresh)
        os.rename(fresh, target)
        fresh.write_text("plain")
        os.rename(fresh, target)

    workspace = Workspace(room / "w")
    outcomes = {"written": 0, "refused": 0}
    with attacker(swap):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                workspace.write_bytes("target", b"mine")
                outcomes["written"] += 1
            except (PolicyError, FileNotFoundError):
                outcomes["refused"] += 1
    assert victim.read_text() == "outside"
    assert outcomes["written"], outcomes
