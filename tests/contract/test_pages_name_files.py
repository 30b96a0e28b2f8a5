"""Files that the pages of the project name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "tests" / "e2e" / "README.md"]
_NAMED = re.compile(
    r"(?<![\w./-])(?:tests|xun|xun_cli|builtin_tools|policies|scripts|benchmarks|docs)/[\w/.-]*\w\.(?:py|md|toml|jsonl|svg|txt)\b"
)
_LINKED = re.compile(r"\]\(([\w/.-]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: Path):
    text = page.read_text(encoding="utf-8")
    named = {name for name in _NAMED.findall(text) if not (ROOT / name).exists()}
    linked = {name for name in _LINKED.findall(text) if not (page.parent / name).exists()}
    assert named | linked == set()
