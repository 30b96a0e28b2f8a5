"""``xun policy allow``, ``remove``, ``log`` and the specification's own names, in process."""

from __future__ import annotations

import io
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from xun.events import SessionStarted, TurnStarted
from xun_cli.main import main
from xun_cli.places import Places
from xun_cli.session.envelope import Envelope
from xun_cli.session.store import SessionStore, read_session
from xun_policies.audit import AuditTrail
from xun_policies.store import DecisionRecord, PolicyState


class Cli:
    """Runs ``xun policy`` in this process, in a folder of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.places = Places.from_environment()

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        self._capsys.readouterr()
        try:
            code = main(["policy", *argv])
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        out, err = self._capsys.readouterr()
        return code, out, err

    def settings(self) -> dict[str, Any]:
        return tomllib.loads(self.places.config_file.read_text())


@pytest.fixture
def cli(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, isolated_environment: Path
) -> Cli:
    folder = tmp_path / "proj"
    (folder / "src").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XUN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    return Cli(folder, capsys)


def test_entries_go_into_the_settings_and_out_again(cli: Cli) -> None:
    assert cli("allow", "command", "npm", "test")[0] == 0
    assert cli("allow", "command", "make 'a b'")[0] == 0
    assert cli("allow", "write", "src", "--dir")[0] == 0
    code, out, _ = cli("allow", "host", "https://docs.python.org/3/")
    assert code == 0 and "docs.python.org is now fetched from unasked in every new session" in out
    assert cli.settings()["policy"]["commands"]["allow"] == ["npm test", "make 'a b'"]
    assert cli.settings()["policy"]["writes"]["allow"] == [str(cli.folder / "src")]
    assert cli.settings()["tools"]["allowed_hosts"] == ["docs.python.org"]
    _, out, _ = cli("show")
    assert "c1  npm test" in out and "w1" in out and "docs.python.org" in out
    assert cli("test", "npm test x")[0] == 0
    assert cli("remove", "command", "c1")[0] == cli("remove", "write", "src")[0] == 0
    assert cli("remove", "host", "docs.python.org")[0] == 0
    assert cli.settings()["policy"]["commands"]["allow"] == ["make 'a b'"]
    assert cli.settings()["policy"]["writes"]["allow"] == cli.settings()["tools"]["allowed_hosts"] == []
    assert cli("test", "npm test x")[0] == 4


def test_a_built_in_prefix_is_left_out_and_comes_back(cli: Cli) -> None:
    assert cli("remove", "command", "git diff")[0] == 0
    assert cli.settings()["policy"]["commands"]["exclude"] == ["git diff"]
    assert cli("test", "git diff")[0] == 4
    assert cli("allow", "command", "git diff")[0] == 0
    assert cli("test", "git diff")[0] == 0


def test_the_specifications_own_names(cli: Cli) -> None:
    assert cli("cmd_allowlist_add", "npm", "test")[0] == 0
    assert "c1  npm test" in cli("cmd_allowlist")[1]
    assert cli("path_allowlist_add", "src", "--dir")[0] == 0
    assert "w1" in cli("path_allowlist")[1]
    assert json.loads(cli("cmd_allowlist_remove", "--json", "npm", "test")[1])["entry"] == "npm test"
    assert cli("path_allowlist_remove", "w1")[0] == 0
    assert cli("show", "commands")[1] == cli("cmd_allowlist")[1]


def test_wide_and_wrong_entries(cli: Cli) -> None:
    assert cli("allow", "command", "sudo")[0] == 1 and not cli.places.config_file.exists()
    assert cli("allow", "--yes", "command", "sudo")[0] == 0
    for wrong in (("command", "a; b"), ("command",), ("host", "*.test"), ("write", "../x"), ("write", ".git", "--dir")):
        code, _, err = cli("allow", *wrong)
        assert code == 1 and err.startswith("xun policy: "), wrong
    assert cli("allow", "nonsense", "x")[0] == 2
    assert cli("remove", "command", "never granted")[0] == 1


def test_entries_of_a_stored_session(cli: Cli) -> None:
    store = SessionStore.create(cli.places, cli.folder)
    started = SessionStarted(cwd=str(cli.folder), model="m", version="0", mode="ask")
    store.append(Envelope(1, "2026-11-29T12:00:00Z", store.id, None, started))
    store.append(Envelope(2, "2026-11-29T12:00:01Z", store.id, 1, TurnStarted(input="hello")))
    store.close()
    code, out, _ = cli("allow", "-s", store.id, "command", "npm", "test")
    assert (code, out) == (0, "npm test and whatever follows it now runs unasked in that session.\n")
    assert cli("allow", "-s", store.id, "host", "site.test")[0] == 0
    assert "h1  site.test" in cli("show", "-s", store.id)[1]
    assert cli("cmd_allowlist_remove", "-s", store.id, "npm", "test")[0] == 0
    state = PolicyState.from_json(read_session(store.path).envelopes[-1].event.state)  # type: ignore[attr-defined]
    assert [entry.host for entry in state.host_allowlist] == ["site.test"] and len(state.command_allowlist) == 0
    assert not cli.places.config_file.exists()


def test_the_settings_go_back_to_the_built_in_list(cli: Cli) -> None:
    cli("allow", "command", "npm", "test")
    cli("allow", "write", "src", "--dir")
    cli("allow", "host", "site.test")
    assert cli("reset")[0] == 1 and cli.settings()["policy"]["commands"]["allow"] == ["npm test"]
    assert cli("reset", "writes", "--yes")[0] == 0
    assert cli.settings()["policy"]["writes"]["allow"] == []
    assert cli.settings()["tools"]["allowed_hosts"] == ["site.test"]
    code, out, _ = cli("reset", "--yes")
    assert code == 0 and "npm test" in out and "site.test" in out
    assert cli.settings()["policy"]["commands"]["allow"] == cli.settings()["tools"]["allowed_hosts"] == []
    assert cli("undo")[0] == cli("reset", "nonsense")[0] == 2


def test_changes_of_a_stored_session_are_taken_back_one_by_one(cli: Cli) -> None:
    store = SessionStore.create(cli.places, cli.folder)
    started = SessionStarted(cwd=str(cli.folder), model="m", version="0", mode="ask")
    store.append(Envelope(1, "2026-11-29T12:00:00Z", store.id, None, started))
    store.append(Envelope(2, "2026-11-29T12:00:01Z", store.id, 1, TurnStarted(input="hello")))
    store.close()
    for words in (("command", "npm", "test"), ("host", "site.test")):
        assert cli("allow", "-s", store.id, *words)[0] == 0
    assert cli("reset", "-s", store.id, "--yes")[0] == 0
    assert "npm test" not in cli("show", "-s", store.id)[1]

    def undone() -> tuple[bool, bool]:
        assert cli("undo", "-s", store.id)[0] == 0
        shown = cli("show", "-s", store.id)[1]
        return "npm test" in shown, "site.test" in shown

    assert [undone(), undone(), undone()] == [(True, True), (True, False), (False, False)]
    assert "no change" in cli("undo", "-s", store.id)[1]


def test_the_log_reads_the_trail(cli: Cli) -> None:
    assert cli("log")[1] == "No decision yet.\n"
    for session in ("aa1", "bb2"):
        trail = AuditTrail(cli.places.audit_file, session)
        trail.append(DecisionRecord("2026-11-29T12:00:00", "bash", f"make \x1b]0;{session}", "allow", "user"))
    code, out, _ = cli("log")
    assert code == 0 and "aa1" in out and "bb2" in out and "\x1b" not in out
    rows = [json.loads(line) for line in cli("log", "5", "-s", "bb", "--json")[1].splitlines()]
    assert [row["session"] for row in rows] == ["bb2"]
    assert cli("log", "x")[0] == 2
