"""The output of a background command, in whatever pieces it comes and is read."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from xun_builtin_tools.cmd.logs import TaskLog

CHUNKS = st.lists(st.one_of(st.binary(max_size=12), st.text(max_size=6).map(lambda text: text.encode())), max_size=12)


@settings(max_examples=150, deadline=None)
@given(CHUNKS, st.integers(1, 9))
def test_pages_together_are_the_whole_and_the_raw_file_has_every_byte(chunks: list[bytes], page: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = TaskLog(Path(folder))
        sink = log.sink("stdout")
        said = "".join([*(sink.feed(chunk) for chunk in chunks), sink.feed(b"", final=True)])
        assert said == b"".join(chunks).decode("utf-8", "replace")
        assert log.stdout.read_bytes() == b"".join(chunks)
        offset, parts = 0, []
        while offset < log.size:
            piece = log.read(offset, max(page, 4))
            assert piece.next_offset > offset and piece.skipped == 0
            parts.append(piece.text)
            offset = piece.next_offset
        assert "".join(parts) == said
        log.close()


@settings(max_examples=100, deadline=None)
@given(CHUNKS, st.integers(0, 40), st.integers(-90, 90), st.integers(1, 9))
def test_any_part_of_a_log_that_is_full_can_be_asked_for(
    chunks: list[bytes], room: int, offset: int, limit: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = TaskLog(Path(folder), room=room)
        sink = log.sink("stderr")
        for chunk in chunks:
            sink.feed(chunk)
        piece = log.read(offset, limit)
        assert 0 <= piece.next_offset <= log.size and piece.skipped >= 0
        assert log.stderr.stat().st_size <= room
        assert piece.text.encode("utf-8").decode("utf-8") == piece.text
        log.close()
