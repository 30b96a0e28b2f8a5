"""Edits as properties: undo is the identity, a refusal changes nothing, pages add up, paths stay inside."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.sizes import examples
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.errors import EditError
from xun_builtin_tools.edit.document import Document
from xun_builtin_tools.edit.replacing import replace_text
from xun_builtin_tools.edit.state import EditState
from xun_policies.errors import PolicyError

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

PIECES = st.sampled_from(["a", "b", "\n", "\r\n", "\r", " ", "\t", "é", "“", '"', "–", "x = 1", "\ufeff", "\u2028"])
TEXTS = st.lists(PIECES, max_size=30).map("".join)
CONTENTS = st.one_of(
    TEXTS.map(lambda text: text.encode()),
    TEXTS.map(lambda text: b"\xef\xbb\xbf" + text.encode()),
    TEXTS.map(lambda text: text.encode("utf-16")),
    TEXTS.map(lambda text: text.encode("cp1252", "replace")),
    st.binary(max_size=40),
)


@contextmanager
def agent_in_a_folder() -> Iterator[tuple[Agent[Any], Path]]:
    # Not a fixture: every example needs a fresh one. The memory file system keeps fsync cheap.
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    root = Path(os.path.realpath(tempfile.mkdtemp(dir=base)))
    try:
        workspace = Workspace(root)
        yield (
            Agent(
                toolbox=ToolBox().with_defaults("fs", "patch"),
                workspace=workspace,
                config=AgentConfig(auto_confirm=True),
            ).initialize(),
            root,
        )
        workspace.close()
    finally:
        shutil.rmtree(root)


def call(agent: Agent[Any], name: str, **args: Any) -> Any:
    return agent.toolbox.call_tool(agent, name, args, None)


def tree(root: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in sorted(root.rglob("*"))
    }


@st.composite
def edits(draw: st.DrawFn) -> tuple[bytes, str, dict[str, Any]]:
    data = draw(CONTENTS)
    try:
        text = Document.load("/f", data).text
    except EditError:
        text = ""
    start = draw(st.integers(0, len(text)))
    part = text[start : draw(st.integers(start, len(text)))]
    old = draw(st.sampled_from([part, part.rstrip(), part.replace("“", '"'), part + "zz"]))
    if any("\ud800" <= char <= "\udfff" for char in old):
        old = "a"
    kind = draw(st.sampled_from(["replace", "multi_edit", "insert_lines", "write_file", "apply_patch"]))
    new = draw(TEXTS)
    args: dict[str, Any] = {
        "replace": {"path": "f", "old": old, "new": new, "replace_all": draw(st.booleans())},
        "multi_edit": {"path": "f", "edits": [{"old": old, "new": new}, {"old": "a", "new": "b"}]},
        "insert_lines": {"path": "f", "line": draw(st.integers(0, 4)), "text": new},
        "write_file": {"path": "f", "content": new},
        "apply_patch": {
            "patch": "*** Begin Patch\n*** Update File: f\n@@\n"
            + "".join(f"-{line}\n" for line in old.split("\n"))
            + "".join(f"+{line}\n" for line in new.replace("\r\n", "\n").split("\n"))
            + "*** Add File: new/g\n+g\n*** End Patch\n"
        },
    }[kind]
    return data, kind, args


@QUICK
@given(edits())
def test_undo_is_the_identity_and_a_refusal_changes_nothing(case: tuple[bytes, str, dict[str, Any]]) -> None:
    data, name, args = case
    with agent_in_a_folder() as (agent, root):
        (root / "f").write_bytes(data)
        before = tree(root)
        result = call(agent, name, **args)
        if result.is_err() or (name == "write_file" and tree(root) == before):
            assert tree(root) == before
            return
        after = tree(root)
        assert call(agent, "undo_edit").is_ok()
        assert tree(root) == before
        EditState.of(agent).journal.redo()
        assert tree(root) == after


@QUICK
@given(TEXTS, st.integers(1, 5), st.booleans())
def test_pages_add_up_to_the_whole(text: str, limit: int, marked: bool) -> None:
    with agent_in_a_folder() as (agent, root):
        (root / "f").write_bytes((b"\xef\xbb\xbf" if marked else b"") + text.encode())
        whole = call(agent, "read_file", path="f").unwrap()
        pages, offset = "", 1
        while offset is not None:
            page = call(agent, "read_file", path="f", offset=offset, limit=limit).unwrap()
            pages += page["text"]
            assert page["total_lines"] == whole["total_lines"]
            offset = page["next_offset"]
        # Only one mark is kept apart; a text may begin with another.
        assert pages == whole["text"] == (text if marked else text.removeprefix("\ufeff"))


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_unique_exact_replacement_leaves_all_around_it(head: str, old: str, new: str, tail: str) -> None:
    data = (head + "<" + old + ">" + tail).encode()
    doc = Document.load("/f", data)
    try:
        result = replace_text(doc, f"<{old}>", f"[{new}]")
    except EditError:
        return
    changed = result.doc.to_bytes()
    assert changed.startswith(head.encode() + b"[") and changed.endswith(b"]" + tail.encode())
    assert Document.load("/f", changed).text.count("[") == 1


NAMES = st.sampled_from(["a", "b", "c", "é", "e\u0301"])
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", ".", "{root}", "{out}", "/"]), min_size=1, max_size=4)
PARTS = st.sampled_from(
    ["a", "b", "c", ".", "..", "", "~", "...", "\0", "%2e%2e", "\\", "é", "e\u0301", "{root}", "{out}"]
)


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    items = []
    for _ in range(draw(st.integers(1, 12))):
        path = "/".join(draw(st.lists(NAMES, min_size=1, max_size=3)))
        kind = draw(st.sampled_from(["dir", "file", "link", "link"]))
        items.append((path, kind, "/".join(draw(TARGETS))))
    return items


def build(root: Path, out: Path, items: list[tuple[str, str, str]]) -> None:
    for path, kind, target in items:
        place = root / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            if kind == "dir":
                place.mkdir()
            elif kind == "file":
                if out not in Path(os.path.realpath(place)).parents:
                    place.write_text("inside")
            else:
                place.symlink_to(target.format(root=root, out=out))
        except (OSError, RuntimeError):
            continue


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), st.lists(PARTS, min_size=1, max_size=8), st.sampled_from(["read", "write", "delete", "move", "copy"]))
def test_no_tool_leaves_the_roots(items: list[tuple[str, str, str]], parts: list[str], action: str) -> None:
    with agent_in_a_folder() as (agent, base):
        root, out = base / "root", base / "out"
        root.mkdir()
        out.mkdir()
        (out / "secret").write_text("outside")
        (out / "a").write_text("outside")
        build(root, out, items)
        agent.workspace = Workspace(root)
        path = "/".join(parts).format(root=root, out=out)
        before = tree(out)
        args = {
            "read": ("read_file", {"path": path}),
            "write": ("write_file", {"path": path, "content": "x"}),
            "delete": ("delete", {"path": path}),
            "move": ("move", {"src": path, "dst": "moved"}),
            "copy": ("copy", {"src": path, "dst": "copied"}),
        }[action]
        result = call(agent, args[0], **args[1])
        assert tree(out) == before
        assert root.is_dir()
        assert "outside" not in str(result.value if result.is_ok() and action == "read" else "")
        for copied in root.rglob("*"):
            if copied.is_file() and not copied.is_symlink() and out not in Path(os.path.realpath(copied)).parents:
                assert copied.read_text() != "outside"


@settings(max_examples=examples(120), deadline=None)
@given(trees(), st.lists(PARTS, min_size=1, max_size=8))
def test_resolve_never_leaves_the_roots(items: list[tuple[str, str, str]], parts: list[str]) -> None:
    with agent_in_a_folder() as (_, base):
        root, out = base / "root", base / "out"
        root.mkdir()
        out.mkdir()
        build(root, out, items)
        path = "/".join(parts).format(root=root, out=out)
        try:
            resolved = Workspace(root).resolve(path)
        except PolicyError:
            return
        # The oracle: the kernel's own view of what would be opened.
        assert os.path.realpath(resolved.path) == str(resolved.path)
        assert resolved.path == root or root in resolved.path.parents
