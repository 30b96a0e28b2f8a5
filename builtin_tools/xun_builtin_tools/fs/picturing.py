"""request_image."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

from xun.errors import ToolError
from xun.messages import Image
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun.tools.images import MAX_IMAGE_BYTES, check_image, defer_tool_image
from xun_builtin_tools.edit.changes import read_state
from xun_builtin_tools.edit.messages import edit_error
from xun_builtin_tools.edit.writing import missing
from xun_builtin_tools.fs.picture_header import PictureHeader, read_header

if TYPE_CHECKING:
    from xun_policies.workspace import ResolvedPath

LONG_SIDE = 1000
"""Pixels of the longer side of an image that is sent; larger ones are scaled down."""

MAX_PIXELS = 50_000_000
"""Pixels of an image that is decoded."""

Box = tuple[float, float, float, float]

_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP", "image/gif": "PNG"}
_PILLOW_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


@tool_attr(required_capabilities=("vision",), read_only=True)
def request_image(ctx: ToolCallContext[Any], src: str, crop: list[float] | None = None) -> dict[str, Any]:
    """Look at an image file: PNG, JPEG, WebP or GIF, not animated. It follows the results of this step.

    crop is the part to look at as [x, y, width, height], each from 0 to 1 of the whole. A longer side of more than
    1000 pixels is scaled down to 1000: crop to see details.

    Returns path, width and height as sent, and original_width and original_height."""
    box = _checked_crop(crop)
    resolved, data = _read(ctx, src)
    header, image, width, height = fitting_image(data, resolved.display, box)
    size = f"{width}x{height}"
    changed = (width, height) != (header.width, header.height)
    part = (
        f", a part of {header.width}x{header.height}" if box is not None else f", from {header.width}x{header.height}"
    )
    defer_tool_image(ctx, image, f"{resolved.path.name}: {size}{part if changed else ''}")
    return {
        "path": resolved.shown,
        "width": width,
        "height": height,
        "original_width": header.width,
        "original_height": header.height,
    }


def fitting_image(data: bytes, name: str, box: Box | None = None) -> tuple[PictureHeader, Image, int, int]:
    """Return the header of an image file, and the image as it may be sent to a model with its width and height.

    Args:
        data: The content of the file.
        name: How errors call it.
        box: The part that is wanted: x, y, width and height, each from 0 to 1 of the whole.

    Raises:
        ToolError: It is no image that can be sent; the text says why.
    """
    try:
        image = check_image(data)
    except ValueError as exc:
        raise ToolError(f"{name} can't be shown. {exc}") from None
    header = read_header(data, image.media_type)
    if header is None:
        raise ToolError(f"{name} can't be shown: its header is damaged.")
    if header.moving:
        raise ToolError(f"{name} is animated; only images that stand still can be shown.")
    if header.width * header.height > MAX_PIXELS:
        raise ToolError(f"{name} has {header.width} x {header.height} pixels; {MAX_PIXELS:,} in all is the limit.")
    width, height = header.width, header.height
    if box is not None or max(width, height) > LONG_SIDE:
        image, width, height = _reduced(image, box, name)
    return header, image, width, height


def _checked_crop(crop: list[float] | None) -> Box | None:
    if crop is None:
        return None
    if len(crop) != 4:
        raise ValueError(f"crop must be [x, y, width, height], got {len(crop)} numbers")
    x, y, width, height = crop
    good = all(math.isfinite(value) and 0 <= value <= 1 for value in crop) and width > 0 and height > 0
    if not good or x + width > 1 + 1e-9 or y + height > 1 + 1e-9:
        raise ValueError(f"crop must be [x, y, width, height] within 0 and 1, got {list(crop)}")
    return None if (x, y, width, height) == (0, 0, 1, 1) else (x, y, width, height)


def _read(ctx: ToolCallContext[Any], src: str) -> tuple[ResolvedPath, bytes]:
    workspace = ctx.agent.workspace
    resolved = workspace.resolve(src)
    found = workspace.stat(resolved)
    if found is not None and found.st_size > MAX_IMAGE_BYTES:
        raise edit_error("io", f"{resolved.display} has {found.st_size:,} bytes; {MAX_IMAGE_BYTES:,} is the limit.")
    state = read_state(workspace, resolved, keep=MAX_IMAGE_BYTES)
    if state.kind == "absent":
        raise missing(workspace, resolved, src)
    if state.kind != "file" or state.data is None:
        raise edit_error("is_dir" if state.kind == "dir" else "io", f"{resolved.display} is no file that can be read.")
    return resolved, state.data


def _reduced(image: Image, box: Box | None, name: str) -> tuple[Image, int, int]:
    """Return the part of *image* that *box* says, no larger than `LONG_SIDE`, and its size.

    Raises:
        ToolError: Pillow is not installed, or can't read the image.
    """
    try:
        from PIL import Image as Pictures
        from PIL import ImageOps
    except ImportError:
        raise ToolError(
            f"{name} must be cut or scaled, for which Pillow is needed: pip install pillow, or make an image of at "
            f"most {LONG_SIDE} pixels a side and ask for it whole."
        ) from None
    try:
        with Pictures.open(io.BytesIO(image.data), formats=_PILLOW_FORMATS) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                raise ToolError(
                    f"{name} has {opened.width} x {opened.height} pixels; {MAX_PIXELS:,} in all is the limit."
                )
            picture = ImageOps.exif_transpose(opened)
            if box is not None:
                picture = picture.crop(_pixels(box, picture.width, picture.height))
            if picture.mode not in ("RGB", "RGBA", "L"):
                picture = picture.convert("RGBA" if "transparency" in picture.info or "A" in picture.mode else "RGB")
            picture.thumbnail((LONG_SIDE, LONG_SIDE))
            kind = _FORMATS[image.media_type]
            if kind == "JPEG":
                picture = picture.convert("RGB")
            out = io.BytesIO()
            picture.save(out, kind)
    except (OSError, ValueError, SyntaxError, Pictures.DecompressionBombError) as exc:
        raise ToolError(f"{name} can't be read as an image: {exc}.") from exc
    return check_image(out.getvalue()), picture.width, picture.height


def _pixels(box: Box, width: int, height: int) -> tuple[int, int, int, int]:
    left, top = min(math.floor(box[0] * width), width - 1), min(math.floor(box[1] * height), height - 1)
    right, bottom = math.ceil((box[0] + box[2]) * width - 1e-6), math.ceil((box[1] + box[3]) * height - 1e-6)
    return left, top, max(left + 1, min(right, width)), max(top + 1, min(bottom, height))
