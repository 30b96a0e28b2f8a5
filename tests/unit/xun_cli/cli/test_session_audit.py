"""A whole session: its decisions are in the user's audit trail, and what it granted is there after a resume."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from xun.events import PolicyChanged
from xun_cli.compose import build_session
from xun_cli.keys import take_credentials
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.session.session import Session
from xun_cli.settings import Settings
from xun_policies.audit import read_audit

KEY = "sk-audit-0123456789abcdef"


def built(folder: Path, turns: list[dict[str, Any]], **options: Any) -> Session:
    settings = Settings()
    settings.credentials = take_credentials(Places.from_environment())
    script = folder.parent / "script.json"
    script.write_text(json.dumps({"turns": turns, "risk": [{"verdict": "allow", "reason": "fine"}] * 9}))
    settings.model = f"scripted:{script}"
    return build_session(StartOptions(cwd=folder, **options), settings, interactive=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XUN_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XUN_API_KEY", KEY)
    made = tmp_path / "proj"
    made.mkdir()
    return made


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


async def test_decisions_carry_the_session_and_never_the_key(folder: Path) -> None:
    session = built(folder, [call("bash", command=f"echo {KEY}"), call("bash", command="touch made"), {"text": "done"}])
    assert session.agent.config.audit is not None and session.agent.config.audit.session == session.id
    await session.submit("go")
    async with asyncio.timeout(20):
        while session.running:
            await asyncio.sleep(0.02)
    await session.run_shell("pwd")
    await session.close()
    path = Places.from_environment().audit_file
    rows, bad = read_audit(path, 50, session.id)
    made = [("echo [key]", "allowlist"), ("touch made", "risk"), ("pwd", "user")]
    assert [(row["subject"], row["source"]) for row in rows] == made
    assert bad == 0 and KEY not in path.read_text()


async def test_a_granted_host_is_there_after_a_resume(folder: Path) -> None:
    session = built(folder, [{"text": "done"}])
    await session.submit("go")
    async with asyncio.timeout(20):
        while session.running:
            await asyncio.sleep(0.02)
    session.policy.host_allowlist.add("docs.python.org", source="dialog")
    session.emit(PolicyChanged(op="allow", list="hosts", entry="docs.python.org", state=session.policy.to_json()))
    await session.close()
    again = built(folder, [], resume=session.id)
    assert [entry.host for entry in again.policy.host_allowlist] == ["docs.python.org"]
    assert again.agent.config.audit is not None and again.agent.config.audit.session == session.id
    await again.close()
