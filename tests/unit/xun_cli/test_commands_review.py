"""/review: what the model is asked."""

from __future__ import annotations

from typing import Any

import pytest

from xun_cli.commands.registry import Registry, default_registry
from xun_cli.commands.review import USUAL, commands


class Session:
    running = False


@pytest.mark.parametrize(
    ("line", "what"),
    [("/review", USUAL), ("/review  the last\n commit {x}", "the last commit {x}"), ("/review src/a.py", "src/a.py")],
)
async def test_what_is_reviewed(line: str, what: str) -> None:
    context: Any = type("Context", (), {"session": Session()})()
    result = await Registry(commands()).run(context, line)
    assert result.action == "submit" and result.outputs == ()
    assert str(result.data).startswith(f"Review {what}. Change nothing.\n")


def test_it_is_among_the_commands() -> None:
    assert default_registry().get("review") is not None
