"""Races: another process swaps what is between the check and the opening, all the time.

Each race runs by the tools for three seconds and nothing may escape. The same race against a resolver that checks
first and opens by name afterwards does escape: without that a race that never happens would pass too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import signal
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.room import SECRET, Room
from xun_builtin_tools.search.engine import SearchOptions
from xun_builtin_tools.search.fence import Fence
from xun_builtin_tools.search.functions import SearchTools
from xun_builtin_tools.search.ripgrep import find_ripgrep

SECONDS = 3.0
PAUSE = 0.0005
"""Seconds that the naive resolver lets pass between its check and its use, so that it loses on any machine."""


@contextlib.contextmanager
def attacker(swap: Callable[[], None]) -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which take no part in the child
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
def arena(tmp_path: Path) -> Iterator[Room]:
    base = Path(os.path.realpath(tmp_path)) / "arena"
    base.mkdir()
    made = Room(base, os.geteuid())
    made.furnish()
    (made.out / "b").unlink()
    for path in (made.w / "sub/b/name", made.w / "name", made.out / "b/name"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{SECRET}\n" if path.is_relative_to(made.out) else "inside\n")
    made.freeze()
    yield made
    made.close()


def swap_folder(room: Room) -> Callable[[], None]:
    """A folder goes out of the workspace, and a link to another one comes in its place; and back."""
    return swapping(room.w / "sub", room.base / "parked", room.out)


def swap_last(room: Room) -> Callable[[], None]:
    """The last part is a file, then a link to a file outside, and so on."""
    return swapping(room.w / "name", room.base / "parked", room.out / "secret")


def swapping(path: Path, parked: Path, target: Path) -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True)
    first, second = os.fsencode(path), os.fsencode(parked)
    os.symlink(target, parked)

    def swap() -> None:
        if libc.renameat2(-100, first, -100, second, 2):  # AT_FDCWD, RENAME_EXCHANGE
            raise OSError(ctypes.get_errno(), "the file system can't exchange two names")
        time.sleep(random.random() * 0.002)

    swap()
    swap()
    return swap


def naive(room: Room, path: str, use: Callable[[str], object]) -> None:
    """What xun must not do: look where a path leads, and then use the path."""
    full = f"{room.w}/{path}"
    try:
        real = os.path.realpath(full)
    except OSError:  # swapped in the middle of it
        return
    if real.startswith(f"{room.w}/"):
        time.sleep(PAUSE)
        use(full)


def run(
    swap: Callable[[], None],
    attempt: Callable[[], str],
    *,
    until: Callable[[], bool] = lambda: False,
    seconds: float = SECONDS,
) -> Counter:
    seen: Counter = Counter()
    with attacker(swap):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not until():
            seen[attempt()] += 1
    return seen


def by_tool(room: Room, tool: str, arguments: Callable[[], dict]) -> Callable[[], str]:
    agent = room.agent

    def attempt() -> str:
        result = agent.toolbox.call_tool(agent, tool, arguments(), None)
        if result.is_err():
            assert "Traceback" not in str(result.value.error)
            return "refused"
        assert SECRET not in repr(result.value)
        return "done"

    return attempt


@pytest.mark.row("sec-path-006")
def test_reading_below_a_folder_that_is_swapped_for_a_link(arena: Room) -> None:
    read = by_tool(arena, "read_file", lambda: {"path": "sub/b/name"})
    search = by_tool(arena, "grep", lambda: {"pattern": "SECRET|inside", "path": "sub"})

    def attempt() -> str:
        search()
        return read()

    seen = run(swap_folder(arena), attempt)
    assert seen["done"] and seen["refused"], seen
    assert seen.total() > 100, seen


@pytest.mark.row("sec-path-006")
@pytest.mark.parametrize("output", ["matches", "files"])
def test_ripgrep_in_a_folder_that_is_swapped_for_a_link(arena: Room, output: str) -> None:
    if find_ripgrep(lambda _: False) is None:
        pytest.skip("ripgrep is not installed")
    if Fence(os.open("/", os.O_PATH), ())._ruleset < 0:
        pytest.skip("the kernel has no Landlock")
    for number in range(300):
        (arena.w / f"sub/b/n{number}").write_text("inside\n")
        (arena.out / f"b/n{number}").write_text(f"{SECRET}\n")
    arena.freeze()
    agent = arena.new_agent(arena.w, ())
    agent.toolbox.pop("grep")
    agent.toolbox.register(SearchTools(SearchOptions(backend="ripgrep")).grep)
    search = by_tool(arena, "grep", lambda: {"pattern": "SECRET|inside", "output": output})

    def attempt() -> str:
        result = agent.toolbox.call_tool(agent, "grep", {"pattern": "SECRET", "output": output}, None)
        assert result.is_err() or result.value["total"] == 0, result.value
        return search()

    seen = run(swap_folder(arena), attempt, until=lambda: False, seconds=1.5)
    assert seen["done"] >= 5, seen


@pytest.mark.row("sec-path-007")
def test_writing_to_a_name_that_is_swapped_for_a_link(arena: Room) -> None:
    write = by_tool(arena, "write_file", lambda: {"path": "name", "content": "x"})
    insert = by_tool(arena, "insert_lines", lambda: {"path": "name", "line": 1, "text": "y"})

    def attempt() -> str:
        insert()
        return write()

    seen = run(swap_last(arena), attempt)
    assert seen["done"], seen
    arena.verify()


@pytest.mark.row("sec-path-007")
def test_writing_below_a_folder_that_is_renamed_away_meanwhile(arena: Room) -> None:
    numbers = iter(range(10**9))
    write = by_tool(arena, "write_file", lambda: {"path": "sub/b/name", "content": "x"})
    make = by_tool(arena, "write_file", lambda: {"path": f"sub/b/new{next(numbers)}/f", "content": "x"})
    remove = by_tool(arena, "delete", lambda: {"path": "sub/b/name"})

    def attempt() -> str:
        make()
        remove()
        return write()

    seen = run(swap_folder(arena), attempt)
    assert seen["done"] and seen["refused"], seen
    arena.verify()


@pytest.mark.parametrize("race", ["read", "write", "folder"])
def test_a_naive_resolver_loses_each_race(arena: Room, race: str) -> None:
    leaked: list[str] = []
    victim = arena.out / ("secret" if race == "write" else "b/name")

    def read(path: str) -> None:
        with contextlib.suppress(OSError):
            text = Path(path).read_text()
            if SECRET in text:
                leaked.append(text)

    def write(path: str) -> None:
        with contextlib.suppress(OSError):
            Path(path).write_text("x")
            if SECRET not in victim.read_text():
                leaked.append(path)

    def attempt() -> str:
        naive(arena, "name" if race == "write" else "sub/b/name", read if race == "read" else write)
        return "tried"

    run(swap_last(arena) if race == "write" else swap_folder(arena), attempt, until=lambda: bool(leaked))
    assert leaked
