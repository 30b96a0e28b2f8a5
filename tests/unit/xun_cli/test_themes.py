"""Themes: the terminal's own colours only, the same in what is printed and in the live region."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prompt_toolkit.styles import DEFAULT_ATTRS, Style

from tests.fakes.inline_sheet import inline_sheet
from xun_cli.render.text import _CODES, ansi, sgr
from xun_cli.render.theme import THEMES, theme_for, themed
from xun_cli.repl.colors import ThemeColors
from xun_cli.settings import CHOICES, Settings

WORDS = ("ansicyan", "ansigreen", "ansired", "ansiyellow", "dim", "bold", "italic", "bold ansicyan", "ansibrightcyan")


def test_the_settings_name_every_theme_and_only_words_that_there_are() -> None:
    assert CHOICES["ui.theme"] == tuple(THEMES)
    for theme in THEMES.values():
        assert all(word in _CODES for words in theme.values() for word in words.split())


@pytest.mark.parametrize("name", THEMES)
@pytest.mark.parametrize("style", WORDS)
def test_the_region_and_what_is_printed_have_the_same_look(name: str, style: str) -> None:
    theme = THEMES[name]
    printed = set(re.findall(r"\d+", sgr(themed(style, theme))))
    attrs = Style([]).get_attrs_for_style_str(style, default=DEFAULT_ATTRS)
    drawn = ThemeColors(lambda: theme).transform_attrs(attrs)
    flags = {"1": drawn.bold, "2": drawn.dim, "3": drawn.italic, "4": drawn.underline}
    codes = {number for number, on in flags.items() if on}
    codes |= {str(_CODES[drawn.color])} if drawn.color else set()
    assert codes == printed


def test_no_theme_has_a_background_and_mono_has_no_colour() -> None:
    for name, theme in THEMES.items():
        for word in _CODES:
            text = ansi([(word, "x")], True, theme)
            assert (
                not re.search(r"\x1b\[(4\d|10\d|[34]8)", text)
                or word == "underline"
                or "underline" in theme.get(word, "")
            )
            if name == "mono":
                assert not re.search(r"\x1b\[[\d;]*(3[0-7]|9[0-7])", text)
            if name == "light-safe":
                assert not re.search(r"\x1b\[[\d;]*(3[2367]|9\d)m", text) or word in ("ansibrightblack", "italic")
            if name == "high-contrast":
                assert not re.search(r"\x1b\[[\d;]*(2|90)m", text) or word not in ("dim", "ansibrightblack")


PALETTES = {
    "xterm": {"ansired": 0xCD0000, "ansimagenta": 0xCD00CD, "ansiblue": 0x0000EE, "ansigreen": 0x00CD00},
    "VS Code": {"ansired": 0xCD3131, "ansimagenta": 0xBC05BC, "ansiblue": 0x0451A5, "ansigreen": 0x00BC00},
}
"""What two widely used terminals show on white."""


def contrast_on_white(color: int) -> float:
    """Return the contrast ratio as WCAG 2 defines it."""
    parts = [(color >> shift & 255) / 255 for shift in (16, 8, 0)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


@pytest.mark.parametrize("word", ["ansigreen", "ansicyan", "ansiyellow", "ansired", "ansiblue", "ansimagenta"])
def test_light_safe_is_read_on_white(word: str) -> None:
    for palette in PALETTES.values():
        assert contrast_on_white(palette[themed(word, THEMES["light-safe"])]) >= 4.5


def test_a_light_background_that_the_terminal_tells_of() -> None:
    assert theme_for("default", {"COLORFGBG": "0;15"}) is THEMES["light-safe"]
    assert theme_for("default", {"COLORFGBG": "0;default;7"}) is THEMES["light-safe"]
    assert theme_for("default", {"COLORFGBG": "15;0"}) is THEMES["default"]
    assert theme_for("mono", {"COLORFGBG": "0;15"}) is THEMES["mono"]
    assert theme_for("no such", {}) is THEMES["default"]


async def test_the_command_changes_what_is_drawn_from_now_on(tmp_path: Path) -> None:
    settings = Settings()
    async with inline_sheet(tmp_path, 80, 24, settings=settings) as sheet:
        assert "\x1b[36" in sheet.written.getvalue() or "\x1b[0;36" in sheet.written.getvalue()
        await sheet.press("/theme mono\r")
        await sheet.shows("The theme is mono for now")
        assert settings.ui.theme == "mono"
        await sheet.press("x")
        await sheet.shows("› x")
        at = len(sheet.written.getvalue())
        await sheet.press("\x0c")
        await sheet.press("yz")
        await sheet.shows("› xyz")
        assert not re.search(r"\x1b\[[\d;]*3[0-7]", sheet.written.getvalue()[at:])
        await sheet.press("\x15/theme nonsense\r")
        await sheet.shows("There is no theme 'nonsense'")
