"""The draft: pastes, newlines, history."""

from __future__ import annotations

import stat
from pathlib import Path

from prompt_toolkit.completion import DummyCompleter
from prompt_toolkit.history import InMemoryHistory

from xun_cli.frontend.bindings import DEFAULTS
from xun_cli.frontend.history import InputHistory
from xun_cli.repl.bindings import key_map
from xun_cli.repl.composer import Composer
from xun_cli.repl.history import PrivateHistory


def composer() -> Composer:
    return Composer(InMemoryHistory(), DummyCompleter())


def test_a_large_paste_is_folded_and_sent_in_full() -> None:
    draft = composer()
    text = "x" * 5_000
    draft.paste(text)
    draft.put(draft.text + " please")
    assert draft.text == "[pasted #1: 5,000 characters] please"
    taken = draft.take()
    assert taken.text == text + " please"
    assert taken.shown == "[pasted #1: 5,000 characters] please"
    assert draft.text == ""


def test_line_ends_of_a_paste_become_newlines() -> None:
    draft = composer()
    draft.paste("a\r\nb\rc\n")
    assert draft.take().text == "a\nb\nc\n"


def test_many_lines_are_folded_by_their_number() -> None:
    draft = composer()
    draft.paste("\n".join("row" for _ in range(16)))
    assert draft.text == "[pasted #1: 16 lines]"


def test_a_folded_paste_is_deleted_as_a_whole() -> None:
    draft = composer()
    draft.put("see ")
    draft.paste("x" * 2_000)
    draft.backspace()
    assert draft.text == "see "
    draft.backspace()
    assert draft.text == "see"


def test_a_mark_that_was_typed_is_no_paste() -> None:
    draft = composer()
    draft.put("[pasted #1: 16 lines]")
    assert draft.take().text == "[pasted #1: 16 lines]"


def test_a_backslash_before_a_newline_goes() -> None:
    draft = composer()
    draft.put("one\\")
    draft.newline()
    assert draft.text == "one\n"


def test_history_is_private_and_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    history = PrivateHistory(InputHistory(path))
    for text in ("first", "two\nlines", "umlaut ä \ud800"):
        history.store_string(text)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(PrivateHistory(InputHistory(path)).load_history_strings()) == ["umlaut ä \ud800", "two\nlines", "first"]


def test_a_damaged_history_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "history"
    path.write_bytes(b'"good"\n{"no": 1}\n\x00\x00broken\n"also"\n"torn')
    assert list(PrivateHistory(InputHistory(path)).load_history_strings()) == ["also", "good"]


def test_a_history_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir()
    history = PrivateHistory(InputHistory(folder))
    history.store_string("x")
    assert list(history.load_history_strings()) == ["x"]


def test_keys_can_be_changed_and_taken_away() -> None:
    keys = key_map({"steer": ["f5", "escape s"], "todo": []})
    assert keys.keys["steer"] == (("f5",), ("escape", "s"))
    assert keys.keys["todo"] == ()
    assert keys.keys["submit"] == (("enter",),)
    assert keys.problems == ()


def test_wrong_key_settings_are_named_and_leave_the_default() -> None:
    keys = key_map({"ster": ["f5"], "todo": ["ctrl+t"]})
    assert keys.keys["todo"] == tuple((key,) for key in DEFAULTS["todo"])
    assert "did you mean steer?" in keys.problems[0]
    assert "'ctrl+t' is no key" in keys.problems[1]


def test_what_is_sent_can_always_be_encoded() -> None:
    draft = composer()
    draft.put("caf\udcc3 \ud800")
    assert draft.take().text == "caf\ufffd \ufffd"
