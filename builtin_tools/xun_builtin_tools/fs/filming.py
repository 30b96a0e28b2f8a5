"""read_visual_file: frames of what moves."""

from __future__ import annotations

import io
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.images import MAX_IMAGE_BYTES, defer_tool_image, media_type
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.writing import missing
from xun_builtin_tools.fs.picture_header import read_header
from xun_builtin_tools.fs.picturing import LONG_SIDE, MAX_PIXELS, fitting_image
from xun_builtin_tools.programs import find_checker, run_bytes
from xun_policies.shell.environment import child_environment

if TYPE_CHECKING:
    from xun_policies.workspace import ResolvedPath

MAX_FRAMES = 20
"""Frames that one call shows."""

MAX_VIDEO = 500_000_000
"""Bytes of a video."""

_DECODED = 3_000
_DECODE_SECONDS = 20.0
_HEAD = 16
_PNG_END = b"\0\0\0\0IEND\xaeB`\x82"


@dataclass(frozen=True, slots=True)
class _Frame:
    at: float
    data: bytes


@tool_attr(
    required_capabilities=("vision",),
    read_only=True,
    deferred=True,
    search_hint="video movie animation gif frames mp4 webm mov watch image picture",
)
def read_visual_file(
    ctx: ToolCallContext[Any], path: str, frame_interval: float = 1.0, max_frames: int = 10
) -> dict[str, Any]:
    """Look at frames of a video or of an animated image, or at an image; they follow the results of this step.

    frame_interval is the time between two frames in seconds, and max_frames, 1 to 20, how many are shown at most, each
    scaled down to a longer side of 1000 pixels. Videos (MP4, MOV, WebM, MKV, AVI) need ffmpeg.

    Returns path, kind (image, animation or video) and frames: the time of each in seconds, its width and height."""
    if not 1 <= max_frames <= MAX_FRAMES:
        raise ToolError(f"max_frames must be 1 to {MAX_FRAMES}, got {max_frames}.")
    if not 0.01 <= frame_interval <= 3600:
        raise ToolError(f"frame_interval must be 0.01 to 3600 seconds, got {frame_interval:g}.")
    resolved, descriptor, size = _opened(ctx, path)
    try:
        head = os.pread(descriptor, _HEAD, 0)
        demuxer = _demuxer(head)
        if demuxer is not None:
            kind, frames = "video", _of_video(ctx, resolved, descriptor, size, demuxer, frame_interval, max_frames)
        else:
            kind, frames = _of_image(ctx, resolved, descriptor, size, frame_interval, max_frames)
    finally:
        os.close(descriptor)
    rows = []
    for frame in frames:
        _, image, width, height = fitting_image(frame.data, resolved.display)
        when = "" if kind == "image" else f" at {frame.at:.2f} s"
        defer_tool_image(ctx, image, f"{resolved.path.name}{when}: {width}x{height}")
        rows.append({"at": round(frame.at, 3), "width": width, "height": height})
    return {"path": resolved.shown, "kind": kind, "frames": rows}


def _opened(ctx: ToolCallContext[Any], path: str) -> tuple[ResolvedPath, int, int]:
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(path)
    try:
        descriptor = workspace.open_read(resolved)
    except (FileNotFoundError, NotADirectoryError):
        raise missing(workspace, resolved, path) from None
    except OSError as exc:
        raise edit_error("io", f"{resolved.display} can't be read: {exc.strerror}.") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise edit_error("is_dir" if stat.S_ISDIR(found.st_mode) else "not_regular", f"{resolved.display} is no file.")
    return resolved, descriptor, found.st_size


def _demuxer(head: bytes) -> str | None:
    """Return what ffmpeg calls the form of a video; it is never left to guess, since playlists name other files."""
    if head[4:8] == b"ftyp":
        return "mov"
    if head[:4] == b"\x1aE\xdf\xa3":
        return "matroska"
    return "avi" if head[:4] == b"RIFF" and head[8:12] == b"AVI " else None


def _of_video(
    ctx: ToolCallContext[Any],
    resolved: ResolvedPath,
    descriptor: int,
    size: int,
    demuxer: str,
    interval: float,
    most: int,
) -> list[_Frame]:
    if size > MAX_VIDEO:
        raise edit_error("io", f"{resolved.display} has {size:,} bytes; {MAX_VIDEO:,} is the limit for a video.")
    workspace = ctx.agent.workspace
    ffmpeg = find_checker("ffmpeg", workspace.roots)
    if ffmpeg is None:
        raise ToolError(
            f"{resolved.display} is a video, for which ffmpeg is needed: there is none on PATH outside the workspace."
        )
    scale = f"fps=1/{interval:g},scale='min({LONG_SIDE},iw)':'min({LONG_SIDE},ih)':force_original_aspect_ratio=decrease"
    arguments = [ffmpeg, "-v", "error", "-f", demuxer, "-i", "/dev/stdin", "-an", "-sn", "-dn", "-vf", scale]
    arguments += ["-frames:v", str(most), "-f", "image2pipe", "-c:v", "png", "pipe:1"]
    environment = child_environment(os.environ, {}, ctx.agent.config.command_env)
    status, output, errors = run_bytes(arguments, descriptor, environment, ctx.check_cancel)
    pictures = [part + _PNG_END for part in output.split(_PNG_END)[:-1]]
    if not pictures:
        reason = errors.decode("utf-8", "replace").strip()[:300] or f"it ended with the status {status}"
        raise ToolError(f"ffmpeg could not read {resolved.display}: {reason}.")
    return [_Frame(number * interval, data) for number, data in enumerate(pictures[:most])]


def _of_image(
    ctx: ToolCallContext[Any], resolved: ResolvedPath, descriptor: int, size: int, interval: float, most: int
) -> tuple[str, list[_Frame]]:
    if size > MAX_IMAGE_BYTES:
        raise edit_error("io", f"{resolved.display} has {size:,} bytes; {MAX_IMAGE_BYTES:,} is the limit for an image.")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        data = file.read(MAX_IMAGE_BYTES + 1)
    kind = media_type(data)
    header = None if kind is None else read_header(data, kind)
    if header is None:
        raise ToolError(
            f"{resolved.display} is damaged, or no image (PNG, JPEG, WebP, GIF) or video (MP4, MOV, WebM, MKV, AVI)."
        )
    if not header.moving:
        return "image", [_Frame(0.0, data)]
    if header.width * header.height > MAX_PIXELS:
        raise ToolError(
            f"{resolved.display} has {header.width} x {header.height} pixels; {MAX_PIXELS:,} in all is the limit."
        )
    return "animation", _of_animation(data, resolved.display, interval, most, ctx.check_cancel)


def _of_animation(data: bytes, name: str, interval: float, most: int, check: Callable[[], None]) -> list[_Frame]:
    try:
        from PIL import Image as Pictures
        from PIL import ImageSequence
    except ImportError:
        raise ToolError(f"{name} is animated, for which Pillow is needed: pip install pillow.") from None
    frames: list[_Frame] = []
    at, begun = 0.0, time.monotonic()
    try:
        with Pictures.open(io.BytesIO(data), formats=("GIF", "WEBP", "PNG")) as opened:
            for number, picture in enumerate(ImageSequence.Iterator(opened)):
                check()
                if len(frames) >= most or number >= _DECODED or time.monotonic() - begun > _DECODE_SECONDS:
                    break
                picture.load()  # a WebP tells how long a frame stands only then
                if at + 1e-9 >= len(frames) * interval:
                    frames.append(_Frame(at, _png(picture)))
                at += max(float(picture.info.get("duration") or 0), 10.0) / 1000
    except (OSError, ValueError, SyntaxError, EOFError, Pictures.DecompressionBombError) as exc:
        if not frames:
            raise ToolError(f"{name} can't be read as an image: {exc}.") from exc
    return frames


def _png(picture: Any) -> bytes:
    out = io.BytesIO()
    shown = picture.convert("RGBA")
    shown.thumbnail((LONG_SIDE, LONG_SIDE))
    shown.save(out, "PNG")
    return out.getvalue()
