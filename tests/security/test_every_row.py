"""Each row of the security corpus, in the areas that are claimed, is named by a test."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
CORPUS = TESTS / "corpus" / "security.jsonl"
CLAIMED = {
    "path": "test_path_rows.py, test_races.py, property/test_paths_property.py",
    "git": "test_git_rows.py",
    "trust": "test_trust_rows.py, test_hostile_project.py",
    "sandbox": "test_sandbox_rows.py, test_sandbox_git.py",
    "proc": "test_proc_rows.py, e2e/test_terminal_rows.py, unit/xun_builtin_tools/cmd, unit/xun_cli/cli",
    "net": "test_net_rows.py, unit/xun_builtin_tools/{web,browser,fs}",
    "secrets": "test_secrets_rows.py, unit/xun_cli/cli, unit/xun/models",
    "session": "test_session_rows.py",
    "api": "test_api_rows.py",
}
"""Areas whose rows must all have a test, each with where those tests are."""


def rows_named(source: str) -> Iterator[str]:
    """Yield the rows that the ``row`` marks in *source* name."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pytest.mark.row", "mark.row", "row"):
            yield from (word.value for word in node.args if isinstance(word, ast.Constant))


def test_every_row_of_a_claimed_area_has_a_test() -> None:
    rows = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    sources = [path.read_text("utf-8") for path in TESTS.rglob("test_*.py")]
    named = {row for source in sources if "mark.row" in source for row in rows_named(source)}
    assert [row["id"] for row in rows if row["area"] in CLAIMED and row["id"] not in named] == []
    assert sorted(named - {row["id"] for row in rows}) == []


def test_a_mark_is_found_on_functions_and_on_parameters() -> None:
    source = '@pytest.mark.row("a", "b")\ndef test_x(): ...\npytest.param(1, marks=pytest.mark.row("c"))\nprow("d")\n'
    assert set(rows_named(source)) == {"a", "b", "c"}
