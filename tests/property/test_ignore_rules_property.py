"""Ignore rules are those of git: random trees with random ignore files, git as the oracle; and ripgrep agrees."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xun.tools.toolbox import ToolBox
from xun_builtin_tools import search
from xun_builtin_tools.search.engine import SearchOptions
from xun_policies.workspace import Workspace

NAMES = ["a", "b", "ab", "ba", "a.b", ".h", "c d", "é", "a*", "{a,b}", "[a]", "-", "A", "a ", "n\nl"]
ATOMS = [
    "a",
    "b",
    "ab",
    "*",
    "**",
    "?",
    "[a-b]",
    "[!a]",
    "[^b]",
    ".",
    "\\*",
    "\\a",
    "é",
    "{a,b}",
    "c d",
    "[[:upper:]]",
    "[[:ab]",
]

name = st.sampled_from(NAMES)
part = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3).map("".join)
pattern = st.builds(
    lambda mark, lead, parts, tail, blanks: mark + lead + "/".join(parts) + tail + blanks,
    st.sampled_from(["", "", "", "!", "!", "#", "\\!", "\\#"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(part, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "/*", "//"]),
    st.sampled_from(["", "", " ", "\\ ", "\t", "  "]),
)
odd = st.sampled_from(
    ["!", "/", "!/", "*", "!*/", "!/*/", "**", "/**", "[", "a[", "\\", "a\\", "[]a]", "[a-]", "***", "!*"]
)
rules = st.lists(st.one_of(pattern, pattern, odd), min_size=1, max_size=5)
ignore_file = st.builds(
    lambda bom, lines, end: bom + end.join(lines) + end,
    st.sampled_from(["", "", "", "\ufeff"]),
    rules,
    st.sampled_from(["\n", "\n", "\r\n"]),
)
path = st.lists(name, min_size=1, max_size=4).map("/".join)
tree = st.sets(path, min_size=1, max_size=10)
ignore_files = st.dictionaries(st.sampled_from(["", "a/", "a/b/", "ab/", "b/"]), ignore_file, min_size=1, max_size=3)


def build(root: Path, files: set[str], ignores: dict[str, str], exclude: str) -> None:
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True, stdin=subprocess.DEVNULL)
    (root / ".git" / "info" / "exclude").write_text(exclude, "utf-8")
    for place, text in ignores.items():
        (root / place).mkdir(parents=True, exist_ok=True)
        (root / place / ".gitignore").write_bytes(text.encode())
    for file in sorted(files):
        target = root / file
        # Where one path makes a file and another a folder of the same name, the first one stays.
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(b"needle\n")
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue


def by_git(root: Path) -> list[str]:
    command = ["git", "-c", "core.excludesFile=/dev/null", "ls-files", "-z", "-co", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return sorted(os.fsdecode(item) for item in done.stdout.split(b"\0") if item)


def call(root: Path, backend: str, tool: str, arguments: dict[str, Any]) -> Any:
    toolbox = ToolBox().register(*search.tools(SearchOptions(backend=backend)))
    agent: Any = SimpleNamespace(workspace=Workspace(root))
    return toolbox.call_tool(agent, tool, arguments, None).unwrap()


def by_tool(root: Path, backend: str, folder: str = ".") -> list[str]:
    return sorted(call(root, backend, "glob", {"pattern": "**/*", "path": folder})["paths"])


filters = st.one_of(
    st.none(),
    st.sampled_from(["*", "a*", "!a", "a/**", "**/b", "/a/*", "[ab]", "*.{b,c}", "b/", "!b/", "a/?", "!a/b", ".h"]),
    st.sampled_from(["?", "!?", "{,a}b", "!{a,b}", "./*", "!/a", "a ", "!a ", "\\{a,b\\}", "*:*", "!**/b/*", "[!a]"]),
)
CASES = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


@CASES
@given(tree, ignore_files, st.one_of(st.just(""), ignore_file))
def test_the_python_walk_lists_what_git_lists(files: set[str], ignores: dict[str, str], exclude: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(made).resolve()
        build(root, files, ignores, exclude)
        assert by_tool(root, "python") == by_git(root)


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@CASES
@given(tree, ignore_files, st.one_of(st.just(""), ignore_file), st.sampled_from([".", "a", "a/b", "b"]), filters)
def test_ripgrep_searches_what_the_python_walk_searches(
    files: set[str], ignores: dict[str, str], exclude: str, folder: str, glob: str | None
) -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(made).resolve()
        build(root, files, ignores, exclude)
        if not (root / folder).is_dir():
            folder = "."
        arguments = {"pattern": "needle", "path": folder, "glob": glob, "hidden": len(files) % 2 == 0}
        results = []
        for backend in ("ripgrep", "python"):
            for output in ("matches", "files", "counts"):
                value = call(root, backend, "grep", {**arguments, "output": output})
                results.append(
                    sorted(row["path"] for row in value["matches"]) if output == "matches" else value[output]
                )
        assert results[0] == results[3]
        assert sorted(results[1]) == sorted(results[4])
        assert results[2] == results[5]


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@CASES
@given(tree, ignore_file, st.one_of(st.just(""), ignore_file), st.sampled_from([".", "a", "a/b", "b"]))
def test_ripgrep_lists_what_the_python_walk_lists(files: set[str], ignore: str, exclude: str, folder: str) -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(made).resolve()
        build(root, files, {"": ignore}, exclude)
        if not (root / folder).is_dir():
            folder = "."
        assert by_tool(root, "ripgrep", folder) == by_tool(root, "python", folder)
