"""The built-in groups as a whole: statements 55 and 92 of the tool contract."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.runs import calls
from xun import Agent, ToolBox, Workspace
from xun.models import ScriptedModel

EIGHT = ("system", "framework", "fs", "patch", "cmd", "search", "browser", "diagnostic")


def names(*groups: str) -> set[str]:
    box = ToolBox().with_defaults(*groups)
    return {tool.name for tool in [*box.list_tools(), *box.deferred()]}


def test_055_all_groups_one_group_and_no_such_group():
    each = {group: names(group) for group in EIGHT}
    assert all(each.values())
    assert set().union(*each.values()) <= names()
    assert "read_file" in each["fs"] and not each["fs"] & each["patch"]
    assert {"browser_page", "check_syntax", "grep", "bash"} <= names()
    with pytest.raises(ValueError, match=r"No tool group named 'nets'") as refused:
        ToolBox().with_defaults("nets")
    assert all(group in str(refused.value) for group in EIGHT)


def test_055_loading_needs_no_playwright_network_or_model(tmp_path):
    program = (
        "import sys\n"
        "sys.modules['playwright'] = sys.modules['openai'] = None\n"
        "def watch(event, args):\n"
        "    if event in ('socket.connect', 'socket.getaddrinfo', 'subprocess.Popen', 'os.exec', 'os.posix_spawn'):\n"
        "        print(event, args)\n"
        "sys.addaudithook(watch)\n"
        "from xun import ToolBox\n"
        "box = ToolBox().with_defaults()\n"
        "print(len(box.list_tools()) > 20, len(box.deferred()) > 6)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout.split("\n"), done.stderr) == (["True True", ""], "")


def picture(path: Path, width: int, height: int) -> None:
    from PIL import Image

    Image.new("RGB", (width, height), "red").save(path)


def look(folder: Path, capabilities: Any = ("vision",), **arguments: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel([calls(("request_image", arguments)), {"text": "seen"}], capabilities=capabilities)
    agent = Agent(model=model, toolbox=ToolBox().with_defaults("fs"), workspace=Workspace(folder))
    with agent:
        agent.instruct("Look.").execute()
    return agent, model


@pytest.mark.parametrize(
    ("arguments", "line", "sizes"),
    [
        ({"src": "large.png"}, "large.png: 1000x500, from 3000x1500", (1000, 500)),
        ({"src": "small.png"}, "small.png: 40x30", (40, 30)),
        ({"src": "small.png", "crop": [0.5, 0, 0.5, 1]}, "small.png: 20x30, a part of 40x30", (20, 30)),
        ({"src": "large.png", "crop": [0, 0, 0.5, 1]}, "large.png: 1000x1000, a part of 3000x1500", (1000, 1000)),
    ],
)
def test_092_pictures_are_cut_scaled_and_described(tmp_path, arguments, line, sizes):
    picture(tmp_path / "large.png", 3000, 1500)
    picture(tmp_path / "small.png", 40, 30)
    agent, _ = look(tmp_path, **arguments)
    [message] = [message for message in agent.history if message.images]
    data = message.images[0].data
    assert message.text == line
    assert (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")) == sizes


@pytest.mark.parametrize("crop", [[0, 0, 1], [0, 0, 2, 1], [-0.1, 0, 1, 1], [0.5, 0, 0.6, 1], [0, 0, 0, 1]])
def test_092_a_bad_crop_adds_no_picture(tmp_path, crop):
    picture(tmp_path / "small.png", 40, 30)
    agent, _ = look(tmp_path, src="small.png", crop=crop)
    assert not [message for message in agent.history if message.images]
    with Agent(toolbox=ToolBox().with_defaults("fs"), workspace=Workspace(tmp_path)) as agent:
        assert agent.tool.request_image(src="small.png", crop=crop).unwrap_err().kind == "ValueError"


def test_092_only_models_that_see_are_offered_it(tmp_path):
    for capabilities, offered in (((), False), (("vision",), True)):
        _, model = look(tmp_path, capabilities, src="none.png")
        listed = [entry["function"]["name"] for entry in model.requests[0].tools]
        assert ("request_image" in listed) is offered
