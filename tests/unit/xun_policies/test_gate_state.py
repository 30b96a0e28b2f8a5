"""The lists, the log, undo, and the stored and exported forms of a policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from xun_policies.commands import CommandEntry, CommandGrant
from xun_policies.errors import PolicyError
from xun_policies.grants import CommandAllowlist
from xun_policies.policy_file import parse_toml, to_toml
from xun_policies.store import LOG_SIZE, DecisionRecord, PolicyState
from xun_policies.writes import WriteAllowlist, WriteEntry


def filled(tmp_path: Path) -> PolicyState:
    state = PolicyState()
    state.command_allowlist.add(["npm", "run", "build"], source="dialog", when="2026-01-02T03:04:05")
    state.command_allowlist.add(("pip", "install", 'a "b"'), exact=True)
    state.write_allowlist.add(str(tmp_path / "a.txt"))
    state.write_allowlist.add(str(tmp_path / "src"), directory=True)
    state.excluded.add("git diff")
    state.mode = "plan"
    state.auto_remaining = 3
    state.record(DecisionRecord("2026-01-02T03:04:05", "bash", "ls", "allow", "allowlist", "builtin"))
    return state


def test_a_state_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    state = filled(tmp_path)
    stored = json.loads(json.dumps(state.to_json()))
    assert stored["v"] == 1
    again = PolicyState.from_json(stored)
    assert again.to_json() == state.to_json()
    assert list(again.command_allowlist) == list(state.command_allowlist)
    assert list(again.write_allowlist) == list(state.write_allowlist)


def test_a_copy_is_its_own(tmp_path: Path) -> None:
    state = filled(tmp_path)
    copy = state.copy()
    copy.command_allowlist.clear()
    copy.excluded.clear()
    assert len(state.command_allowlist) == 2
    assert state.excluded == {"git diff"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"v": 2}, "version 2"),
        ({"v": None}, "version None"),
        ({"commands": [{"tokens": "ls"}]}, "'tokens': 'ls'"),
        ({"commands": [{"tokens": []}]}, "list of words"),
        ({"commands": [{"tokens": ["", "x"]}]}, "list of words"),
        ({"commands": {}}, "commands"),
        ({"writes": [{"path": "relative"}]}, "'relative'"),
        ({"writes": [{"path": "/ws/.git/config"}]}, "/ws/.git/config"),
        ({"writes": [3]}, "3"),
        ({"excluded": [1]}, "[1]"),
        ({"mode": "yolo"}, "'yolo'"),
        ({"auto_remaining": -1}, "-1"),
        ({"auto_remaining": True}, "True"),
        ({"log": [{"when": 1}]}, "1"),
    ],
)
def test_a_bad_stored_state_is_refused_by_name(change: dict[str, Any], named: str) -> None:
    with pytest.raises(PolicyError, match=r".") as caught:
        PolicyState.from_json(PolicyState().to_json() | change)
    assert named in str(caught.value)


def test_a_stored_state_must_be_a_dict() -> None:
    with pytest.raises(PolicyError, match=r"list"):
        PolicyState.from_json([])


def test_the_mode_is_checked() -> None:
    with pytest.raises(PolicyError, match=r"no mode 'x'"):
        PolicyState().mode = "x"


def test_the_log_keeps_the_last() -> None:
    state = PolicyState()
    for number in range(LOG_SIZE + 5):
        state.record(DecisionRecord("", "bash", str(number), "ask", "user"))
    assert len(state.log) == LOG_SIZE
    assert state.log[0].subject == "5"


def test_undo_takes_back_one_change_at_a_time(tmp_path: Path) -> None:
    state = PolicyState()
    assert not state.undo()
    state.snapshot()
    state.command_allowlist.add(["a"])
    state.snapshot()
    state.excluded.add("ls")
    state.snapshot()  # a change that came to nothing
    assert state.undo()
    assert state.excluded == set()
    assert len(state.command_allowlist) == 1
    assert state.undo()
    assert len(state.command_allowlist) == 0
    assert not state.undo()


def test_entries_are_idempotent_and_token_exact() -> None:
    allowed = CommandAllowlist()
    first = allowed.add(["git", "commit"], source="dialog")
    assert allowed.add(["git", "commit"]) is first
    assert allowed.covers(["git", "commit", "-m", "x"]) == first
    assert allowed.covers(["git", "commit-tree"]) is None
    assert allowed.covers(["git"]) is None
    exact = allowed.add(["pip", "install", "x"], exact=True)
    assert allowed.covers(["pip", "install", "x"]) == exact
    assert allowed.covers(["pip", "install", "x", "y"]) is None
    assert allowed.remove(["git"]) == ()
    assert allowed.remove(["git", "commit"]) == (first,)
    allowed.note_use(exact)
    assert allowed.used(exact) == 1
    for bad in ([], [""], "git commit"):
        with pytest.raises(PolicyError):
            allowed.add(bad)


def test_grants_have_a_json_form() -> None:
    grant = CommandGrant(("git", "commit", "a b"), exact=True)
    assert grant.text == "git commit 'a b'"
    assert CommandGrant.from_json(grant.to_json()) == grant
    entry = CommandEntry(("a",), source="import")
    assert CommandEntry.from_json(entry.to_json()) == entry
    with pytest.raises(PolicyError):
        CommandGrant.from_json({})


def test_write_grants_cover_real_paths_only(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "other").mkdir()
    allowed = WriteAllowlist()
    entry = allowed.add(str(tmp_path / "src"), directory=True)
    assert allowed.covers(str(tmp_path / "src" / "a" / "b")) == entry
    assert allowed.covers(str(tmp_path / "src")) == entry
    assert allowed.covers(str(tmp_path / "src2")) is None
    assert allowed.covers(str(tmp_path / "src" / ".." / "other" / "x")) is None
    (tmp_path / "src" / "link").symlink_to(tmp_path / "other")
    assert allowed.covers(str(tmp_path / "src" / "link" / "x")) is None
    assert allowed.covers("a\0b") is None
    allowed.note_use(entry)
    assert allowed.used(entry) == 1


def test_a_link_is_resolved_when_it_is_granted_and_again_when_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "link").symlink_to("one")
    allowed = WriteAllowlist()
    entry = allowed.add(str(tmp_path / "link" / "f"))
    assert entry.path == str(tmp_path / "one" / "f")
    assert allowed.covers(str(tmp_path / "link" / "f")) == entry
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to("two")
    assert allowed.covers(str(tmp_path / "link" / "f")) is None


@pytest.mark.parametrize(
    "name", [".git/config", ".GIT/x", "a/.git. /x", ".xun/policy.toml", ".vscode/tasks.json", "sub/.envrc"]
)
def test_protected_paths_are_never_granted(tmp_path: Path, name: str) -> None:
    allowed = WriteAllowlist()
    allowed.add(str(tmp_path), directory=True)
    assert allowed.covers(str(tmp_path / name)) is None
    assert allowed.covers(str(tmp_path / "x")) is not None
    with pytest.raises(PolicyError, match="protected"):
        allowed.add(str(tmp_path / name))


def test_a_write_grant_may_be_widened_but_not_narrowed(tmp_path: Path) -> None:
    allowed = WriteAllowlist()
    allowed.add(str(tmp_path))
    assert allowed.add(str(tmp_path), directory=True).directory
    assert allowed.add(str(tmp_path)).directory
    assert len(allowed) == 1
    assert allowed.remove(str(tmp_path)) is not None
    assert allowed.remove(str(tmp_path)) is None


def test_export_and_import_agree(tmp_path: Path) -> None:
    state = filled(tmp_path)
    text = to_toml(state, base=str(tmp_path))
    assert str(tmp_path) not in text
    read = parse_toml(text, base=str(tmp_path))
    assert [(entry.tokens, entry.exact) for entry in read.commands] == [
        (("npm", "run", "build"), False),
        (("pip", "install", 'a "b"'), True),
    ]
    assert [(entry.path, entry.directory) for entry in read.writes] == [
        (str(tmp_path / "a.txt"), False),
        (str(tmp_path / "src"), True),
    ]
    assert read.excluded == ("git diff",)
    assert {entry.source for entry in read.commands} == {"import"}


def test_home_is_written_with_a_tilde(tmp_path: Path) -> None:
    state = PolicyState()
    state.write_allowlist = WriteAllowlist((WriteEntry("/home/dev/notes"), WriteEntry("/opt/x")))
    text = to_toml(state, base="/home/dev/proj", home="/home/dev")
    assert '"~/notes"' in text
    assert '"/opt/x"' in text
    assert [entry.path for entry in parse_toml(text, "/home/dev/proj", "/home/dev").writes] == [
        "/home/dev/notes",
        "/opt/x",
    ]


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("version = 2", 1, "version"),
        ("excluded = []", 1, "version"),
        ("version = 1\nextra = 3", 2, "extra"),
        ("version = 1\nexcluded = 3", 2, "excluded"),
        ("version = 1\n[[command]]\ntokens = []", 2, "tokens"),
        ('version = 1\n[[command]]\ntokens = ["a"]\n[[command]]\ntokens = "b"', 4, "tokens"),
        ('version = 1\n[[command]]\ntokens = ["a"]\nexact = "yes"', 2, "exact"),
        ('version = 1\n[[command]]\ntokens = ["a"]\nmore = 1', 2, "more"),
        ("version = 1\n[command]\nx = 1", 2, "command"),
        ('version = 1\n[[write]]\npath = ".git/config"', 2, "protected"),
        ("version = 1\n[[write]]\ndirectory = true", 2, "path"),
    ],
)
def test_a_bad_policy_file_is_refused_with_its_line(text: str, line: int, named: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_toml(text, "/ws")
    assert str(caught.value).startswith(f"line {line}: ")
    assert named in str(caught.value)


def test_broken_toml_names_the_line() -> None:
    with pytest.raises(PolicyError, match="line 2"):
        parse_toml("version = 1\n[[command", "/ws")


@pytest.mark.parametrize("value", ["false", "true", 1, None, []])
def test_a_stored_write_grant_covers_a_folder_only_where_it_says_true(value: Any) -> None:
    entry = WriteEntry.from_json({"path": "/home/dev/src", "directory": value})
    assert WriteAllowlist((entry,)).covers("/home/dev/src/a.py") is None
    whole = WriteEntry.from_json({"path": "/home/dev/src", "directory": True})
    assert WriteAllowlist((whole,)).covers("/home/dev/src/a.py") == whole


def test_each_use_of_a_write_grant_is_counted() -> None:
    allowed = WriteAllowlist()
    entry = allowed.add("/home/dev/notes")
    assert allowed.used(entry) == 0
    for _ in range(2):
        allowed.note_use(entry)
    assert allowed.used(entry) == 2
