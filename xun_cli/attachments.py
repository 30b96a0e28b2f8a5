"""Images that go with a message: by a path, by a mention with @, or from the clipboard."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from xun.errors import ToolError, XunError
from xun_cli.mentions import expand, mentioned

if TYPE_CHECKING:
    from xun.messages import Image
    from xun.models.base import ChatModel

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif")
"""How the names of image files end, for mentions: any other path is left to the model's own reading."""


class ImageError(XunError):
    """An image can't go with a message; the text says why, and the way out."""

    kind = "image"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A message as it is sent.

    Attributes:
        text: Its text, mentions explained.
        images: The images that go with it.
        notes: One sentence for each image that was left out.
    """

    text: str
    images: tuple[Image, ...] = ()
    notes: tuple[str, ...] = ()


def refuse_without_vision(model: ChatModel | None) -> None:
    """Return when *model* takes images.

    Raises:
        ImageError: It does not.
    """
    if model is None or "vision" not in model.capabilities:
        name = "this session's model" if model is None else model.name
        raise ImageError(f"{name} takes no images, as far as its name tells; /model chooses one that does.")


def image_from(data: bytes, name: str) -> Image:
    """Return the image that *data* holds, no larger than models need it; it needs Pillow only where it is scaled.

    Raises:
        ImageError: It is none that can be sent.
    """
    from xun_builtin_tools.fs.picturing import fitting_image

    try:
        return fitting_image(data, name)[1]
    except ToolError as exc:
        raise ImageError(str(exc)) from None


def read_image(path: Path) -> Image:
    """Return the image in the file *path*; blocking.

    Raises:
        ImageError: It can't be read, or is none that can be sent.
    """
    from xun.tools.images import MAX_IMAGE_BYTES

    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(fd, "rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except OSError as exc:
        raise ImageError(f"{path} can't be read: {exc.strerror}.") from None
    if len(data) > MAX_IMAGE_BYTES:
        raise ImageError(f"{path} is larger than {MAX_IMAGE_BYTES // (1 << 20)} MiB; make it smaller first.")
    return image_from(data, path.name)


def prepare(text: str, folder: Path, model: ChatModel | None) -> Prepared:
    """Return the message that *text* stands for: its mentions explained, the images among them read; blocking.

    What can't go along is told in the notes; the message is sent all the same.
    """
    if "@" not in text:
        return Prepared(text)
    images: list[Image] = []
    notes: list[str] = []
    for name in _image_names(mentioned(text, folder)):
        try:
            refuse_without_vision(model)
            images.append(read_image(folder / name))
        except ImageError as exc:
            notes.append(f"@{name} is not sent along: {exc}")
    return Prepared(expand(text, folder), tuple(images), tuple(notes))


def _image_names(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.lower().endswith(ENDINGS)]
