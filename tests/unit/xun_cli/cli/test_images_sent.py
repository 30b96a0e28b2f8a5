"""Images in a message: -i FILE, @pic.png and the clipboard, and what a model without eyes gets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import FakeModelServer
from tests.unit.xun_cli.test_commands_going_back import PNG
from xun import Agent, AgentConfig, ToolBox
from xun.errors import ConfigError
from xun.messages import Image
from xun.models import ScriptedModel
from xun_cli.arguments import parse
from xun_cli.attachments import ImageError, prepare, read_image
from xun_cli.compose import build_session
from xun_cli.frontend.clipboard_image import clipboard_image
from xun_cli.options import StartOptions
from xun_cli.settings import Settings

SEES = ScriptedModel([], capabilities={"vision"})
BLIND = ScriptedModel([], name="blind")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pic.png").write_bytes(PNG)
    (tmp_path / "bad.jpg").write_text("no image")
    (tmp_path / "a.py").write_text("x")
    return tmp_path


def test_mentioned_images_are_read_where_the_model_sees(folder):
    sent = prepare("compare @pic.png with @a.py", folder, SEES)
    assert sent.images == (Image(PNG, "image/png"),) and not sent.notes and '"a.py" (file' in sent.text
    blind = prepare("look at @pic.png", folder, BLIND)
    assert blind.images == () and "@pic.png is not sent along: blind takes no images" in blind.notes[0]
    broken = prepare("look at @bad.jpg", folder, SEES)
    assert broken.images == () and "bad.jpg can't be shown" in broken.notes[0]
    plain = prepare("no mention", folder, SEES)
    assert (plain.text, plain.images) == ("no mention", ())
    outside = prepare("@../pic.png", folder / "..", SEES)
    assert outside.images == ()


def test_a_large_image_is_made_smaller(folder):
    pictures = pytest.importorskip("PIL.Image")
    pictures.new("RGB", (2400, 600), "red").save(folder / "big.png")
    image = read_image(folder / "big.png")
    width, height = int.from_bytes(image.data[16:20]), int.from_bytes(image.data[20:24])
    assert (width, height) == (1000, 250)


def test_what_is_no_image_is_refused(folder):
    for name, words in (("none.png", "can't be read"), (".", "can't be read"), ("bad.jpg", "can't be shown")):
        with pytest.raises(ImageError, match=words):
            read_image(folder / name)
    (folder / "huge.png").write_bytes(PNG + b"\0" * (10 * 1024 * 1024))
    with pytest.raises(ImageError, match="larger than 10 MiB"):
        read_image(folder / "huge.png")


async def test_the_option_attaches_to_the_first_message(folder, monkeypatch):
    monkeypatch.setenv("XUN_HOME", str(folder / "home"))
    options, _ = parse(["-C", str(folder), "-i", "pic.png", "--image", str(folder / "pic.png"), "what is it?"])
    assert options.images == ["pic.png", str(folder / "pic.png")]
    script = folder / "script.json"
    script.write_text(json.dumps([{"text": "a dot"}]))
    settings = Settings(model=f"scripted:{script}")
    with pytest.raises(ConfigError, match=r"-i: scripted:script\.json takes no images"):
        build_session(options, settings, interactive=False)
    options.images[:] = ["none.png"]
    with pytest.raises(ConfigError, match=r"-i: .*none.png can't be read"):
        build_session(options, settings, interactive=False)
    session = build_session(StartOptions(cwd=folder), settings, interactive=False)
    session.agent.model.capabilities = frozenset({"vision"})
    session.attach(read_image(folder / "pic.png"), "pic.png")
    await session.submit("what is it?")
    await session.wait_idle()
    assert session.agent.model.requests[0].messages[-1].images == (Image(PNG, "image/png"),)
    await session.close()


async def test_a_model_without_eyes_gets_a_note_and_one_with_eyes_the_image_again():
    def agent_of(model: Any, **config: Any) -> Agent[Any]:
        return Agent(model=model, toolbox=ToolBox(), config=AgentConfig(**config)).initialize()

    seeing = ScriptedModel([{"text": "a dot"}, {"text": "still"}], capabilities={"vision"})
    blind = ScriptedModel([{"text": "ok"}], name="blind")
    agent = agent_of(seeing, images_need_vision=True)
    await agent.instruct("what?", [Image(PNG, "image/png")] * 2).aexecute()
    agent.model = blind
    await agent.instruct("and now?").aexecute()
    first = blind.requests[0].messages[0]
    assert first.text == "what?\n[2 images left out: this model takes no images]" and first.images == ()
    agent.model = seeing
    await agent.instruct("again").aexecute()
    assert len(seeing.requests[1].messages[0].images) == 2
    # Without the setting a request is what the caller made it: names tell only so much.
    plain = agent_of(ScriptedModel([{"text": "ok"}]))
    await plain.instruct("what?", [Image(PNG, "image/png")]).aexecute()
    assert plain.model.requests[0].messages[0].images
    agent.finalize()
    plain.finalize()


def program(folder: Path, name: str, types: str, data: Path) -> dict[str, str]:
    """Make a program that stands for the desktop's own."""
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    ask = "--list-types|*TARGETS*" if name == "wl-paste" else "*TARGETS*"
    path.write_text(f'#!/bin/sh\ncase "$*" in {ask}) echo "{types}";; *) cat "{data}";; esac\n')
    path.chmod(0o755)
    variable = "WAYLAND_DISPLAY" if name == "wl-paste" else "DISPLAY"
    return {"PATH": f"{path.parent}:/usr/bin:/bin", variable: "x"}


@pytest.mark.parametrize("name", ["wl-paste", "xclip"])
def test_an_image_of_the_clipboard(folder, name):
    env = program(folder, name, "text/plain image/png", folder / "pic.png")
    assert clipboard_image(env) == Image(PNG, "image/png")
    with pytest.raises(ImageError, match="holds no image"):
        clipboard_image(program(folder, name, "text/plain", folder / "pic.png"))
    with pytest.raises(ImageError, match="The image of the clipboard can't be shown"):
        clipboard_image(program(folder, name, "image/png", folder / "bad.jpg"))


def test_a_clipboard_that_can_not_be_read_is_told(tmp_path):
    with pytest.raises(ImageError, match="no graphical session"):
        clipboard_image({"PATH": str(tmp_path)})
    with pytest.raises(ImageError, match="xclip is not installed"):
        clipboard_image({"PATH": str(tmp_path), "DISPLAY": ":0"})


def test_without_a_terminal_a_mentioned_image_goes_along_and_a_piped_one_does_not(folder):
    environment = {**os.environ, "XUN_HOME": str(folder / "home"), "XUN_API_KEY": "k"}

    def sent(*argv: str, piped: str = "") -> Any:
        with FakeModelServer([{"text": "ok"}]) as server:
            done = subprocess.run(
                [sys.executable, "-m", "xun_cli", "-p", "-m", "gpt-4o", "--no-session", *argv],
                env={**environment, "XUN_BASE_URL": server.base_url},
                cwd=folder,
                input=piped,
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert done.returncode == 0, done.stderr
            return server.chats[0].body["messages"][-1]["content"]

    assert [part["type"] for part in sent("-i", "pic.png", "see @pic.png")] == ["text", "image_url", "image_url"]
    assert isinstance(sent("what is it?", piped="look at @pic.png"), str)
