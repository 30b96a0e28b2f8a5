"""Questions as numbered lines, and what a typed line answers: pure functions for the line-based front end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from xun.choice import DENY, GRANT, ONCE, ChoiceOutcome, ChoiceRequest, WriteGrant
from xun_cli.render.approval import editable
from xun_cli.render.safe import safe

HINT = "Type the number, or g, o, d. A denial takes a reason behind it, as in: 3 use the test database"

_LETTERS = {"g": "1", "o": "2", "d": "3"}
"""The keys of the three answers in the inline front end, which hands know."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a typed line means for a question.

    Attributes:
        outcome: The answer; None when the line is none.
        text: What to print: a problem, an explanation, or "".
        edit: The person wants to edit what would be written.
    """

    outcome: ChoiceOutcome[Any] | None = None
    text: str = ""
    edit: bool = False


def question_text(request: ChoiceRequest, columns: int, waiting: int = 0, *, edits: bool = False) -> str:
    """Return everything that a person needs to decide, then the answers by number; *edits*: an editor can be opened."""
    from xun_cli.render.approval_content import content_lines, risk_words
    from xun_cli.render.text import plain_lines

    who = "" if request.agent == "main" else f" ({safe(request.agent, multiline=False)})"
    lines = [f"QUESTION{who}: {safe(request.prompt, multiline=False, prompt=True)}"]
    risk, _ = risk_words(request.risk)
    lines += [risk] if risk else []
    content = plain_lines(content_lines(request, columns))
    lines += [content] if content.strip() else []
    lines += [_row(number, text) for number, text in enumerate(_answers(request), 1)]
    if request.allow_extra:
        lines.append("  or type your own answer")
    if request.default is not None and request.kind not in ("command", "write"):
        lines.append(f"  an empty line: {safe(str(_label(request, request.default)), multiline=False)}")
    if request.kind in ("command", "write"):
        lines.append(HINT + _edit_hint(request, edits=edits))
    if waiting:
        lines.append(f"({waiting} more waiting)")
    return "\n".join(lines)


def _edit_hint(request: ChoiceRequest, *, edits: bool) -> str:
    if request.kind == "command":
        return "; e COMMAND runs another command instead"
    return "; e opens your editor on what would be written" if edits and editable(request) else ""


def _row(number: int, text: str) -> str:
    return f"  {number}  {text}"


def _answers(request: ChoiceRequest) -> list[str]:
    rows = []
    for option in request.options:
        text = safe(option.label, multiline=False, prompt=True)
        if option.value == GRANT and option.available:
            text += f":{grant_text(request)}" if len(request.write_scopes) > 1 else f": {grant_text(request)}"
        elif not option.available:
            text += f" - not offered: {safe(option.note, multiline=False)}"
        rows.append(text)
    return rows


def grant_text(request: ChoiceRequest) -> str:
    """Return what "allow and grant" would allow from then on; several scopes in a row each, by letter."""
    if request.command is not None:
        words = ", ".join(grant.text + ("" if grant.exact else " ...") for grant in request.command.grants)
        span = "from now on" if request.agent == "main" else "for this sub-agent"
        return f"{span} also {safe(words, multiline=False, prompt=True)}"
    scopes = [scope_text(grants) for grants in request.write_scopes]
    if len(scopes) <= 1:
        return "".join(scopes)
    return "".join(f"\n     1{'abcdefgh'[at]}  {text}" for at, text in enumerate(scopes[:8]))


def scope_text(grants: tuple[WriteGrant, ...]) -> str:
    """Return what one row of write grants allows."""
    words = [f"{grant.path}{' and all below' if grant.directory else ''}" for grant in grants]
    return safe(", ".join(words), multiline=False, prompt=True)


def _label(request: ChoiceRequest, value: Any) -> Any:
    return next((option.label for option in request.options if option.value == value), value)


def read_reply(request: ChoiceRequest, line: str, *, edits: bool = False) -> Reply:
    """Return what the typed *line* means for *request*; a line that is no answer changes nothing."""
    text = line.strip()
    if text == "?":
        return Reply(text=_explained(request))
    if request.kind == "write" and text == "e":
        return _edit(request, edits=edits)
    if request.kind in ("command", "write"):
        return _permission(request, text)
    return _free(request, text)


def _edit(request: ChoiceRequest, *, edits: bool) -> Reply:
    if editable(request) and edits:
        return Reply(edit=True)
    why = "your editor needs a terminal" if editable(request) else "this can't be edited"
    return Reply(text=f"Not here: {why}. Deny it with a reason instead, as in: 3 keep the old name")


def _permission(request: ChoiceRequest, text: str) -> Reply:
    word, _, rest = text.partition(" ")
    if word == "e" and request.kind == "command":
        command = rest.strip()
        if not command:
            return Reply(text="e needs the command to run instead: e COMMAND")
        return Reply(ChoiceOutcome(ONCE, edited=command))
    word = _LETTERS.get(word, word)
    number, letter = (word[:-1], word[-1]) if word[-1:].isalpha() and word[:-1].isdigit() else (word, "")
    if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= len(request.options):
        return Reply(text=f"Not an answer. {HINT}")
    option = request.options[int(number) - 1]
    if not option.available:
        return Reply(text=f"That is not offered here: {safe(option.note, multiline=False)}")
    if option.value == DENY:
        return Reply(ChoiceOutcome(DENY, reason=rest.strip()))
    if rest.strip() or (letter and option.value != GRANT):
        return Reply(text=f"Not an answer. {HINT}")
    if option.value == GRANT:
        return _grant(request, letter)
    return Reply(ChoiceOutcome(option.value))


def _grant(request: ChoiceRequest, letter: str) -> Reply:
    outcome: ChoiceOutcome[Any] = ChoiceOutcome(GRANT)
    if request.command is not None:
        return Reply(replace(outcome, grants=tuple(request.command.grants)))
    at = "abcdefgh".find(letter) if letter else 0
    if not 0 <= at < len(request.write_scopes):
        return Reply(text=f"There is no grant 1{letter}. {HINT}")
    return Reply(replace(outcome, grants=tuple(request.write_scopes[at])))


def _free(request: ChoiceRequest, text: str) -> Reply:
    if text.isascii() and text.isdigit() and 1 <= int(text) <= len(request.options):
        return Reply(ChoiceOutcome(request.options[int(text) - 1].value))
    for option in request.options:
        if text and text.lower() in (option.label.lower(), option.key.lower(), str(option.value).lower()):
            return Reply(ChoiceOutcome(option.value))
    if not text and request.default is not None:
        return Reply(ChoiceOutcome(request.default))
    if request.allow_extra and text:
        return Reply(ChoiceOutcome(text))
    return Reply(text="Not an answer. Type one of the numbers.")


def _explained(request: ChoiceRequest) -> str:
    from xun_cli.render.approval_content import explain_lines
    from xun_cli.render.text import plain_lines

    return plain_lines(explain_lines(request, 80))


def refusal(request: ChoiceRequest) -> ChoiceOutcome[Any]:
    """Return the outcome of a question that its person left (Ctrl-C, end of input)."""
    if request.kind == "confirm":
        return ChoiceOutcome(False)
    if request.kind == "choice":
        return ChoiceOutcome(request.default if request.default is not None else "")
    return ChoiceOutcome(DENY)
