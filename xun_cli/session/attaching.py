"""Images that wait for the next message of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xun_cli.attachments import refuse_without_vision

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.messages import Image

MOST = 10
"""Images that one message may have."""


class Attaching:
    """The part of a session that holds images for the next message; mixed into `Session`.

    Attributes:
        attached: Their names, in order.
    """

    agent: Agent[Any]

    def __init__(self) -> None:
        self.attached: list[str] = []
        self._images: list[Image] = []

    def attach(self, image: Image, name: str) -> None:
        """Send *image*, which people know by *name*, with the next message.

        Raises:
            ImageError: The model takes no images, or there are too many.
        """
        from xun_cli.attachments import ImageError

        refuse_without_vision(self.agent.model)
        if len(self._images) >= MOST:
            raise ImageError(f"A message has {MOST} images at most; send these first.")
        self._images.append(image)
        self.attached.append(name)

    def detach_all(self) -> list[str]:
        """Send none of them; returns their names."""
        names, self.attached, self._images = self.attached, [], []
        return names

    def with_attached(self, images: Sequence[Image]) -> tuple[Image, ...]:
        """Return the images that wait, then *images*; none waits any more."""
        waiting = tuple(self._images)
        self.detach_all()
        return (*waiting, *images)
