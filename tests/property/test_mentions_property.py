"""@ mentions: whatever a file is called, writing and reading its mention gives the name back."""

from __future__ import annotations

import os

from hypothesis import example, given
from hypothesis import strategies as st

from xun_cli.mentions import Mention, find_mentions, open_mention, quote, write_mention

NAMES = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=40)
PIECES = [*" \"'\\\n\t@`你好a/.,)é🙂", "\u202e", "\u200b", "\udcff"]
TRICKY = st.lists(
    st.sampled_from(PIECES),
    min_size=1,
    max_size=12,
).map("".join)


@given(st.one_of(NAMES, TRICKY))
@example("my file.txt")
@example('say "hi".md')
@example("line\nbreak")
@example("報告書 最終.txt")
@example("a.py.")
@example("\udcff\udc80")
def test_a_written_mention_reads_back(name: str) -> None:
    text = f"see {write_mention(name)} now"
    assert find_mentions(text, lambda path: path == name) == [Mention(4, len(text) - 4, name)]


@given(st.one_of(NAMES, TRICKY))
def test_a_mention_is_one_visible_line(name: str) -> None:
    assert write_mention(name).isprintable()


@given(st.one_of(NAMES, TRICKY), st.data())
def test_typing_a_quoted_mention_always_finds_a_beginning(name: str, data: st.DataObject) -> None:
    whole = "@" + quote(name)
    cut = data.draw(st.integers(2, len(whole) - 1))
    opened = open_mention("look at " + whole[:cut])
    assert opened is not None and opened.start == 8


@given(st.text(max_size=80))
def test_no_text_is_an_accident(text: str) -> None:
    assert find_mentions(text, lambda path: False) == []
    for mention in find_mentions(text, lambda path: True):
        assert text[mention.start] == "@" and mention.path


@given(st.lists(st.one_of(NAMES, TRICKY), min_size=1, max_size=4))
def test_several_mentions_keep_their_order(names: list[str]) -> None:
    text = " and ".join(write_mention(name) for name in names)
    found = [mention.path for mention in find_mentions(text, lambda path: path in names)]
    assert found == names


def test_names_survive_the_file_system(tmp_path: object) -> None:
    from pathlib import Path

    from xun_cli.mentions import expand

    folder = Path(str(tmp_path))
    for name in ("my file.txt", "報告.txt", 'quo"te', "new\nline", os.fsdecode(b"bad\xff")):
        (folder / name).write_bytes(b"12345")
        assert f"{quote(name)} (file, 5 bytes)" in expand(f"read {write_mention(name)}", folder)
