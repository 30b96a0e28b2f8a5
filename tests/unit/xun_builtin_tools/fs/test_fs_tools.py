"""The fs group through the toolbox."""

from __future__ import annotations

import os
import socket
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.persons import Person
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun_builtin_tools.edit.changes import read_state
from xun_builtin_tools.fs import trees
from xun_policies.paths.patterns import PathPatterns


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "sub" / "b.txt").write_text("b\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "f").write_text("secret\n")
    return folder


def make(root: Path, chooser: Person | None = None) -> Agent[Any]:
    config = AgentConfig(auto_confirm=chooser is None)
    return Agent(
        toolbox=ToolBox().with_defaults("fs", "patch"), workspace=Workspace(root), config=config, chooser=chooser
    ).initialize()


@pytest.fixture
def agent(root: Path) -> Agent[Any]:
    return make(root)


def call(agent: Agent[Any], name: str, **args: Any) -> Any:
    return agent.toolbox.call_tool(agent, name, args, None)


def kind(agent: Agent[Any], name: str, **args: Any) -> str:
    result = call(agent, name, **args)
    assert result.is_err(), result.value
    return str(result.value.kind)


# -- reading ------------------------------------------------------------------------------------------


def test_reading_in_pages(agent: Agent[Any], root: Path) -> None:
    path = str(root / "a.txt")
    assert call(agent, "read_file", path="a.txt").unwrap() == {
        "path": path,
        "text": "one\ntwo\nthree\n",
        "total_lines": 3,
        "next_offset": None,
    }
    page = call(agent, "read_file", path=path, offset=2, limit=1, line_numbers=True).unwrap()
    assert page == {"path": path, "text": "     2\ttwo\n", "total_lines": 3, "next_offset": 3}
    assert "has 3 lines" in call(agent, "read_file", path="a.txt", offset=4).value.error
    for wrong in ({"offset": 0}, {"offset": -3}, {"limit": 0}):
        assert kind(agent, "read_file", path="a.txt", **wrong) == "ValueError"
    (root / "empty").write_bytes(b"")
    assert call(agent, "read_file", path="empty").unwrap()["text"] == ""


def test_what_a_page_cuts_is_said(agent: Agent[Any], root: Path) -> None:
    (root / "long").write_text("x" * 2500 + "\nshort\n")
    text = call(agent, "read_file", path="long").unwrap()["text"]
    assert text == "x" * 2000 + "... (line cut: 500 more characters)\nshort\n"
    (root / "much").write_text("y" * 1999 + "\n" + ("y" * 1999 + "\n") * 300)
    page = call(agent, "read_file", path="much").unwrap()
    assert page["next_offset"] == 101 and len(page["text"]) == 200_000


def test_encodings_and_line_ends_are_shown_as_text(agent: Agent[Any], root: Path) -> None:
    (root / "w").write_bytes("\ufeffa\r\nž\r\n".encode("utf-16-le"))
    assert call(agent, "read_file", path="w").unwrap()["text"] == "a\r\nž\r\n"
    (root / "l").write_bytes(b"caf\xe9\n")
    assert call(agent, "read_file", path="l").unwrap()["text"] == "caf\ufffd\n"


def test_what_can_not_be_read(agent: Agent[Any], root: Path) -> None:
    os.mkfifo(root / "p")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "s"))
    (root / "z").symlink_to("/dev/zero")
    (root / "bin").write_bytes(b"\0\1")
    with (root / "big").open("wb") as file:
        file.truncate(10_000_001)
    started = time.monotonic()
    assert kind(agent, "read_file", path="p") == "not_regular"
    assert kind(agent, "read_file", path="s") == "not_regular"
    assert kind(agent, "read_file", path="z") == "outside"
    assert kind(agent, "read_file", path="bin") == "binary"
    assert kind(agent, "read_file", path="sub") == "is_dir"
    assert "10,000,000 is the limit" in call(agent, "read_file", path="big").value.error
    missing = call(agent, "read_file", path="sub/bb.txt").value
    assert (missing.kind, missing.facts) == ("missing", {"similar": ["sub/b.txt"]})
    assert time.monotonic() - started < 30


def test_reading_many(agent: Agent[Any], root: Path) -> None:
    (root / "c.py").write_text("c\n")
    (root / "sub" / "d.py").write_text("d\n")
    (root / "out").symlink_to(root.parent / "out")

    def names(**args: Any) -> list[str]:
        return [os.path.relpath(item["path"], root) for item in call(agent, "read_many_files", **args).unwrap()]

    assert names(include=["*.py"]) == ["c.py", "sub/d.py"]
    assert names(include=["*.py"], recursive=False) == ["c.py"]
    assert names(include=["**/*.py", "a.txt"], exclude=["sub/*"]) == ["c.py", "a.txt"]
    assert names(include=["sub"]) == ["sub/b.txt", "sub/d.py"]
    assert names(include=["[ab].txt", "c.p?"]) == ["a.txt", "sub/b.txt", "c.py"]
    (root / "bin").write_bytes(b"\0")
    found = call(agent, "read_many_files", include=["bin", "gone", "../out/f", "a.txt"]).unwrap()
    assert [sorted(item) for item in found] == [["error", "path"]] * 3 + [["content", "path"]]
    assert "secret" not in str(found)


def test_patterns_of_reading_many_are_those_of_glob(agent: Agent[Any], root: Path) -> None:
    for name in ("c.py", "sub/d.ts", "sub/[id].py", "sub/deep/e.py", "sub/node/f.py"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x\n")

    def names(*include: str, **args: Any) -> list[str]:
        found = call(agent, "read_many_files", include=list(include), **args).unwrap()
        return [item.get("error") or os.path.relpath(item["path"], root) for item in found]

    assert names("sub/*.{py,ts}") == ["sub/[id].py", "sub/d.ts"]
    # A file that is named like a pattern is that file, and a quoted bracket is itself.
    assert names("sub/[id].py") == names("sub/\\[id\\].py") == names(f"{root}/sub/[[]*") == ["sub/[id].py"]
    assert names("**/*.py", exclude=["sub"]) == ["c.py"]
    assert names("**/*.py", exclude=["node/", "deep/**"]) == ["c.py", "sub/[id].py", "sub/deep/e.py"]
    assert names("sub/d*/") == ["sub/deep/e.py"]
    assert names("*.rs", "c.py") == ["c.py", "No file matches this pattern."]
    assert "not within" in names(f"{root.parent}/out/*")[0]
    assert kind(agent, "read_many_files", include=["sub/[a"]) == "bad_pattern"


def test_a_byte_order_mark_before_broken_text(agent: Agent[Any], root: Path) -> None:
    for data, text in ((b"\xef\xbb\xbfa\xff\n", "a\ufffd\n"), (b"\xff\xfea\0\n", "a\ufffd"), (b"a\xff\n", "a\ufffd\n")):
        (root / "t").write_bytes(data)
        assert call(agent, "read_file", path="t").unwrap()["text"] == text


def test_errors_of_reading_name_the_way_on(agent: Agent[Any], root: Path) -> None:
    (root / "one").write_text("1\n")
    (root / "none").write_text("")
    (root / "p.PNG").write_bytes(b"\x89PNG\0")
    (root / "b").write_bytes(b"\0")
    errors = [
        call(agent, "read_file", path=path, offset=offset).value.error
        for path, offset in (("one", 2), ("none", 2), ("p.PNG", 1), ("b", 1))
    ]
    wanted = ("has 1 line, so offset", "is empty, so offset", "request_image shows", "such as xxd shows")
    assert all(part in error for part, error in zip(wanted, errors, strict=True)), errors


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1"])
def test_pages_together_are_the_whole(agent: Agent[Any], root: Path, encoding: str) -> None:
    (root / "t").write_bytes("a\r\nb\r\r\n\n\x0c\x85c\rd\né".encode(encoding))
    whole = call(agent, "read_file", path="t").unwrap()
    for limit in (1, 2, 3):
        offset, text = 1, ""
        while offset is not None:
            page = call(agent, "read_file", path="t", offset=offset, limit=limit).unwrap()
            offset, text = page["next_offset"], text + page["text"]
        assert (text, whole["total_lines"]) == (whole["text"], 5)


def test_reading_many_is_bounded(agent: Agent[Any], root: Path) -> None:
    for number in range(120):
        (root / f"f{number:03}").write_text("x")
    found = call(agent, "read_many_files", include=["f*"]).unwrap()
    assert len(found) == 101 and found[-1]["error"].startswith("20 more files")


# -- writing ------------------------------------------------------------------------------------------


def test_writing_a_file(agent: Agent[Any], root: Path) -> None:
    path = str(root / "n" / "e.txt")
    assert call(agent, "write_file", path="n/e.txt", content="a\nb").unwrap() == {
        "path": path,
        "created": True,
        "added": 2,
        "removed": 0,
    }
    assert call(agent, "write_file", path=path, content="a\nc\n").unwrap() == {
        "path": path,
        "created": False,
        "added": 1,
        "removed": 1,
    }
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o666 & ~os.umask(os.umask(0o022))
    assert kind(agent, "write_file", path="sub", content="") == "is_dir"
    assert kind(agent, "write_file", path="new/", content="") == "is_dir"
    assert kind(agent, "write_file", path="a.txt/x", content="") == "not_dir"
    assert kind(agent, "write_file", path="x", content="y", encoding="nonsense") == "encoding"
    assert call(agent, "write_file", path="l", content="é", encoding="latin-1").is_ok()
    assert (root / "l").read_bytes() == b"\xe9"


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\n", "x\r\n", b"x\r\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffb\n", b"\xef\xbb\xbfb\n"),
        ("\ufeffa\n".encode("utf-16-le"), "ž\n", "\ufeffž\n".encode("utf-16-le")),
        (b"\0binary", "text\n", b"text\n"),
        (b"caf\xe9\n", "coffee\n", b"coffee\n"),
    ],
)
def test_a_whole_file_keeps_the_form_of_the_old_one(
    agent: Agent[Any], root: Path, before: bytes, content: str, after: bytes
) -> None:
    (root / "f").write_bytes(before)
    assert call(agent, "write_file", path="f", content=content).is_ok()
    assert (root / "f").read_bytes() == after


def test_a_file_of_unknown_encoding_needs_a_word_for_other_letters(agent: Agent[Any], root: Path) -> None:
    (root / "f").write_bytes(b"caf\xe9\n")
    assert kind(agent, "write_file", path="f", content="thé\n") == "encoding"
    assert call(agent, "write_file", path="f", content="thé\n", encoding="utf-8").is_ok()
    assert (root / "f").read_bytes() == "thé\n".encode()


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(agent: Agent[Any], root: Path) -> None:
    call(agent, "read_file", path="a.txt", limit=1)
    (root / "a.txt").write_text("one\nTWO\nthree\nfour\n")
    result = call(agent, "write_file", path="a.txt", content="x\n")
    assert result.value.kind == "stale"
    assert "line 2, line 4" in result.value.error
    call(agent, "read_many_files", include=["a.txt"])
    assert call(agent, "write_file", path="a.txt", content="x\n").is_ok()


# -- questions ----------------------------------------------------------------------------------------


def test_which_writes_ask(root: Path) -> None:
    chooser = Person()
    agent = make(root, chooser)
    temp = call(agent, "temp_dir").unwrap()
    calls: list[tuple[str, dict[str, Any], int]] = [
        ("write_file", {"path": "new.txt", "content": "1"}, 0),
        ("write_file", {"path": "new.txt", "content": "1"}, 0),
        ("write_file", {"path": "new.txt", "content": "2"}, 1),
        ("replace", {"path": "new.txt", "old": "2", "new": "3"}, 1),
        ("multi_edit", {"path": "new.txt", "edits": [{"old": "3", "new": "4"}]}, 1),
        ("insert_lines", {"path": "new.txt", "line": 0, "text": "x"}, 1),
        ("copy", {"src": "new.txt", "dst": "copy.txt"}, 0),
        ("copy", {"src": "a.txt", "dst": "copy.txt"}, 1),
        ("move", {"src": "copy.txt", "dst": "moved.txt"}, 1),
        ("delete", {"path": "moved.txt"}, 1),
        ("mkdir", {"path": "folder/deep"}, 0),
        ("mkdir", {"path": "folder"}, 0),
        ("write_file", {"path": f"{temp}/t", "content": "1"}, 0),
        ("write_file", {"path": f"{temp}/t", "content": "2"}, 0),
        ("delete", {"path": f"{temp}/t"}, 0),
        ("write_file", {"path": ".git/hooks/pre-commit", "content": "1"}, 1),
        ("mkdir", {"path": ".vscode"}, 1),
        ("copy", {"src": "a.txt", "dst": ".xun/config.toml"}, 1),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: .git/x\n+1\n*** End Patch\n"}, 1),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: p\n+1\n*** Add File: q\n+1\n*** End Patch\n"}, 0),
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Delete File: p\n*** Update File: q\n@@\n-1\n+2\n*** End Patch\n"},
            1,
        ),
    ]
    for name, args, questions in calls:
        chooser.asked.clear()
        assert call(agent, name, **args).is_ok(), (name, args)
        assert len(chooser.asked) == questions, (name, args)


def test_a_denied_write_changes_nothing(root: Path) -> None:
    chooser = Person("deny")
    agent = make(root, chooser)
    before = sorted(map(str, root.rglob("*")))
    for name, args in (
        ("write_file", {"path": "a.txt", "content": "x"}),
        ("delete", {"path": "sub"}),
        ("move", {"src": "a.txt", "dst": "n/b.txt"}),
        ("copy", {"src": "a.txt", "dst": "sub/b.txt"}),
        ("replace", {"path": "a.txt", "old": "one", "new": "1"}),
    ):
        result = call(agent, name, **args)
        assert (result.status, result.value.kind) == ("denied", "denied")
    assert sorted(map(str, root.rglob("*"))) == before
    assert (root / "a.txt").read_text() == "one\ntwo\nthree\n"
    shown = chooser.asked[0].files[0]
    assert (shown.path, shown.action, shown.added, shown.removed) == (str(root / "a.txt"), "update", 1, 3)


def test_a_hard_link_is_named_and_left_alone(root: Path) -> None:
    chooser = Person()
    agent = make(root, chooser)
    os.link(root.parent / "out" / "f", root / "h")
    call(agent, "write_file", path="h", content="x\n").unwrap()
    assert "2 hard links" in chooser.asked[0].files[0].note
    assert (root.parent / "out" / "f").read_text() == "secret\n"


def test_a_folder_that_holds_protected_files_asks_as_protected(root: Path) -> None:
    chooser = Person()
    agent = make(root, chooser)
    (root / "sub" / ".git").mkdir()
    agent.policy.write_allowlist.add(str(root), True)
    for name, args in (
        ("move", {"src": "sub", "dst": "bus"}),
        ("copy", {"src": "bus", "dst": "third"}),
        ("delete", {"path": "bus"}),
    ):
        chooser.asked.clear()
        call(agent, name, **args).unwrap()
        assert len(chooser.asked) == 1 and not chooser.asked[0].write_scopes
        assert "may run programs later" in chooser.asked[0].options[0].note


def test_a_folder_that_holds_excluded_files_asks_and_says_why(root: Path) -> None:
    chooser = Person()
    agent = make(root, chooser)
    agent.workspace.protect = PathPatterns(["*.key"])
    (root / "sub" / "a.key").write_text("x\n")
    for name, args in (
        ("move", {"src": "sub", "dst": "bus"}),
        ("copy", {"src": "bus", "dst": "third"}),
        ("delete", {"path": "bus"}),
    ):
        chooser.asked.clear()
        call(agent, name, **args).unwrap()
        assert [asked.write_scopes for asked in chooser.asked] == [()]
        assert "is excluded by policy.writes.exclude" in chooser.asked[0].options[0].note


# -- arranging ----------------------------------------------------------------------------------------


def test_moving_and_copying(agent: Agent[Any], root: Path) -> None:
    assert call(agent, "copy", src="a.txt", dst="sub").unwrap() == "OK"
    assert (root / "sub" / "a.txt").read_text() == "one\ntwo\nthree\n"
    (root / "a.txt").chmod(0o755)
    assert call(agent, "copy", src="a.txt", dst="deep/er/x.sh").unwrap() == "OK"
    assert stat.S_IMODE((root / "deep/er/x.sh").stat().st_mode) == 0o755
    assert call(agent, "copy", src="sub", dst="twin").unwrap() == "OK"
    assert sorted(os.listdir(root / "twin")) == ["a.txt", "b.txt"]
    assert call(agent, "move", src="twin", dst="deep").unwrap() == "OK"
    assert (root / "deep" / "twin" / "b.txt").exists() and not (root / "twin").exists()
    assert call(agent, "move", src="deep/twin/a.txt", dst="deep/twin/b.txt").unwrap() == "OK"
    assert (root / "deep/twin/b.txt").read_text() == "one\ntwo\nthree\n"


def test_what_can_not_be_moved_or_copied(agent: Agent[Any], root: Path) -> None:
    (root / "sub" / "sub2").mkdir()
    (root / "other" / "sub").mkdir(parents=True)
    (root / "l").symlink_to(root.parent / "out" / "f")
    assert kind(agent, "move", src="gone", dst="x") == "missing"
    assert kind(agent, "move", src="a.txt", dst="a.txt") == "noop"
    assert kind(agent, "move", src="sub", dst="sub/sub2") == "overlap"
    assert kind(agent, "copy", src="sub", dst="sub/sub2/new") == "overlap"
    assert kind(agent, "move", src="sub", dst="other") == "exists"
    assert kind(agent, "move", src="sub", dst="a.txt") == "exists"
    assert kind(agent, "move", src="a.txt", dst="nowhere/") == "missing"
    assert kind(agent, "copy", src="l", dst="m") == "outside"
    assert kind(agent, "move", src="a.txt", dst="../out/x") == "outside"
    for path in (".", str(root), "sub/.."):
        assert kind(agent, "delete", path=path) == "denied"
        assert kind(agent, "move", src=path, dst="x") == "denied"
    assert (root.parent / "out" / "f").read_text() == "secret\n"


def test_a_move_to_the_temporary_folder_and_back(agent: Agent[Any], root: Path) -> None:
    temp = call(agent, "temp_dir").unwrap()
    call(agent, "move", src="a.txt", dst=temp).unwrap()
    assert not (root / "a.txt").exists()
    call(agent, "move", src=f"{temp}/a.txt", dst="sub/c.txt").unwrap()
    assert (root / "sub" / "c.txt").read_text() == "one\ntwo\nthree\n"
    call(agent, "undo_edit").unwrap()
    call(agent, "undo_edit").unwrap()
    assert (root / "a.txt").exists()


def test_deleting_a_link_leaves_what_it_points_to(agent: Agent[Any], root: Path) -> None:
    (root / "d").symlink_to(root.parent / "out")
    (root / "sub" / "inner").symlink_to(root.parent / "out")
    assert call(agent, "delete", path="d").unwrap() == "OK"
    assert call(agent, "delete", path="sub").unwrap() == "OK"
    assert not (root / "sub").exists() and not (root / "d").is_symlink()
    assert (root.parent / "out" / "f").exists()
    call(agent, "undo_edit").unwrap()
    assert os.readlink(root / "sub" / "inner") == str(root.parent / "out")


def test_a_folder_too_large_or_too_odd_for_undo_goes_all_the_same(agent: Agent[Any], root: Path) -> None:
    os.mkfifo(root / "sub" / "p")
    (root / "sub" / "inner").symlink_to(root.parent / "out")
    assert trees.tree_states(agent.workspace, agent.workspace.resolve("sub")) is None
    assert kind(agent, "copy", src="sub", dst="x") == "io"
    assert call(agent, "delete", path="sub").unwrap() == "OK"
    assert sorted(os.listdir(root)) == ["a.txt"]
    assert (root.parent / "out" / "f").exists()


def test_a_read_only_folder_is_not_removed(agent: Agent[Any], root: Path) -> None:
    (root / "sub" / "deep").mkdir()
    (root / "sub" / "deep" / "f").write_text("")
    (root / "sub" / "deep").chmod(0o555)
    try:
        result = call(agent, "delete", path="sub")
        assert result.value.kind == "denied" and str(root / "sub" / "deep") in result.value.error
        assert sorted(os.listdir(root)) == ["a.txt", "sub"]
    finally:
        (root / "sub" / "deep").chmod(0o755)


def test_making_folders(agent: Agent[Any], root: Path) -> None:
    assert call(agent, "mkdir", path="x/y/z").unwrap() == "OK"
    assert (root / "x/y/z").is_dir()
    assert call(agent, "mkdir", path="x/y").unwrap() == "OK"
    assert kind(agent, "mkdir", path="a.txt") == "exists"
    (root / "x" / "mine").write_text("")
    call(agent, "undo_edit").unwrap()
    assert sorted(os.listdir(root / "x")) == ["mine"]


def test_the_temporary_folder(agent: Agent[Any]) -> None:
    path = Path(call(agent, "temp_dir").unwrap())
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert call(agent, "temp_dir").unwrap() == str(path)


# -- listing ------------------------------------------------------------------------------------------


def test_listing(agent: Agent[Any], root: Path) -> None:
    (root / ".hidden").write_text("")
    (root / "x.pyc").write_text("")
    (root / "l").symlink_to("sub")
    (root / os.fsdecode(b"\xff")).write_text("")
    assert call(agent, "list_dir").unwrap() == {
        "directories": ["sub"],
        "files": [".hidden", "a.txt", "l", "x.pyc", "\\xff"],
    }
    found = call(agent, "list_dir", path=".", details=True, ignore=["*.pyc", "?"], show_hidden=False)
    value = found.unwrap()
    assert [item["name"] for item in value["files"]] == ["a.txt"]
    assert value["files"][0]["size"] == 14 and value["files"][0]["last_modified"].endswith("+00:00")
    assert call(agent, "list_dir", details=True).unwrap()["files"][2]["link_to"] == "sub"
    assert kind(agent, "list_dir", path="a.txt") == "not_dir"
    assert kind(agent, "list_dir", path="gone") == "missing"
    assert kind(agent, "list_dir", path="..") == "outside"


def test_file_info(agent: Agent[Any], root: Path) -> None:
    value = call(agent, "file_info", path="a.txt").unwrap()
    assert value.pop("last_modified").endswith("+00:00")
    assert value == {"path": str(root / "a.txt"), "size": 14, "line_count": 3, "is_text": True}
    (root / "b").write_bytes(b"\0")
    (root / "open").write_bytes(b"a\nb")
    assert call(agent, "file_info", path="b").unwrap()["line_count"] is None
    assert call(agent, "file_info", path="open").unwrap()["line_count"] == 2
    assert kind(agent, "file_info", path="sub") == "is_dir"


def test_the_state_of_a_root_is_a_folder(agent: Agent[Any]) -> None:
    assert read_state(agent.workspace, agent.workspace.resolve(".")).kind == "dir"
