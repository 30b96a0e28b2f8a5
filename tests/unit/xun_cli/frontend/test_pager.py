"""The view to read in: drawing, scrolling, searching, at any size."""

from __future__ import annotations

import pytest

from xun_cli.frontend.pager import KEPT, Pager, Section
from xun_cli.render.text import Line, line_width, plain, plain_lines


def numbered(count: int, word: str = "row") -> Section:
    return Section(lambda columns, split: [[("", f"{word} {number}")] for number in range(1, count + 1)])


def sections(*texts: str, drawn: list[int] | None = None) -> list[Section]:
    def make(index: int, text: str) -> Section:
        def lines(columns: int, split: bool) -> list[Line]:
            if drawn is not None:
                drawn.append(index)
            return [[("", row[at : at + columns])] for row in text.split("\n") for at in range(0, len(row), columns)]

        return Section(lines, lambda: text)

    return [make(index, text) for index, text in enumerate(texts)]


def shown(view: Pager, columns: int = 40, rows: int = 10) -> str:
    lines = view.draw(columns, rows)
    assert len(lines) == rows
    assert all(line_width(line) <= columns for line in lines)
    return plain_lines(lines)


def press(view: Pager, *keys: str, columns: int = 40, rows: int = 10) -> str:
    for key in keys:
        view.key(key)
        view.draw(columns, rows)
    return shown(view, columns, rows)


def test_it_scrolls_within_its_ends() -> None:
    view = Pager([("", "title")], [numbered(30)])
    assert "row 1\n" in shown(view) and "1–8 of 30 lines" in shown(view)
    assert press(view, "up").split("\n")[1] == "row 1"
    assert press(view, "down").split("\n")[1] == "row 2"
    assert press(view, "end").split("\n")[8] == "row 30"
    assert press(view, "down", "pagedown").split("\n")[8] == "row 30"
    assert press(view, "pageup").split("\n")[1] == "row 16"
    assert press(view, "home").split("\n")[1] == "row 1"


@pytest.mark.parametrize("key", ["q", "escape", "c-c", "c-d"])
def test_it_closes(key: str) -> None:
    view = Pager([], [numbered(3)])
    view.key(key)
    assert view.closed


def test_a_search_finds_marks_and_goes_round() -> None:
    view = Pager([], [numbered(100)])
    assert press(view, "/", *"row 4", "enter").split("\n")[1] == "row 4"
    assert press(view, "n").split("\n")[1] == "row 40"
    assert press(view, "N").split("\n")[1] == "row 4"
    view.draw(40, 10)
    hit = view.draw(40, 10)[1]
    assert [(style, text) for style, text in hit if "reverse" in style] == [("reverse", "row 4")]
    assert "other end" in press(view, "N")
    assert "not there" in press(view, "/", *"nowhere", "enter")


def test_the_next_hit_counts_from_the_last_hit_also_at_the_end() -> None:
    view = Pager([], [numbered(30)])
    press(view, "/", *"row 2", "enter")
    seen = []
    for _ in range(11):
        view.key("n")
        view.draw(40, 10)
        seen.append(view._hit)
    assert [row for _, row in seen] == [*range(19, 29), 1]


def test_a_search_draws_only_sections_that_can_hold_it() -> None:
    drawn: list[int] = []
    view = Pager([], sections(*(f"turn {number} says word{number:03}" for number in range(200)), drawn=drawn))
    press(view, "/", *"word150", "enter")
    assert "word150" in shown(view)
    assert len(set(drawn)) < 30


def test_a_match_that_is_broken_over_two_rows_is_found_by_its_section() -> None:
    view = Pager([], sections("first\n" + "x" * 500, "second " * 4 + "a long needle here", "third\n" + "y" * 500))
    assert "a long needle"[:6] in press(view, "/", *"long needle", "enter", columns=36)
    assert "not there" not in shown(view, 36)


def test_turns_are_jumped_to_and_named() -> None:
    view = Pager([], sections(*(f"turn {number}\n" + "x\n" * 20 for number in range(1, 6))), noun="turn", at_end=True)
    assert "turn 5 of 5" in shown(view)
    assert press(view, "[").split("\n")[1] == "turn 5"
    assert press(view, "[").split("\n")[1] == "turn 4"
    assert press(view, "]").split("\n")[1] == "turn 5"
    assert "turn 1 of 5" in press(view, "home")


def test_only_so_many_sections_are_kept() -> None:
    view = Pager([], [numbered(20) for _ in range(KEPT * 2)])
    for _ in range(KEPT * 2):
        press(view, "]")
    assert len(view._drawn) <= KEPT


def test_side_by_side_needs_the_width() -> None:
    def lines(columns: int, split: bool) -> list[Line]:
        return [[("", "two columns" if split else "one column")]]

    view = Pager([], [Section(lines)], split_from=100)
    assert "100 columns" in press(view, "s")
    assert "s side by side" in shown(view, 120)
    assert "two columns" in press(view, "s", columns=120)
    assert "one column" in shown(view, 80)
    assert "two columns" in shown(view, 120)


def test_a_resize_stays_about_where_it_was() -> None:
    text = "\n".join(f"{number:04} " + "x" * 60 for number in range(200))
    view = Pager([], sections(text))
    shown(view, 80, 20)
    for _ in range(8):
        view.key("pagedown")
        view.draw(80, 20)
    before = int(plain(view.draw(80, 20)[1])[:4])
    narrow = [plain(line) for line in view.draw(40, 20)]
    after = next(int(row[:4]) for row in narrow[1:] if row[:4].isdigit())
    assert abs(after - before) <= 2
    at_end = Pager([], sections(text), at_end=True)
    shown(at_end, 80, 20)
    assert plain(at_end.draw(40, 12)[-2]).startswith("x")


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (5, 3), (40, 10), (80, 24), (200, 60)])
def test_any_size_is_filled_exactly(columns: int, rows: int) -> None:
    view = Pager([("bold", "a title that is long enough to be cut")], [numbered(50)], split_from=140)
    shown(view, columns, rows)
    press(view, "/", "r", columns=columns, rows=rows)


def test_a_remark_from_outside_is_seen() -> None:
    view = Pager([], [numbered(3)])
    view.note = "an approval waits"
    assert "an approval waits" in shown(view)


def test_pasted_text_goes_into_the_search_only() -> None:
    view = Pager([], [numbered(30)])
    view.typed("q")
    assert not view.closed
    view.key("/")
    view.typed("row\n7")
    assert press(view, "enter").split("\n")[1] == "row 7"
