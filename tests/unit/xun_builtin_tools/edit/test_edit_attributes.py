"""What a file has beside its content survives an edit: mode, owner, access list, extended attributes."""

from __future__ import annotations

import os
import stat
import struct
import tempfile
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun_builtin_tools.edit.journal import EditJournal
from xun_builtin_tools.edit.state import EditState
from xun_policies.paths.held import HeldFolder

NOBODY = 65534
# A posix_acl_xattr of version 2: owner rw-, user nobody r--, group r--, mask r--, others none.
ACCESS_LIST = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", tag, bits, who)
    for tag, bits, who in (
        (0x01, 6, 0xFFFFFFFF),
        (0x02, 4, NOBODY),
        (0x04, 4, 0xFFFFFFFF),
        (0x10, 4, 0xFFFFFFFF),
        (0x20, 0, 0xFFFFFFFF),
    )
)


@pytest.fixture
def agent(tmp_path: Path) -> Agent[Any]:
    return Agent(
        toolbox=ToolBox().with_defaults("fs", "patch"),
        workspace=Workspace(tmp_path),
        config=AgentConfig(auto_confirm=True),
    ).initialize()


def call(agent: Agent[Any], name: str, **args: Any) -> Any:
    return agent.toolbox.call_tool(agent, name, args, None)


def give(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except (AttributeError, OSError) as exc:
        pytest.skip(f"this file system has no extended attributes: {exc}")


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_extended_attributes_and_an_access_list_survive_edit_and_undo(agent: Agent[Any], tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    give(path, "user.origin", b"here")
    give(path, "system.posix_acl_access", ACCESS_LIST)
    before = (mode_of(path), os.getxattr(path, "system.posix_acl_access"))
    for name, args in (
        ("replace", {"path": "f", "old": "a", "new": "b"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Update File: f\n@@\n-b\n+c\n*** End Patch\n"}),
        ("write_file", {"path": "f", "content": "d\n"}),
        ("undo_edit", {}),
    ):
        assert call(agent, name, **args).is_ok()
        assert os.getxattr(path, "user.origin") == b"here", name
        assert (mode_of(path), os.getxattr(path, "system.posix_acl_access")) == before, name
    assert path.read_text() == "c\n"


def test_a_mode_that_a_patch_gives_holds_against_the_access_list(agent: Agent[Any], tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    give(path, "system.posix_acl_access", ACCESS_LIST)
    patch = "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
    assert call(agent, "apply_patch", patch=patch).is_ok()
    assert mode_of(path) & 0o111 and b"\x02\x00\x04\x00" in os.getxattr(path, "system.posix_acl_access")


def test_a_mode_that_somebody_gave_since_stays(agent: Agent[Any], tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    path.chmod(0o644)
    assert call(agent, "replace", path="f", old="a", new="b").is_ok()
    path.chmod(0o755)
    assert call(agent, "undo_edit").is_ok()
    assert path.read_text() == "a\n" and mode_of(path) == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root to give a file to somebody else")
def test_the_owner_and_the_set_user_bit_stay(agent: Agent[Any], tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    os.chown(path, NOBODY, NOBODY)
    path.chmod(0o6755)
    assert call(agent, "replace", path="f", old="a", new="b").is_ok()
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (NOBODY, NOBODY, 0o6755)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs to be root to become somebody else")
@pytest.mark.parametrize(("mode", "kept"), [(0o4777, 0o777), (0o2777, 0o777), (0o644, None)])
def test_a_file_of_somebody_else_never_runs_as_whoever_edits_it(
    agent: Agent[Any], tmp_path: Path, mode: int, kept: int | None
) -> None:
    # All that is imported on the way: the other user may not be able to read it.
    (tmp_path / "warm").write_text("a\n")
    assert call(agent, "replace", path="warm", old="a", new="b").is_ok()
    # Not below tmp_path, which is for its owner alone.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        folder.chmod(0o777)
        path = folder / "f"
        path.write_text("a\n")
        path.chmod(mode)
        outcome = replace_as_nobody(folder)
        if kept is None:
            assert outcome == "denied" and path.read_text() == "a\n"
        else:
            assert outcome == "" and path.read_text() == "b\n" and mode_of(path) == kept


def replace_as_nobody(folder: Path) -> str:
    """Edit the file in *folder* as another user; return the kind of the error, "" when there is none."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            made = Agent(
                toolbox=ToolBox().with_defaults("patch"),
                workspace=Workspace(folder),
                config=AgentConfig(auto_confirm=True),
            ).initialize()
            result = call(made, "replace", path="f", old="a", new="b")
            said = "" if result.is_ok() else result.value.kind
        except BaseException as exc:  # whatever it is, the parent hears of it
            said = repr(exc)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def facts_of(path: Path) -> tuple[int, int, int, dict[str, bytes]]:
    found = path.lstat()
    names = [] if path.is_symlink() else os.listxattr(path)
    return stat.S_IMODE(found.st_mode), found.st_uid, found.st_gid, {name: os.getxattr(path, name) for name in names}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_comes_back_has_its_owner_and_attributes(agent: Agent[Any], tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "in").mkdir(parents=True)
    (tree / "in" / "a.txt").write_text("a\n")
    (tree / "link").symlink_to("in/a.txt")
    give(tree / "in" / "a.txt", "user.origin", b"here")
    give(tree / "in" / "a.txt", "system.posix_acl_access", ACCESS_LIST)
    give(tree / "in", "user.origin", b"folder")
    (tree / "in" / "a.txt").chmod(0o444)
    os.chown(tree / "in" / "a.txt", 1234, 4321)
    os.chown(tree / "in", 1234, 4321)
    os.chown(tree / "link", 1234, 4321, follow_symlinks=False)
    (tree / "in").chmod(0o2775)
    paths = (tree / "in" / "a.txt", tree / "in", tree / "link")
    before = [facts_of(path) for path in paths]
    assert before[0][3]["user.origin"] == b"here" and before[1][:3] == (0o2775, 1234, 4321)
    for tool, arguments in (("delete", {"path": "tree"}), ("move", {"src": "other", "dst": "tree/in/a.txt"})):
        (tmp_path / "other").write_text("other\n")
        call(agent, tool, **arguments).unwrap()
        call(agent, "undo_edit").unwrap()
        assert [facts_of(path) for path in paths] == before, tool
        assert (tree / "in" / "a.txt").read_text() == "a\n"
    call(agent, "copy", src="tree/in/a.txt", dst="copied").unwrap()
    assert (tmp_path / "copied").stat().st_uid == 0


def test_a_patch_that_moves_and_changes_a_file_takes_its_attributes_along(agent: Agent[Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    give(tmp_path / "a.txt", "user.origin", b"here")
    patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+two\n*** End Patch\n"
    call(agent, "apply_patch", patch=patch).unwrap()
    assert (tmp_path / "b.txt").read_text() == "two\n" and os.getxattr(tmp_path / "b.txt", "user.origin") == b"here"
    call(agent, "undo_edit").unwrap()
    assert os.getxattr(tmp_path / "a.txt", "user.origin") == b"here"


def test_facts_outlive_the_process(agent: Agent[Any], tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    give(path, "user.origin", b"here")
    EditState.of(agent).journal.persist_to(tmp_path / "kept.undo")
    call(agent, "delete", path="a.txt").unwrap()
    later = EditJournal(agent.workspace)
    later.persist_to(tmp_path / "kept.undo")
    assert later.undo_last_call() == [str(path)]
    assert os.getxattr(path, "user.origin") == b"here"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a moment")
def test_an_owner_that_may_not_be_given_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("a\n")
    os.chown(path, 1234, 4321)
    path.chmod(0o4755)
    tmp_path.chmod(0o777)
    with HeldFolder(os.open(tmp_path, os.O_RDONLY), str(tmp_path)) as folder:
        owner, attributes = folder.facts("f")
        assert (owner, attributes) == ((1234, 4321), ())
        before = os.getresuid()
        os.setresuid(NOBODY, NOBODY, before[2])
        try:
            folder.write_temp(b"a\n", 0o4755, name="again", owner=owner)
            folder.dress("again", 0o4755, owner, attributes)
            folder.symlink("f", "link")
            folder.give_link("link", owner)
        finally:
            os.setresuid(*before)
    assert ((tmp_path / "again").stat().st_uid, mode_of(tmp_path / "again")) == (NOBODY, 0o755)
