"""Views on the whole screen: whatever is pressed at whatever size, they fill it exactly and never fail."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from xun_cli.frontend.full_screen import FullScreen
from xun_cli.frontend.pager import Pager, Section
from xun_cli.frontend.picker import Act, Picker, Row
from xun_cli.render.text import Line, hard_wrap, line_width

KEYS = [
    "up",
    "down",
    "left",
    "right",
    "pageup",
    "pagedown",
    "home",
    "end",
    "enter",
    "backspace",
    "delete",
    "c-u",
    "c-n",
    "c-p",
    "tab",
    "g",
    "G",
    "j",
    "k",
    "b",
    "n",
    "N",
    "s",
    "[",
    "]",
    "/",
    "a",
    "x",
]
TEXT = st.text(alphabet="ab \u4f60\u00e9\U0001f600n", max_size=60)
STEPS = st.lists(
    st.one_of(st.sampled_from([*KEYS, " "]), st.tuples(st.integers(1, 160), st.integers(1, 40)), st.just("escape")),
    max_size=40,
)


def played(view: FullScreen, steps: list[object]) -> None:
    size = (80, 24)
    for step in steps:
        if isinstance(step, tuple):
            size = step
        elif not view.closed:
            view.key(str(step))
        columns, rows = size
        lines = view.draw(columns, rows)
        assert len(lines) == rows
        assert all(line_width(line) <= columns for line in lines)


def section(rows: list[str]) -> Section:
    def lines(columns: int, split: bool) -> list[Line]:
        return [[("", piece)] for row in rows for piece in hard_wrap(row, columns)]

    return Section(lines, lambda: "\n".join(rows))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(TEXT, max_size=30), min_size=1, max_size=6), STEPS, st.booleans())
def test_a_pager_fills_any_size_after_any_keys(texts: list[list[str]], steps: list[object], at_end: bool) -> None:
    view = Pager([("bold", "title")], [section(rows) for rows in texts], noun="turn", at_end=at_end, split_from=60)
    played(view, steps)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(TEXT, max_size=30), min_size=1, max_size=6))
def test_every_row_of_a_pager_is_seen_on_the_way_down(texts: list[list[str]]) -> None:
    view = Pager([], [section(rows) for rows in texts])
    wanted = [plain for rows in texts for row in rows for plain in hard_wrap(row, 40)]
    seen: list[str] = []
    for _ in range(len(wanted) + 2):
        body = ["".join(text for _, text in line) for line in view.draw(40, 3)][1:-1]
        if len(seen) < len(wanted):
            seen += body
        view.key("down")
    assert seen[: len(wanted)] == wanted


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), max_size=30), STEPS)
def test_a_picker_fills_any_size_after_any_keys(rows: list[tuple[str, str]], steps: list[object]) -> None:
    kept = [
        Row(number, title, (fact,), lambda columns, t=title: [[("", t[:columns])]])
        for number, (title, fact) in enumerate(rows)
    ]

    def drop(row: Row) -> str:
        kept.remove(row)
        return "gone"

    played(Picker("Which?", lambda: kept, empty="none", acts={"delete": Act("Del drops", drop)}), steps)
