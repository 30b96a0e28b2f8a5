"""The registry, help, and the commands that show and steer a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.fake_session import FakeSession, places, run, shown
from xun.events import MessageCompleted, SessionStarted, TurnStarted, UsageUpdated
from xun.messages import Message, Usage
from xun_cli.commands.output import CommandResult, Output, table
from xun_cli.commands.registry import (
    CommandContext,
    Registry,
    SlashCommand,
    default_registry,
    is_command,
    split_line,
)
from xun_cli.session.envelope import Envelope
from xun_cli.session.store import SessionStore
from xun_cli.settings import Settings


@pytest.fixture
def session(tmp_path: Path) -> FakeSession:
    folder = tmp_path / "proj"
    folder.mkdir()
    return FakeSession(folder)


@pytest.fixture
def ctx(session: FakeSession, tmp_path: Path) -> CommandContext:
    return CommandContext(session, places(tmp_path / "home"), Settings())  # type: ignore[arg-type]


# -- registry ---------------------------------------------------------------------------------


def test_every_command_is_documented_and_fits_forty_columns_of_usage() -> None:
    for command in default_registry().all():
        assert command.usage.startswith(f"/{command.name}") and command.summary
        assert len(command.usage) <= 40 and len(command.summary) <= 70


def test_the_asked_for_commands_are_there() -> None:
    registry = default_registry()
    names = (
        "help policy model models tools tool mode auto plan clear new undo redo diff cost stats context status "
        "sessions resume rename export todo queue copy memory add-dir keys config doctor redraw quit exit ?"
    )
    assert [name for name in names.split() if registry.get(name) is None] == []


def test_two_commands_of_one_name_are_refused() -> None:
    async def nothing(ctx: CommandContext, rest: str) -> CommandResult:
        return CommandResult()

    registry = Registry([SlashCommand("a", "/a", "x", nothing, aliases=("b",))])
    with pytest.raises(ValueError, match="/b"):
        registry.add(SlashCommand("b", "/b", "x", nothing))


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("/policy test  a  b ", ("policy", "test  a  b")),
        ("/help", ("help", "")),
        ("/", ("", "")),
        ("/ help", ("", "help")),
        ("/rename a\nb", ("rename", "a\nb")),
    ],
)
def test_split_line(line: str, parts: tuple[str, str]) -> None:
    assert split_line(line) == parts


def test_what_is_a_command() -> None:
    assert is_command("/help") and is_command("/")
    assert is_command("/policy test-write /etc/hosts") and is_command("/image\n/a/b.png")
    assert not is_command("/etc/hosts is wrong") and not is_command("/tmp/shot.png")
    assert not is_command(" /etc/hosts is wrong") and not is_command("//x") and not is_command("help")


async def test_an_unknown_command_names_the_nearest_and_is_not_sent(ctx: CommandContext, session: FakeSession) -> None:
    result = await run(ctx, "/polcy show")
    assert result.outputs[0].kind == "error" and "/policy" in result.outputs[0].text
    assert session.submitted == [] and result.action == "" and not result.ok
    assert "/help all lists" in await shown(ctx, "/zzzzqqq")


async def test_names_ignore_case(ctx: CommandContext) -> None:
    assert (await run(ctx, "/QUIT")).action == "quit"


async def test_commands_wait_for_the_turn_where_they_must(ctx: CommandContext, session: FakeSession) -> None:
    session.running = True
    assert "after this turn" in await shown(ctx, "/clear")
    assert "after this turn" in await shown(ctx, "/model x")
    assert (await run(ctx, "/help")).ok and (await run(ctx, "/status")).ok and (await run(ctx, "/policy")).ok


def test_completion_of_names_and_arguments(ctx: CommandContext) -> None:
    registry = default_registry()
    assert ("/policy", registry.get("policy").summary) in registry.complete(ctx, "/po")  # type: ignore[union-attr]
    assert len(registry.complete(ctx, "/")) == len(registry.all())
    assert [value for value, _ in registry.complete(ctx, "/exi")] == ["/exit"]
    assert [value for value, _ in registry.complete(ctx, "/mode a")] == ["/mode ask", "/mode auto-edit"]
    assert "/policy allow command " in [value for value, _ in registry.complete(ctx, "/policy allow ")]
    assert [value for value, _ in registry.complete(ctx, "/hepl")] == ["/help"]
    assert registry.complete(ctx, "no command") == [] and registry.complete(ctx, "/nosuch a") == []


# -- outputs ----------------------------------------------------------------------------------


def test_plain_tables_are_aligned_by_width_on_screen() -> None:
    lines = table(("a", "b"), [("你好", "1"), ("xy", "2")], "caption").plain().splitlines()
    assert lines == ["caption", "a     b", "你好  1", "xy    2"]
    assert Output("table").plain() == ""


# -- help -------------------------------------------------------------------------------------


async def test_help_lists_all_commands_and_explains_one(ctx: CommandContext) -> None:
    text = await shown(ctx, "/help all")
    assert all(command.usage in text for command in default_registry().all())
    first = await shown(ctx, "/help")
    assert "/undo" in first and "/help all" in first and len(first.splitlines()) < 20
    assert "test-write" in await shown(ctx, "/help /policy")
    assert "Esc" in await shown(ctx, "/help approvals")
    assert "No help about 'nonsense'" in await shown(ctx, "/help nonsense")
    assert "Ctrl-J" in await shown(ctx, "/keys")


async def test_keys_shows_the_users_own(ctx: CommandContext) -> None:
    ctx.settings.keys["steer"] = ["c-x"]
    assert "c-x" in await shown(ctx, "/keys")


# -- actions ----------------------------------------------------------------------------------


async def test_actions_of_the_front_end(ctx: CommandContext) -> None:
    assert (await run(ctx, "/clear")).action == "new_session"
    assert (await run(ctx, "/new")).action == "new_session"
    assert (await run(ctx, "/exit")).action == "quit"
    assert (await run(ctx, "/redraw")).action == "redraw"


async def test_copy_takes_the_nth_last_answer(ctx: CommandContext, session: FakeSession) -> None:
    assert "none yet" in await shown(ctx, "/copy")
    for answer in ("one", "two"):
        session.emit(MessageCompleted(text=answer))
    session.emit(MessageCompleted(text="from a child", agent="helper#1"))
    assert await run(ctx, "/copy") == CommandResult(action="copy", data="two")
    assert (await run(ctx, "/copy 2")).data == "one"
    assert "there are 2" in await shown(ctx, "/copy 3")
    assert "number from 1" in await shown(ctx, "/copy x")


# -- sessions ---------------------------------------------------------------------------------


def store_session(ctx: CommandContext, name: str) -> str:
    store = SessionStore.create(ctx.places, ctx.session.cwd)
    identity = store.id
    store.append(
        Envelope(1, "2026-11-28T10:00:00Z", identity, None, SessionStarted(cwd=str(ctx.session.cwd), name=name))
    )
    store.append(Envelope(2, "2026-11-28T10:00:01Z", identity, 1, TurnStarted(input="hello")))
    store.flush()
    store.close()
    return identity


async def test_sessions_and_resume(ctx: CommandContext, session: FakeSession) -> None:
    assert "No stored sessions" in await shown(ctx, "/sessions")
    identity = store_session(ctx, "login")
    assert identity in await shown(ctx, "/sessions") and "login" in await shown(ctx, "/sessions all")
    result = await run(ctx, "/resume login")
    assert result.action == "resume" and result.data.id == identity
    session.answers = [identity]
    assert (await run(ctx, "/resume")).data.id == identity
    session.answers = [""]
    assert (await run(ctx, "/resume")).action == ""
    assert not (await run(ctx, "/resume nosuch")).ok
    assert "login" in [value.removeprefix("/resume ") for value, _ in default_registry().complete(ctx, "/resume lo")]


async def test_resume_of_this_very_session_changes_nothing(ctx: CommandContext, session: FakeSession) -> None:
    session.id = store_session(ctx, "me")
    result = await run(ctx, "/resume me")
    assert result.action == "" and "already" in result.outputs[0].text
    assert "no other session" in await shown(ctx, "/resume")


async def test_rename_is_recorded(ctx: CommandContext, session: FakeSession) -> None:
    assert "'login bug'" in await shown(ctx, "/rename  login   bug ")
    assert session.name == "login bug"
    assert isinstance(session.events[-1], SessionStarted) and session.events[-1].name == "login bug"
    assert not (await run(ctx, "/rename")).ok and not (await run(ctx, "/rename a\x1bb")).ok
    store_session(ctx, "taken")
    assert "already" in await shown(ctx, "/rename taken")


async def test_queue(ctx: CommandContext, session: FakeSession) -> None:
    assert "No message waits" in await shown(ctx, "/queue")
    session.queue = ["first", "second", "third"]
    assert "2  second" in await shown(ctx, "/queue")
    assert "second" in await shown(ctx, "/queue drop 2")
    assert session.queue == ["first", "third"]
    assert "no message 9" in await shown(ctx, "/queue drop 9")
    assert "2 messages" in await shown(ctx, "/queue clear") and session.queue == []
    assert not (await run(ctx, "/queue drop x")).ok and not (await run(ctx, "/queue what")).ok


async def test_todo(ctx: CommandContext, session: FakeSession) -> None:
    assert "No todo list" in await shown(ctx, "/todo")
    session.todos = ({"description": "read", "status": "completed"}, {"description": "write", "status": "in_progress"})
    assert (await shown(ctx, "/todo")).splitlines() == ["1 of 2 done", "☑ read", "▸ write"]


# -- overview ---------------------------------------------------------------------------------


async def test_status_names_what_matters(ctx: CommandContext, session: FakeSession) -> None:
    text = await shown(ctx, "/status")
    for part in (
        "fake-model",
        str(session.cwd),
        "not a git repository",
        "mode       ask",
        "0 commands, 0 paths",
        "not stored",
    ):
        assert part in text
    assert "takes no arguments" in await shown(ctx, "/status x")


async def test_cost_adds_up_by_turn(ctx: CommandContext, session: FakeSession) -> None:
    for turn, tokens in ((1, 100), (1, 50), (2, 7)):
        session.turn = turn
        session.emit(UsageUpdated(input=tokens, output=1, cost_usd=0.01))
    session.usage = Usage(input=157, output=3, cost_usd=0.03, requests=3)
    rows = (await run(ctx, "/cost")).outputs[0].rows
    assert rows[0] == ("1", "2", "150", "0", "2", "$0.0200")
    assert rows[-1] == ("all", "3", "157", "0", "3", "$0.0300")
    assert (await run(ctx, "/stats")).outputs[0].rows == rows


async def test_context_shares(ctx: CommandContext, session: FakeSession) -> None:
    session.agent.history = [Message("user", "x" * 4000), Message("tool", "y" * 8000)]
    session.context_pct = 31.4
    text = await shown(ctx, "/context")
    assert "1,000" in text and "2,000" in text and "31 %" in text and "2.0 % of the window" in text


async def test_memory(ctx: CommandContext, session: FakeSession) -> None:
    assert "No AGENTS.md" in await shown(ctx, "/memory")
    (session.cwd / "AGENTS.md").write_text("Use tabs.")
    assert "AGENTS.md" in await shown(ctx, "/memory") and "Use tabs." not in await shown(ctx, "/memory")
    assert "Use tabs." in await shown(ctx, "/memory show")
    assert not (await run(ctx, "/memory forget")).ok


async def test_add_dir(ctx: CommandContext, session: FakeSession, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert "ask to change" in await shown(ctx, "/add-dir ../other")
    assert session.agent.workspace.add_dirs == (other,)
    assert str(other) in await shown(ctx, "/add-dir")
    assert not (await run(ctx, "/add-dir nosuch")).ok


async def test_a_wide_folder_is_confirmed_first(ctx: CommandContext, session: FakeSession) -> None:
    session.answers = [False]
    assert "Nothing added" in await shown(ctx, "/add-dir /")
    assert session.agent.workspace.add_dirs == () and "/" in session.asked[0].prompt
    session.answers = [True]
    assert (await run(ctx, "/add-dir ..")).ok and len(session.agent.workspace.add_dirs) == 1


# -- modes ------------------------------------------------------------------------------------


async def test_modes_are_recorded_with_the_whole_policy(ctx: CommandContext, session: FakeSession) -> None:
    assert "▸ ask" in await shown(ctx, "/mode")
    assert "changes inside" in await shown(ctx, "/mode auto-edit")
    assert session.policy.mode == "auto-edit"
    (event,) = session.policy_events
    assert (event.op, event.entry) == ("mode", "auto-edit") and event.state == session.policy.to_json()
    assert "No mode 'yolo'" in await shown(ctx, "/mode yolo")
    await run(ctx, "/plan")
    assert session.policy.mode == "plan"
    await run(ctx, "/plan off")
    assert session.policy.mode == "ask"
    assert "not on" in await shown(ctx, "/plan off")


async def test_auto(ctx: CommandContext, session: FakeSession) -> None:
    assert "Every question asks" in await shown(ctx, "/auto")
    await run(ctx, "/auto 5")
    assert session.policy.auto_remaining == 5 and session.policy_events[-1].op == "auto"
    assert "next 5" in await shown(ctx, "/auto")
    await run(ctx, "/auto off")
    assert session.policy.auto_remaining == 0
    for wrong in ("/auto -1", "/auto many", "/auto 99999"):
        assert not (await run(ctx, wrong)).ok


async def test_export_writes_a_private_file(ctx: CommandContext, session: FakeSession) -> None:
    session.emit(TurnStarted(input="my key is sk-abcdefghijklmnop"))
    session.emit(MessageCompleted(text="hello **there**"))
    assert "Wrote this session" in await shown(ctx, "/export")
    path = session.cwd / f"xun-session-{session.id}.md"
    assert "hello **there**" in path.read_text() and path.stat().st_mode & 0o077 == 0
    session.answers = [False]
    assert "Nothing written" in await shown(ctx, "/export")
    assert (await run(ctx, "/export out.json --redact")).ok
    assert "sk-abcdef" not in (session.cwd / "out.json").read_text()
    for wrong in ("/export a.docx", "/export nosuch/a.md", "/export a.md b.md", "/export --wrong"):
        assert not (await run(ctx, wrong)).ok


async def test_doctor_asks_no_terminal_and_names_what_is_wrong(ctx: CommandContext) -> None:
    text = await shown(ctx, "/doctor")
    assert "bash" in text and "sessions" in text and "TERM=" not in text
    assert not (await run(ctx, "/doctor x")).ok


# -- settings ---------------------------------------------------------------------------------


async def test_config_shows_values_with_their_origin(ctx: CommandContext) -> None:
    ctx.settings.put("provider.headers", {"x-secret": "abc"}, "config.toml line 3")
    text = await shown(ctx, "/config")
    assert "built in" in text and "config.toml line 3" in text and "abc" not in text
    assert "risk.enabled" in await shown(ctx, "/config risk")
    assert "did you mean" in await shown(ctx, "/config moddel")
    assert "from the next start" in await shown(ctx, "/config mode plan")
    assert 'mode = "plan"' in ctx.places.config_file.read_text()
    assert "must be one of" in await shown(ctx, "/config mode yolo")
    assert "did you mean" in await shown(ctx, "/config moddel x")
    assert ("/config ui.mode", "") in default_registry().complete(ctx, "/config ui.m")


async def test_help_flows_at_any_width_and_names_what_is_near(ctx: CommandContext) -> None:
    topic = await shown(ctx, "/help approvals")
    assert "`e` edits a command before it runs, Ctrl-E shows all of it" in topic
    assert "\n  o  allow this time only\n" in topic
    assert await shown(ctx, "/help approval") == "No help about 'approval'. Try /help approvals."
    assert await shown(ctx, "/help zzzzqqq") == "No help about 'zzzzqqq'. /help all lists everything."
