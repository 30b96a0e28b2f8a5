"""Documents, matching and messages, without a disk."""

from __future__ import annotations

import pytest

from xun.errors import EditError
from xun_builtin_tools.edit.document import RAW, Document, Splice
from xun_builtin_tools.edit.hunks import Hunk
from xun_builtin_tools.edit.linediff import line_opcodes
from xun_builtin_tools.edit.lookalikes import FOLD, fold
from xun_builtin_tools.edit.nearest import cause_of
from xun_builtin_tools.edit.patchtext import parse_patch
from xun_builtin_tools.edit.placing import apply_hunks
from xun_builtin_tools.edit.replacing import count_changes, replace_text
from xun_builtin_tools.edit.writing import count_bytes


def replaced(data: bytes, old: str, new: str, encoding: str | None = None, **options: bool) -> bytes:
    return replace_text(Document.load("/f", data, encoding), old, new, **options).doc.to_bytes()


def error(data: bytes, old: str, new: str, encoding: str | None = None, **options: bool) -> EditError:
    with pytest.raises(EditError) as caught:
        replaced(data, old, new, encoding, **options)
    return caught.value


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a",
        b"a\r\nb\rc\n\r\n",
        b"\r\r\n\n\r",
        "\ufeffé\r\n".encode(),
        "x\u2028y\n".encode("utf-16"),
        b"\xff\xfe",
        b"\xff\xfe\x00\x00a\x00\x00\x00",
        b"caf\xe9 \x81\x40\n",
    ],
)
def test_a_document_gives_its_bytes_back(data: bytes) -> None:
    assert Document.load("/f", data).to_bytes() == data


def test_lines_end_at_newlines_only() -> None:
    doc = Document.load("/f", "a\x0cb\x0bc\u2028d\x85e\rf\r\ng".encode())
    assert doc.lines == ["a\x0cb\x0bc\u2028d\x85e\rf", "g"]
    assert doc.final_newline is False
    assert Document.load("/f", b"").lines == []
    assert Document.load("/f", b"\n\n").lines == ["", ""]


@pytest.mark.parametrize(
    ("data", "old", "new", "result"),
    [
        (b"a\r\nb\nc\r\n", "b", "x\ny", b"a\r\nx\ny\nc\r\n"),
        (b"a\nb\r\nc\n", "b", "x\ny", b"a\nx\r\ny\r\nc\n"),
        (b"a\nb\r\n", "a", "x\na", b"x\na\nb\r\n"),
        (b"a\nb\r\nc", "c", "c\nd", b"a\nb\r\nc\r\nd"),
        (b"a\r\nb\n", "a\nb", "b", b"b\n"),
        (b"a\r\nb\n", "b\n", "", b"a\r\n"),
        (b"a\r\r\nb\n", "b", "c\nd", b"a\r\r\nc\nd\n"),
        (b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc"),
        (b"one", "one", "1\r\n2", b"1\n2"),
    ],
)
def test_terminators_of_new_lines(data: bytes, old: str, new: str, result: bytes) -> None:
    assert replaced(data, old, new) == result


def test_levels_and_what_stays() -> None:
    doc = Document.load("/f", "“a”  \n\tb\nc\n".encode())
    result = replace_text(doc, '"a"\n\tb', '"a"\n\tB')
    assert (result.level, result.doc.source) == ("unicode", "“a”  \n\tB\nc\n")
    assert replace_text(doc, "“a”\n\tb", "“a”\n\tB").level == "trailing_ws"
    indented = replace_text(doc, "\t\tb", "\t\tx")
    assert (indented.level, indented.doc.lines[1]) == ("indent", "\tx")


def test_indentation_that_can_not_be_taken_from_new_lines_is_refused() -> None:
    assert error(b"def f():\n  a\n", "    a", "a").kind == "not_found"
    assert replaced(b"def f():\n  a\n", "    a", "    a\n\n    b") == b"def f():\n  a\n\n  b\n"


def test_replace_all_needs_an_exact_match() -> None:
    assert replaced(b"aaa\n", "a", "b", replace_all=True) == b"bbb\n"
    data = "“a”\n“a”\n".encode()
    assert error(data, '"a"', "b", replace_all=True).kind == "ambiguous"


def test_letters_that_merely_look_alike_are_never_folded() -> None:
    assert all(len(plain) == 1 for plain in FOLD.values())
    assert not any(chr(code).isalnum() for code in FOLD)
    text = "−“x”\u00a0é"
    assert len(fold(text)) == len(text)


def test_raw_bytes_stay_opaque() -> None:
    sjis = "表 = 1\nname\n".encode("shift_jis")
    assert Document.load("/f", sjis).codec == RAW
    assert replaced(sjis, "name", "NAME") == sjis.replace(b"name", b"NAME")
    assert error(sjis, "\\", "/").kind == "encoding"
    assert "encoding=" in str(error(sjis, "name", "名"))
    assert replaced(sjis, "name", "名", "shift_jis") == "表 = 1\n名\n".encode("shift_jis")
    assert error(sjis, "name", "한", "shift_jis").kind == "encoding"


def test_a_stated_encoding_never_mixes_with_utf8() -> None:
    assert error("é\n".encode(), "é", "è", "latin-1").kind == "encoding"
    assert replaced(b"plain\n", "plain", "é", "latin-1") == b"\xe9\n"
    assert error("é\n".encode("utf-16"), "é", "è", "latin-1").kind == "encoding"
    assert replaced("é\n".encode("utf-16"), "é", "è", "utf-16") == "è\n".encode("utf-16")
    assert error(b"x\n", "x", "y", "base64").kind == "encoding"


def test_the_message_names_the_nearest_place_the_first_difference_and_its_cause() -> None:
    text = str(error(b"import os\n\ndef run():\n\treturn os.getpid()\n", "def run():\n    return os.getpid()", "x"))
    assert "line 3" in text and "1 tab" in text and "4 spaces" in text and "/f" in text


def test_spaces_for_a_tab_are_near() -> None:
    found = error(b"x\na\tb\n", "a    b", "c")
    assert found.facts["nearest_line"] == 2
    assert "only blanks differ" in str(found)


@pytest.mark.parametrize(
    ("have", "want", "word"),
    [
        ("a  ", "a", "blanks at its end"),
        ("\ta", "    a", "indentation"),
        ("a\tb", "a b", "only blanks"),
        ("Name", "name", "case"),
        ("a–b", "a-b", "U+2013 EN DASH"),
        ("аb", "ab", "CYRILLIC SMALL LETTER A"),
        ("abc", "abd", "column 3"),
        ("ab", "abc", "goes on after column 2"),
    ],
)
def test_causes(have: str, want: str, word: str) -> None:
    assert word in cause_of(have, want)


def test_a_text_that_was_written_before_is_said_to_be_there() -> None:
    found = error(b"value = compute(2)\n", "value = compute(1)", "value = compute(2)")
    assert found.facts["already_line"] == 1
    assert "already there, at line 1" in str(found)


def test_messages_keep_to_their_limit() -> None:
    long = ("x" * 5000 + "\n") * 50
    for found in (
        error(long.encode(), ("x" * 4999 + "y\n") * 50, "z"),
        error(b"ab\n" * 5000, "ab", "c"),
        error(b"a" * 100_000, "a", "b"),
    ):
        assert len(str(found)) <= 4000
    assert error(b"ab\n" * 5000, "ab", "c").facts["count"] == 5000


def test_counts_and_opcodes() -> None:
    assert count_changes("", "a\n") == (1, 0)
    assert count_changes("a\nb\n", "a\nc\nb\n") == (1, 0)
    assert count_changes("a", "a\n") == (1, 1)
    assert count_changes("a\n", "a\n") == (0, 0)
    assert line_opcodes(["a", "b", "c"], ["a", "x", "c"]) == [
        ("equal", 0, 1, 0, 1),
        ("replace", 1, 2, 1, 2),
        ("equal", 2, 3, 2, 3),
    ]


def test_many_splices_are_carried_out_at_once() -> None:
    doc = Document.load("/f", b"a\r\n" * 1000)
    changed = doc.splice([Splice(at * 2, at * 2 + 1, "bb") for at in range(1000)])
    assert changed.to_bytes() == b"bb\r\n" * 1000


def hunks(text: str) -> tuple[Hunk, ...]:
    return parse_patch(f"*** Begin Patch\n*** Update File: f\n{text}*** End Patch\n")[0].hunks


def patched(data: bytes, text: str) -> bytes:
    return apply_hunks(Document.load("/f", data), hunks(text)).doc.to_bytes()


def test_an_anchor_decides_between_equal_blocks() -> None:
    data = b"def a():\n    return 1\n\ndef b():\n    return 1\n\ndef c():\n    return 1\n"
    changed = patched(data, "@@ def b():\n-    return 1\n+    return 2\n")
    assert changed == data.replace(b"b():\n    return 1", b"b():\n    return 2")


def test_an_anchor_whose_block_has_no_match_does_not_reach_into_two_others() -> None:
    data = b"def a():\n    pass\n\ndef b():\n    x\n\ndef c():\n    x\n"
    with pytest.raises(EditError) as caught:
        patched(data, "@@ def a():\n-    x\n+    y\n")
    assert caught.value.kind == "ambiguous"


def test_two_equal_hunks_in_two_places_have_one_assignment() -> None:
    assert patched(b"k\nv\nk\nv\n", "@@\n k\n-v\n+1\n@@\n k\n-v\n+2\n") == b"k\n1\nk\n2\n"


def test_hunks_out_of_order_are_refused() -> None:
    with pytest.raises(EditError) as caught:
        patched(b"a\nb\nc\n", "@@\n-c\n+C\n@@\n-a\n+A\n")
    assert caught.value.kind == "overlap"


@pytest.mark.parametrize(
    ("patch", "line"),
    [
        ("", 1),
        ("*** Begin Patch\n*** End Patch\n", 2),
        ("*** Begin Patch\n*** Frob File: x\n*** End Patch\n", 2),
        ("*** Begin Patch\n*** Update File: a\n@@\nx\n*** End Patch\n", 4),
        ("*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch\n", 3),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\nc\n", 6),
        ("--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", 1),
        ("@@ -1 +1 @@\n-a\n+b\n", 1),
        ("prose\n\nmore\n", 1),
    ],
)
def test_a_patch_that_can_not_be_read_names_its_line(patch: str, line: int) -> None:
    with pytest.raises(EditError) as caught:
        parse_patch(patch)
    assert (caught.value.kind, caught.value.facts["patch_line"]) == ("parse", line)
    assert f"line {line}" in str(caught.value)


def test_wrong_counts_are_recounted() -> None:
    first, second = parse_patch(
        "--- a/t\n+++ b/t\n@@ -1,9 +1,2 @@\n a\n-b\n+B\n--- a/u\n+++ b/u\n@@ -1 +1,7 @@\n-x\n+y\n z\n"
    )
    assert first.hunks[0].rows == ((" ", "a"), ("-", "b"), ("+", "B"))
    assert second.hunks[0].rows == (("-", "x"), ("+", "y"), (" ", "z"))


def test_the_lines_of_a_marked_file_are_counted_and_those_of_a_binary_one_are_not() -> None:
    assert count_bytes("a\nb\n".encode("utf-16"), "a\nc\nd\n".encode("utf-16")) == (2, 1)
    assert count_bytes(b"", b"\xef\xbb\xbfa\n") == (1, 0)
    assert count_bytes(b"a\n\0", b"b\n") == (0, 0)
