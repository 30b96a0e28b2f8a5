"""What glob and grep do beside finding: limits, notes, links, private places, bad calls."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from xun.errors import CancelledError
from xun.result import Result
from xun.tools.context import CallScope, ToolCallContext
from xun.tools.toolbox import ToolBox
from xun_builtin_tools import search
from xun_builtin_tools.search.engine import SearchOptions
from xun_builtin_tools.search.folders import open_folder
from xun_builtin_tools.search.hits import by_path, in_order
from xun_policies.workspace import Workspace

BACKENDS = ["python", *(["ripgrep"] if shutil.which("rg") else [])]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())


def call(root: Path, backend: str, tool: str, seconds: float = 20.0, **arguments: Any) -> Result[Any, Any]:
    toolbox = ToolBox().register(*search.tools(SearchOptions(backend=backend, seconds=seconds)))
    agent: Any = SimpleNamespace(workspace=Workspace(root))
    return toolbox.call_tool(agent, tool, arguments, None)


def value(root: Path, backend: str, tool: str, **arguments: Any) -> Any:
    return call(root, backend, tool, **arguments).unwrap()


def kind(root: Path, backend: str, tool: str, **arguments: Any) -> tuple[str, str]:
    error = call(root, backend, tool, **arguments).unwrap_err()
    return error.kind, error.error


def test_a_cut_result_says_so_and_keeps_the_context_of_what_is_left(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {"a": "0\nhit\n2\n3\nhit\n5\n", "b": "0\nhit\n"})
    found = value(tmp_path, backend, "grep", pattern="hit", context=1, limit=1)
    assert found == {
        "matches": [
            {"path": "a", "line": 1, "text": "0", "context": True},
            {"path": "a", "line": 2, "text": "hit"},
            {"path": "a", "line": 3, "text": "2", "context": True},
        ],
        "total": 3,
        "truncated": True,
        "skipped": [],
    }
    assert value(tmp_path, backend, "grep", pattern="hit", output="files", limit=1) == {
        "files": ["a"],
        "total": 2,
        "truncated": True,
        "skipped": [],
    }
    assert value(tmp_path, backend, "grep", pattern="hit", output="counts")["counts"] == {"a": 2, "b": 1}
    assert value(tmp_path, backend, "glob", pattern="*", limit=1) == {"paths": ["a"], "total": 2, "truncated": True}


def test_a_long_line_is_cut_around_its_match(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {"m": "é" * 3000 + "needle" + "b" * 3000 + "\n"})
    (row,) = value(tmp_path, backend, "grep", pattern="needle")["matches"]
    assert row["text"].startswith("[…]é") and row["text"].endswith("b[…]")
    assert "needle" in row["text"] and len(row["text"]) == 506


def test_an_empty_result_says_what_the_ignore_rules_left_out(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {".gitignore": "dist/\n", "dist/a.js": "needle\n", "b.js": "x\n"})
    assert "gitignore=false" in value(tmp_path, backend, "grep", pattern="needle")["note"]
    assert "gitignore=false" in value(tmp_path, backend, "glob", pattern="**/a.js")["note"]
    assert "note" not in value(tmp_path, backend, "grep", pattern="nowhere")


def test_after_a_long_search_it_says_what_was_not_searched(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {".gitignore": "dist/\n", "dist/a.js": "needle\n", "b.js": "x\n"})
    (grep,) = (tool for tool in search.tools(SearchOptions(backend=backend)) if tool.__name__ == "grep")
    agent: Any = SimpleNamespace(workspace=Workspace(tmp_path))
    asked: list[float] = []

    def slowly() -> str | None:
        if not asked:
            time.sleep(0.3)
        asked.append(0.0)
        return None

    ctx = ToolCallContext(agent, "grep", None, scope=CallScope(cancelled=slowly))
    assert "were not searched" in grep(pattern="nowhere", ctx=ctx)["note"]


def test_a_filter_does_not_bring_ignored_or_hidden_files_back(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {".gitignore": "*.gen.js\n", "a.gen.js": "n\n", "b.js": "n\n", ".c.js": "n\n", "s/d.js": "n\n"})
    found = value(tmp_path, backend, "grep", pattern="n", glob="*.js", hidden=False, output="files")
    assert found["files"] == ["b.js", "s/d.js"]
    assert value(tmp_path, backend, "grep", pattern="n", glob="!*.js", output="files")["files"] == [".gitignore"]
    assert value(tmp_path, backend, "grep", pattern="n", glob="s/**", output="files")["files"] == ["s/d.js"]
    assert value(tmp_path, backend, "grep", pattern="n", glob="s/", output="files")["files"] == ["s/d.js"]


def test_rules_end_where_another_repository_begins(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {".git/HEAD": "", ".gitignore": "*.log\n", "a.log": "", "sub/.git/HEAD": "", "sub/b.log": ""})
    assert value(tmp_path, backend, "glob", pattern="**/*.log")["paths"] == ["sub/b.log"]


def test_rules_above_the_workspace_hold_inside_their_repository(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {".git/HEAD": "", ".gitignore": "*.log\n/w/x\n", "w/a.log": "", "w/x": "", "w/s/x": "", "w/b": ""})
    assert value(tmp_path / "w", backend, "glob", pattern="**/*")["paths"] == ["b", "s/x"]


def test_without_a_repository_only_rules_of_the_workspace_hold(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {".gitignore": "*\n", "w/.gitignore": "b\n", "w/s/a": "", "w/s/b": ""})
    assert value(tmp_path / "w", backend, "glob", pattern="*", path="s")["paths"] == ["a"]


def test_a_linked_work_tree_reads_the_exclude_file_of_its_repository(tmp_path: Path, backend: str) -> None:
    write(
        tmp_path,
        {
            "main/.git/info/exclude": "secret\n",
            "main/.git/worktrees/w/commondir": "../..\n",
            "w/.git": f"gitdir: {tmp_path}/main/.git/worktrees/w\n",
            "w/secret": "",
            "w/open": "",
        },
    )
    assert value(tmp_path / "w", backend, "glob", pattern="*")["paths"] == ["open"]


def test_links_are_not_followed_and_one_that_leads_out_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"out/secret": "needle\n", "out/d/secret": "needle\n", "w/own": "needle\n"})
    for name, target in (("file", "../out/secret"), ("folder", "../out/d"), ("inner", "own"), ("dead", "nowhere")):
        (tmp_path / "w" / name).symlink_to(target)
    found = value(tmp_path / "w", "python", "grep", pattern="needle")
    assert [row["path"] for row in found["matches"]] == ["own"]
    assert found["skipped"] == ["file", "folder"]
    for path in ("file", "folder", "../out"):
        assert kind(tmp_path / "w", "python", "grep", pattern="needle", path=path)[0] == "outside"


def test_the_settings_of_xun_are_not_searched(tmp_path: Path, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XUN_HOME", str(tmp_path / "x[y]"))
    write(tmp_path, {"x[y]/state/trust.json": "needle\n", "x[y]/mine": "needle\n", "state/a": "needle\n"})
    assert value(tmp_path, backend, "grep", pattern="needle", output="files")["files"] == ["state/a", "x[y]/mine"]
    assert value(tmp_path, backend, "glob", pattern="**/*")["paths"] == ["state/a", "x[y]/mine"]
    assert value(tmp_path, backend, "glob", pattern="**/*", hidden=False)["paths"] == ["state/a", "x[y]/mine"]


def test_a_late_nul_ends_the_search_of_a_file_and_an_early_one_makes_it_binary(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {"late": "needle\n" + "x\n" * 50_000 + "\0needle\n", "early": "needle\n\0needle\n"})
    found = value(tmp_path, backend, "grep", pattern="needle")["matches"]
    assert found == [{"path": "late", "line": 1, "text": "needle"}]


def test_bytes_that_are_no_characters_are_shown_as_such(tmp_path: Path, backend: str) -> None:
    (tmp_path / "l").write_bytes(b"caf\xe9 abc\n")
    assert value(tmp_path, backend, "grep", pattern="abc")["matches"][0]["text"] == "caf\ufffd abc"
    assert value(tmp_path, backend, "grep", pattern="caf. abc")["matches"] == []
    assert value(tmp_path, backend, "grep", pattern="café", encoding="latin-1")["matches"][0]["text"] == "café abc"


@pytest.mark.parametrize("pattern", [r"a\/b", r"\"x\"", "foo {", r"\<a", "(?x) a / b"])
def test_what_ripgrep_refuses_but_everyone_writes_is_understood(pattern: str, tmp_path: Path, backend: str) -> None:
    write(tmp_path, {"f": 'foo { "x" a/b\n'})
    assert [row["line"] for row in value(tmp_path, backend, "grep", pattern=pattern)["matches"]] == [1]


@pytest.mark.parametrize(
    ("tool", "arguments", "expected", "words"),
    [
        ("grep", {"pattern": "a\\nb"}, "bad_regex", "multiline=true"),
        ("grep", {"pattern": "(?<=a)b"}, "bad_regex", "literal=true"),
        ("grep", {"pattern": "(a)\\1"}, "bad_regex", "back-references"),
        ("grep", {"pattern": "a", "encoding": "klingon"}, "bad_pattern", "klingon"),
        ("grep", {"pattern": "a", "glob": ""}, "bad_pattern", "empty"),
        ("grep", {"pattern": "a", "limit": 0}, "bad_pattern", "limit"),
        ("grep", {"pattern": "a", "before": -1}, "bad_pattern", "before"),
        ("grep", {"pattern": "a", "path": "no"}, "missing", "no does not exist"),
        ("glob", {"pattern": "{a"}, "bad_pattern", "not closed"),
        ("glob", {"pattern": "/etc/*"}, "outside", "/etc/*"),
        ("glob", {"pattern": "a", "path": "f"}, "missing", "folder"),
    ],
)
def test_a_bad_call_is_told_what_is_wrong(
    tool: str, arguments: dict[str, Any], expected: str, words: str, tmp_path: Path, backend: str
) -> None:
    write(tmp_path, {"f": "a\n"})
    found, text = kind(tmp_path, backend, tool, **arguments)
    assert (found, words in text) == (expected, True), text


def test_time_that_runs_out_is_an_error_only_when_nothing_was_found(tmp_path: Path) -> None:
    write(tmp_path, {"a": "needle\n", "b": "ab" * 8_000_000 + "\n"})
    slow = "(a|b|ab)*[cd]|needle"
    # The tables of characters are made once per process, which is not what is timed here.
    call(tmp_path, "python", "grep", pattern=slow, path="a")
    found = call(tmp_path, "python", "grep", seconds=0.6, pattern=slow).unwrap()
    assert [row["path"] for row in found["matches"]] == ["a"] and found["truncated"]
    (tmp_path / "a").unlink()
    start = time.monotonic()
    assert call(tmp_path, "python", "grep", seconds=0.6, pattern=slow).unwrap_err().kind == "timeout"
    assert time.monotonic() - start < 5


def test_a_cancelled_run_ends_the_search(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {"a": "needle\n"})
    tools = {tool.__name__: tool for tool in search.tools(SearchOptions(backend=backend))}
    agent: Any = SimpleNamespace(workspace=Workspace(tmp_path))
    ctx = ToolCallContext(agent, "grep", None, scope=CallScope(cancelled=lambda: "enough"))
    for name in ("grep", "glob"):
        with pytest.raises(CancelledError):
            tools[name](pattern="needle", ctx=ctx)


def test_the_newest_come_first_by_mtime_and_folders_stay_together_by_path(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {"a/z": "", "a.b": "", "c": ""})
    for age, name in enumerate(("a.b", "c", "a/z")):
        os.utime(tmp_path / name, (1_600_000_000 - age, 1_600_000_000 - age))
    assert value(tmp_path, backend, "glob", pattern="**/*")["paths"] == ["a/z", "a.b", "c"]
    assert value(tmp_path, backend, "glob", pattern="**/*", sort="mtime")["paths"] == ["a.b", "c", "a/z"]


def test_names_are_compared_without_case_on_request(tmp_path: Path, backend: str) -> None:
    write(tmp_path, {"Read.MD": "", "src/x": ""})
    assert value(tmp_path, backend, "glob", pattern="*.md", case_sensitive=False)["paths"] == ["Read.MD"]
    assert value(tmp_path, backend, "glob", pattern="*.md")["paths"] == []
    assert "src/**" in value(tmp_path, backend, "glob", pattern="src")["note"]


@pytest.mark.parametrize("pattern", ["(a*)*c", ".*.*.*[xy]", "(a|aa)+$", "(.*a){12}[xy]", "a{0,3000}[xy]"])
def test_no_pattern_explodes(pattern: str, tmp_path: Path) -> None:
    write(tmp_path, {"f": ("a" * 4_000 + "b\n") * 20})
    start = time.monotonic()
    result = call(tmp_path, "python", "grep", seconds=2, pattern=pattern)
    assert time.monotonic() - start < 6
    assert result.unwrap()["matches"] == [] if result.is_ok() else result.unwrap_err().kind == "timeout"


def test_a_folder_that_became_a_link_is_not_entered(tmp_path: Path) -> None:
    write(tmp_path, {"w/d/own": "", "out/d/secret": ""})
    os.close(open_folder(str(tmp_path / "w" / "d")))
    (tmp_path / "w").rename(tmp_path / "old")
    (tmp_path / "w").symlink_to("out")
    with pytest.raises(OSError, match="symbolic links"):
        open_folder(str(tmp_path / "w" / "d"))


@pytest.mark.parametrize("names", [[], ["a"], ["a/b", "a-b", "a", "a/c", "B", "é/x", "a b/c"], ["x\ny", "a/b", "a-b"]])
def test_many_paths_are_sorted_as_one_by_one(names: list[str]) -> None:
    assert in_order(names) == sorted(names, key=by_path)
    for limit in (1, 2, 100):
        assert in_order(names, limit) == sorted(names, key=by_path)[:limit]


def test_the_first_of_very_many_paths_are_the_first_of_all() -> None:
    names = [f"{number * 7919 % 500:03}/{number % 7}" for number in range(500)]
    assert in_order(names, 10) == sorted(names, key=by_path)[:10]
