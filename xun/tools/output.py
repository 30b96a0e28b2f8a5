"""ToolOutput: one value for the model, another for the person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xun._serialize import to_jsonable
from xun.messages import Image


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool may return to say more than a value.

    Attributes:
        value: What the model reads, as any other return value.
        display: What the person sees instead; "" for the value itself.
        images: Images that go to the model after the results of this step.
        msg: One line with the images.
    """

    value: Any
    display: str = ""
    images: Sequence[Image | bytes] = ()
    msg: str = ""

    def to_json(self) -> Any:
        """Return the value as JSON: what the model would read."""
        return to_jsonable(self.value)
