"""What a model can take beyond text."""

from __future__ import annotations

from typing import Literal

ModelCapabilityType = Literal["vision"]
"""A capability that a tool may require of the model."""
