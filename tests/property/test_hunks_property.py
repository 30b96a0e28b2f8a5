"""Edit scripts cut into hunks anywhere, neighbours among them, and comparisons of texts that repeat themselves."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from xun.errors import EditError
from xun_builtin_tools.diffs import unified
from xun_builtin_tools.edit.document import Document
from xun_builtin_tools.edit.linediff import Opcode, line_opcodes
from xun_builtin_tools.edit.patchtext import parse_patch
from xun_builtin_tools.edit.placing import apply_hunks

# What happens to a line: it stays, goes, becomes another, or gets one before it.
DEEDS = st.lists(st.sampled_from([" ", " ", "-", "~", "+"]), min_size=1, max_size=10)


@settings(max_examples=300, deadline=None)
@given(DEEDS, st.lists(st.booleans(), min_size=10, max_size=10), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_script_cut_into_hunks_makes_what_the_script_makes(
    deeds: list[str], cuts: list[bool], end: str, closed: bool
) -> None:
    hunks: list[list[str]] = [[]]
    new: list[str] = []
    for at, deed in enumerate(deeds):
        # Only where the hunk before has something to be found by, and changes something.
        if cuts[at] and any(row[0] != "+" for row in hunks[-1]) and any(row[0] != " " for row in hunks[-1]):
            hunks.append([])
        line = f"line {at}"
        came = [] if deed in " -" else [f"new {at}"]
        new += came + ([line] if deed in " +" else [])
        hunks[-1] += [f"+{text}" for text in came] + [f"{' ' if deed in ' +' else '-'}{line}"]
    body = "".join("@@\n" + "\n".join(rows) + "\n" for rows in hunks if any(row[0] != " " for row in rows))
    if not body:
        return
    source = end.join(f"line {at}" for at in range(len(deeds))) + end * closed
    patch = f"*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n"
    result = apply_hunks(Document.load("/f", source.encode()), parse_patch(patch)[0].hunks).doc.to_bytes()
    assert result == (end.join(new) + end * (closed and bool(new))).encode()


SIDES = st.lists(st.sampled_from(["", "{", "}", "a", "b"]), max_size=12)


@settings(max_examples=60, deadline=None)
@given(SIDES, SIDES, st.sampled_from([1, 40, 90]))
def test_the_steps_between_two_texts_are_steps_between_them(old: list[str], new: list[str], times: int) -> None:
    # Repeated, so that the ways for long texts are gone too.
    for a, b in ((old, new), (old * times, new * (times // 2 + 1))):
        check_steps(a, b, line_opcodes(a, b))


def check_steps(a: list[str], b: list[str], codes: list[Opcode]) -> None:
    i = j = 0
    for tag, i1, i2, j1, j2 in codes:
        assert (i1, j1) == (i, j)
        assert tag == (
            "equal" if a[i1:i2] == b[j1:j2] else "delete" if j1 == j2 else "insert" if i1 == i2 else "replace"
        )
        i, j = i2, j2
    assert (i, j) == (len(a), len(b))


def test_long_texts_that_repeat_themselves_are_compared_at_once() -> None:
    # Each took minutes with difflib alone. Processor time: the machine may be shared.
    numbered = [f"line {at}" for at in range(20_000)]
    pairs = [
        (["x", "y"] * 950, ["y", "z", "x"] * 640),
        (numbered, [line if at % 20 else f"new {at}" for at, line in enumerate(numbered)]),
        ([line if at % 5 else "" for at, line in enumerate(numbered)], [line for line in numbered if line[-1] != "7"]),
    ]
    for old, new in pairs:
        started = time.process_time()
        codes = line_opcodes(old, new)
        assert time.process_time() - started < 3
        check_steps(old, new, codes)
    # Two lines in three, or more, are seen to stay where only some change.
    kept = sum(i2 - i1 for tag, i1, i2, _, _ in line_opcodes(*pairs[1]) if tag == "equal")
    assert kept == 19_000
    assert unified("\n".join(numbered), "\n".join(pairs[1][1]))[1:] == (1_000, 1_000)


def test_a_hunk_that_is_in_a_file_a_hundred_thousand_times_is_refused_at_once() -> None:
    doc = Document.load("/f", b"}\n" * 60_000)
    hunks = parse_patch("*** Begin Patch\n*** Update File: f\n" + "@@\n }\n-}\n+x\n" * 60 + "*** End Patch\n")[0].hunks
    started = time.process_time()
    try:
        apply_hunks(doc, hunks)
    except EditError as exc:
        assert exc.kind == "ambiguous"
    assert time.process_time() - started < 3
