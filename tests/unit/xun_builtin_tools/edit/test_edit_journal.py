"""Commit and undo: all or none under faults, taken back by call and by turn, lasting, bounded."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.disks import FailingDisk
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.errors import EditError
from xun.tools.context import CallScope, ToolCallContext
from xun_builtin_tools import fs, patch
from xun_builtin_tools.edit import blobs
from xun_builtin_tools.edit.disk import Disk
from xun_builtin_tools.edit.journal import EditJournal
from xun_builtin_tools.edit.state import EditState


class NoHardLinks(Disk):
    """A file system that has none, as many network and memory card ones."""

    def keep(self, *args: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))


def make_agent(root: Path) -> Agent[Any]:
    return Agent(
        toolbox=ToolBox().with_defaults("fs", "patch"),
        workspace=Workspace(root),
        config=AgentConfig(auto_confirm=True),
    ).initialize()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("a\n")
    (folder / "b.txt").write_bytes(b"b\r\n")
    (folder / "c.sh").write_text("c\n")
    (folder / "c.sh").chmod(0o755)
    (folder / "sub" / "d.txt").write_text("d\n")
    (folder / "link").symlink_to("a.txt")
    return folder


@pytest.fixture
def agent(root: Path) -> Agent[Any]:
    return make_agent(root)


def call(agent: Agent[Any], name: str, turn: int = 0, **args: Any) -> Any:
    if not turn:
        return agent.toolbox.call_tool(agent, name, args, None)
    tool = next(tool for tool in (*fs.tools(), *patch.tools()) if tool.__name__ == name)
    return tool(ToolCallContext(agent, name, None, scope=CallScope(turn=turn)), **args)


def tree(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        found[str(path.relative_to(root))] = (content, stat.S_IMODE(info.st_mode) if path.is_file() else 0)
    return found


def journal_of(agent: Agent[Any]) -> EditJournal:
    return EditState.of(agent).journal


BIG_PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-a
+A
*** Delete File: b.txt
*** Update File: c.sh
*** Move to: moved/deep/c.sh
@@
-c
+C
*** Update File: sub/d.txt
*** Move to: sub/e.txt
*** Add File: new/f.txt
+f
*** Delete File: link
*** End Patch
"""


def test_a_patch_that_fails_at_any_step_leaves_everything_as_it_was(agent: Agent[Any], root: Path) -> None:
    before = tree(root)
    for nth in range(1, 100):
        journal_of(agent).disk = FailingDisk(nth)
        result = call(agent, "apply_patch", patch=BIG_PATCH)
        if result.is_ok():
            break
        assert result.value.kind == "io", result.value
        assert "No space left" in result.value.error and "as they were" in result.value.error
        assert tree(root) == before, f"step {nth}"
    assert nth > 10
    assert tree(root)["moved/deep/c.sh"] == (b"C\n", 0o755)
    assert set(tree(root)) == {
        "a.txt",
        "moved",
        "moved/deep",
        "moved/deep/c.sh",
        "new",
        "new/f.txt",
        "sub",
        "sub/e.txt",
    }
    journal_of(agent).disk = Disk()
    assert call(agent, "undo_edit").is_ok()
    assert tree(root) == before
    journal_of(agent).redo()
    assert "new/f.txt" in tree(root) and "link" not in tree(root)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("write_file", {"path": "n/e/w.txt", "content": "x\n"}),
        ("write_file", {"path": "a.txt", "content": "x\n"}),
        ("replace", {"path": "c.sh", "old": "c", "new": "x"}),
        ("multi_edit", {"path": "b.txt", "edits": [{"old": "b", "new": "x\ny"}, {"old": "y", "new": "z"}]}),
        ("insert_lines", {"path": "a.txt", "line": 1, "text": "x"}),
        ("move", {"src": "a.txt", "dst": "n/e/w.txt"}),
        ("move", {"src": "a.txt", "dst": "b.txt"}),
        ("move", {"src": "sub", "dst": "n/ew"}),
        ("move", {"src": "link", "dst": "knil"}),
        ("copy", {"src": "a.txt", "dst": "n/w.txt"}),
        ("copy", {"src": "a.txt", "dst": "b.txt"}),
        ("copy", {"src": "sub", "dst": "n/sub"}),
        ("delete", {"path": "c.sh"}),
        ("delete", {"path": "link"}),
        ("delete", {"path": "sub"}),
        ("mkdir", {"path": "n/e/w"}),
        ("apply_patch", {"patch": BIG_PATCH}),
    ],
)
def test_every_writing_tool_is_undone_and_redone_and_survives_faults(
    agent: Agent[Any], root: Path, name: str, args: dict[str, Any]
) -> None:
    before = tree(root)
    for nth in range(1, 100):
        journal_of(agent).disk = FailingDisk(nth)
        result = call(agent, name, **args)
        if result.is_ok():
            break
        assert (result.value.kind, tree(root)) == ("io", before)
    assert nth > 1
    journal_of(agent).disk = Disk()
    after = tree(root)
    assert after != before
    assert call(agent, "undo_edit").is_ok()
    assert tree(root) == before
    journal_of(agent).redo()
    assert tree(root) == after
    journal_of(agent).undo_last_turns(1)
    assert tree(root) == before


def test_without_hard_links_old_files_are_kept_as_copies(agent: Agent[Any], root: Path) -> None:
    before = tree(root)
    journal_of(agent).disk = NoHardLinks()
    assert call(agent, "apply_patch", patch=BIG_PATCH).is_ok()
    assert call(agent, "undo_edit").is_ok()
    assert tree(root) == before


def test_what_could_not_be_put_back_is_named_and_kept(agent: Agent[Any], root: Path) -> None:
    class Vicious(Disk):
        """Takes the folder away in the middle, so that not even the old names can be put back."""

        def replace(self, folder: Any, source: str, name: str) -> None:
            if name == "d.txt":
                (root / "sub").rename(root.parent / "gone")
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            super().replace(folder, source, name)

    (root / "sub" / "x.txt").write_text("x\n")
    journal_of(agent).disk = Vicious()
    text = "*** Update File: sub/x.txt\n@@\n-x\n+X\n*** Update File: sub/d.txt\n@@\n-d\n+D\n"
    result = call(agent, "apply_patch", patch=f"*** Begin Patch\n{text}*** End Patch\n")
    assert result.value.kind == "io"
    assert result.value.facts["left"] == [str(root / "sub" / "x.txt")]
    kept = [path.read_bytes() for path in (root.parent / "gone").glob(".xun-*")]
    assert b"x\n" in kept


def test_undo_refuses_a_file_that_was_changed_since_and_names_it(agent: Agent[Any], root: Path) -> None:
    call(agent, "apply_patch", patch=BIG_PATCH).unwrap()
    (root / "new" / "f.txt").write_text("mine\n")
    before = tree(root)
    result = call(agent, "undo_edit")
    assert (result.value.kind, tree(root)) == ("stale", before)
    assert str(root / "new" / "f.txt") in result.value.error
    with pytest.raises(EditError, match=r"new/f\.txt"):
        journal_of(agent).undo_last_turns(1)
    notes = {item.path: item.note for item in journal_of(agent).preview_last_turns(1)}
    assert "changed by something else" in notes[str(root / "new" / "f.txt")]


def test_undo_of_one_file_by_name(agent: Agent[Any], root: Path) -> None:
    call(agent, "replace", path="a.txt", old="a", new="1")
    call(agent, "replace", path="b.txt", old="b", new="2")
    assert call(agent, "undo_edit", path="a.txt").unwrap() == {"restored": [str(root / "a.txt")]}
    assert (root / "a.txt").read_text() == "a\n" and (root / "b.txt").read_bytes() == b"2\r\n"
    assert "no edit history for a.txt" in call(agent, "undo_edit", path="a.txt").value.error
    assert call(agent, "undo_edit").is_ok()
    assert call(agent, "undo_edit").value.kind == "noop"


def test_turns_are_taken_back_as_wholes_with_a_preview(agent: Agent[Any], root: Path) -> None:
    start = tree(root)
    call(agent, "replace", 1, path="a.txt", old="a", new="one")
    first = tree(root)
    call(agent, "replace", 2, path="a.txt", old="one", new="two")
    call(agent, "move", 2, src="sub", dst="bus")
    call(agent, "replace", 2, path="bus/d.txt", old="d", new="two")
    call(agent, "write_file", 2, path="n.txt", content="two\n")
    call(agent, "read_file", 3, path="a.txt")
    second = tree(root)
    shown = {os.path.relpath(item.path, root): item for item in journal_of(agent).preview_last_turns(1)}
    assert shown["a.txt"].diff.splitlines()[-2:] == ["-two", "+one"]
    assert (shown["n.txt"].action, shown["a.txt"].note) == ("delete", "")
    assert tree(root) == second
    restored = journal_of(agent).undo_last_turns(1)
    assert str(root / "a.txt") in restored and tree(root) == first
    journal_of(agent).redo()
    assert tree(root) == second
    journal_of(agent).undo_last_turns(2)
    assert tree(root) == start
    with pytest.raises(EditError, match="nothing to undo"):
        journal_of(agent).undo_last_turns(1)
    journal_of(agent).redo()
    assert tree(root) == second
    assert not journal_of(agent).can_redo


def test_a_write_ends_what_can_be_redone(agent: Agent[Any], root: Path) -> None:
    call(agent, "replace", path="a.txt", old="a", new="1")
    call(agent, "undo_edit")
    call(agent, "replace", path="b.txt", old="b", new="2")
    with pytest.raises(EditError, match="nothing to redo"):
        journal_of(agent).redo()


def test_after_the_persons_undo_the_model_has_to_read_again(agent: Agent[Any], root: Path) -> None:
    call(agent, "read_file", path="a.txt")
    call(agent, "replace", path="a.txt", old="a", new="b")
    journal_of(agent).undo_last_turns(1)
    assert call(agent, "replace", path="a.txt", old="a", new="c").value.kind == "stale"
    call(agent, "read_file", path="a.txt")
    assert call(agent, "replace", path="a.txt", old="a", new="c").is_ok()
    call(agent, "undo_edit")
    assert call(agent, "replace", path="a.txt", old="a", new="d").is_ok()


def test_a_journal_lasts(agent: Agent[Any], root: Path, tmp_path: Path) -> None:
    start = tree(root)
    folder = tmp_path / "state" / "undo"
    call(agent, "replace", 1, path="a.txt", old="a", new="1")
    journal_of(agent).persist_to(folder)
    call(agent, "delete", 1, path="sub")
    call(agent, "move", 2, src="b.txt", dst="c.sh")
    moved = tree(root)
    for path in (folder, *folder.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)

    again = make_agent(root)
    journal = journal_of(again)
    assert journal.persist_to(folder) == []
    assert [entry.tool for entry in journal.entries] == ["replace", "delete", "move"]
    call(again, "write_file", 1, path="n.txt", content="n\n")
    journal.undo_last_turns(2)
    assert tree(root)["b.txt"] == start["b.txt"]

    third = journal_of(make_agent(root))
    third.persist_to(folder)
    third.undo_last_turns(1)
    assert tree(root) == start

    fourth = journal_of(make_agent(root))
    fourth.persist_to(folder)
    fourth.redo()
    fourth.redo()
    assert tree(root) == {**moved, "n.txt": tree(root)["n.txt"]}


def test_what_was_in_the_temporary_folder_does_not_stand_in_the_way_later(
    agent: Agent[Any], root: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "undo"
    start = tree(root)
    journal_of(agent).persist_to(folder)
    temp = call(agent, "temp_dir").unwrap()
    call(agent, "write_file", 1, path=f"{temp}/t", content="t")
    call(agent, "replace", 1, path="a.txt", old="a", new="1")
    call(agent, "write_file", 1, path=f"{temp}/u", content="u")
    agent.workspace.close()
    again = journal_of(make_agent(root))
    again.persist_to(folder)
    assert again.undo_last_turns(1) == [str(root / "a.txt")]
    assert tree(root) == start


def test_calls_outside_a_turn_are_taken_back_one_by_one(agent: Agent[Any], root: Path) -> None:
    call(agent, "replace", path="a.txt", old="a", new="1")
    call(agent, "replace", path="b.txt", old="b", new="2")
    assert journal_of(agent).undo_last_turns(1) == [str(root / "b.txt")]
    assert journal_of(agent).undo_last_turns(1) == [str(root / "a.txt")]


def test_a_torn_index_loses_its_last_line_only(agent: Agent[Any], root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "undo"
    journal_of(agent).persist_to(folder)
    call(agent, "replace", path="a.txt", old="a", new="1")
    with (folder / "index.jsonl").open("ab") as file:
        file.write(b'{"op": "undo", "numb')
    again = journal_of(make_agent(root))
    again.persist_to(folder)
    assert len(again.entries) == 1
    again.undo_last_turns(1)
    assert (root / "a.txt").read_text() == "a\n"
    third = journal_of(make_agent(root))
    third.persist_to(folder)
    assert third.entries == ()


def test_a_line_of_another_form_is_passed_over(agent: Agent[Any], root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "undo"
    journal_of(agent).persist_to(folder)
    call(agent, "delete", path="a.txt")
    index = folder / "index.jsonl"
    begin = json.loads(next(line for line in index.read_bytes().splitlines() if b'"begin"' in line))
    for attributes in (["a"], [[1]], 7, {"a": 3}, "x"):
        begin["entry"]["ops"][0]["before"][3:] = [[0, 0], attributes]
        with index.open("a") as file:
            file.write(json.dumps(begin) + "\n")
    again = journal_of(make_agent(root))
    again.persist_to(folder)
    assert len(again.entries) == 1


def test_a_long_index_is_rewritten_shorter(agent: Agent[Any], root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "undo"
    journal = journal_of(agent)
    journal.persist_to(folder)
    call(agent, "replace", 1, path="a.txt", old="a", new="1")
    call(agent, "replace", 1, path="b.txt", old="b", new="2")
    journal.undo_last_turns(1)
    index = folder / "index.jsonl"
    with index.open("a") as file:
        file.writelines(json.dumps({"op": "run", "run": 1}) + "\n" for _ in range(2500))
    again = journal_of(make_agent(root))
    again.persist_to(folder)
    assert len(index.read_text().splitlines()) < 20
    assert again.can_redo and again.entries == ()
    again.redo()
    assert (root / "a.txt").read_text() == "1\n" and (root / "b.txt").read_bytes() == b"2\r\n"


def test_the_journal_is_bounded(root: Path, tmp_path: Path) -> None:
    agent = make_agent(root)
    state = EditState(EditJournal(agent.workspace, max_entries=3, max_bytes=5000))
    agent.state["__builtin_edit"] = state
    folder = tmp_path / "undo"
    state.journal.persist_to(folder)
    for number in range(6):
        call(agent, "write_file", path="a.txt", content=f"{number}\n").unwrap()
    assert len(state.journal.entries) == 3
    (root / "big").write_bytes(b"x" * 4000)
    (root / "big2").write_bytes(b"y" * 4000)
    call(agent, "delete", path="big").unwrap()
    call(agent, "delete", path="big2").unwrap()
    assert [entry.paths for entry in state.journal.entries] == [(str(root / "big2"),)]
    kept = sum(path.stat().st_size for path in (folder / "blobs").iterdir())
    assert kept <= 5000
    (root / "huge").write_bytes(b"z" * 6000)
    call(agent, "delete", path="huge").unwrap()
    assert "too large" in call(agent, "undo_edit").value.error


def test_large_old_contents_go_to_a_folder_that_is_removed(agent: Agent[Any], root: Path) -> None:
    data = os.urandom(blobs.MEMORY_LIMIT // 2 + 1)
    for number in range(3):
        (root / f"{number}.bin").write_bytes(data + bytes([number]))
        call(agent, "delete", path=f"{number}.bin").unwrap()
    for _ in range(3):
        call(agent, "undo_edit").unwrap()
    assert all((root / f"{number}.bin").read_bytes() == data + bytes([number]) for number in range(3))
    assert not agent.workspace.tempdir.created


def test_a_journal_that_can_not_be_written_stops_the_write(agent: Agent[Any], root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "undo"
    journal_of(agent).persist_to(folder)
    (folder / "index.jsonl").unlink()
    (folder / "index.jsonl").mkdir()
    before = tree(root)
    result = call(agent, "replace", path="a.txt", old="a", new="1")
    assert (result.value.kind, tree(root)) == ("io", before)
    assert "nothing was changed" in result.value.error


def test_a_subagent_shares_the_journal_and_not_what_was_read(agent: Agent[Any], root: Path) -> None:
    child = Agent(
        name="child",
        toolbox=agent.toolbox,
        workspace=agent.workspace,
        config=AgentConfig(auto_confirm=True),
        parent=agent,
    ).initialize()
    call(agent, "read_file", path="a.txt")
    call(child, "replace", path="a.txt", old="a", new="b").unwrap()
    assert call(agent, "replace", path="a.txt", old="b", new="c").value.kind == "stale"
    journal_of(agent).undo_last_turns(1)
    assert (root / "a.txt").read_text() == "a\n"


def test_a_change_between_the_question_and_the_commit_is_seen(root: Path) -> None:
    class Meddler:
        """Answers yes, after somebody else wrote to the file."""

        async def choose(self, request: Any) -> Any:
            from xun import ChoiceOutcome

            (root / "a.txt").write_text("changed meanwhile\n")
            return ChoiceOutcome("once")

    agent = Agent(
        toolbox=ToolBox().with_defaults("fs", "patch"), workspace=Workspace(root), chooser=Meddler()
    ).initialize()
    result = call(agent, "replace", path="a.txt", old="a", new="b")
    assert result.value.kind == "stale"
    assert (root / "a.txt").read_text() == "changed meanwhile\n"
