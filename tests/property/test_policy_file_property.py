"""A policy file gives back what was written into it, whatever the entries are."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from xun_policies.errors import PolicyError
from xun_policies.policy_file import parse_toml
from xun_policies.store import PolicyState
from xun_policies.writes import is_protected

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
TOKENS = st.lists(TEXT, min_size=1, max_size=4)
PATH = st.lists(st.text("ab .'\"\\é\u202e~#=", min_size=1, max_size=6), min_size=1, max_size=3).map("/".join)
HOST = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,5}[a-z0-9])?(\.[a-z]{2,4})?(:[0-9]{2,5})?", fullmatch=True)


@settings(max_examples=60, deadline=None)
@example([], [("~/a", False), ("~", True)], [], [])
@given(
    st.lists(st.tuples(TOKENS, st.booleans()), max_size=4),
    st.lists(st.tuples(PATH, st.booleans()), max_size=4),
    st.lists(TEXT, max_size=3),
    st.lists(HOST, max_size=3),
)
def test_what_was_exported_is_imported(
    commands: list[tuple[list[str], bool]], writes: list[tuple[str, bool]], excluded: list[str], hosts: list[str]
) -> None:
    state = PolicyState()
    for tokens, exact in commands:
        state.command_allowlist.add(tokens, exact)
    for path, directory in writes:
        if not is_protected(f"/no/such/ws/{path}"):
            state.write_allowlist.add(f"/no/such/ws/{path}", directory)
    state.excluded.update(excluded)
    for host in hosts:
        state.host_allowlist.add(host)
    read = parse_toml(state.to_toml(base="/no/such/ws", home="/no/such/home"), "/no/such/ws", "/no/such/home")
    assert [(entry.tokens, entry.exact) for entry in read.commands] == [
        (entry.tokens, entry.exact) for entry in state.command_allowlist
    ]
    assert [(entry.path, entry.directory) for entry in read.writes] == [
        (entry.path, entry.directory) for entry in state.write_allowlist
    ]
    assert set(read.excluded) == state.excluded
    assert [entry.host for entry in read.hosts] == [entry.host for entry in state.host_allowlist]


def test_an_entry_that_is_no_text_is_named_and_not_written_broken() -> None:
    state = PolicyState()
    state.command_allowlist.add(["touch", "\udcff"])
    with pytest.raises(PolicyError, match="no UTF-8 text"):
        state.to_toml()
