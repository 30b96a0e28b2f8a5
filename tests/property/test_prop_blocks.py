"""Cutting a markdown stream into blocks: any cutting gives the same blocks, and nothing is lost."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from xun_cli.render.blocks import BlockSplitter
from xun_cli.render.markdown import MarkdownStream, markdown_lines
from xun_cli.render.text import line_width, plain_lines, wrap

LINES = st.sampled_from(
    [
        "# Title",
        "some text that goes on",
        "- item",
        "- ```py",
        "  code()",
        "  ```",
        "1. one",
        "2) two",
        "   more",
        "",
        "   ",
        "```",
        "```python",
        "````",
        "~~~",
        "| a | b |",
        "|---|---|",
        "| 1 | 你好 |",
        "> quote",
        "---",
        "***",
        "    indented",
        "\x1b[31mred",
        "[x]: http://example.com",
        "*em* **strong** `code` [l](http://h)",
    ]
)
TEXT = st.builds(
    lambda rows, end, newline: newline.join(rows) + end,
    st.lists(LINES, max_size=14),
    st.sampled_from(["", "\n", "\n\n", "x"]),
    st.sampled_from(["\n", "\n", "\r\n"]),
)


def blocks_of(text: str, cuts: list[int]) -> list[tuple[str, str]]:
    splitter = BlockSplitter()
    marks = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    done = [block for a, b in itertools.pairwise(marks) for block in splitter.feed(text[a:b])]
    assert "".join(block.text for block in done) + splitter.tail == text
    return [(block.kind, block.text) for block in [*done, *splitter.close()]]


@settings(max_examples=300)
@given(TEXT, st.lists(st.integers(0, 300), max_size=12))
def test_any_cutting_gives_the_same_blocks(text: str, cuts: list[int]) -> None:
    whole = blocks_of(text, [])
    assert blocks_of(text, cuts) == whole
    assert blocks_of(text, list(range(len(text)))) == whole
    assert "".join(part for _, part in whole) == text


@settings(max_examples=100, deadline=None)
@given(TEXT, st.lists(st.integers(0, 300), max_size=6))
def test_a_stream_draws_what_the_whole_draws(text: str, cuts: list[int]) -> None:
    stream = MarkdownStream()
    marks = sorted({0, len(text), *(min(cut, len(text)) for cut in cuts)})
    lines = []
    for a, b in itertools.pairwise(marks):
        lines += stream.feed(text[a:b], 40)
        stream.live(40, 5)
    lines += stream.close(40)
    assert plain_lines(lines) == plain_lines(markdown_lines(text, 40))
    assert "\x1b" not in plain_lines(lines)


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab 你好e\u0301👩 "), max_size=60), st.integers(1, 20))
def test_wrapping_keeps_to_the_width_and_loses_only_blanks(text: str, limit: int) -> None:
    rows = wrap([("", text)], limit)
    assert all(line_width(row) <= max(limit, 2) for row in rows)
    assert plain_lines(rows).replace("\n", "").replace(" ", "") == text.replace(" ", "")
