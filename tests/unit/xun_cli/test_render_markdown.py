"""Markdown as finished lines."""

from __future__ import annotations

import pytest

from xun_cli.render.markdown import MarkdownStream, markdown_lines
from xun_cli.render.table import table_lines
from xun_cli.render.text import ansi, line_width, plain, plain_lines

SAMPLE = """# Title

A **bold** word, `code`, and [a link](http://evil.example/x).
- one
- two
  1. inner

```python
def f():
\treturn 1
```

| name | n |
|------|--:|
| 你好 | 1 |
| b    | 20 |

> quoted

---
"""


def test_sample_at_60_columns() -> None:
    assert plain_lines(markdown_lines(SAMPLE, 60)) == (
        "Title\n\n"
        "A bold word, code, and a link (http://evil.example/x).\n"
        "• one\n• two\n  1. inner\n\n"
        "```python\ndef f():\n\treturn 1\n```\n\n"
        "name   n\n────  ──\n你好   1\nb     20\n\n"
        "> quoted\n\n"
        "────────────────────────────────────────"
    )


def test_a_link_shows_where_it_leads_and_an_image_is_not_fetched() -> None:
    shown = plain_lines(markdown_lines("[http://good.example](http://evil.example) ![x](http://127.0.0.1/?q=S)", 120))
    assert shown == "http://good.example (http://evil.example) [image: x] (http://127.0.0.1/?q=S)"


@pytest.mark.parametrize(
    ("source", "columns", "shown"),
    [
        ("one two `name.txt`: gone", 16, "one two\nname.txt: gone"),
        ("aaaa **bbbbb**, cc", 10, "aaaa\nbbbbb, cc"),
        ("你好**世界**吗", 10, "你好世界吗"),
        ("aaaaaaa `你好` b", 10, "aaaaaaa 你\n好 b"),
        ("x**yyyyyyyyyyyy**z", 10, "xyyyyyyyyy\nyyyz"),
    ],
)
def test_a_mark_stays_with_the_styled_word_before_it(source: str, columns: int, shown: str) -> None:
    assert plain_lines(markdown_lines(source, columns)) == shown


def test_an_address_that_is_its_own_text_is_not_repeated() -> None:
    assert plain_lines(markdown_lines("<http://ok.example>", 80)) == "http://ok.example"


@pytest.mark.parametrize(
    "source", ["&#27;[31m", "&#x9b;31m", "`&#27;\x1b`", "[x](http://a/\x1b]52;c;Q\x07)", "\x1b]0;t\x07"]
)
def test_no_escape_reaches_the_terminal(source: str) -> None:
    text = plain_lines(markdown_lines(source, 80))
    assert not [char for char in text if (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0]


def test_text_has_no_padding_and_no_borders() -> None:
    lines = markdown_lines("One paragraph that is longer than the width of the terminal here.\n\n- item", 30)
    assert all(plain(line) == plain(line).rstrip() and not plain(line).startswith(" ") for line in lines)


def test_columns_of_words_give_room_to_columns_that_have_none() -> None:
    rows = [["20261129-203552-f2e269", "2026-11-29 20:35", "7", "a long title that says what it is about", "this one"]]
    for columns in (80, 90, 120):
        lines = table_lines([[[("", cell)] for cell in row] for row in rows], columns)
        assert all(line_width(line) <= columns for line in lines)
        assert plain(lines[0]).startswith("20261129-203552-f2e269  ")


def test_narrow_table_becomes_records() -> None:
    shown = plain_lines(markdown_lines("| name | long value | other |\n|---|---|---|\n| a | b c d | e |", 20))
    assert shown == "name: a\nlong value: b c d\nother: e"


def test_only_sixteen_colours() -> None:
    text = "\n".join(ansi(line) for line in markdown_lines(SAMPLE, 60))
    assert "\x1b[38" not in text and "\x1b[48" not in text
    assert "\x1b[3" not in "\n".join(ansi(line, color=False) for line in markdown_lines("`x` **y**", 60)).replace(
        "\x1b[3m", ""
    )


def test_the_open_tail_is_drawn_within_its_rows() -> None:
    stream = MarkdownStream()
    stream.feed("done\n\n```py\n" + "".join(f"row {n}\n" for n in range(50)), 40)
    assert plain_lines(stream.live(40, 3)) == "row 48\nrow 49\n"


def test_open_list_shows_markers() -> None:
    stream = MarkdownStream()
    assert plain_lines(stream.feed("intro:\n- a\n- b\n- c", 40)) == "intro:\n• a"
    assert plain_lines(stream.live(40, 5)) == "• b\n• c"
