"""Every row of the search corpus, through the toolbox: as shipped, in Python only, and with ripgrep only."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from xun.agent.agent import Agent
from xun.tools.toolbox import ToolBox
from xun_builtin_tools import search
from xun_builtin_tools.search.engine import SearchOptions
from xun_policies.workspace import Workspace

ROWS = [
    json.loads(line)
    for name in ("search.jsonl", "search_own.jsonl")
    for line in (Path(__file__).parent / "corpus" / name).read_text("utf-8").split("\n")
    if line
]
BACKENDS = ("auto", "ripgrep", "python") if shutil.which("rg") else ("auto",)


@cache
def box(backend: str) -> ToolBox:
    """One for all rows: reading the signatures of the tools takes longer than most of the searches."""
    return ToolBox().register(*search.tools(SearchOptions(backend=backend)))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty repository, which is copied to where a row wants one."""
    made = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", "--template=", "."], cwd=made, check=True, stdin=subprocess.DEVNULL)
    return made / ".git"


def make_tree(root: Path, outside: Path, row: dict[str, Any], repository: Path) -> None:
    root.mkdir()
    outside.mkdir()
    if row["git"]:
        shutil.copytree(repository, root / ".git")
    tree: dict[str, dict[str, Any]] = row["tree"]
    places = str(root), str(outside)
    for name, node in tree.items():
        target = Path(_placed(name, *places)) if name.startswith(("{WS}", "{OUTSIDE}")) else root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        _make(target, node, places)


def _placed(text: str, workspace: str, outside: str) -> str:
    return text.replace("{WS}", workspace).replace("{OUTSIDE}", outside)


def _make(target: Path, node: dict[str, Any], places: tuple[str, str]) -> None:
    if "symlink" in node:
        target.symlink_to(_placed(node["symlink"], *places))
        return
    if "hardlink" in node:
        os.link(target.parent / node["hardlink"], target)
    elif "dir" in node:
        target.mkdir(exist_ok=True)
    elif "fifo" in node:
        os.mkfifo(target)
    elif "base64" in node:
        target.write_bytes(base64.b64decode(node["base64"]))
    elif "gen" in node:
        gen = node["gen"]
        text = gen.get("prefix", "") + gen["unit"] * gen["times"] + gen.get("suffix", "")
        target.write_bytes(text.encode())
    else:
        target.write_bytes(node["text"].encode())
    if "mtime" in node:
        os.utime(target, (node["mtime"], node["mtime"]))
    if "mode" in node:
        target.chmod(int(node["mode"], 8))


def wanted(expect: dict[str, Any], value: Any, kind: str | None, seconds: float) -> str:
    """Return "" when the outcome is one that the row allows, else what is wrong."""
    own = {key: item for key, item in expect.items() if key != "any_of"}
    choices = [{**own, **choice} for choice in expect.get("any_of", [{}])]
    problems = [_problem(choice, value, kind, seconds) for choice in choices]
    return "" if "" in problems else "; ".join(problems)


def _problem(expect: dict[str, Any], value: Any, kind: str | None, seconds: float) -> str:
    if seconds > expect.get("max_seconds", 60):
        return f"took {seconds:.1f} s"
    if "error_kind" in expect:
        return "" if kind in expect["error_kind"].split("|") else f"error kind {kind}, value {value}"
    if kind is not None:
        return f"unexpected error of kind {kind}"
    checks = {
        "paths": lambda want: value["paths"] if expect.get("ordered") else sorted(value["paths"]),
        "files": lambda want: sorted(value["files"]),
        "counts": lambda want: value["counts"],
        "truncated": lambda want: value["truncated"],
        "total": lambda want: value["total"],
        "skipped": lambda want: value["skipped"],
        "matches": lambda want: _rows(value["matches"], want, context=False),
        "context": lambda want: _rows(value["matches"], want, context=True),
        "matches_paths": lambda want: sorted({row["path"] for row in value["matches"]}),
    }
    for key, want in expect.items():
        if key in checks:
            got = checks[key](want)
            want = sorted(want) if key in ("paths", "files", "matches_paths") and not expect.get("ordered") else want
            want = sorted(want, key=_row_key) if key in ("matches", "context") else want
            if got != want:
                return f"{key}: got {got!r}"
        elif key == "match_count_max" and len(value["matches"]) > want:
            return f"{len(value['matches'])} matches"
        elif key == "paths_max" and len(value["paths"]) > want:
            return f"{len(value['paths'])} paths"
        elif key == "max_output_chars" and len(json.dumps(value)) > want:
            return f"{len(json.dumps(value))} characters"
    return ""


def _row_key(row: dict[str, Any]) -> tuple[str, int]:
    return row["path"], row["line"]


def _rows(rows: list[dict[str, Any]], want: list[dict[str, Any]], *, context: bool) -> list[dict[str, Any]]:
    with_text = {_row_key(row) for row in want if "text" in row}
    kept = [row for row in rows if bool(row.get("context")) == context]
    return sorted(
        (
            {key: row[key] for key in ("path", "line", "text") if key != "text" or _row_key(row) in with_text}
            for row in kept
        ),
        key=_row_key,
    )


def seconds_used() -> float:
    """Seconds of the processor, also those of ripgrep: what other programs of the machine take does not count."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def run(row: dict[str, Any], tmp_path: Path, toolbox: ToolBox) -> tuple[Any, str | None, float]:
    root = tmp_path / "ws"
    agent = Agent(toolbox=toolbox, workspace=Workspace(root))
    arguments = json.loads(_placed(json.dumps(row["args"]), str(root), str(tmp_path / "outside")))
    start = seconds_used()
    result = toolbox.call_tool(agent, row["tool"], arguments, None)
    seconds = seconds_used() - start
    return (result.unwrap(), None, seconds) if result.is_ok() else (None, result.unwrap_err().kind, seconds)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_row_is_the_same_however_it_is_searched(row: dict[str, Any], tmp_path: Path, repository: Path) -> None:
    make_tree(tmp_path / "ws", tmp_path / "outside", row, repository)
    outcomes = []
    for backend in BACKENDS:
        value, kind, seconds = run(row, tmp_path, box(backend))
        assert wanted(row["expect"], value, kind, seconds) == "", backend
        # ripgrep does not tell of links, which neither of the two follows; a note depends on the time taken.
        outcomes.append(({**(value or {}), "skipped": [], "note": ""}, kind))
    assert all(outcome == outcomes[-1] for outcome in outcomes[1:])


def test_ripgrep_took_part() -> None:
    if "ripgrep" not in BACKENDS:
        pytest.skip("ripgrep is not installed")


def test_auto_is_what_ships() -> None:
    assert SearchOptions().backend == "auto"
