"""request_image: which images, which part of them, and how large."""

from __future__ import annotations

import io
import struct
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pictures

from tests.fakes.runs import calls
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.models import ScriptedModel
from xun_builtin_tools.fs.picture_header import read_header


def encoded(width: int, height: int, kind: str = "PNG", mode: str = "RGB", **more: Any) -> bytes:
    out = io.BytesIO()
    picture = Pictures.new(mode, (width, height))
    picture.save(out, kind, **more)
    return out.getvalue()


def look(tmp_path: Path, name: str, data: bytes | None, **arguments: Any) -> tuple[Any, list[Any], Agent[Any]]:
    """Return the result of one call in a run, and the images that the model got."""
    if data is not None:
        (tmp_path / name).write_bytes(data)
    model = ScriptedModel([calls(("request_image", {"src": name, **arguments})), {"text": "done"}])
    model.capabilities = frozenset({"vision"})
    box = ToolBox().with_defaults("fs")
    agent: Agent[Any] = Agent(model=model, toolbox=box, workspace=Workspace(tmp_path), config=AgentConfig())
    with agent:
        agent.instruct("go").execute()
        result = agent.toolbox.call_tool(agent, "request_image", {"src": name, **arguments}, None)
    return result, [image for message in agent.history for image in message.images], agent


def opened(image: Any) -> Any:
    return Pictures.open(io.BytesIO(image.data))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_small_images_are_sent_as_they_are(tmp_path, kind):
    data = encoded(30, 20, kind)
    result, images, agent = look(tmp_path, "a.bin", data)
    assert result.unwrap() == {
        "path": str(tmp_path / "a.bin"),
        "width": 30,
        "height": 20,
        "original_width": 30,
        "original_height": 20,
    }
    assert images[0].data == data and images[0].media_type == f"image/{kind.lower()}"
    assert [message.text for message in agent.history if message.images] == ["a.bin: 30x20"]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_large_ones_are_scaled(tmp_path, kind):
    result, images, agent = look(tmp_path, "a", encoded(2000, 500, kind))
    value = result.unwrap()
    assert (value["width"], value["height"], value["original_width"]) == (1000, 250, 2000)
    assert opened(images[0]).size == (1000, 250)
    assert [message.text for message in agent.history if message.images] == ["a: 1000x250, from 2000x500"]


@pytest.mark.parametrize(
    ("crop", "size"),
    [
        ([0.5, 0, 0.5, 1], (1000, 500)),
        ([0.1, 0.1, 0.25, 0.5], (500, 250)),
        ([0.999999, 0.999999, 0.000001, 0.000001], (1, 1)),
        ([0, 0, 1, 1], (1000, 250)),
    ],
)
def test_crop_then_scale(tmp_path, crop, size):
    result, images, _ = look(tmp_path, "a.png", encoded(2000, 500), crop=crop)
    assert opened(images[0]).size == (result.unwrap()["width"], result.unwrap()["height"])
    assert opened(images[0]).size == size


@pytest.mark.parametrize("mode", ["L", "LA", "P", "RGBA", "CMYK", "1", "I;16"])
def test_other_kinds_of_pixels(tmp_path, mode):
    kind = "JPEG" if mode == "CMYK" else "PNG"
    result, images, _ = look(tmp_path, "a", encoded(1500, 10, kind, mode))
    assert result.is_ok() and opened(images[0]).size == (1000, 7)


@pytest.mark.parametrize("crop", [[0, 0, 0, 1], [-0.1, 0, 1, 1], [0.5, 0, 0.6, 1], [0, 0, 1], [0, 0, 2, 1]])
def test_a_bad_crop_is_a_value_error(tmp_path, crop):
    result, images, _ = look(tmp_path, "a.png", encoded(10, 10), crop=crop)
    assert result.unwrap_err().kind == "ValueError" and images == []


def huge_png() -> bytes:
    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(40_000))), (b"IEND", b"")]
    parts = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def frames(kind: str, count: int) -> bytes:
    out = io.BytesIO()
    pictures = [Pictures.new("L", (4, 4), at * 40 % 256) for at in range(count)]
    pictures[0].save(out, kind, save_all=True, append_images=pictures[1:])
    return out.getvalue()


@pytest.mark.row("sec-net-007", "sec-net-008")
@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"<html></html>", "Not a PNG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "Not a PNG"),
        (encoded(3, 3, "TIFF"), "Not a PNG"),
        (encoded(3, 3, "BMP"), "Not a PNG"),
        (encoded(300, 300)[:60], "Not a PNG"),
        (b"", "Not a PNG"),
        (encoded(3, 3) + bytes(11_000_000), "10,485,760"),
        (frames("GIF", 50), "animated"),
        (frames("WEBP", 3), "animated"),
        (huge_png(), "60000 x 60000"),
        (None, "does not exist"),
    ],
)
def test_net_007_and_008_one_error_and_no_image(tmp_path, data, word):
    started = time.process_time()
    result, images, _ = look(tmp_path, "x.png", data)
    assert word in result.unwrap_err().error and images == []
    assert time.process_time() - started < 1


def test_damaged_pixels_are_an_error_where_they_are_read(tmp_path):
    data = bytearray(encoded(1200, 10))
    at = data.index(b"IDAT")
    data[at + 8 : at + 20] = b"\xff" * 12
    result, images, _ = look(tmp_path, "x.png", bytes(data))
    assert "can't be read as an image" in result.unwrap_err().error and images == []


def test_without_pillow_small_images_are_sent_and_others_say_what_is_missing(tmp_path, monkeypatch):
    small, large = encoded(10, 10), encoded(1200, 10)
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert look(tmp_path, "small.png", small)[0].is_ok()
    assert "pip install pillow" in look(tmp_path, "large.png", large)[0].unwrap_err().error


def test_paths_stay_in_the_workspace_and_vision_is_required(tmp_path):
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "out.png").write_bytes(encoded(3, 3))
    assert look(root, "../out.png", None)[0].unwrap_err().kind == "outside"
    box = ToolBox().with_defaults("fs")
    tool = next(tool for tool in box.list_tools() if tool.name == "request_image")
    assert tool.attr.required_capabilities == ("vision",) and tool.attr.read_only


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_a_damaged_header_never_raises_anything_else(kind):
    data = encoded(33, 21, kind)
    whole = read_header(data, f"image/{kind.lower()}")
    assert whole is not None and (whole.width, whole.height, whole.moving) == (33, 21, False)
    for end in range(len(data)):
        read_header(data[:end], f"image/{kind.lower()}")
    for at in range(12, min(60, len(data))):
        read_header(data[:at] + b"\xff" + data[at + 1 :], f"image/{kind.lower()}")


def test_webp_without_loss_and_with_transparency():
    for more in ({"lossless": True}, {"exact": True}):
        found = read_header(encoded(50, 40, "WEBP", "RGBA", **more), "image/webp")
        assert found is not None and (found.width, found.height) == (50, 40)
