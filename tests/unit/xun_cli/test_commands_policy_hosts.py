"""/policy on hosts and on the audit trail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_session import FakeSession, places, run, shown
from xun_cli.commands.policy import complete
from xun_cli.commands.policy_hosts import place_of
from xun_cli.commands.registry import CommandContext
from xun_cli.settings import Settings
from xun_policies.audit import AuditTrail
from xun_policies.store import DecisionRecord, PolicyState


@pytest.fixture
def session(tmp_path: Path) -> FakeSession:
    (tmp_path / "proj").mkdir()
    return FakeSession(tmp_path / "proj")


@pytest.fixture
def ctx(session: FakeSession, tmp_path: Path) -> CommandContext:
    return CommandContext(session, places(tmp_path / "home"), Settings())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "place"),
    [
        ("docs.python.org", "docs.python.org"),
        ("DOCS.Python.org.", "docs.python.org"),
        ("https://docs.python.org/3/library/", "docs.python.org"),
        ("http://site.test:8080/x", "site.test:8080"),
        ("site.test:80", "site.test"),
        ("site.test:443", "site.test"),
        ("site.test:8443", "site.test:8443"),
        ("[::1]:8080", "[::1]:8080"),
        ("münchen.test", "xn--mnchen-3ya.test"),
    ],
)
def test_a_host_is_what_a_fetch_would_ask_about(typed: str, place: str) -> None:
    assert place_of(typed) == place


@pytest.mark.parametrize(
    "typed", ["", "*.test", "a b", "site.test/x", "ftp://site.test", "user@site.test", "?", "a..b"]
)
async def test_what_is_no_host_is_refused(ctx: CommandContext, session: FakeSession, typed: str) -> None:
    assert not (await run(ctx, f"/policy allow host {typed}")).ok
    assert len(session.policy.host_allowlist) == 0


async def test_hosts_are_granted_listed_taken_back_and_undone(ctx: CommandContext, session: FakeSession) -> None:
    assert "docs.python.org is now fetched" in await shown(ctx, "/policy allow host https://docs.python.org/3/")
    assert "granted already" in await shown(ctx, "/policy allow host docs.python.org")
    await run(ctx, "/policy allow host site.test:8080")
    text = await shown(ctx, "/policy")
    assert "h1  docs.python.org" in text and "h2  site.test:8080" in text and "not used yet" in text
    only = await shown(ctx, "/policy show hosts")
    assert "h1" in only and "Commands" not in only and "Paths" not in only
    assert "Removed: docs.python.org" in await shown(ctx, "/policy remove host h1")
    assert not (await run(ctx, "/policy remove host h5")).ok
    assert not (await run(ctx, "/policy remove host other.test")).ok
    assert (await run(ctx, "/policy undo")).ok and session.policy.host_allowlist.covers("docs.python.org")
    assert not (await run(ctx, "/policy remove host *")).ok
    assert (await run(ctx, "/policy remove host * --all")).ok and len(session.policy.host_allowlist) == 0
    assert [event.list for event in session.policy_events] == ["hosts", "hosts", "hosts", "all", "hosts"]
    assert "h1" not in await shown(ctx, "/policy")


async def test_the_state_that_is_recorded_holds_them(ctx: CommandContext, session: FakeSession) -> None:
    await run(ctx, "/policy allow host site.test")
    restored = PolicyState.from_json(session.policy_events[-1].state)
    assert restored.host_allowlist.covers("site.test") is not None


async def test_reset_export_and_import(ctx: CommandContext, session: FakeSession) -> None:
    await run(ctx, "/policy allow host site.test")
    await run(ctx, "/policy export out.toml")
    assert "host     site.test" in await shown(ctx, "/policy reset hosts --yes")
    assert len(session.policy.host_allowlist) == 0
    assert "+ host     site.test" in await shown(ctx, "/policy import out.toml --dry-run")
    session.answers.append(True)
    await run(ctx, "/policy import out.toml")
    [entry] = session.policy.host_allowlist
    assert (entry.host, entry.source) == ("site.test", "import")


async def test_hosts_of_the_settings_are_shown(ctx: CommandContext, session: FakeSession) -> None:
    session.agent.config.allowed_hosts = ("docs.example",)
    assert "docs.example" in await shown(ctx, "/policy show hosts")


async def test_they_are_completed(ctx: CommandContext) -> None:
    await run(ctx, "/policy allow host site.test")
    assert complete(ctx, "remove host ") == ["remove host site.test"]
    assert "allow host " in complete(ctx, "allow h")


# -- the trail ------------------------------------------------------------------------------------------


def filled(ctx: CommandContext) -> None:
    for session in ("s-0001", "s-0002"):
        trail = AuditTrail(ctx.places.audit_file, session)
        for number in range(30):
            record: dict[str, Any] = {"agent": "main", "cwd": "/w", "held": "bubblewrap"}
            trail.append(
                DecisionRecord("2026-11-29T12:00:00", "bash", f"make {session} {number}", "allow", "user", **record)
            )


async def test_the_log_is_that_of_this_session(ctx: CommandContext) -> None:
    filled(ctx)
    text = await shown(ctx, "/policy log")
    assert "make s-0001 29" in text and "make s-0001 10" in text and "make s-0001 9\n" not in text
    assert "s-0002" not in text and "bubblewrap" in text


async def test_the_log_of_another_session_and_of_all(ctx: CommandContext) -> None:
    filled(ctx)
    assert "make s-0002 29" in await shown(ctx, "/policy log 1 --session s-0002")
    every = await shown(ctx, "/policy log 40 --all")
    assert "make s-0001 29" in every and "make s-0002 0" in every
    assert "No decision yet" in await shown(ctx, "/policy log --session nothing")
    for wrong in ("--session", "1 2", "--nonsense", "0"):
        assert not (await run(ctx, f"/policy log {wrong}")).ok


async def test_the_log_as_json_and_with_damage(ctx: CommandContext) -> None:
    filled(ctx)
    with ctx.places.audit_file.open("ab") as file:
        file.write(b"{broken\n")
    result = await run(ctx, "/policy log 2 --json")
    rows = json.loads(result.outputs[0].plain())
    assert [row["subject"] for row in rows] == ["make s-0001 28", "make s-0001 29"]
    assert "1 damaged lines" in await shown(ctx, "/policy log")


async def test_without_a_trail_it_is_what_the_session_remembers(ctx: CommandContext, session: FakeSession) -> None:
    session.policy.record(DecisionRecord("2026-11-29T12:00:00", "bash", "make remembered", "deny", "user"))
    assert "make remembered" in await shown(ctx, "/policy log")
    ctx.places.audit_file.mkdir(parents=True)
    text = await shown(ctx, "/policy log")
    assert "make remembered" in text and "can't be read" in text
