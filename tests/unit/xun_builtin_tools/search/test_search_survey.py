"""The look at the ignore files of a tree, and what of it is remembered."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xun.errors import CancelledError
from xun.tools.toolbox import ToolBox
from xun_builtin_tools import search
from xun_builtin_tools.search.engine import SearchOptions
from xun_builtin_tools.search.limits import Clock, TimeUp
from xun_builtin_tools.search.memory import Memory
from xun_builtin_tools.search.request import Scope
from xun_builtin_tools.search.survey import Survey
from xun_policies.workspace import Workspace


def nothing() -> None:
    return


def scope(folder: Path, **changes: Any) -> Scope:
    fields: dict[str, Any] = {"file": None, "hidden": True, "gitignore": True, "inside": lambda real: True}
    return Scope(folder=folder, boundary=folder, **{**fields, **changes})


def looked(folder: Path, memory: Memory, **changes: Any) -> tuple[bool, int]:
    """Return whether all is plain, and how many folders were read for that."""
    with Survey(scope(folder, **changes), memory) as survey:
        plain = survey.plain(Clock(20, nothing))
    return plain, survey.looked_into


def quick(**more: Any) -> Memory:
    """Return a memory for tests that pause after each change, instead of two seconds."""
    return Memory(settled=0.0, **more)


def pause() -> None:
    time.sleep(0.02)


def tree(root: Path) -> Path:
    for name in ("a/b/c", "a/d", "e"):
        (root / name).mkdir(parents=True)
    (root / ".gitignore").write_text("*.log\nout/\n", "utf-8")
    pause()
    return root


def test_the_second_look_reads_no_folder(tmp_path: Path) -> None:
    memory = quick()
    tree(tmp_path)
    assert looked(tmp_path, memory) == (True, 6)
    assert looked(tmp_path, memory) == (True, 0)


def test_what_changed_just_now_is_read_again(tmp_path: Path) -> None:
    memory = Memory()
    tree(tmp_path)
    assert looked(tmp_path, memory) == (True, 6)
    assert looked(tmp_path, memory) == (True, 6)


@pytest.mark.parametrize("place", ["", "a/b/c/", "e/", "new/deep/"])
def test_a_new_ignore_file_is_seen_wherever_it_comes(tmp_path: Path, place: str) -> None:
    memory = quick()
    tree(tmp_path)
    looked(tmp_path, memory)
    (tmp_path / place).mkdir(parents=True, exist_ok=True)
    (tmp_path / place / ".gitignore").write_text("{a,b}.txt\n", "utf-8")
    assert looked(tmp_path, memory)[0] is False
    pause()
    (tmp_path / place / ".gitignore").write_text("a.txt\n", "utf-8")
    assert looked(tmp_path, memory)[0] is True


def test_an_ignore_file_that_is_changed_in_place_is_read_again(tmp_path: Path) -> None:
    memory = quick()
    tree(tmp_path)
    looked(tmp_path, memory)
    with open(tmp_path / ".gitignore", "a", encoding="utf-8") as file:
        file.write("{a,b}.txt\n")
    # Not even with its old times, which a program can set.
    os.utime(tmp_path / ".gitignore", ns=(0, 0))
    assert looked(tmp_path, memory)[0] is False


def test_a_folder_that_takes_the_place_of_another_is_read(tmp_path: Path) -> None:
    memory = quick()
    tree(tmp_path / "work")
    other = tmp_path / "other"
    (other / "b/c").mkdir(parents=True)
    (other / "b/.gitignore").write_text("{a,b}.txt\n", "utf-8")
    pause()
    looked(tmp_path / "work", memory)
    (tmp_path / "work/a").rename(tmp_path / "was")
    other.rename(tmp_path / "work/a")
    assert looked(tmp_path / "work", memory)[0] is False


def test_what_rules_leave_out_is_not_looked_into_until_they_change(tmp_path: Path) -> None:
    memory = quick()
    tree(tmp_path)
    (tmp_path / "a/out/x").mkdir(parents=True)
    (tmp_path / "a/out/x/.gitignore").write_text("{a,b}.txt\n", "utf-8")
    pause()
    assert looked(tmp_path, memory) == (True, 6)
    (tmp_path / ".gitignore").write_text("*.log\n", "utf-8")
    assert looked(tmp_path, memory)[0] is False


def test_rules_around_count_too(tmp_path: Path) -> None:
    """The search of a folder of a repository, whose ignore file lies above it."""
    memory = quick()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("/sub/out/\n", "utf-8")
    (tmp_path / "sub/out").mkdir(parents=True)
    (tmp_path / "sub/out/.gitignore").write_text("{a,b}.txt\n", "utf-8")
    pause()
    assert looked(tmp_path / "sub", memory) == (True, 1)
    (tmp_path / ".gitignore").write_text("\n", "utf-8")
    assert looked(tmp_path / "sub", memory)[0] is False


def test_another_repository_inside_ends_the_rules_around_it(tmp_path: Path) -> None:
    memory = quick()
    tree(tmp_path)
    (tmp_path / "e/.git").mkdir()
    (tmp_path / "e/out").mkdir()
    (tmp_path / "e/out/.gitignore").write_text("{a,b}.txt\n", "utf-8")
    assert looked(tmp_path, memory)[0] is False


def test_links_private_folders_and_git_itself_are_left_alone(tmp_path: Path) -> None:
    memory = quick()
    work, outside = tree(tmp_path / "work"), tmp_path / "outside"
    for folder in (outside, work / ".git", work / "private"):
        folder.mkdir()
        (folder / ".gitignore").write_text("{a,b}.txt\n", "utf-8")
    (work / "link").symlink_to(outside)
    assert looked(work, memory, private=(str(work / "private"),))[0] is True
    assert looked(work, memory)[0] is False


def test_an_ignore_file_that_is_a_link_sends_the_search_the_other_way(tmp_path: Path) -> None:
    tree(tmp_path)
    (tmp_path / "e/.gitignore").symlink_to(tmp_path / ".gitignore")
    assert looked(tmp_path, Memory())[0] is False


def test_an_ignore_file_that_is_a_pipe_sends_it_the_other_way_before_ripgrep_ends(tmp_path: Path) -> None:
    """ripgrep waits for a writer of the pipe, until it is killed."""
    tree(tmp_path)
    (tmp_path / "e/f").write_text("x\n", "utf-8")
    os.mkfifo(tmp_path / "e/.gitignore")
    toolbox = ToolBox().register(*search.tools(SearchOptions(backend="ripgrep", seconds=15)))
    agent: Any = SimpleNamespace(workspace=Workspace(tmp_path))
    began = time.monotonic()
    value = toolbox.call_tool(agent, "grep", {"pattern": "x"}, None).unwrap()
    assert [row["path"] for row in value["matches"]] == ["e/f"]
    assert "note" not in value and time.monotonic() - began < 10


def test_no_more_than_a_number_of_folders_and_trees_is_remembered(
    tmp_path: Path,
) -> None:
    memory = quick(folders=4)
    tree(tmp_path)
    assert looked(tmp_path, memory) == (True, 6)
    assert looked(tmp_path, memory) == (True, 2)
    for name in ("a", "e", "a/b", "a/d"):
        looked(tmp_path / name, memory)
    assert looked(tmp_path, memory) == (True, 6)


def test_it_ends_with_its_search(tmp_path: Path) -> None:
    tree(tmp_path)

    def cancelled() -> None:
        raise CancelledError

    for clock, error in ((Clock(-1, nothing), TimeUp), (Clock(20, cancelled), CancelledError)):
        with Survey(scope(tmp_path), Memory()) as survey, pytest.raises((error, StopIteration)):
            survey.plain(clock)
            raise StopIteration  # it was faster than the clock
    assert not [thread for thread in threading.enumerate() if thread.name == "xun-survey"]


@pytest.mark.parametrize("seed", range(6))
def test_with_what_is_remembered_it_says_the_same_as_without(tmp_path: Path, seed: int) -> None:
    rng, memory, work = random.Random(seed), quick(), tmp_path / "work"
    work.mkdir()
    rules = ("*.log\n", "out/\n", "b/\n", "!b/\n", "/a/b\n", "{x,y}\n", "[!a]\n")
    for _ in range(40):
        folders = [work, *(path for path in work.rglob("*") if path.is_dir())]
        folder = rng.choice(folders)
        step = rng.randrange(6)
        if step < 3:
            (folder / rng.choice(("a", "b", "out"))).mkdir(exist_ok=True)
        elif step == 3:
            (folder / ".gitignore").write_text(rng.choice(rules), "utf-8")
        elif step == 4:
            (folder / ".gitignore").unlink(missing_ok=True)
        elif folder != work:
            shutil.rmtree(folder)
        pause()
        fresh = looked(work, Memory())[0]
        assert looked(work, memory)[0] is fresh
