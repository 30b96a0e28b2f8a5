"""Tables of slash commands: numbers below each other, and no id broken however narrow the terminal is."""

from __future__ import annotations

import pytest

from xun_cli.commands.output import table
from xun_cli.render.outputs import output_lines
from xun_cli.render.text import line_width, plain_lines

COST = table(
    ("turn", "requests", "in", "out", "cost", "note"),
    [("1", "4", "21,030", "415", "$0.10", "a"), ("12", "1", "30", "5", "?", "b")],
)
SESSIONS = table(
    ("id", "last used (UTC)", "turns", "about"),
    [
        ("20261130-045442-4b0899", "2026-11-30 04:54", "1", "Fix add() in calc.py"),
        ("20261130-045442-4b0898", "", "12", "x"),
    ],
)


def drawn(columns: int, output=COST) -> list[str]:
    lines = output_lines(output, columns)
    assert all(line_width(line) <= columns for line in lines)
    return plain_lines(lines).split("\n")


def test_numbers_end_below_each_other_and_words_begin_so() -> None:
    assert drawn(80) == [
        "turn  requests      in  out   cost  note",
        "────  ────────  ──────  ───  ─────  ────",
        "   1         4  21,030  415  $0.10  a",
        "  12         1      30    5      ?  b",
    ]


def test_columns_move_together_before_a_title_breaks() -> None:
    assert drawn(38)[0] == "turn requests     in out  cost note"


@pytest.mark.parametrize("columns", [20, 30, 40, 60, 80])
def test_an_id_is_never_broken(columns: int) -> None:
    rows = drawn(columns, SESSIONS)
    if columns > 26:
        assert any("20261130-045442-4b0899" in row for row in rows)
    if columns == 40:
        assert rows[0] == "id: 20261130-045442-4b0899" and "turns: 1" in rows


def test_rows_below_each_other_fit_and_leave_out_what_is_empty() -> None:
    wide = table(("what this column is about, at length", "b"), [("x" * 30, ""), ("", "20261130-045442")])
    rows = drawn(20, wide)
    assert rows[:2] == ["what this column is", "  about, at length:"]
    assert rows[-2:] == ["────────", "b: 20261130-045442"] and "" not in rows
