"""Diffs that hide nothing."""

from __future__ import annotations

from xun_cli.render.diff import count_changes, diff_rows, made_diff, side_by_side
from xun_cli.render.text import line_width, plain_lines


def test_numbers_and_signs() -> None:
    diff = "@@ -9,3 +9,4 @@ def f\n a\n-b\n+c\n+d\n e"
    assert plain_lines(diff_rows(diff, 40)) == "@@ -9,3 +9,4 @@ def f\n 9  a\n10 -b\n10 +c\n11 +d\n12  e"
    assert count_changes(diff) == (2, 1)


def test_every_byte_is_visible_and_long_lines_are_folded() -> None:
    diff = "@@ -1 +1 @@\n-\x1b[2Ka\r\n+" + "x" * 100 + "\n\\ No newline at end of file"
    text = plain_lines(diff_rows(diff, 40))
    assert "<U+001B>[2Ka<U+000D>" in text
    assert text.count("x") == 100 and text.count("↪") == 2
    assert "(No newline at end of file)" in text
    assert all(line_width(line) <= 40 for line in diff_rows(diff, 40))


def test_a_removed_comment_is_no_header() -> None:
    diff = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,1 @@\n--- drop\n x\n@@ -9 +8 @@\n-y\n+z"
    assert plain_lines(diff_rows(diff, 40)) == (
        "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,1 @@\n1 --- drop\n1  x\n@@ -9 +8 @@\n9 -y\n8 +z"
    )


def test_side_by_side() -> None:
    diff = "@@ -9,3 +10,3 @@\n a\n-b\n+c\n+" + "d" * 20 + "\n e"
    lines = side_by_side(diff, 43)
    assert all(line_width(line) <= 43 for line in lines)
    assert plain_lines(lines).split("\n")[1:] == [
        " 9  a                │ 10  a",
        "10 -b                │ 11 +c",
        "                     │ 12 +" + "d" * 16,
        "                     │   ↪ dddd",
        "11  e                │ 13  e",
    ]


def test_made_diff_starts_at_the_given_line() -> None:
    assert made_diff("a\nb", "a\nc", first=10) == "@@ -10,2 +10,2 @@\n a\n-b\n+c"
    assert made_diff("", "x\ny") == "@@ -0,0 +1,2 @@\n+x\n+y"
