"""Fail when a file, class or function outgrew its limit; split by responsibility then."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

FILE_LINES, CLASS_LINES, FUNCTION_LINES = 500, 300, 40

EXCEPTIONS: dict[str, str] = {
    "builtin_tools/xun_builtin_tools/search/functions.py::grep": "its signature is the tool: one line a parameter",
    "xun/tools/attr.py::tool_attr": "one keyword and one line for each property of a tool",
}
"""path::name of what may be longer, and why."""


def sizes(path: Path) -> list[str]:
    """Return what is too long in one file."""
    source = path.read_text(encoding="utf-8")
    found = []
    lines = source.count("\n")
    if lines > FILE_LINES:
        found.append(f"{path}: {lines} lines, limit {FILE_LINES}")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        limit = CLASS_LINES if isinstance(node, ast.ClassDef) else FUNCTION_LINES
        size = (node.end_lineno or 0) - node.lineno + 1 - _docstring_lines(node)
        if size > limit and f"{path}::{node.name}" not in EXCEPTIONS:
            found.append(f"{path}:{node.lineno}: {node.name} has {size} lines without its docstring, limit {limit}")
    return found


def _docstring_lines(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return (first.end_lineno or 0) - first.lineno + 1
    return 0


def main() -> int:
    """Check every tracked source file outside the tests."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    problems = []
    for name in listed.stdout.splitlines():
        if not name.startswith("tests/") and Path(name).exists():
            problems += sizes(Path(name))
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
