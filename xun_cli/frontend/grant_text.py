"""The grants of a command as a person edits them: ``npm test ; make lint``."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xun.choice import ChoiceRequest
    from xun_policies.commands import CommandGrant


class GrantTextError(ValueError):
    """The edited text is not a list of grants that cover this command; the text says what to change."""


def grants_text(grants: Iterable[CommandGrant]) -> str:
    """Return *grants* as one editable line."""
    return " ; ".join(grant.text for grant in grants)


def parse_grants(text: str, request: ChoiceRequest) -> tuple[CommandGrant, ...]:
    """Read back an edited line.

    Each grant must begin one of the commands that were offered and may not be wider than the offer
    of that command, so that after it the same command runs unasked and nothing else slips in.

    Raises:
        GrantTextError: It does not; the text names the part and the way out.
    """
    from xun_policies.commands import CommandGrant

    offered = request.command.grants if request.command is not None else ()
    argvs = [segment.argv for segment in request.command.segments] if request.command is not None else []
    result: list[CommandGrant] = []
    for words in _split(text):
        prefix = tuple(words)
        matching = [argv for argv in argvs if argv[: len(prefix)] == prefix]
        if not matching:
            raise GrantTextError(f"“{shlex.join(words)}” begins none of these commands: keep the words as they stand.")
        same = next((grant for grant in offered if grant.tokens == prefix), None)
        if same is not None:
            result.append(same)
            continue
        narrower = any(prefix[: len(grant.tokens)] == grant.tokens and not grant.exact for grant in offered)
        if not narrower:
            raise GrantTextError(
                f"“{shlex.join(words)}” is wider than what is offered: add words, or use /policy allow."
            )
        result.append(CommandGrant(prefix))
    if not result:
        raise GrantTextError("Nothing to grant was left: choose “this time only” instead.")
    missing = [grant for grant in offered if not any(_covers(grant, given) for given in result)]
    if missing:
        raise GrantTextError(f"“{missing[0].text}” would still be asked about: keep it, or choose “this time only”.")
    return tuple(result)


def _covers(offer: CommandGrant, given: CommandGrant) -> bool:
    return given.tokens[: len(offer.tokens)] == offer.tokens


def _split(text: str) -> Sequence[list[str]]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";")
    lexer.whitespace_split = True
    lexer.commenters = ""
    parts: list[list[str]] = [[]]
    try:
        for token in lexer:
            if set(token) == {";"}:
                parts.append([])
            else:
                parts[-1].append(token)
    except ValueError as exc:
        raise GrantTextError("A quote is open in the grant: close it.") from exc
    return [part for part in parts if part]
