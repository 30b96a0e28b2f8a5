"""The explanation of a verdict as a table of plain text."""

from __future__ import annotations

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from xun_policies.verdicts import CommandVerdict, Segment

_NAMES = {
    "|": "pipe",
    "&&": "and",
    "||": "or",
    ";": "then",
    "(": "group",
    ")": "end",
    "\n": "line end",
    "&": "background",
}
_STATUS = {"allow": "ALLOW", "ask": "ASK", "ok": "ok"}


def visible(text: str) -> str:
    """Return *text* with every character that is not shown as it is written as ``\\uXXXX``; plain blanks stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    code = ord(char)
    hidden = (
        not char.isprintable() or code in (0x34F, 0x115F, 0x1160, 0x2800, 0x3164, 0xFFA0) or 0xFE00 <= code <= 0xFE0F
    )
    if char == "\n":
        return "\\n"
    if char == "\t":
        return "\\t"
    if hidden or 0xE0100 <= code <= 0xE01EF:
        return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
    return char


def explain(verdict: CommandVerdict, width: int) -> str:
    """Return the table: one row a piece, then the verdict and whether a grant is possible."""
    import textwrap

    width = max(width, 24)
    rows = _rows(verdict)
    longest = max((len(text) for _, text, _, _ in rows), default=0)
    column = min(longest, max(12, (width - 14) * 2 // 5))
    mark = max((len(number) for number, _, _, _ in rows), default=1)
    lines: list[str] = []
    for number, text, status, reason in rows:
        lines += _row(number.rjust(mark), text, status, reason, column, width)
    for tail in _tail(verdict, width):
        lines += textwrap.wrap(tail, width, subsequent_indent="  ", break_long_words=True) or [""]
    return "\n".join(lines)


def _rows(verdict: CommandVerdict) -> list[tuple[str, str, str, str]]:
    rows = []
    number = 0
    for segment in verdict.segments:
        shown, label = _label(segment, number)
        number += segment.kind == "command" or (segment.kind == "other" and bool(segment.text))
        rows.append((shown, label, _STATUS[segment.status], visible(segment.reason)))
    return rows


def _label(segment: Segment, number: int) -> tuple[str, str]:
    if segment.kind == "operator":
        return visible(segment.text), _NAMES.get(segment.text, "operator")
    if segment.kind == "command" or (segment.kind == "other" and segment.text):
        return str(number + 1), visible(segment.text)
    return "", visible(segment.text) or "(whole text)"


def _row(mark: str, text: str, status: str, reason: str, column: int, width: int) -> list[str]:
    """Lay one row out; long text and long reasons go on below, nothing is cut."""
    import textwrap

    indent = len(mark) + 2
    room = width - indent - column - 9
    if room < 16:
        head = textwrap.wrap(text, width - indent - 7, break_on_hyphens=False) or [""]
        lines = [f"{mark}  {head[0].ljust(width - indent - 7)}  {status}".rstrip()]
        lines += [" " * indent + rest for rest in head[1:]]
        return lines + textwrap.wrap(
            reason, width, initial_indent=" " * (indent + 2), subsequent_indent=" " * (indent + 2)
        )
    left = textwrap.wrap(text, column, break_on_hyphens=False, drop_whitespace=True) or [""]
    right = textwrap.wrap(reason, room) or [""]
    lines = []
    for index in range(max(len(left), len(right))):
        first = left[index] if index < len(left) else ""
        second = right[index] if index < len(right) else ""
        begin = f"{mark if index == 0 else ' ' * len(mark)}  {first.ljust(column)}"
        lines.append(f"{begin}  {(status if index == 0 else '').ljust(5)}  {second}".rstrip())
    return lines


def _tail(verdict: CommandVerdict, width: int) -> list[str]:
    if verdict.allowed:
        return ["verdict: ALLOW, every part is on the list", "Nothing was run."]
    lines = ['verdict: not allowed by list → risk assessor decides (allow / unsure / reject) → prompt unless "allow"']
    if verdict.grants:
        offered = (f'"{visible(grant.text)}"' + (" (exactly)" if grant.exact else "") for grant in verdict.grants)
        grant = f"grant possible: yes, {', '.join(offered)}."
    else:
        grant = f"grant possible: no ({_blocking(verdict) or verdict.grant_refused})."
    if len(grant) + 19 <= width:
        return [*lines, f"{grant}   Nothing was run."]
    return [*lines, grant, "Nothing was run."]


def _blocking(verdict: CommandVerdict) -> str:
    """Return the numbers of the rows that no grant covers; a redirection counts for the command before it."""
    number = 0
    found: dict[int, None] = {}
    for segment in verdict.segments:
        number += segment.kind == "command" or (segment.kind == "other" and bool(segment.text))
        if segment.status == "ask" and segment.grant is None and number:
            found[number] = None
    if not found:
        return ""
    return f"segment{'s' if len(found) > 1 else ''} {', '.join(map(str, found))}"
