"""Granted hosts as a part of the policy: kept, restored, undone, exported."""

from __future__ import annotations

import pytest

from xun_policies.errors import PolicyError
from xun_policies.hosts import HostEntry, checked_host
from xun_policies.policy_file import parse_toml
from xun_policies.store import PolicyState


def hosts(state: PolicyState) -> list[str]:
    return [entry.host for entry in state.host_allowlist]


def test_they_are_stored_restored_copied_and_undone() -> None:
    state = PolicyState()
    state.host_allowlist.add("a.test", source="dialog", when="2026-01-01")
    state.snapshot()
    state.host_allowlist.add("b.test:8080")
    again = PolicyState.from_json(state.to_json())
    assert list(again.host_allowlist) == list(state.host_allowlist) == list(state.copy().host_allowlist)
    assert again.host_allowlist.covers("a.test") == HostEntry("a.test", "dialog", "2026-01-01")
    assert state.undo() and hosts(state) == ["a.test"]


def test_a_state_from_before_there_were_any_is_read() -> None:
    old = PolicyState().to_json()
    del old["hosts"]
    assert hosts(PolicyState.from_json(old)) == []


def test_one_covers_itself_alone() -> None:
    state = PolicyState()
    entry = state.host_allowlist.add("site.test")
    for other in ("www.site.test", "site.test:81", "site.test.evil", "SITE.TEST", "evilsite.test"):
        assert state.host_allowlist.covers(other) is None
    assert state.host_allowlist.add("site.test", source="import") is entry
    state.host_allowlist.note_use(entry)
    assert state.host_allowlist.used(entry) == 1
    assert state.host_allowlist.remove("site.test") == entry and state.host_allowlist.remove("site.test") is None


def test_export_and_import_keep_them() -> None:
    state = PolicyState()
    state.command_allowlist.add(["npm", "test"])
    state.host_allowlist.add("docs.python.org")
    state.host_allowlist.add("[::1]:8080")
    read = parse_toml(state.to_toml(), "/w")
    assert [entry.host for entry in read.hosts] == ["docs.python.org", "[::1]:8080"]
    assert {entry.source for entry in read.hosts} == {"import"}


@pytest.mark.parametrize(
    "value",
    [
        "",
        "*",
        "*.test",
        "http://a.test",
        "a.test/x",
        "A.test",
        "a test",
        "a.test:",
        "a.test:99999999",
        "a..test",
        3,
        None,
        ".a.test",
        "a.test.",
        "user@a.test",
        "a.test\n",
        "[::1",
        "münchen.test",
    ],
)
def test_what_is_no_host_is_refused(value: object) -> None:
    with pytest.raises(PolicyError):
        checked_host(value)
    with pytest.raises(PolicyError):
        PolicyState.from_json({**PolicyState().to_json(), "hosts": [{"host": value}]})


def test_a_wrong_line_of_a_file_is_named() -> None:
    with pytest.raises(PolicyError, match=r"^line 5: .*no host"):
        parse_toml('version = 1\n[[host]]\nname = "a.test"\n\n[[host]]\nname = "*.test"\n')
