"""The patch group through the toolbox: what comes back, and what reaches the disk."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.models import ScriptedModel


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws" / "sub").mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    return tmp_path / "ws"


@pytest.fixture
def agent(root: Path) -> Agent[Any]:
    return Agent(
        toolbox=ToolBox().with_defaults("fs", "patch"), workspace=Workspace(root), config=AgentConfig(auto_confirm=True)
    ).initialize()


def call(agent: Agent[Any], name: str, **args: Any) -> Any:
    return agent.toolbox.call_tool(agent, name, args, None)


def test_what_replace_says(agent: Agent[Any], root: Path) -> None:
    assert call(agent, "replace", path="a.txt", old="two\nthree", new="2\n2.5\n3").unwrap() == {
        "path": str(root / "a.txt"),
        "level": "exact",
        "lines": [[2, 4]],
        "added": 3,
        "removed": 2,
        "snippet": "     1\tone\n     2\t2\n     3\t2.5\n     4\t3\n     5\tfour",
    }
    assert call(agent, "replace", path="a.txt", old="o", new="0", replace_all=True).unwrap()["lines"] == [
        [1, 1],
        [5, 5],
    ]


def test_many_places_are_cut_in_what_comes_back(agent: Agent[Any], root: Path) -> None:
    (root / "m").write_text("x\n" * 100_000)
    value = call(agent, "replace", path="m", old="x", new="yy", replace_all=True).unwrap()
    assert (len(value["lines"]), value["places"], value["added"]) == (100, 100_000, 100_000)
    assert (root / "m").read_text() == "yy\n" * 100_000


def test_multi_edit_says_where_each_edit_ended_up(agent: Agent[Any], root: Path) -> None:
    edits = [{"old": "four", "new": "4"}, {"old": "one\n", "new": "1\n1b\n1c\n"}, {"old": "two\n", "new": ""}]
    value = call(agent, "multi_edit", path="a.txt", edits=edits).unwrap()
    assert (root / "a.txt").read_text() == "1\n1b\n1c\nthree\n4\n"
    assert [edit["lines"] for edit in value["edits"]] == [[[5, 5]], [[1, 3]], [[4, 4]]]
    assert value["edits"][0]["snippet"].splitlines()[-1] == "     5\t4"
    wrong = agent.toolbox.call_tool(
        agent, "multi_edit", {"path": "a.txt", "edits": [{"old": "1", "new": "2"}, {"old": "x", "new": "y"}]}, None
    )
    assert wrong.value.facts["edit_index"] == 0 and wrong.value.kind == "ambiguous"


@pytest.mark.parametrize(
    ("before", "line", "text", "after", "lines"),
    [
        ("a\nb\n", 0, "x", "x\na\nb\n", [[1, 1]]),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n", [[2, 3]]),
        ("a\nb\n", 2, "x", "a\nb\nx\n", [[3, 3]]),
        ("a\nb", 2, "x\ny", "a\nb\nx\ny", [[3, 4]]),
        ("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n", [[2, 3]]),
        ("", 0, "x", "x\n", [[1, 1]]),
    ],
)
def test_inserting_lines(
    agent: Agent[Any], root: Path, before: str, line: int, text: str, after: str, lines: list[list[int]]
) -> None:
    (root / "f").write_bytes(before.encode())
    value = call(agent, "insert_lines", path="f", line=line, text=text).unwrap()
    assert (root / "f").read_bytes() == after.encode()
    assert (value["lines"], value["added"], value["removed"]) == (lines, text.rstrip("\n").count("\n") + 1, 0)


def test_inserting_nowhere(agent: Agent[Any]) -> None:
    assert "has 4 lines" in call(agent, "insert_lines", path="a.txt", line=5, text="x").value.error
    assert call(agent, "insert_lines", path="a.txt", line=-1, text="x").is_err()
    assert call(agent, "insert_lines", path="a.txt", line=1, text="").value.kind == "noop"


def test_what_apply_patch_says(agent: Agent[Any], root: Path) -> None:
    (root / "sub" / "b.txt").write_text("“b”\n")
    (root / "c.txt").write_text("c\n")
    text = (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        "diff --git a/sub/b.txt b/sub/d.txt\nrename from sub/b.txt\nrename to sub/d.txt\n"
        '--- a/sub/b.txt\n+++ b/sub/d.txt\n@@ -1 +1,2 @@\n "b"\n+x\n'
        "--- a/c.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-c\n"
        "--- /dev/null\n+++ b/new/e.txt\n@@ -0,0 +1,2 @@\n+e\n+f\n"
    )
    assert call(agent, "apply_patch", patch=text).unwrap()["files"] == [
        {"path": str(root / "a.txt"), "action": "update", "added": 1, "removed": 1, "level": "exact"},
        {
            "path": str(root / "sub/d.txt"),
            "action": "move",
            "added": 1,
            "removed": 0,
            "level": "unicode",
            "from": str(root / "sub/b.txt"),
        },
        {"path": str(root / "c.txt"), "action": "delete", "added": 0, "removed": 1, "level": "exact"},
        {"path": str(root / "new/e.txt"), "action": "add", "added": 2, "removed": 0, "level": "exact"},
    ]
    assert (root / "sub" / "d.txt").read_text() == "“b”\nx\n"


def test_a_patch_in_a_folder(agent: Agent[Any], root: Path) -> None:
    text = "*** Begin Patch\n*** Add File: x\n+1\n*** End Patch\n"
    assert call(agent, "apply_patch", patch=text, directory="sub").is_ok()
    assert (root / "sub" / "x").read_text() == "1\n"
    assert call(agent, "apply_patch", patch=text, directory="a.txt").value.kind == "not_dir"
    assert call(agent, "apply_patch", patch=text, directory="..").value.kind == "outside"
    up = "*** Begin Patch\n*** Add File: ../y\n+1\n*** End Patch\n"
    assert call(agent, "apply_patch", patch=up, directory="sub").is_ok()
    assert (root / "y").read_text() == "1\n"


@pytest.mark.parametrize(
    "patch",
    [
        "--- /dev/null\n+++ ../../out/p\n@@ -0,0 +1 @@\n+x\n",
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: {out}/b.txt\n@@\n-one\n+1\n"
        "*** Update File: c\n@@\n-c\n+C\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: c\n@@\n-c\n+C\n*** Add File: link/f\n+x\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: c\n@@\n-c\n+C\n*** Add File: dangling\n+x\n*** End Patch\n",
    ],
)
def test_a_patch_that_leads_out_is_refused_as_a_whole(agent: Agent[Any], root: Path, patch: str) -> None:
    (root / "c").write_text("c\n")
    (root / "link").symlink_to(root.parent / "out")
    (root / "dangling").symlink_to(root.parent / "out" / "never")
    result = call(agent, "apply_patch", patch=patch.replace("{out}", str(root.parent / "out")))
    assert result.value.kind == "outside"
    assert "is not within the agent's workspace" in result.value.error
    assert (root / "c").read_text() == "c\n"
    assert os.listdir(root.parent / "out") == []


def test_a_link_can_not_come_by_patch(agent: Agent[Any], root: Path) -> None:
    text = (
        "diff --git a/d b/d\nnew file mode 120000\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+/tmp\n"
        "\\ No newline at end of file\n"
        "--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+x\n"
    )
    assert call(agent, "apply_patch", patch=text).value.kind == "parse"
    assert not (root / "d").is_symlink()


def test_diff_files(agent: Agent[Any], root: Path) -> None:
    (root / "b.txt").write_text("one\n2\nthree\nfour")
    assert call(agent, "diff_files", path_a="a.txt", path_b="a.txt").unwrap() == ""
    lines = call(agent, "diff_files", path_a="a.txt", path_b="b.txt").unwrap().splitlines()
    assert lines[:3] == [f"--- {root / 'a.txt'}", f"+++ {root / 'b.txt'}", "@@ -1,4 +1,4 @@"]
    assert lines[-1] == "\\ No newline at end of file"
    (root / "mark").write_bytes(b"\xef\xbb\xbf" + (root / "a.txt").read_bytes())
    assert "byte order mark" in call(agent, "diff_files", path_a="a.txt", path_b="mark").unwrap()
    (root / "bin").write_bytes(b"\0")
    assert call(agent, "diff_files", path_a="a.txt", path_b="bin").value.kind == "binary"
    assert call(agent, "diff_files", path_a="gone", path_b="a.txt").value.kind == "missing"


def test_an_edit_by_one_tool_is_known_to_the_next(agent: Agent[Any], root: Path) -> None:
    call(agent, "read_file", path="a.txt")
    call(agent, "replace", path="a.txt", old="one", new="1").unwrap()
    call(agent, "move", src="a.txt", dst="b.txt").unwrap()
    call(agent, "insert_lines", path="b.txt", line=1, text="x").unwrap()
    call(agent, "write_file", path="b.txt", content="y\n").unwrap()
    (root / "b.txt").write_text("z\n")
    assert call(agent, "replace", path="b.txt", old="z", new="y").value.kind == "stale"


def test_the_front_end_hears_which_files_changed(agent: Agent[Any], root: Path) -> None:
    from xun.tools.context import CallScope, ToolCallContext
    from xun_builtin_tools import patch

    scope = CallScope(turn=3)
    ctx = ToolCallContext(agent, "apply_patch", None, scope=scope)
    apply_patch = next(tool for tool in patch.tools() if tool.__name__ == "apply_patch")
    apply_patch(ctx, "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n+1b\n*** Add File: n\n+n\n*** End Patch\n")
    assert scope.files == [
        {"path": str(root / "a.txt"), "action": "update", "added": 2, "removed": 1},
        {"path": str(root / "n"), "action": "add", "added": 1, "removed": 0},
    ]
    assert agent.state["__builtin_edit"].journal.entries[-1].turn == 3


def test_edits_of_one_file_in_one_message_are_made_in_their_order(root: Path) -> None:
    calls: list[dict[str, Any]] = [{"name": "read_file", "arguments": {"path": "f"}}]
    for at in range(20):
        calls.append({"name": "replace", "arguments": {"path": "f", "old": f"line {at}\n", "new": f"LINE {at}\n"}})
        calls.append({"name": "replace", "arguments": {"path": "f", "old": f"last {at}", "new": f"last {at + 1}"}})
    runs: list[Callable[[Agent[Any]], Any]] = [
        lambda agent: agent.execute(),
        lambda agent: asyncio.run(agent.aexecute()),
    ]
    for run in runs:
        (root / "f").write_text("".join(f"line {at}\n" for at in range(20)) + "last 0\n")
        agent = Agent(
            model=ScriptedModel([{"tool_calls": calls}, {"text": "done"}]),
            toolbox=ToolBox().with_defaults("fs", "patch"),
            workspace=Workspace(root),
            config=AgentConfig(auto_confirm=True),
        ).initialize()
        assert run(agent.instruct("go")).unwrap() == "done"
        assert (root / "f").read_text() == "".join(f"LINE {at}\n" for at in range(20)) + "last 20\n"
