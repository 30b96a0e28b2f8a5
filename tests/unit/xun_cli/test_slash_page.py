"""docs/slash-commands.md lists every command as it is."""

from __future__ import annotations

from pathlib import Path

from xun_cli.commands.registry import default_registry

PAGE = Path(__file__).parents[3] / "docs" / "slash-commands.md"


def test_every_command_is_on_the_page_with_its_usage_and_summary():
    page = PAGE.read_text(encoding="utf-8").replace("\\|", "|")
    missing = [c.name for c in default_registry().all() if f"`{c.usage}`" not in page or f"| {c.summary} |" not in page]
    assert missing == []
