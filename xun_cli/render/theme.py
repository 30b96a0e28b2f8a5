"""Themes: which of the terminal's own 16 colours stand for what. None of them sets a background.

A theme replaces style words of `xun_cli.render.text`; a word that it does not name stays.
"""

from __future__ import annotations

from collections.abc import Mapping

Theme = Mapping[str, str]
"""Style words by the word that they replace."""

_DARK_ONLY = {"ansiyellow": "ansimagenta", "ansicyan": "ansiblue"}
THEMES: Mapping[str, Theme] = {
    "default": {},
    # On white, of the usual palettes: yellow 1.7 to 3.1 to 1, cyan 2.0 to 3.4, green 2.2 to 3.0; blue 3.4 to 9.4,
    # magenta 4.2 to 5.4, red 4.3 to 5.8. Bright colours vanish all.
    "light-safe": {
        **_DARK_ONLY,
        "ansigreen": "ansiblue",
        "ansiwhite": "",
        "ansigray": "",
        "ansibrightyellow": "ansimagenta",
        "ansibrightcyan": "ansiblue",
        "ansibrightgreen": "ansiblue",
        "ansibrightblue": "ansiblue",
        "ansibrightmagenta": "ansimagenta",
        "ansibrightred": "ansired",
    },
    # Nothing faint; weight instead of hue, for what a colour alone would say.
    "high-contrast": {
        "dim": "",
        "italic": "",
        "ansicyan": "bold",
        "ansiblue": "bold",
        "ansimagenta": "bold",
        "ansibrightblack": "",
        "ansiyellow": "bold underline",
        "ansigreen": "bold ansigreen",
        "ansired": "bold ansired",
    },
    "mono": {
        **dict.fromkeys(
            (
                "ansiblack",
                "ansicyan",
                "ansigreen",
                "ansiblue",
                "ansimagenta",
                "ansibrightblack",
                "ansibrightgreen",
                "ansibrightyellow",
                "ansibrightblue",
                "ansibrightmagenta",
                "ansibrightcyan",
                "ansigray",
                "ansiwhite",
            ),
            "",
        ),
        "ansiyellow": "bold",
        "ansired": "bold",
        "ansibrightred": "bold",
    },
}
"""Every theme by the name that ``ui.theme`` takes."""

_LIGHT = frozenset({"7", "15"})


def theme_for(name: str, environ: Mapping[str, str]) -> Theme:
    """Return the theme *name*; the default one gives way to light-safe where COLORFGBG tells of a light background."""
    if name == "default" and environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT:
        return THEMES["light-safe"]
    return THEMES.get(name, THEMES["default"])


def themed(style: str, theme: Theme) -> str:
    """Return the words of *style* as *theme* has them."""
    if not theme or not style:
        return style
    return " ".join(theme.get(word, word) for word in style.split())
