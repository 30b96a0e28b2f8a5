"""Each setting does what its description says: on a session that is built, and in the front end."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer
from tests.unit.xun_cli.test_repl_keys import running
from xun.choice import ChoiceOutcome
from xun.errors import ConfigError
from xun.models import ScriptedModel
from xun_cli.compose import build_session
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.session.envelope import Envelope
from xun_cli.session.session import Session
from xun_cli.settings import Settings, UiSettings
from xun_cli.start import wants_plain

Build = Callable[..., Session]
SECONDS = 8.0


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Build]:
    """Build a session of a scripted model with some settings: ``build(turns, {"limits.steps": 1})``."""
    monkeypatch.setenv("XUN_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("old\n")

    def make(turns: list[dict[str, Any]], changes: dict[str, Any], *, named: bool = True, **options: Any) -> Session:
        settings = Settings()
        for key, value in changes.items():
            settings.put(key, value, "test")
        script = tmp_path / "script.json"
        script.write_text(json.dumps(turns))
        if named:
            settings.model = settings.model or f"scripted:{script}"
        return build_session(StartOptions(cwd=tmp_path, **options), settings, interactive=False)

    yield make


async def played(session: Session) -> list[Any]:
    """Run one turn, deny what it asks, and return its events."""
    seen: list[Any] = []

    def take(envelope: Envelope) -> None:
        seen.append(envelope.event)
        if envelope.event.type == "approval.requested":
            session.answer(envelope.event.request_id, ChoiceOutcome("deny", "user"))

    session.subscribe(take)
    await session.submit("go")
    await asyncio.wait_for(session.wait_idle(), SECONDS)
    await session.close()
    return seen


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": tool, "arguments": arguments}]}


def result(events: list[Any]) -> Any:
    return next(event for event in events if event.type == "tool.completed")


def stop(events: list[Any]) -> str:
    return str(next(event.stop for event in events if event.type == "turn.completed"))


async def test_limits_of_equal_and_failed_steps(build: Build) -> None:
    same = [call("read_file", path="a.txt")] * 4
    assert stop(await played(build(same, {}))) == "limit"
    assert stop(await played(build(same, {"limits.equal_steps": 0}))) == "done"
    failing = [call("read_file", path=f"no{number}") for number in range(4)]
    assert stop(await played(build(failing, {"limits.failed_steps": 2}))) == "limit"


async def test_limits_steps(build: Build) -> None:
    turns = [call("read_file", path="a.txt", limit=number) for number in range(1, 6)]
    assert stop(await played(build(turns, {"limits.steps": 2}))) == "limit"
    assert stop(await played(build(turns, {}))) == "done"


async def test_bash_timeout_and_output_limit(build: Build) -> None:
    slow = await played(build([call("bash", command="sleep 60")], {"bash.timeout": 0.3}, allow_command=["sleep"]))
    assert "0.3" in str(result(slow).error) and not result(slow).ok
    long = await played(build([call("bash", command="seq 1 9000")], {"bash.output_limit": 500}))
    assert result(long).result["truncated"] and len(result(long).result["stdout"]) < 1000


async def test_policy_lists_and_mode(build: Build) -> None:
    made, listed = [call("bash", command="touch made")], [call("bash", command="ls")]
    assert not result(await played(build(made, {}))).ok
    assert result(await played(build(made, {"policy.commands.allow": ["touch"]}))).ok
    assert result(await played(build(listed, {}))).ok
    assert not result(await played(build(listed, {"policy.commands.exclude": ["ls"]}))).ok
    write = [call("write_file", path="a.txt", content="new\n")]
    assert not result(await played(build(write, {}))).ok
    assert result(await played(build(write, {"policy.writes.allow": ["."]}))).ok
    other = [call("write_file", path="a.txt", content="other\n")]
    assert not result(await played(build(other, {"policy.writes.allow": ["."], "mode": "plan"}))).ok


async def test_policy_writes_exclude_is_stronger_than_any_grant(build: Build, tmp_path: Path) -> None:
    for folder in ("keep/in", "around"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "around" / "b.key").write_text("b\n")
    kept = {"policy.writes.exclude": ["*.key", "keep/"], "policy.writes.allow": ["."], "mode": "auto-edit"}
    asking = [
        call("write_file", path="new.key", content="k\n"),
        call("delete", path="keep/in"),
        call("delete", path="around"),
    ]
    session = build([*asking, call("write_file", path="keep.txt", content="")], kept)
    session.policy.auto_remaining = 5
    events = await played(session)
    questions = [event for event in events if event.type == "approval.requested"]
    assert [event.ok for event in events if event.type == "tool.completed"] == [False, False, False, True]
    assert len(questions) == 3 and session.policy.auto_remaining == 5
    assert all("policy.writes.exclude" in json.dumps(event.to_json()) for event in questions[:2])
    assert not any(option["available"] for event in questions for option in event.to_json()["options"][:1])


async def test_workspace_ignore(build: Build, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "big.txt").write_text("x\n")
    session = build([], {"workspace.ignore": ["data/"]})
    box = session.agent.toolbox

    async def value(tool: str, **arguments: Any) -> Any:
        return (await asyncio.to_thread(box.call_tool, session.agent, tool, arguments)).unwrap()

    assert "data" not in (await value("list_dir"))["directories"]
    assert (await value("list_dir", path="data"))["files"] == ["big.txt"]
    named = [item["path"] for item in await value("read_many_files", include=["*.txt"])]
    assert named == [str(tmp_path / "a.txt")]
    assert (await value("read_file", path="data/big.txt"))["text"] == "x\n"
    await session.close()


async def test_tools_groups(build: Build) -> None:
    session = build([], {"tools.groups": ["fs", "agents"]})
    names = {tool.name for tool in session.agent.toolbox.list_tools()}
    assert {"read_file", "agent_run", "tool_search"} <= names and not {"bash", "grep", "write_todos"} & names
    await session.close()
    session = build([], {"tools.groups": ["search"]})
    assert "agent_run" not in {tool.name for tool in session.agent.toolbox.list_tools()}
    await session.close()


async def test_session_snapshot(build: Build, tmp_path: Path) -> None:
    turns = [call("write_file", path="a.txt", content="new\n"), call("undo_edit")]
    events = await played(build(turns, {"session.snapshot": False, "mode": "auto-edit"}))
    undone = [event for event in events if event.type == "tool.completed"][1]
    assert not undone.ok and "session.snapshot = false" in str(undone.error)
    assert not list((tmp_path / "home").rglob("blobs/*"))
    session = build([], {"session.snapshot_max_mb": 7})
    assert session.agent.config.undo_bytes == 7_000_000
    await session.close()


@pytest.mark.skipif(not os.access("/usr/bin/bash", os.X_OK), reason="there is no bash in /usr/bin")
@pytest.mark.parametrize("mode", ["off", "auto"])
async def test_bash_shell(build: Build, mode: str) -> None:
    turns = [call("bash", command="echo $BASH"), call("shell", command="echo $BASH")]
    changes = {"bash.shell": "/usr/bin/bash", "sandbox.mode": mode, "auto_confirm": True}
    done = [event for event in await played(build(turns, changes)) if event.type == "tool.completed"]
    assert ["/usr/bin/bash" in str(event.result) for event in done] == [True, True]


@pytest.mark.parametrize(
    ("path", "message"),
    [("/bin/sh", "is no bash"), ("/no/such/bash", "can't be started"), ("{tmp}/bash", "lies in .*replaced")],
)
def test_bash_shell_that_is_none(build: Build, tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "bash").symlink_to("/bin/bash")
    with pytest.raises(ConfigError, match=message):
        build([], {"bash.shell": path.replace("{tmp}", str(tmp_path))})


async def test_auto_confirm(build: Build) -> None:
    write = [call("write_file", path="a.txt", content="new\n")]
    assert result(await played(build(write, {"auto_confirm": True}))).ok


async def test_tools_disable_and_workspace_add_dirs(build: Build, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "b.txt").write_text("seen\n")
    read = [call("read_file", path=str(other / "b.txt"))]
    assert not result(await played(build(read, {}))).ok
    assert result(await played(build(read, {"workspace.add_dirs": [str(other)]}))).ok
    session = build([], {"tools.disable": ["write_*", "bash"]})
    names = {tool.name for tool in session.agent.toolbox.list_tools()}
    assert not {"write_file", "write_todos", "bash"} & names and "read_file" in names
    await session.close()


async def test_tools_allowed_hosts(build: Build) -> None:
    fetch = [call("web_fetch", url="http://no-such-host.invalid/")]
    assert result(await played(build(fetch, {}))).status == "denied"
    session = build([], {"tools.allowed_hosts": ["docs.example"]})
    assert session.agent.config.allowed_hosts == ("docs.example",)
    await session.close()


async def test_tools_check_writes(build: Build) -> None:
    write = [call("write_file", path="a.json", content="[1\n")]
    assert "syntax_error" in result(await played(build(write, {}))).result
    write = [call("write_file", path="b.json", content="[1\n")]
    assert "syntax_error" not in result(await played(build(write, {"tools.check_writes": False}))).result


async def test_risk(build: Build) -> None:
    session = build([], {"risk.enabled": False, "risk.timeout": 7.0, "limits.cost_usd": 2.5, "bash.env_keep": ["A"]})
    config = session.agent.config
    assert (config.risk_enabled, config.risk_timeout, config.max_cost_usd) == (False, 7.0, 2.5)
    assert config.command_env == ("A",)
    await session.close()


async def test_risk_on_error(build: Build, tmp_path: Path) -> None:
    for on_error, made in (("unsure", True), ("reject", False)):
        # What the assessor says is no verdict.
        session = build([], {"risk.on_error": on_error, "auto_confirm": True})
        session.agent.model = ScriptedModel([call("bash", command="touch made")], risk=[{"text": "sure"}])
        await played(session)
        assert (tmp_path / "made").exists() == made
        (tmp_path / "made").unlink(missing_ok=True)


async def test_provider(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeModelServer([{"text": "never", "stall_after": 0, "stall": 60}], models=["m", "judge"]) as server:
        changes = {
            "model": "m",
            "provider.base_url": server.base_url,
            "provider.headers": {"X-Team": "blue"},
            "provider.timeout": 0.4,
            "provider.retries": 0,
            "provider.context_window": 12_345,
            "risk.model": "judge",
        }
        session = build([], changes)
        assert session.agent.model is not None and session.agent.config.risk_model is not None
        assert (session.agent.model.context_window, session.agent.config.risk_model.name) == (12_345, "judge")
        begun = time.monotonic()
        events = await played(session)
        assert stop(events) == "error" and time.monotonic() - begun < SECONDS
        assert len(server.chats) == 1 and server.chats[0].headers["x-team"] == "blue"


async def test_session_save_and_keep_days(build: Build, tmp_path: Path) -> None:
    from xun_cli.session.store import prune

    unsaved = build([{"text": "x"}], {"session.save": False})
    assert unsaved.store is None
    await unsaved.close()
    session = build([{"text": "x"}], {})
    await played(session)
    assert session.store is not None and session.store.path.exists()
    places = Places.from_environment({"XUN_HOME": str(tmp_path / "home")})
    week = time.time() - 7 * 86_400
    for path in session.store.path.parent.iterdir():
        os.utime(path, (week, week))
    prune(places, tmp_path, 0)
    prune(places, tmp_path, 8)
    assert session.store.path.exists()
    prune(places, tmp_path, 6)
    assert not session.store.path.exists()


@pytest.mark.parametrize("ui", [UiSettings(mode="plain"), UiSettings(screen_reader=True)])
def test_ui_mode_and_screen_reader_take_the_plain_front_end(ui: UiSettings) -> None:
    assert wants_plain(Settings(ui=ui))


async def test_ui_hints_and_animations(tmp_path: Path) -> None:
    async with running(tmp_path, Settings(ui=UiSettings(hints=False, animations=False))) as sheet:
        assert "Ask for something" not in sheet.screen() and "/help lists" not in sheet.screen()
        await sheet.press("slow\r")
        await sheet.shows("● running")
    async with running(tmp_path) as sheet:
        assert "Ask for something" in sheet.screen() and "/help lists" in sheet.screen()


async def test_ui_paste_folds(tmp_path: Path) -> None:
    async with running(tmp_path, Settings(ui=UiSettings(paste_fold_lines=2, paste_fold_chars=10))) as sheet:
        await sheet.press("\x1b[200~a\nb\x1b[201~")
        await sheet.shows("  b")
        await sheet.press("\x1b[200~a\nb\nc\x1b[201~")
        await sheet.shows("[pasted #1: 3 lines]")
        await sheet.press("\x1b[200~01234567890\x1b[201~")
        await sheet.shows("[pasted #2: 11 characters]")


@pytest.mark.parametrize(
    ("ui", "lost", "rung"),
    [
        (UiSettings(), "\x1b[O", "\x07"),
        (UiSettings(), "", ""),
        (UiSettings(notify_when="always"), "", "\x07"),
        (UiSettings(notify="osc9"), "\x1b[O", "\x1b]9;xun has finished\x07"),
        (UiSettings(notify="off", notify_when="always"), "\x1b[O", ""),
    ],
)
async def test_ui_notify(tmp_path: Path, ui: UiSettings, lost: str, rung: str) -> None:
    async with running(tmp_path, Settings(ui=ui)) as sheet:
        await sheet.press(lost)
        await sheet.press("hello\r")
        await sheet.until(lambda: bool(sheet.session.sent) and not sheet.session.running)
        await asyncio.sleep(0.2)
        written = sheet.written.getvalue()
        assert rung in written if rung else "\x07" not in written


async def test_keys(tmp_path: Path) -> None:
    async with running(tmp_path, Settings(keys={"submit": ["c-x"], "cancel": []})) as sheet:
        await sheet.press("hello\r\x03")
        assert not sheet.session.sent
        await sheet.press("\x18")
        await sheet.until(lambda: bool(sheet.session.sent))


async def test_without_a_model_the_servers_first_is_named_once_it_is_known(build: Build) -> None:
    with FakeModelServer([{"text": "hello"}], models=["first-one", "other"]) as server:
        session = build([], {"model": "", "provider.base_url": server.base_url}, named=False)
        assert session.model_name == "the server's first model"
        await played(session)
    assert session.model_name == "first-one"
