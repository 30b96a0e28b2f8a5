"""Source code in the terminal's own 16 colours, by pygments (imported at the first use)."""

from __future__ import annotations

from typing import Any

from xun_cli.render.safe import safe
from xun_cli.render.text import PLAIN, Line

HIGHLIGHT_LIMIT = 60_000
"""Characters of one piece of code that are coloured; longer code is shown plain."""

_STYLES = (
    ("Comment", "dim italic"),
    ("Keyword.Constant", "ansicyan"),
    ("Keyword", "ansimagenta"),
    ("Literal.String", "ansigreen"),
    ("Literal.Number", "ansicyan"),
    ("Name.Function", "ansiblue"),
    ("Name.Class", "ansiblue bold"),
    ("Name.Decorator", "ansiyellow"),
    ("Name.Builtin", "ansicyan"),
    ("Name.Tag", "ansimagenta"),
    ("Name.Attribute", "ansiyellow"),
    ("Operator.Word", "ansimagenta"),
    ("Generic.Deleted", "ansired"),
    ("Generic.Inserted", "ansigreen"),
    ("Generic.Heading", "bold"),
    ("Generic.Subheading", "ansicyan"),
    ("Error", ""),
)


def code_lines(code: str, language: str = "") -> list[Line]:
    """Return *code* as lines, coloured where the language is known; tabs are kept."""
    text = safe(code.replace("\r\n", "\n"))
    lexer = _lexer(language) if len(text) <= HIGHLIGHT_LIMIT else None
    if lexer is None:
        return [[(PLAIN, row)] for row in text.split("\n")]
    lines: list[Line] = [[]]
    for kind, value in lexer.get_tokens(text):
        style = _style(kind)
        first, *more = value.split("\n")
        if first:
            lines[-1].append((style, first))
        for row in more:
            lines.append([(style, row)] if row else [])
    # A lexer ends its input with a newline of its own.
    while len(lines) > text.count("\n") + 1:
        lines.pop()
    return lines


def preload() -> None:
    """Import pygments now; meant for a thread behind the drawn prompt."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]

    get_lexer_by_name("python")


def _lexer(language: str) -> Any:
    if not language:
        return None
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=True)
    except ClassNotFound:
        return None


def _style(kind: Any) -> str:
    name = str(kind).removeprefix("Token.")
    for prefix, style in _STYLES:
        if name == prefix or name.startswith(prefix + "."):
            return style
    return PLAIN
