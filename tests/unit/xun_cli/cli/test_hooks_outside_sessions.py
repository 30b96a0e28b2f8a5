"""Hooks of the settings in `xun tool`, `xun mcp serve` and `/tool`."""

from __future__ import annotations

import importlib.util
import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from xun_cli.main import main
from xun_cli.subcommands.tool import configured, gated_agent


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "proj"
    made.mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(made)
    monkeypatch.setenv("XUN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    return made


def hooks(where: Path, **lines: str) -> None:
    text = "".join(f"{point} = [{json.dumps(line)}]\n" for point, line in lines.items())
    where.parent.mkdir(exist_ok=True)
    where.write_text(f"[hooks]\ntimeout = 5\n{text}")


def tool(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, Any], str]:
    capsys.readouterr()
    code = main(["tool", *argv])
    out, err = capsys.readouterr()
    return code, json.loads(out), err


def test_xun_tool(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hooks(
        tmp_path / "home" / "config.toml",
        before_tool="grep -q secret && { echo not that one; exit 1; }; exit 0",
        after_tool=f"cat > {tmp_path}/seen; echo look at it; exit 3",
    )
    code, said, err = tool(capsys, "write_file", "path=secret.txt", "content=x")
    assert (code, said["kind"]) == (4, "denied") and "not that one" in said["error"]
    assert not (folder / "secret.txt").exists()
    code, said, err = tool(capsys, "write_file", "path=open.txt", "content=x")
    assert code == 0 and said["value"]["created"] and (folder / "open.txt").read_text() == "x"
    assert "After the call of write_file" in err and "exit code 3: look at it" in err
    seen = json.loads((tmp_path / "seen").read_text())
    assert (seen["hook"], seen["tool"], seen["ok"], seen["cwd"]) == ("after_tool", "write_file", True, str(folder))
    assert tool(capsys, "write_file", "path=a.txt")[0] == 2, "a wrong call is still that"


def test_a_hook_that_is_broken_denies_and_one_of_a_project_needs_trust(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hooks(folder / ".xun" / "config.toml", before_tool="exit 1")
    assert tool(capsys, "datetime")[0] == 0, "nobody trusted it"
    hooks(tmp_path / "home" / "config.toml", before_tool="no-such-program")
    assert tool(capsys, "datetime")[0] == 4


@pytest.mark.skipif(importlib.util.find_spec("mcp") is None, reason="the package mcp is not installed")
async def test_xun_mcp_serve(folder: Path, tmp_path: Path) -> None:
    from mcp.client import Client

    from xun.mcp.serving import mcp_server

    hooks(
        tmp_path / "home" / "config.toml",
        before_tool="grep -q secret && { echo not that one; exit 1; }; exit 0",
        after_tool="echo look at it; exit 3",
    )
    given = Namespace(folder=folder, sandbox=None, allow_write=[], allow_command=[])
    settings, toolbox = configured(given, "xun mcp")
    agent = gated_agent(given, settings, toolbox)
    async with Client(mcp_server(toolbox, agent)) as client:
        refused = await client.call_tool("write_file", {"path": "secret.txt", "content": "x"})
        made = await client.call_tool("write_file", {"path": "open.txt", "content": "x"})
    agent.finalize()
    agent.workspace.close()
    assert refused.is_error and "A hook denied the call of write_file" in str(refused.content)
    assert not (folder / "secret.txt").exists() and (folder / "open.txt").exists()
    assert not made.is_error and "look at it" in made.content[-1].text
    assert made.structured_content["created"] is True
