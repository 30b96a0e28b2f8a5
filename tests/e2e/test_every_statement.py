"""Every statement of the terminal page has its tests, and the page that says which is up to date."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def table_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("t_table", ROOT / "scripts" / "t_table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["t_table"] = module
    spec.loader.exec_module(module)
    return module


def test_every_statement_has_a_test_and_the_page_names_tests_that_there_are() -> None:
    script = table_script()
    numbers = [f"T{number:02d}" for number in range(1, 51)]
    assert list(script.statements()) == numbers
    held = script.tests()
    assert [number for number in numbers if number not in held] == []
    page = script.README.read_text(encoding="utf-8")
    for number, text in script.statements().items():
        row = next((line for line in page.splitlines() if line.startswith(f"| {number} | {text} | ")), "")
        named = re.findall(r"`([^`]+::[^`]+)`", row)
        known = {name.split("`")[1] for name in held[number]}
        assert named and set(named) <= known, f"{number}: run python scripts/t_table.py"
