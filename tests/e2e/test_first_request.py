"""What `xun` sends before a word of the conversation: held small, since every step pays for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.fakes.model_server import FakeModelServer

XUN = Path(sys.executable).with_name("xun")
LIMIT = 16_000
"""Bytes of the system message and the tools together; about 4,000 tokens."""
EVERYDAY = {
    "read_file",
    "write_file",
    "list_dir",
    "move",
    "delete",
    "replace",
    "multi_edit",
    "apply_patch",
    "bash",
    "glob",
    "grep",
    "ask_preference",
    "write_todos",
    "tool_search",
    "agent_run",
}


def size(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def test_the_first_request_is_small_and_names_every_tool(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    with FakeModelServer([{"text": "Hello."}]) as server:
        env = {key: value for key, value in os.environ.items() if not key.startswith(("XUN_", "OPENAI_"))}
        env |= {"XUN_HOME": str(tmp_path / "home"), "XUN_BASE_URL": server.base_url, "XUN_API_KEY": "sk-x"}
        subprocess.run(
            [str(XUN), "-p", "--model", "fake-model", "hi"],
            cwd=project,
            env=env,
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
        )
    body = server.chats[0].body
    system, tools = body["messages"][0], body["tools"]
    assert system["role"] == "system"
    total = size(tools) + size(system["content"].replace(str(project), "/p"))
    assert total <= LIMIT, f"{total} bytes; by tool: {sorted((size(t), t['function']['name']) for t in tools)}"
    assert {tool["function"]["name"] for tool in tools} == EVERYDAY
    index = next(tool["function"]["description"] for tool in tools if tool["function"]["name"] == "tool_search")
    for name in ("undo_edit", "bash_spawn", "bash_kill", "web_fetch", "agent_wait", "shell", "check_syntax"):
        assert name in index
