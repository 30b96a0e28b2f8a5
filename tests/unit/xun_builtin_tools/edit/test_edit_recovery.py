"""What a process left half done is put back by the next one, whatever the size of the files."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.disks import DeadlyDisk
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun_builtin_tools.edit.journal import EditJournal
from xun_builtin_tools.edit.state import EditState


def make_agent(root: Path, limit: int = 50_000_000) -> Agent[Any]:
    agent = Agent(
        toolbox=ToolBox().with_defaults("fs", "patch"),
        workspace=Workspace(root),
        config=AgentConfig(auto_confirm=True),
    ).initialize()
    agent.state["__builtin_edit"] = EditState(EditJournal(agent.workspace, max_bytes=limit))
    return agent


def in_a_child(work: Any) -> int:
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if work() else 2)
        finally:
            os._exit(3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def contents(root: Path) -> dict[str, Any]:
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in root.rglob("*")}


MOVES = """*** Begin Patch
*** Update File: a
*** Move to: n/a
*** Update File: big
@@
-big
+BIG
*** Delete File: c
*** End Patch
"""


@pytest.mark.parametrize("limit", [50_000_000, 1000])
def test_a_patch_with_a_move_is_taken_back(tmp_path: Path, limit: int) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (root / "a").write_text("a\n")
    (root / "big").write_text("big\n" + "x" * 5000 + "\n")
    (root / "c").write_text("c\n")
    start = contents(root)
    for steps in range(40):
        folder = tmp_path / f"journal-{steps}"

        def work(steps: int = steps, folder: Path = folder) -> bool:
            agent = make_agent(root, limit)
            journal = EditState.of(agent).journal
            journal.persist_to(folder)
            journal.disk = DeadlyDisk(steps)
            return agent.toolbox.call_tool(agent, "apply_patch", {"patch": MOVES}, None).is_ok()

        status = in_a_child(work)
        EditState.of(make_agent(root, limit)).journal.persist_to(folder)
        if status == 0:
            break
        assert status == -signal.SIGKILL
        assert contents(root) == start, f"step {steps}"
    assert steps > 4 and set(contents(root)) == {"n", "n/a", "big"}


def test_an_undo_that_dies_is_taken_back_and_can_be_tried_again(tmp_path: Path) -> None:
    root, folder = tmp_path / "ws", tmp_path / "journal"
    (root / "d" / "e").mkdir(parents=True)
    for name in ("d/1", "d/2", "d/e/3"):
        (root / name).write_text(f"{name}\n")
    start = contents(root)
    agent = make_agent(root)
    EditState.of(agent).journal.persist_to(folder)
    agent.toolbox.call_tool(agent, "delete", {"path": "d"}, None).unwrap()
    assert contents(root) == {}
    for steps in range(40):

        def work(steps: int = steps) -> bool:
            journal = EditState.of(make_agent(root)).journal
            journal.persist_to(folder)
            journal.disk = DeadlyDisk(steps)
            return bool(journal.undo_last_turns(1))

        status = in_a_child(work)
        if status == 0:
            break
        assert status == -signal.SIGKILL
        EditState.of(make_agent(root)).journal.persist_to(folder)
        assert contents(root) == {}, f"step {steps}"
    assert steps > 4 and contents(root) == start


def die_at(step: int) -> None:
    """End this process before the given one of its changes to names on disk, those of the journal among them."""
    left = step

    def watch(event: str, _: Any) -> None:
        nonlocal left
        if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link"):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def redo(root: Path, folder: Path, *, undo: bool, step: int | None = None) -> bool:
    agent = make_agent(root)
    journal = EditState.of(agent).journal
    journal.persist_to(folder)
    if step is not None:
        die_at(step)
    return bool(journal.undo_last_turns(1) if undo else journal.redo())


@pytest.mark.parametrize("undo", [True, False])
def test_whenever_an_undo_or_redo_dies_files_and_journal_say_the_same(tmp_path: Path, undo: bool) -> None:
    root, folder = tmp_path / "ws", tmp_path / "journal"
    root.mkdir()
    for name in ("a", "big", "c"):
        (root / name).write_text(f"{name}\n")
    start = contents(root)
    agent = make_agent(root)
    EditState.of(agent).journal.persist_to(folder)
    patch = MOVES.replace("*** End Patch", "*** Add File: new/x/y\n+y\n*** End Patch")
    agent.toolbox.call_tool(agent, "apply_patch", {"patch": patch}, None).unwrap()
    done = contents(root)
    if not undo:
        redo(root, folder, undo=True)
    for step in range(60):
        status = in_a_child(lambda step=step: redo(root, folder, undo=undo, step=step))
        if status == 0:
            break
        assert status == -signal.SIGKILL
        journal = EditState.of(make_agent(root)).journal
        journal.persist_to(folder)
        assert contents(root) == (done if undo else start), f"step {step}"
        assert bool(journal.entries) is undo
    assert step > 6 and contents(root) == (start if undo else done)
