"""Long outputs, cut into pieces and put together again, are what they were."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xun import Workspace
from xun.tools.spill import CHUNK, MAX_CHUNKS, read_spilled, spill

texts = st.builds(
    lambda parts, times, filler: "".join(parts) * times + filler * CHUNK,
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), max_size=6),
    st.integers(1, 400),
    st.sampled_from(["", "a", "ü", "€", "𝄞"]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts, st.integers(1, MAX_CHUNKS), st.booleans())
def test_pieces_join_to_the_whole(tmp_path: Path, text: str, count: int, from_end: bool) -> None:
    with closing(Workspace(tmp_path)) as workspace:
        handle = re.search(r"out-[0-9a-f]{8}", spill(workspace, text))
        assert handle
        pieces: list[str] = []
        cursor: int | None = 0
        while cursor is not None:
            part = read_spilled(workspace, handle[0], cursor, count, from_end)
            assert len(part["content"].encode()) <= count * CHUNK + 3
            pieces.append(part["content"])
            cursor = part["next_cursor"]
        assert "".join(reversed(pieces) if from_end else pieces) == text
        assert part["bytes"] == len(text.encode())
