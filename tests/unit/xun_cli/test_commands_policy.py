"""/policy, the whole family, on a real policy and a real workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_session import FakeSession, places, run, shown
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.settings import Settings
from xun_policies.store import PolicyState


@pytest.fixture
def session(tmp_path: Path) -> FakeSession:
    folder = tmp_path / "proj"
    (folder / "src").mkdir(parents=True)
    (folder / "src/app.py").write_text("x\n")
    return FakeSession(folder)


@pytest.fixture
def ctx(session: FakeSession, tmp_path: Path) -> CommandContext:
    return CommandContext(session, places(tmp_path / "home"), Settings())  # type: ignore[arg-type]


# -- show -------------------------------------------------------------------------------------


async def test_show_of_a_fresh_session(ctx: CommandContext) -> None:
    text = await shown(ctx, "/policy")
    assert "none granted" in text and "mode ask" in text and "auto off" in text and "Built in: " in text
    assert text == await shown(ctx, "/policy show") == await shown(ctx, "/policy show all")
    assert "git diff" in await shown(ctx, "/policy show --builtin") and "git diff" not in text
    assert "Paths" not in await shown(ctx, "/policy show commands")
    assert "Commands" not in await shown(ctx, "/policy show writes")


async def test_show_numbers_what_was_granted(ctx: CommandContext, session: FakeSession) -> None:
    await run(ctx, "/policy allow command npm test")
    await run(ctx, "/policy allow command cargo test 'my test'")
    await run(ctx, "/policy allow write src --dir")
    text = await shown(ctx, "/policy")
    assert "c1  npm test" in text and "c2  cargo test 'my test'" in text
    assert f"w1  {session.cwd}/src  and below  user" in text and "not used yet" in text


# -- allow and remove: commands ---------------------------------------------------------------


async def test_an_allowed_command_then_tests_as_allowed(ctx: CommandContext, session: FakeSession) -> None:
    assert "not allowed" in await shown(ctx, "/policy test npm test --watch")
    await run(ctx, "/policy allow command npm test")
    assert "npm test" in await shown(ctx, "/policy test npm test --watch")
    from xun_policies.commands import CommandScope, evaluate

    scope = CommandScope(str(session.cwd), (str(session.cwd),), "/home/dev", None)
    assert evaluate("npm test --watch", session.policy, scope).allowed
    assert not evaluate("npm testx", session.policy, scope).allowed
    (event,) = session.policy_events
    assert (event.op, event.list, event.entry, event.source) == ("add", "commands", "npm test", "user")


async def test_allowing_twice_changes_nothing(ctx: CommandContext, session: FakeSession) -> None:
    await run(ctx, "/policy allow command npm test")
    assert "granted already" in await shown(ctx, "/policy allow command npm  'test'")
    assert len(session.policy.command_allowlist) == 1 and len(session.policy_events) == 1


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "npm test && rm x",
        "npm test | tee f",
        "npm test > out",
        "npm test 2>/dev/null",
        "echo $(whoami)",
        "echo `id`",
        "FOO=1 npm test",
        "npm test &",
        "(npm test)",
        "npm 'open",
        "npm\ntest",
        "/tmp/npm test",
        "# nothing",
        "ls {a,b}",
    ],
)
async def test_what_is_no_plain_command_is_refused(ctx: CommandContext, session: FakeSession, typed: str) -> None:
    result = await run(ctx, f"/policy allow command {typed}")
    assert [output.kind for output in result.outputs] == ["error"]
    assert len(session.policy.command_allowlist) == 0 and session.policy_events == [] and session.asked == []


@pytest.mark.parametrize("typed", ["npm run *", "npm run:*", "*", "npm {run,test}", "cat src/?"])
async def test_a_pattern_is_no_prefix(ctx: CommandContext, session: FakeSession, typed: str) -> None:
    assert "Leave the pattern out" in await shown(ctx, f"/policy allow command {typed}")
    assert len(session.policy.command_allowlist) == 0
    await run(ctx, "/policy allow command npm run '*'")
    assert [entry.tokens for entry in session.policy.command_allowlist] == [("npm", "run", "*")]


@pytest.mark.parametrize("typed", ["python", "bash", "sudo", "rm", "curl", "git"])
async def test_wide_prefixes_are_confirmed(ctx: CommandContext, session: FakeSession, typed: str) -> None:
    session.answers = [False, True]
    assert "Nothing granted" in await shown(ctx, f"/policy allow command {typed}")
    assert len(session.policy.command_allowlist) == 0
    assert (await run(ctx, f"/policy allow command {typed}")).ok
    assert len(session.policy.command_allowlist) == 1 and len(session.asked) == 2


async def test_remove_by_text_number_and_pattern(ctx: CommandContext, session: FakeSession) -> None:
    for typed in ("npm test", "npm run build", "cargo build"):
        await run(ctx, f"/policy allow command {typed}")
    assert "Removed: cargo build" in await shown(ctx, "/policy remove command cargo build")
    assert "matches 2" in await shown(ctx, "/policy remove command npm [tr]*")
    assert "Removed: npm run build" in await shown(ctx, "/policy remove command c2")
    assert "no entry c7" in await shown(ctx, "/policy remove command c7")
    assert "Removed: npm test" in await shown(ctx, "/policy remove command npm [tr]* --all")
    assert not (await run(ctx, "/policy remove command nosuch")).ok
    assert len(session.policy.command_allowlist) == 0


async def test_a_builtin_prefix_is_excluded_and_comes_back(ctx: CommandContext, session: FakeSession) -> None:
    assert "Excluded" in await shown(ctx, "/policy remove command git diff")
    assert session.policy_events[-1].op == "exclude"
    assert "Excluded of these: git diff" in await shown(ctx, "/policy show")
    assert "git diff (excluded)" in await shown(ctx, "/policy show --builtin")
    from xun_policies.commands import CommandScope, evaluate

    scope = CommandScope(str(session.cwd), (str(session.cwd),), "/home/dev", None)
    assert not evaluate("git diff", session.policy, scope).allowed
    assert "counts again" in await shown(ctx, "/policy allow command git diff")
    assert evaluate("git diff", session.policy, scope).allowed


# -- allow and remove: writes -----------------------------------------------------------------


async def test_write_grants(ctx: CommandContext, session: FakeSession) -> None:
    assert "app.py" in await shown(ctx, "/policy allow write src/app.py")
    assert "covered already" in await shown(ctx, "/policy allow write ./src/../src/app.py")
    assert "is a folder: add --dir" in await shown(ctx, "/policy allow write src")
    assert "is a file: leave --dir out" in await shown(ctx, "/policy allow write src/app.py --dir")
    assert (await run(ctx, "/policy allow write src --dir")).ok
    assert "covered already" in await shown(ctx, "/policy allow write src/new.py")
    assert [entry.path for entry in session.policy.write_allowlist] == [
        f"{session.cwd}/src/app.py",
        f"{session.cwd}/src",
    ]
    assert "Removed" in await shown(ctx, "/policy remove write w1")
    assert "Removed" in await shown(ctx, "/policy remove write src")
    assert not (await run(ctx, "/policy remove write src")).ok


async def test_names_with_blanks_and_links(ctx: CommandContext, session: FakeSession) -> None:
    (session.cwd / "my file.txt").write_text("")
    (session.cwd / "link").symlink_to("src")
    assert (await run(ctx, '/policy allow write "my file.txt"')).ok
    assert (await run(ctx, "/policy allow write link --dir")).ok
    assert [entry.path for entry in session.policy.write_allowlist][-1] == f"{session.cwd}/src"
    assert "One path" in await shown(ctx, "/policy allow write my file.txt")


async def test_outside_and_protected_paths_are_refused(ctx: CommandContext, session: FakeSession) -> None:
    assert "is not within the agent's workspace" in await shown(ctx, "/policy allow write /etc/passwd")
    assert "is not within the agent's workspace" in await shown(ctx, "/policy allow write ../x")
    assert "protected" in await shown(ctx, "/policy allow write .git/config")
    assert "protected" in await shown(ctx, "/policy allow write .xun --dir")
    assert len(session.policy.write_allowlist) == 0 and session.policy_events == []


# -- reset, undo ------------------------------------------------------------------------------


async def test_reset_lists_asks_and_records(ctx: CommandContext, session: FakeSession) -> None:
    assert "nothing to reset" in await shown(ctx, "/policy reset")
    await run(ctx, "/policy allow command npm test")
    await run(ctx, "/policy remove command git diff")
    await run(ctx, "/policy allow write src --dir")
    session.answers = [False]
    assert "Nothing changed" in await shown(ctx, "/policy reset")
    assert "npm test" in session.asked[0].message and "git diff" in session.asked[0].message
    assert "npm test" in await shown(ctx, "/policy reset commands --yes")
    assert len(session.policy.command_allowlist) == 0 and len(session.policy.write_allowlist) == 1
    session.answers = [True]
    assert "/src" in await shown(ctx, "/policy reset")
    assert len(session.policy.write_allowlist) == 0 and session.policy_events[-1].op == "reset"
    assert "No such" not in await shown(ctx, "/policy reset x") and not (await run(ctx, "/policy reset x")).ok


async def test_undo_takes_back_the_last_change(ctx: CommandContext, session: FakeSession) -> None:
    assert "no change" in await shown(ctx, "/policy undo")
    await run(ctx, "/policy allow command npm test")
    await run(ctx, "/policy allow write src --dir")
    assert "- write" in await shown(ctx, "/policy undo")
    assert len(session.policy.write_allowlist) == 0 and len(session.policy.command_allowlist) == 1
    await run(ctx, "/policy reset --yes")
    assert "+ command  npm test" in await shown(ctx, "/policy undo")
    assert session.policy_events[-1].op == "undo"


# -- test -------------------------------------------------------------------------------------

EXAMPLE = 'git diff --cached | grep "x y" && curl -s http://h > /tmp/o; $(whoami)'


async def test_test_explains_and_runs_nothing(ctx: CommandContext, session: FakeSession) -> None:
    text = await shown(ctx, f"/policy test {EXAMPLE}")
    for part in ("git diff --cached", 'grep "x y"', "> /tmp/o", "$(whoami)", "ALLOW", "ASK"):
        assert part in text
    assert "Nothing was run" in text or "nothing was run" in text
    assert session.policy_events == [] and session.asked == []
    assert not (await run(ctx, "/policy test")).ok


async def test_test_takes_the_rest_of_the_line_raw(ctx: CommandContext) -> None:
    assert 'echo  "a  b"' in await shown(ctx, '/policy test echo  "a  b"')
    assert "echo \\$HOME" in await shown(ctx, "/policy test echo \\$HOME")


async def test_test_risk_without_an_assessor_says_so(ctx: CommandContext, session: FakeSession) -> None:
    assert "not asked" in await shown(ctx, "/policy test --risk ls")
    session.agent.config.risk_enabled = False
    assert "no assessment here" in await shown(ctx, "/policy test --risk make install")


async def test_test_write(ctx: CommandContext, session: FakeSession) -> None:
    assert "ASK, it exists" in await shown(ctx, "/policy test-write src/app.py")
    assert "ALLOW, a new file" in await shown(ctx, "/policy test-write src/new.py")
    assert "REFUSED" in await shown(ctx, "/policy test-write /etc/passwd")
    assert "ASK, always" in await shown(ctx, "/policy test-write .git/config")
    await run(ctx, "/policy allow write src --dir")
    assert "granted by" in await shown(ctx, "/policy test-write src/app.py")
    await run(ctx, "/mode plan")
    assert "plan mode" in await shown(ctx, "/policy test-write src/app.py")
    assert not (await run(ctx, "/policy test-write")).ok
    assert not (session.cwd / "src/new.py").exists()


# -- log --------------------------------------------------------------------------------------


async def test_log(ctx: CommandContext, session: FakeSession) -> None:
    from xun_policies.store import DecisionRecord

    assert "No decision yet" in await shown(ctx, "/policy log")
    for number in range(30):
        session.policy.record(
            DecisionRecord(
                when="2026-11-29T12:00:00Z",
                tool="bash",
                subject=f"make {number}\nx",
                decision="deny",
                source="user",
                rule="command",
                risk="",
            )
        )
    text = await shown(ctx, "/policy log")
    assert "make 29⏎x" in text and "make 9⏎x" not in text and "deny" in text and "user" in text
    assert "make 0⏎x" in await shown(ctx, "/policy log 100")
    assert not (await run(ctx, "/policy log x")).ok


# -- export, import ---------------------------------------------------------------------------


async def fill(ctx: CommandContext) -> None:
    await run(ctx, "/policy allow command npm test")
    await run(ctx, "/policy remove command git diff")
    await run(ctx, "/policy allow write src --dir")


@pytest.mark.parametrize("kind", ["toml", "json"])
async def test_export_then_import_gives_the_same_lists(ctx: CommandContext, session: FakeSession, kind: str) -> None:
    await fill(ctx)
    before = await shown(ctx, "/policy show --builtin")
    assert str(session.cwd) in await shown(ctx, f"/policy export --format {kind}")
    path = session.cwd / f"xun-policy.{kind}"
    assert path.stat().st_mode & 0o077 == 0
    assert str(session.cwd) not in path.read_text()
    await run(ctx, "/policy reset --yes")
    session.answers = [True]
    result = await run(ctx, f"/policy import xun-policy.{kind}")
    assert result.ok and "npm test" in session.asked[-1].message
    after = await shown(ctx, "/policy show --builtin")
    assert [line.split("  ")[:3] for line in after.splitlines()] == [
        line.split("  ")[:3] for line in before.splitlines()
    ]
    assert session.policy_events[-1].op == "import"
    assert "nothing that is not in force" in await shown(ctx, f"/policy import xun-policy.{kind}")


async def test_export_asks_before_it_replaces(ctx: CommandContext, session: FakeSession) -> None:
    (session.cwd / "p.toml").write_text("mine")
    session.answers = [False]
    assert "Nothing written" in await shown(ctx, "/policy export p.toml")
    assert (session.cwd / "p.toml").read_text() == "mine"
    assert not (await run(ctx, "/policy export --format yaml")).ok


async def test_import_can_be_tried_and_refused(ctx: CommandContext, session: FakeSession) -> None:
    await fill(ctx)
    await run(ctx, "/policy export p.toml")
    await run(ctx, "/policy reset --yes")
    events = len(session.policy_events)
    assert "--dry-run" in await shown(ctx, "/policy import p.toml --dry-run")
    session.answers = [False]
    assert "Nothing changed" in await shown(ctx, "/policy import p.toml")
    assert len(session.policy.command_allowlist) == 0 and len(session.policy_events) == events


async def test_import_replace_drops_what_the_file_lacks(ctx: CommandContext, session: FakeSession) -> None:
    await run(ctx, "/policy allow command npm test")
    await run(ctx, "/policy export p.toml")
    await run(ctx, "/policy allow command cargo build")
    session.answers = [True]
    assert (await run(ctx, "/policy import p.toml --replace")).ok
    assert [entry.tokens for entry in session.policy.command_allowlist] == [("npm", "test")]
    assert "- command  cargo build" in session.asked[-1].message
    await run(ctx, "/policy undo")
    assert len(session.policy.command_allowlist) == 2


@pytest.mark.parametrize("content", ["not toml [", "commands = 3\n", "\xff"])
async def test_a_bad_file_is_rejected_whole(ctx: CommandContext, session: FakeSession, content: str) -> None:
    (session.cwd / "bad.toml").write_bytes(content.encode("latin-1"))
    result = await run(ctx, "/policy import bad.toml")
    assert [output.kind for output in result.outputs] == ["error"]
    assert "bad.toml" in result.outputs[0].text and session.policy_events == []
    assert not (await run(ctx, "/policy import nosuch.toml")).ok


# -- aliases, forms, resume -------------------------------------------------------------------


async def test_the_specifications_own_names(ctx: CommandContext, session: FakeSession) -> None:
    assert (await run(ctx, "/policy cmd_allowlist_add npm test")).ok
    assert "c1  npm test" in await shown(ctx, "/policy cmd_allowlist")
    assert (await run(ctx, "/policy path_allowlist_add src --dir")).ok
    assert "w1" in await shown(ctx, "/policy path_allowlist")
    assert (await run(ctx, "/policy cmd_allowlist_remove npm test")).ok
    assert (await run(ctx, "/policy path_allowlist_remove src")).ok
    assert len(session.policy.command_allowlist) == len(session.policy.write_allowlist) == 0


async def test_a_wrong_form_names_the_nearest(ctx: CommandContext) -> None:
    assert "/policy reset" in await shown(ctx, "/policy rest")
    assert "/help policy" in await shown(ctx, "/policy zzz")
    assert "command, write or host" in await shown(ctx, "/policy allow npm test")
    assert "command, write or host" in await shown(ctx, "/policy remove npm test")


async def test_the_recorded_state_restores_the_same_show(ctx: CommandContext, session: FakeSession) -> None:
    await fill(ctx)
    await run(ctx, "/mode auto-edit")
    before = await shown(ctx, "/policy show --builtin")
    state = session.policy_events[-1].state
    assert state is not None
    session.policy = PolicyState.from_json(state)
    assert await shown(ctx, "/policy show --builtin") == before


async def test_every_form_answers_in_json_too(ctx: CommandContext, session: FakeSession) -> None:
    import json

    async def data(line: str) -> Any:
        return json.loads(await shown(ctx, line))

    assert await data("/policy allow command npm test --json") == {"op": "add", "list": "commands", "entry": "npm test"}
    assert (await data("/policy show --json"))["commands"][0]["tokens"] == ["npm", "test"]
    assert (await data("/policy test --json echo --json"))["decision"] == "allow"
    assert (await data("/policy test --json rm x"))["decision"] == "ask"
    assert (await data("/policy test-write --json src/app.py"))["exists"] is True
    assert await data("/policy log --json") == []
    assert (await data("/policy undo --json"))["op"] == "undo"
    assert not (await run(ctx, "/policy allow write /etc --json")).ok


def test_completion(ctx: CommandContext, session: FakeSession) -> None:
    session.policy.command_allowlist.add(("npm", "test"))
    complete = default_registry().complete
    assert "/policy test-write" in [value for value, _ in complete(ctx, "/policy te")]
    assert [value for value, _ in complete(ctx, "/policy remove command n")] == ["/policy remove command npm test"]
    assert [value for value, _ in complete(ctx, "/policy reset c")] == ["/policy reset commands"]
