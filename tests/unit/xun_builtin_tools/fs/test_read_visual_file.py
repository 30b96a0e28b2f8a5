"""Frames of images that move, and of videos by a program that plays ffmpeg."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("PIL")
from PIL import Image

from xun import Agent, ToolBox, Workspace
from xun.models import ScriptedModel

MP4 = b"\0\0\0\x20ftypisom" + b"\0" * 100


def picture(colour: str, size: tuple[int, int] = (40, 20)) -> Image.Image:
    return Image.new("RGB", size, colour)


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def animation(frames: int = 10, milliseconds: int = 500, kind: str = "GIF", size: tuple[int, int] = (40, 20)) -> bytes:
    pictures = [picture(f"#{number * 20:02x}00ff", size) for number in range(frames)]
    return encoded(pictures[0], kind, save_all=True, append_images=pictures[1:], duration=milliseconds, loop=0)


def look(tmp_path: Path, **arguments: Any) -> tuple[Any, list[Any]]:
    """Return the result of the call, and the images that the model got."""
    model = ScriptedModel(
        [{"tool_calls": [{"name": "read_visual_file", "arguments": arguments}]}, {"text": "x"}], capabilities={"vision"}
    )
    with Agent(model=model, toolbox=ToolBox().with_defaults("fs"), workspace=Workspace(tmp_path)) as agent:
        agent.instruct("look").execute()
        answer = [message.text for message in agent.history if message.role == "tool"][-1]
        images = [image for message in model.requests[-1].messages for image in message.images]
        try:
            return json.loads(answer), images
        except ValueError:
            return answer, images


@pytest.mark.parametrize("kind", ["GIF", "WEBP"])
def test_frames_of_an_animated_image(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a").write_bytes(animation(kind=kind))
    value, images = look(tmp_path, path="a", frame_interval=1.0, max_frames=3)
    assert value["kind"] == "animation"
    assert value["frames"] == [{"at": at, "width": 40, "height": 20} for at in (0.0, 1.0, 2.0)]
    colours = [Image.open(io.BytesIO(image.data)).convert("RGB").getpixel((5, 5)) for image in images]
    assert len(colours) == 3 and len(set(colours)) == 3


def test_large_ones_are_scaled_and_one_that_stands_still_is_one_frame(tmp_path: Path) -> None:
    (tmp_path / "a.gif").write_bytes(animation(3, size=(2000, 100)))
    value, images = look(tmp_path, path="a.gif", frame_interval=0.5)
    assert [(row["width"], row["height"]) for row in value["frames"]] == [(1000, 50)] * 3 and len(images) == 3
    (tmp_path / "b.png").write_bytes(encoded(picture("red", (1500, 300))))
    value, images = look(tmp_path, path="b.png")
    assert value["kind"] == "image" and value["frames"] == [{"at": 0.0, "width": 1000, "height": 200}]


def test_a_video_by_the_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, root = tmp_path / "bin", tmp_path / "ws"
    programs.mkdir()
    root.mkdir()
    (tmp_path / "frames").write_bytes(b"".join(encoded(picture(colour)) for colour in ("red", "green", "blue")))
    script = programs / "ffmpeg"
    script.write_text(
        f"#!{sys.executable}\nimport json, sys\n"
        f"json.dump([sys.argv[1:], open('/dev/stdin', 'rb').read(12).hex()], open({str(tmp_path / 'log')!r}, 'w'))\n"
        f"sys.stdout.buffer.write(open({str(tmp_path / 'frames')!r}, 'rb').read())\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    (root / "v.mp4").write_bytes(MP4)
    value, images = look(root, path="v.mp4", frame_interval=2.5, max_frames=2)
    assert value["kind"] == "video" and [row["at"] for row in value["frames"]] == [0.0, 2.5] and len(images) == 2
    words, read = json.loads((tmp_path / "log").read_text())
    assert bytes.fromhex(read) == MP4[:12]
    assert words[words.index("-f") + 1] == "mov", "the form is never left to guess"
    assert not any(str(root) in word for word in words), "it is given the file that was checked, not a name"
    assert "fps=1/2.5" in words[words.index("-vf") + 1] and words[words.index("-frames:v") + 1] == "2"


def test_without_a_decoder_and_with_what_is_neither(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "v.mp4").write_bytes(MP4)
    for name, data in (
        ("p.mp4", b"#EXTM3U\nfile:///etc/passwd\n"),
        ("t.gif", b"GIF89a"),
        ("e", b""),
        ("x.html", b"<svg/>"),
    ):
        (tmp_path / name).write_bytes(data)
        answer, images = look(tmp_path, path=name)
        assert "is damaged, or no image" in str(answer) and images == []
    if shutil.which("ffmpeg") is None:
        assert "ffmpeg is needed" in str(look(tmp_path, path="v.mp4")[0])
    (tmp_path / "ffmpeg").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "ffmpeg").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "ffmpeg is needed" in str(look(tmp_path, path="v.mp4")[0])
    for arguments in ({"path": "none"}, {"path": "."}, {"path": "../x"}, {"path": "v.mp4", "max_frames": 0}):
        answer, images = look(tmp_path, **arguments)
        assert isinstance(answer, str) or "error" in answer
        assert images == []
