from __future__ import annotations

from pathlib import Path

from xun_builtin_tools.cmd.capture import Capture
from xun_builtin_tools.cmd.kept import KeptFile


def capture(tmp_path: Path, limit: int, room: int = 1_000_000) -> Capture:
    return Capture(limit, lambda: KeptFile(tmp_path / "whole.txt", room))


def test_short_output_is_kept_whole_and_makes_no_file(tmp_path):
    out = capture(tmp_path, 20)
    out.feed(b"hello ")
    out.feed(b"world", final=True)
    assert (out.text, out.truncated, out.file) == ("hello world", False, None)


def test_output_of_exactly_the_limit_is_whole(tmp_path):
    out = capture(tmp_path, 10)
    for byte in b"0123456789":
        out.feed(bytes([byte]))
    out.feed(b"", final=True)
    assert out.text == "0123456789" and not out.truncated


def test_long_output_keeps_head_and_tail_and_the_whole_in_a_file(tmp_path):
    out = capture(tmp_path, 10)
    whole = "".join(f"{n:04d}|" for n in range(100))
    for start in range(0, len(whole), 7):
        out.feed(whole[start : start + 7].encode())
    out.feed(b"", final=True)
    assert out.truncated
    assert out.text.startswith("0000|\n[... 490 characters cut; the whole output is in ")
    assert out.text.endswith("...]\n0099|")
    assert out.file is not None and out.file.read_text() == whole


def test_characters_cut_between_reads_arrive_whole(tmp_path):
    out = capture(tmp_path, 100)
    data = "żółć 你好 🙂".encode()
    for byte in data:
        out.feed(bytes([byte]))
    out.feed(b"", final=True)
    assert out.text == "żółć 你好 🙂"


def test_bytes_that_are_no_utf8_are_replaced(tmp_path):
    out = capture(tmp_path, 100)
    out.feed(b"a\xffb\xc3", final=True)
    assert out.text == "a\ufffdb\ufffd"


def test_a_flood_stays_bounded_in_memory(tmp_path):
    out = capture(tmp_path, 1000)
    for _ in range(2000):
        out.feed(b"x" * 1024)
    held = sum(map(len, out._head)) + sum(map(len, out._tail))
    out.feed(b"", final=True)
    assert held <= 1000 + 1024
    assert out.total == 2000 * 1024


def test_a_full_disk_costs_what_is_cut_and_nothing_else(tmp_path):
    out = capture(tmp_path / "missing", 10)
    out.feed(b"0123456789abcdefghij", final=True)
    assert out.text == "01234\n[... 10 characters cut; there was no room to keep them ...]\nfghij"
    assert out.truncated and out.file is None
    some = capture(tmp_path, 10, room=12)
    some.feed(b"0123456789abcdefghij", final=True)
    assert "the first 12 bytes of the output are in" in some.text and some.file.read_bytes() == b"0123456789ab"
