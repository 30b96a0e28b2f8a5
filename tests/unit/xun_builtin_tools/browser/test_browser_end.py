"""A run with a real Chromium from its first page to its end, which leaves nothing behind."""

from __future__ import annotations

import gc
import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.form_site import form_site, has_chromium
from xun import Agent, AgentConfig, ChoiceOutcome, ToolBox, Workspace
from xun.models import ScriptedModel

pytest.importorskip("playwright", reason="playwright is not installed")
pytestmark = [
    pytest.mark.skipif(not has_chromium(), reason="no Chromium is installed"),
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc"),
]


def processes() -> dict[int, tuple[int, int]]:
    """Return parent and session of every process that lives."""
    rows = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent, _, session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if state != "Z":
            rows[int(folder.name)] = (int(parent), int(session))
    return rows


def started_here() -> set[int]:
    """Return the processes below this one, and those of their sessions."""
    rows, known = processes(), {os.getpid()}
    for _ in rows:
        more = {pid for pid, (parent, _) in rows.items() if parent in known} - known
        if not more:
            break
        known |= more
    sessions = {rows[pid][1] for pid in known if pid in rows} - {os.getsid(0)}
    return {pid for pid, (_, session) in rows.items() if pid in known or session in sessions} - {os.getpid()}


class Once:
    """Allows each question this time only."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def choose(self, request: Any) -> ChoiceOutcome[Any]:
        self.prompts.append(request.prompt)
        return ChoiceOutcome("once", "user")


def size(png: bytes) -> tuple[int, int]:
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def test_a_model_sees_a_picture_and_no_process_is_left(tmp_path):
    before = started_here()
    shot = {"clip": [0, 0, 300, 200], "save_to": "a.png"}
    with form_site() as site:
        url = f"http://127.0.0.1:{site.server_port}/"
        model = ScriptedModel(
            [
                {"tool_calls": [{"name": "browser_page", "arguments": {"action": "navigate", "url": url}}]},
                {"tool_calls": [{"name": "browser_screenshot", "arguments": shot}]},
                {"tool_calls": [{"name": "browser_screenshot", "arguments": {"save_to": "whole.png"}}]},
                {"text": "seen"},
            ],
            capabilities={"vision"},
        )
        box = ToolBox().with_defaults("browser")
        chooser = Once()
        config = AgentConfig(allow_private_urls=True)
        with Agent(model=model, toolbox=box, workspace=Workspace(tmp_path), config=config, chooser=chooser) as agent:
            assert agent.instruct("Look.").execute().unwrap() == "seen"
            images = [part for message in model.requests[-1].messages for part in message.images]
            assert images[0].data == (tmp_path / "a.png").read_bytes()
            # The view of 1280 x 800 is saved as it is, and sent with its longer side of 1000 pixels.
            sizes = [size(data) for data in ((tmp_path / "whole.png").read_bytes(), images[1].data)]
            assert sizes == [(1280, 800), (1000, 625)]
            told = [message.text for message in model.requests[-1].messages if message.role == "tool"][-1]
            assert "original_width" in told
            assert chooser.prompts == [f"Fetch {url}?"]
            running = started_here() - before
            assert len(running) > 3
    until = time.monotonic() + 5
    while running & set(processes()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running & set(processes())


def test_an_agent_that_is_not_finalized_takes_its_browser_along(tmp_path):
    before = started_here()
    agent = Agent(toolbox=ToolBox().with_defaults("browser"), workspace=Workspace(tmp_path)).initialize()
    assert agent.tool.browser_page(action="new").unwrap()["url"] == "about:blank"
    running = started_here() - before
    assert running
    del agent
    gc.collect()
    until = time.monotonic() + 10
    while running & set(processes()) and time.monotonic() < until:
        time.sleep(0.05)
    assert not running & set(processes())
