"""Write tests/e2e/README.md: which test holds which statement of the terminal page.

python scripts/t_table.py            a test holds T07 when its name begins with test_t07 (or test_t06_t07)
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "tests" / "e2e" / "README.md"
STATEMENTS = ROOT / "tests" / "e2e" / "statements.txt"
_NAME = re.compile(r"test((?:_t\d\d)+)_")
HEAD = """# Statements of the terminal page and the tests that hold them

Each statement has a test on a real terminal (pexpect with pyte, or tmux) or, where it speaks of a process without one,
on a real process. A test marked slow runs with `make soak`, at the size that the page names; a smaller one of the same
number runs with `make test`.
`python scripts/t_table.py` writes this page; `test_every_statement.py` holds it to tests that there are.

| | statement | tests |
| --- | --- | --- |
"""


def statements() -> dict[str, str]:
    """Return the statements by number."""
    rows = (line.partition(" ") for line in STATEMENTS.read_text(encoding="utf-8").splitlines() if line.strip())
    return {number: text for number, _, text in rows}


def tests() -> dict[str, list[str]]:
    """Return the tests by the number that their names begin with, as file::name."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        body = ast.parse(source).body if "def test_t" in source else []
        for node in body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            match = _NAME.match(node.name)
            for number in re.findall(r"t(\d\d)", match.group(1)) if match else []:
                slow = " (slow)" if any("slow" in ast.unparse(mark) for mark in node.decorator_list) else ""
                found.setdefault(f"T{number}", []).append(f"`{path.name}::{node.name}`{slow}")
    return found


def table() -> str:
    """Return the page."""
    held = tests()
    rows = [f"| {number} | {text} | {'<br>'.join(held.get(number, []))} |" for number, text in statements().items()]
    return HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    README.write_text(table(), encoding="utf-8")
