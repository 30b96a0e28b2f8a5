"""safe() on any text, cut anywhere."""

from __future__ import annotations

import itertools
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from xun_cli.render.safe import safe

ANY = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, categories=None), max_size=60)
NASTY = st.text(
    st.sampled_from("a \n\t\r\x1b\x07\x9b\x9d\u202e\u200d\u2066\ufe0f\U000e0041👩💻\u0301]52;c"), max_size=60
)


def harmful(char: str) -> bool:
    code = ord(char)
    if char in "\n\t":
        return False
    hidden = code in (0x061C, 0xFEFF) or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069
    return unicodedata.category(char) in ("Cc", "Cs") or hidden or 0xE0000 <= code <= 0xE007F


@settings(max_examples=300)
@given(st.one_of(ANY, NASTY), st.booleans())
def test_nothing_harmful_is_left(text: str, prompt: bool) -> None:
    assert not [c for c in safe(text, prompt=prompt) if harmful(c)]
    assert not [c for c in safe(text, multiline=False, prompt=prompt) if harmful(c) or c in "\n\t"]
    safe(text).encode("utf-8")


@settings(max_examples=200)
@given(NASTY, st.lists(st.integers(0, 60), max_size=8))
def test_cut_anywhere_nothing_leaks(text: str, cuts: list[int]) -> None:
    marks = sorted({0, len(text), *(min(c, len(text)) for c in cuts)})
    pieces = [text[a:b] for a, b in itertools.pairwise(marks)]
    assert not [c for c in "".join(safe(p) for p in pieces) if harmful(c)]


@given(st.one_of(ANY, NASTY))
def test_is_idempotent(text: str) -> None:
    assert safe(safe(text)) == safe(text)
