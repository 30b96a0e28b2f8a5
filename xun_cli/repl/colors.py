"""The theme in the live region: styles are made by their names, and changed here on their way to the terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Attrs, StyleTransformation

from xun_cli.render.theme import Theme, theme_for

if TYPE_CHECKING:
    from xun_cli.settings import Settings


class ThemeColors(StyleTransformation):
    """Applies the theme that *theme* gives; it may change at any time."""

    def __init__(self, theme: Callable[[], Theme]) -> None:
        self._theme = theme

    def transform_attrs(self, attrs: Attrs) -> Attrs:
        """Return *attrs* as the theme has them."""
        theme = self._theme()
        if not theme:
            return attrs
        changed = attrs
        if attrs.dim and "dim" in theme:
            changed = changed._replace(dim=False)
        if attrs.italic and "italic" in theme:
            changed = changed._replace(italic=False)
        if attrs.color in theme:
            words = theme[attrs.color or ""].split()
            color = next((word for word in words if word.startswith("ansi")), "")
            bold, underline = "bold" in words or changed.bold, "underline" in words or changed.underline
            changed = changed._replace(color=color, bold=bold, underline=underline)
        return changed

    def invalidation_hash(self) -> Hashable:
        """Return what tells one theme from another."""
        return tuple(self._theme().items())


class Look:
    """How this terminal is written to: with colours or without, in the theme of the settings, which may change.

    Args:
        settings: Where the theme is named.
        color: Colours are wanted; NO_COLOR says no all the same.
    """

    def __init__(self, settings: Settings, color: bool) -> None:
        self._settings = settings
        self.color = color and not os.environ.get("NO_COLOR")
        self.depth = ColorDepth.DEPTH_4_BIT if self.color else ColorDepth.DEPTH_1_BIT
        self.region = ThemeColors(self.theme)

    def theme(self) -> Theme:
        """Return the theme in force."""
        return theme_for(self._settings.ui.theme, os.environ)
