"""safe(): what reaches a terminal."""

from __future__ import annotations

import time

import pytest

from xun_cli.render.safe import fold_spaces, hides_something, safe


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain text, ünïcode, 你好", "plain text, ünïcode, 你好"),
        ("a\x1b]52;c;ZXZpbA==\x07b.txt", "a<U+001B>]52;c;ZXZpbA==<U+0007>b.txt"),
        ("\x9b31m \x9d0;t", "<U+009B>31m <U+009D>0;t"),
        ("rm -rf build\r\x1b[2Kls", "rm -rf build<U+000D><U+001B>[2Kls"),
        ("\u202egnp.txt\u2066", "<U+202E>gnp.txt<U+2066>"),
        ("x\u200by\ufeffz", "x<U+200B>y<U+FEFF>z"),
        ("\U000e0041\U000e007f", "<U+E0041><U+E007F>"),
        ("a\ud800b", "a<U+D800>b"),
        ("\x7f\x00", "<U+007F><U+0000>"),
        ("👩\u200d💻 ❤\ufe0f", "👩\u200d💻 ❤\ufe0f"),
        ("a\u200db", "a<U+200D>b"),
        ("\ufe0f\u200d🀀", "<U+FE0F><U+200D>🀀"),
        ("🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"),
        ("e" + "\u0301" * 7, "e" + "\u0301" * 4 + "<+3 marks>"),
        ("a" + "\u0730" * 40, "a" + "\u0730" * 4 + "<+36 marks>"),
        ("\u1100" + "\u1161" * 90, "\u1100" + "\u1161" * 4 + "<+86 marks>"),
        ("क" + "\u0941\u0903\u0301" * 9, "क\u0941\u0903\u0301\u0941<+23 marks>"),
        ("e" + "\u0301\u0301\u0301\u0301\u0730" * 9, "e" + "\u0301" * 4 + "<+41 marks>"),
        ("ကြွှို့် བསྒྲུབས नमस्ते \u1112\u1161\u11ab שָׁלוֹם", "ကြွှို့် བསྒྲུབས नमस्ते \u1112\u1161\u11ab שָׁלוֹם"),
        ("a\U0001d159b\ufdd0c\U00016fe4\uffff", "a<U+1D159>b<U+FDD0>c<U+16FE4><U+FFFF>"),
        ("two\nlines\there", "two\nlines\there"),
    ],
)
def test_replaces_what_deceives(raw: str, shown: str) -> None:
    assert safe(raw) == shown


def test_one_line_shows_newline_and_tab() -> None:
    assert safe("a\nb\tc", multiline=False) == "a<U+000A>b<U+0009>c"


def test_a_question_is_stricter() -> None:
    assert safe("👩\u200d💻\u00a0x", prompt=True) == "👩<U+200D>💻<U+00A0>x"


def test_run_of_variation_selectors_is_shown() -> None:
    shown = safe("😀" + "\ufe01" * 50)
    assert shown.count("<U+FE01>") == 49


def test_hides_something() -> None:
    assert hides_something("ls\u202e") and hides_something("ls\tx") and hides_something("ls\x1b")
    assert not hides_something("ls -l 'ä'\nrm x")


def test_fold_spaces() -> None:
    assert fold_spaces("ls" + " " * 400 + "; curl x|sh") == "ls <400 spaces> ; curl x|sh"
    assert fold_spaces("a" + " " * 8 + "b") == "a" + " " * 8 + "b"


def test_is_fast_on_clean_text() -> None:
    text = "The quick brown fox.\n" * 50_000
    start = time.process_time()
    assert safe(text) == text
    assert time.process_time() - start < 1.0
