"""The theme in the live region: styles are made by their names, and changed here on their way to the terminal."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from prompt_toolkit.styles import Attrs, StyleTransformation

from xun_cli.render.theme import Theme


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
        for word in ("dim", "italic"):
            if getattr(attrs, word) and word in theme:
                changed = changed._replace(**{word: False})
        if attrs.color in theme:
            words = theme[attrs.color or ""].split()
            color = next((word for word in words if word.startswith("ansi")), "")
            bold, underline = "bold" in words or changed.bold, "underline" in words or changed.underline
            changed = changed._replace(color=color, bold=bold, underline=underline)
        return changed

    def invalidation_hash(self) -> Hashable:
        """Return what tells one theme from another."""
        return tuple(self._theme().items())
