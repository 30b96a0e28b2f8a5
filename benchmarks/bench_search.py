"""How long grep and glob take beside ripgrep itself, on a tree made for the purpose.

Run as ``python benchmarks/bench_search.py [FILES]``. Each round times ripgrep as a program and the tools
one after the other, so that the load of the machine falls on all; the least time of each counts.
Exits with 1 when a ratio is over its limit.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "builtin_tools"), str(ROOT / "policies")]

from xun.tools.toolbox import ToolBox  # noqa: E402
from xun_builtin_tools import search  # noqa: E402
from xun_builtin_tools.search.engine import SearchOptions  # noqa: E402
from xun_policies.workspace import Workspace  # noqa: E402

WITH_RIPGREP, WITHOUT = 1.3, 6.0
FIRST = 3.0
"""The limit for the first glob of a session, which reads every folder; the others find most of them unchanged."""
ROUNDS = 11
WORDS = ("def", "return", "import", "self", "value", "result", "index", "config", "error", "None", "class", "path")
IGNORE = "node_modules/\n*.pyc\n__pycache__/\ndist/\n/build/\n[Bb]in/\n"


def make_tree(root: Path, files: int, rng: random.Random) -> None:
    """Write *files* files of about 2 KB, ten to a folder, and some folders that are ignored."""
    (root / ".git" / "info").mkdir(parents=True)
    (root / ".gitignore").write_text(IGNORE, "utf-8")
    bodies = [
        "\n".join(" ".join(rng.choices(WORDS, k=rng.randint(3, 9))) + f" v{rng.randrange(10**6)}" for _ in range(50))
        for _ in range(200)
    ]
    for number in range(files):
        folder = root / f"pkg{number // 2000}" / f"mod{number // 100 % 20}" / f"sub{number // 10 % 10}"
        if number % 10 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        suffix = rng.choice(("py", "py", "ts", "md", "json", "pyc"))
        (folder / f"file{number}.{suffix}").write_text(f"{bodies[number % 200]}\nid {number} end\n", "utf-8")


def timed(action: Callable[[], Any]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def program(root: Path, arguments: list[str]) -> Callable[[], Any]:
    command = ["rg", "--no-config", "--hidden", "--no-require-git", "-g", "!.git", *arguments, "./"]
    return lambda: subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def tool(root: Path, backend: str, name: str, arguments: dict[str, Any]) -> Callable[[], Any]:
    toolbox = ToolBox().register(*search.tools(SearchOptions(backend=backend)))  # type: ignore[arg-type]
    agent: Any = SimpleNamespace(workspace=Workspace(root))
    return lambda: toolbox.call_tool(agent, name, arguments, None).unwrap()


def tool_anew(root: Path, name: str, arguments: dict[str, Any]) -> Callable[[], Any]:
    return lambda: tool(root, "auto", name, arguments)()


def cases(number: int) -> list[tuple[str, list[str], str, dict[str, Any]]]:
    # --crlf is the same question: the tools let $ stand before a carriage return.
    line = ["-n", "--color=never", "--crlf"]
    text, upper = f"id {number} end", f"ID {number} END"
    return [
        ("glob **/*.py", ["--files", "-g", "**/*.py"], "glob", {"pattern": "**/*.py"}),
        ("glob all", ["--files"], "glob", {"pattern": "**/*"}),
        ("grep literal", [*line, "-e", text], "grep", {"pattern": text}),
        ("grep regex", [*line, "-e", r"\bid \w+77 end$"], "grep", {"pattern": r"\bid \w+77 end$"}),
        ("grep either", [*line, "-e", "id 123 |id 4567 "], "grep", {"pattern": "id 123 |id 4567 "}),
        ("grep no case", [*line, "-i", "-e", upper], "grep", {"pattern": upper, "ignore_case": True}),
        ("grep nothing", [*line, "-e", "id x"], "grep", {"pattern": "id x"}),
        ("grep files", ["-l", "-e", "error"], "grep", {"pattern": "error", "output": "files", "limit": 10**6}),
    ]


def compare(root: Path, files: int) -> bool:
    good = True
    print(f"{files:,} files; seconds, and the ratio to ripgrep")
    for label, arguments, name, call in cases(files // 2):
        runs = {
            "rg": program(root, arguments),
            "auto": tool(root, "auto", name, call),
            "python": tool(root, "python", name, call),
        }
        if name == "glob":
            runs["first"] = tool_anew(root, name, call)
        best = {key: min(times) for key, times in _rounds(runs).items()}
        own, with_, without = best["rg"], best["auto"] / best["rg"], best["python"] / best["rg"]
        passed = with_ <= WITH_RIPGREP and without <= WITHOUT
        good = good and passed
        verdict = "ok" if passed else "OVER THE LIMIT"
        if name == "glob":
            first = best["first"] / own
            good = good and first <= FIRST
            verdict += f"  first {best['first']:.3f} x{first:.2f}  {'ok' if first <= FIRST else 'OVER THE LIMIT'}"
        with_text = f"with {best['auto']:.3f} x{with_:.2f}"
        print(f"{label:14} rg {own:.3f}  {with_text}  without {best['python']:.3f} x{without:.2f}  {verdict}")
    return good


def _rounds(runs: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {key: [] for key in runs}
    for _ in range(ROUNDS):
        for key, action in runs.items():
            times[key].append(timed(action))
    return times


def small(root: Path) -> bool:
    """Compare on 200 files with starting ripgrep for the same."""
    good = True
    for label, arguments, name, call in cases(100)[:5]:
        runs = {"rg": program(root, arguments), "auto": tool(root, "auto", name, call)}
        best = {key: min(times) for key, times in _rounds(runs).items()}
        passed = best["auto"] <= best["rg"]
        good = good and passed
        own, tool_ = best["rg"] * 1000, best["auto"] * 1000
        print(f"200 files: {label:14} rg {own:.1f} ms, tool {tool_:.1f} ms  {'ok' if passed else 'SLOWER'}")
    return good


def main() -> int:
    if shutil.which("rg") is None:
        print("ripgrep is not installed: nothing to compare with")
        return 2
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
    with tempfile.TemporaryDirectory() as made:
        big, little = Path(made).resolve() / "big", Path(made).resolve() / "little"
        make_tree(big, files, random.Random(1))
        make_tree(little, 200, random.Random(1))
        os.sync()
        results = [compare(big, files), small(little)]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
