"""Diffs of random texts, given as patches, make the one text of the other."""

from __future__ import annotations

import difflib
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.sizes import examples
from xun.errors import EditError
from xun_builtin_tools.edit.document import Document
from xun_builtin_tools.edit.patchtext import parse_patch
from xun_builtin_tools.edit.placing import apply_hunks

# Few different lines, so that repeats and ambiguity are the rule; some look like markers.
LINES = st.sampled_from(["a", "b", "", "  a", "-- x", "++ y", "@@ -1 +1 @@", "*** End Patch", "\\ No newline", "a "])


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    lines = draw(st.lists(LINES, max_size=14))
    old = "\n".join(lines) + ("\n" if draw(st.booleans()) else "")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines)))
        change = draw(st.sampled_from(["insert", "delete", "replace"]))
        if change == "insert":
            lines.insert(at, draw(LINES))
        elif at < len(lines):
            lines[at : at + 1] = [] if change == "delete" else [draw(LINES)]
    return old, "\n".join(lines) + ("\n" if draw(st.booleans()) else "")


def keep_ends(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([f"{last}\n\\ No newline at end of file\n"] if last else [])


def unified(old: str, new: str, context: int) -> str:
    diff = list(difflib.unified_diff(keep_ends(old), keep_ends(new), "a/f", "b/f", n=context))
    return "".join(diff)


@settings(max_examples=examples(200), deadline=None)
@given(texts(), st.integers(0, 3))
def test_a_unified_diff_with_right_numbers_always_applies(case: tuple[str, str], context: int) -> None:
    old, new = case
    patch = unified(old, new, context)
    if not patch:
        return
    hunks = parse_patch(patch)[0].hunks
    if context == 0 and any(hunk.old_start == 0 and not hunk.old for hunk in hunks) and old:
        return  # an addition at the very top says nothing about what is there
    assert apply_hunks(Document.load("/f", old.encode()), hunks).doc.to_bytes() == new.encode()


@settings(max_examples=examples(150), deadline=None)
@given(texts(), st.lists(LINES, min_size=1, max_size=5))
def test_a_diff_of_a_file_that_moved_on_applies_as_meant_or_not_at_all(case: tuple[str, str], above: list[str]) -> None:
    old, new = case
    patch = unified(old, new, 3)
    if not patch:
        return
    head = "".join(f"{line}\n" for line in ["first", *above, "last"])
    try:
        result = apply_hunks(Document.load("/f", (head + old).encode()), parse_patch(patch)[0].hunks)
    except EditError as exc:
        assert exc.kind in ("ambiguous", "not_found", "overlap", "noop")
        return
    # The stated place may hold the same lines by chance; but never do other lines go or come.
    if result.level == "exact":
        assert change_of(head + old, result.doc.text) == change_of(old, new)
    assert result.doc.text.startswith("first\n")


def change_of(old: str, new: str) -> tuple[Counter[str], Counter[str]]:
    before, after = Counter(keep_lines(old)), Counter(keep_lines(new))
    return before - after, after - before


def keep_lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


@settings(max_examples=examples(150), deadline=None)
@given(texts())
def test_an_envelope_with_the_whole_file_as_context_always_applies(case: tuple[str, str]) -> None:
    old, new = case
    if old == new or not old.endswith("\n") or not new.endswith("\n"):
        return
    steps = difflib.ndiff(old.split("\n")[:-1], new.split("\n")[:-1])
    rows = [step[0] + step[2:] for step in steps if step[0] in " -+"]
    patch = "*** Begin Patch\n*** Update File: f\n@@\n" + "\n".join(rows) + "\n*** End of File\n*** End Patch\n"
    result = apply_hunks(Document.load("/f", old.encode()), parse_patch(patch)[0].hunks)
    assert result.doc.to_bytes() == new.encode()


@settings(max_examples=examples(150), deadline=None)
@given(texts(), st.lists(st.sampled_from(["\n", "\r\n"]), min_size=16, max_size=16))
def test_unchanged_lines_keep_their_bytes(case: tuple[str, str], ends: list[str]) -> None:
    old, new = case
    patch = unified(old, new, 3)
    if not patch:
        return
    parts = old.split("\n")
    mixed = "".join(part + end for part, end in zip(parts[:-1], ends, strict=False)) + parts[-1]
    result = apply_hunks(Document.load("/f", mixed.encode()), parse_patch(patch)[0].hunks).doc
    assert result.text == new
    before, after = mixed.split("\n"), result.source.split("\n")
    # The same comparison as the diff's, so that what it calls unchanged is what the patch left alone.
    matcher = difflib.SequenceMatcher(None, keep_ends(old), keep_ends(new))
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        assert tag != "equal" or before[i1:i2] == after[j1:j2]
