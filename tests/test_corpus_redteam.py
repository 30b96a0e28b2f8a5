"""Commands from outside: ways around the gates of other agents and odd options of listed programs, and everyday ones.

A row with a ``tree`` is judged in a folder that holds these files: a text, ``-> target`` for a link, and a folder where
the name ends in ``/``. ``root`` names the workspace in it, ``home`` the home folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from xun_policies.commands import CommandScope, evaluate
from xun_policies.store import PolicyState

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "corpus/commands_redteam.jsonl").read_text("utf-8").splitlines()
]
PATH = "/usr/local/bin:/usr/bin:/bin"


def plain(expect: str) -> list[tuple[str, str]]:
    """Return the commands without files that are judged otherwise than *expect*, with the reason."""
    scope = CommandScope("/home/dev/proj", ("/home/dev/proj",), "/home/dev", PATH)
    verdicts = [evaluate(row["command"], PolicyState(), scope) for row in ROWS if chosen(row, expect)]
    return [(verdict.text, verdict.reason) for verdict in verdicts if verdict.decision.word != expect]


def chosen(row: Mapping[str, Any], expect: str) -> bool:
    return row["expect"] == expect and "tree" not in row


def grow(folder: Path, tree: Mapping[str, str]) -> None:
    for name, text in tree.items():
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            path.symlink_to(text[3:])
        elif not name.endswith("/"):
            path.write_text(text)


def test_the_rows_are_many_and_each_is_another() -> None:
    assert sum(chosen(row, "ask") for row in ROWS) >= 800
    assert sum(chosen(row, "allow") for row in ROWS) >= 600
    assert len({row["id"] for row in ROWS}) == len(ROWS)


def test_nothing_hostile_runs_unasked() -> None:
    assert plain("ask") == []


def test_nothing_of_everyday_is_asked_about() -> None:
    assert plain("allow") == []


@pytest.mark.parametrize("row", [row for row in ROWS if "tree" in row], ids=lambda row: row["id"])
def test_what_the_files_of_a_workspace_make_of_a_command(tmp_path: Path, row: dict[str, Any]) -> None:
    grow(tmp_path, row["tree"])
    root = tmp_path / row.get("root", ".")
    home = tmp_path / row["home"] if "home" in row else tmp_path.parent / "nobody"
    verdict = evaluate(row["command"], PolicyState(), CommandScope(str(root), (str(root),), str(home), PATH))
    assert verdict.decision.word == row["expect"], (row["why"], verdict.reason)
