"""What a reader of a question should be warned about: hidden characters and look-alikes."""

from __future__ import annotations

import unicodedata

from xun_cli.render.safe import hides_something

_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "HEBREW", "ARABIC", "CHEROKEE", "FULLWIDTH")


def warnings(text: str) -> list[str]:
    """Return one clause per reason to look twice at *text*; empty for ordinary text.

    Hidden characters come first. Look-alikes: letters of several scripts in one word, and
    characters of the fullwidth forms, which stand for the ASCII signs of a shell.
    """
    found: list[str] = []
    if hides_something(text):
        found.append("contains hidden characters, shown as <U+XXXX>")
    if text.isascii():
        return found
    mixed = [word for word in text.split() if len(_scripts(word)) > 1]
    if mixed:
        found.append(f"mixes scripts in one word ({', '.join(_named(word) for word in mixed[:2])})")
    others = sorted({char for char in text if not char.isascii() and char.isprintable()})
    if others and not mixed:
        shown = " ".join(f"{char} U+{ord(char):04X}" for char in others[:4])
        found.append(f"non-ASCII: {shown}{' …' if len(others) > 4 else ''}")
    return found


def _named(word: str) -> str:
    marked = [f"{char} U+{ord(char):04X}" for char in word if not char.isascii() and char.isprintable()]
    return " ".join(marked[:3])


def _scripts(word: str) -> set[str]:
    scripts: set[str] = set()
    for char in word:
        if char.isascii():
            if char.isalpha():
                scripts.add("LATIN")
            continue
        name = unicodedata.name(char, "")
        script = next((script for script in _SCRIPTS if name.startswith(script)), "")
        if script:
            scripts.add(script)
    return scripts
