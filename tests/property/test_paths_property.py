"""No path, tree and tool together reach anything outside the workspace, and all tools agree on where a path leads."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fakes.room import OUTSIDE, SECRET, TAKES_PATH, Room, error_of
from tests.fakes.sizes import examples
from xun.errors import ToolCallFormatError

NAMES = ("a", "b", "c", "é", "e\u0301", "~", "...", "%2e%2e", "\\", "w", "out")
ODD = ("..", "..", "..", ".", "", "\0", "a\0b", " ", "..\n", "\u2025", "n" * 256)
TARGETS = (
    "..", "../out", "../out/a", "BASE/out", "BASE/out/b", "BASE/w/a", "/", ".", "a", "b/c", "./b", "../w/a", "nothing",
    "../out/nothing", "BASE/out/c/new", "/proc/self/root", "/proc/self/cwd/..", "b/../../out", "/dev/zero",
)  # fmt: skip
MARK = "zz-outside-name"

entries = st.tuples(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join),
    st.one_of(st.just(("dir", "")), st.just(("file", "")), st.tuples(st.just("link"), st.sampled_from(TARGETS))),
)
trees = st.lists(entries, min_size=1, max_size=30)
paths = st.builds(
    lambda start, parts: start + "/".join(parts),
    st.sampled_from(("", "", "", "", "BASE/w/", "BASE/out/", "/", "../")),
    st.lists(st.sampled_from(NAMES + ODD), min_size=1, max_size=12),
)
SEARCHES: tuple[tuple[str, Any], ...] = (
    ("glob", lambda p: {"pattern": p}),
    ("glob", lambda p: {"pattern": f"{p}/**"}),
    ("grep", lambda p: {"pattern": "SECRET", "glob": p}),
    ("read_many_files", lambda p: {"include": [f"{p}/*"]}),
)
uses = st.tuples(st.sampled_from([(tool, make) for _, tool, make in TAKES_PATH] + list(SEARCHES)), paths)


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as base:
        made = Room(Path(os.path.realpath(base)), os.geteuid())
        made.w.mkdir()
        for folder in (*NAMES, "a/b", "c/w"):
            (made.out / folder).mkdir(parents=True, exist_ok=True)
            (made.out / folder / MARK).write_text(f"{SECRET}\n")
        for folder in NAMES:
            (made.out / folder / "a").mkdir(exist_ok=True)
            (made.out / folder / "x").write_text(f"{SECRET}\n")
        made.freeze()
        # A shell costs a hundred times what the rest does: where it may run is the same question as elsewhere.
        made.asker.choice = "once"
        yield made
        made.close()


def plant(room: Room, tree: list[tuple[str, tuple[str, str]]]) -> None:
    for item in os.scandir(room.w):
        if item.is_dir(follow_symlinks=False):
            shutil.rmtree(item.path)
        else:
            os.unlink(item.path)
    (room.w / "spare").write_text("spare\n")
    for name, (kind, target) in tree:
        path = room.w / name
        try:
            # Only as deep as real folders go: what is planted must not go through a link.
            if os.path.realpath(path.parent) != str(path.parent) or os.path.lexists(path):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "dir":
                path.mkdir()
            elif kind == "file":
                path.write_text("a inside\n")
            else:
                path.symlink_to(target.replace("BASE", str(room.base)))
        except OSError:  # a loop, a file where a folder is needed
            continue


def stays_inside(room: Room, tree: list[Any], used: list[Any]) -> None:
    plant(room, tree)
    for (tool, make), path in used:
        arguments = make(path.replace("BASE", str(room.base)))
        if tool.startswith("bash"):
            arguments["command"] = "true"
        try:
            result = room.agent.toolbox.call_tool(room.agent, tool, arguments, None)
        except ToolCallFormatError:
            continue
        shown = repr(result.value)
        assert SECRET not in shown and MARK not in shown and "Traceback" not in shown, (tool, arguments, shown)
    room.verify()
    assert room.w.is_dir()


SETTINGS = settings(
    deadline=None,
    max_examples=examples(120),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)


@pytest.mark.row("sec-path-034")
@SETTINGS
@given(tree=trees, used=st.lists(uses, min_size=1, max_size=6))
def test_no_path_leads_out(room: Room, tree: list[Any], used: list[Any]) -> None:
    stays_inside(room, tree, used)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(SETTINGS, max_examples=10_000)
@given(tree=trees, used=st.lists(uses, min_size=4, max_size=6))
def test_no_path_leads_out_of_ten_thousand_trees(room: Room, tree: list[Any], used: list[Any]) -> None:
    stays_inside(room, tree, used)


# -- all tools agree ------------------------------------------------------------------------------------

STARTS = (
    "", "./", "in/", "in/../", "../", "BASE/w/", "BASE/out/", "BASE/w/../out/", "BASE/w-2/", "sub/deep/../../", "abs/",
    "rel/", "gone/", "none/../", "loop/", "/proc/self/root/", "~/", "chain/", "..//w/", "spare/",
)  # fmt: skip
ENDS = ("", "x", "new", "in", "in/..", "..", "../..", "out/x", "abs/x", "a\0b", "n" * 256)
AT_LINK = {"move from", "move to", "copy to", "delete", "patch delete"}
"""What acts on a link itself: asked about paths that end in one they rightly answer otherwise."""
LINKS = ("in", "abs", "rel", "gone", "loop", "chain")


@dataclass(frozen=True)
class Pair:
    """A path, and whether its last part is a link."""

    path: str
    at_link: bool


def pairs(room: Room) -> list[Pair]:
    room.file("sub/deep/x")
    room.file("sub/x")
    (room.base / "w-2").mkdir(exist_ok=True)
    for name, target in zip(LINKS, ("sub", room.out, "../out", room.base / "out/never", "loop", "rel/c"), strict=True):
        room.link(name, target)
    found = [start.replace("BASE", str(room.base)) + end for start, end in product(STARTS, ENDS)]
    return [
        Pair(path, os.path.islink(os.path.join(room.w, path.rstrip("/"))) if "\0" not in path else False)
        for path in dict.fromkeys(found)
        if path
    ]


def verdict(room: Room, tool: str, arguments: dict[str, Any]) -> str:
    text = error_of(room.agent.toolbox.call_tool(room.agent, tool, arguments, None))
    if OUTSIDE in text:
        return "outside"
    for word in ("NUL byte", "longer than", "too many links", "leads nowhere", "is a file, not a folder"):
        if word in text:
            return word
    return "inside"


def test_all_tools_agree_on_200_paths(room: Room) -> None:
    plant(room, [])
    found = pairs(room)
    assert len(found) >= 200
    room.agent.toolbox.dry_run = True
    try:
        differing: dict[str, dict[str, str]] = {}
        for pair in found:
            seen: dict[str, set[str]] = {}
            for label, tool, make in TAKES_PATH:
                group = "link" if pair.at_link and label in AT_LINK else "target"
                seen.setdefault(group, set()).add(verdict(room, tool, make(pair.path)))
            if len(seen["target"]) > 1:
                differing[pair.path] = {label: verdict(room, tool, make(pair.path)) for label, tool, make in TAKES_PATH}
        assert differing == {}
    finally:
        room.agent.toolbox.dry_run = False
    room.verify()
