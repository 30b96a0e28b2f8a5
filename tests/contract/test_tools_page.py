"""docs/tools.md: its examples run as they stand, and its table names tests that there are."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "tools.md"

SHOWN = """\
It is 3.
slow to Oslo
["order 7 is open"]
3
['math_add', 'add_metres']
3 and 3 m
Tool find: invalid arguments; the tool did not run.
query: required, but missing
limit: 0 is less than the minimum of 1
nothing about xun
first: nothing about xun
['WebSearch', 'web_search']
To buy: milk, bread
pay {'amount': 500} Run the tool pay?
When? done 400 to be paid today
{'dry_run': True, 'would_call': 'pay', 'arguments': {'amount': 7}}
"""


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_tools", raising=False)
    page = ModuleType("tools_page")
    monkeypatch.setitem(sys.modules, page.__name__, page)
    for kind, block in re.findall(r"^```(python|yaml)\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M):
        file = re.match(r"# file: (\S+)\n", block)
        if file:
            (tmp_path / file[1]).write_text(block)
        else:
            assert kind == "python"
            exec(compile(block, str(PAGE), "exec", dont_inherit=True), vars(page))
    assert capsys.readouterr().out == SHOWN


def rows() -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in re.findall(r"^\| \d+ \| .*$", PAGE.read_text("utf-8"), re.M)]


def test_the_table_has_every_row_once():
    assert [int(row[0]) for row in rows()] == list(range(1, 61))


def test_the_tests_of_the_table_exist():
    missing = []
    for number, _, cell in rows():
        for path, name in re.findall(r"`([^`]+)::(\w+)`", cell):
            file = TESTS / path
            if not file.is_file() or not re.search(rf"^(async )?def {name}\(", file.read_text("utf-8"), re.M):
                missing.append(f"row {number}: {path}::{name}")
    assert missing == []
