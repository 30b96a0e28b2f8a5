"""What an editor sends as a message: text, files, pictures."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from acp.schema import (
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from xun.errors import XunError
from xun_cli.acp.updates import fenced
from xun_cli.attachments import image_from, refuse_without_vision
from xun_cli.render.calls import relative

if TYPE_CHECKING:
    from xun.messages import Image
    from xun.models.base import ChatModel


class PromptError(XunError):
    """The message has a part that can't be used; the text names it."""

    kind = "prompt"


@dataclass(frozen=True, slots=True)
class Message:
    """A message for the model, and the same as the person sees it."""

    text: str
    shown: str
    images: tuple[Image, ...] = ()


def read_prompt(blocks: Iterable[Any], cwd: Path, model: ChatModel | None) -> Message:
    """Put the parts of a message together, in their order; blocking, as pictures are scaled.

    Raises:
        PromptError: A part is of a kind that no model of ours takes.
        ImageError: A picture can't be sent.
    """
    text: list[str] = []
    shown: list[str] = []
    images: list[Image] = []
    for block in blocks:
        if isinstance(block, TextContentBlock):
            text.append(block.text)
            shown.append(block.text)
        elif isinstance(block, ResourceContentBlock):
            name = f"`{_name(block.uri, cwd)}`"
            text.append(name)
            shown.append(name)
        elif isinstance(block, EmbeddedResourceContentBlock) and isinstance(block.resource, TextResourceContents):
            name = _name(block.resource.uri, cwd)
            text.append(f"\n`{name}`:\n{fenced(block.resource.text)}\n")
            shown.append(f"`{name}`")
        elif isinstance(block, ImageContentBlock):
            refuse_without_vision(model)
            images.append(_image(block))
            shown.append(f"[image {len(images)}]")
        else:
            raise PromptError(
                f"A part of the message is of the kind {block.type!r}: text, files and images can be sent."
            )
    whole = "".join(text).strip()
    if not whole and not images:
        raise PromptError("The message is empty.")
    return Message(whole, "".join(shown).strip(), tuple(images))


def _image(block: ImageContentBlock) -> Image:
    try:
        data = b64decode(block.data, validate=True)
    except (BadBase64, ValueError):
        raise PromptError("An image of the message is not in base64.") from None
    return image_from(data, "image")


def _name(uri: str, cwd: Path) -> str:
    """Return the path that a file: address names, relative to *cwd* when it is below it; any other address as it is."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return uri
    path = unquote(parts.path)
    line = f":{parts.fragment.removeprefix('L')}" if parts.fragment else ""
    return relative(path, str(cwd)) + line
