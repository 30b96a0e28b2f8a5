"""How a verdict is put together: parse once, judge each piece, then say what could be granted."""

from __future__ import annotations

from itertools import pairwise

from xun_policies.decision import Decision
from xun_policies.explain import visible
from xun_policies.grants import MAX_OFFERED, CommandGrant
from xun_policies.judge import Judge
from xun_policies.shell.environment import INERT_VARIABLES, is_inert
from xun_policies.shell.grammar import MAX_COMMANDS, Parsed, Piece, Redirect, Simple, parse
from xun_policies.shell.lexer import Operator, Problem, Word
from xun_policies.verdicts import CommandScope, CommandVerdict, Segment

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from xun_policies.store import PolicyState


def verdict(text: str, policy: PolicyState, scope: CommandScope) -> CommandVerdict:
    """Return what `xun_policies.commands.evaluate` returns."""
    parsed = parse(text)
    judge = Judge.take(policy, scope)
    segments = _segments(parsed, judge) if parsed.pieces else []
    judge.give_back()
    syntax = parsed.problem
    if syntax is not None and not any(segment.status == "ask" and segment.rule == syntax.rule for segment in segments):
        whole = "" if segments else text
        segments.append(Segment(whole, "ask", syntax.rule, syntax.reason, "other"))
    asking = [segment for segment in segments if segment.status == "ask"]
    if not asking and syntax is None and segments:
        return CommandVerdict(text, Decision.ALLOW, tuple(segments), "", True, (), "", parsed.bare)
    grants, refused = _offers(asking, syntax)
    reason, understood = _reason(asking, syntax), syntax is None
    return CommandVerdict(text, Decision.ASK, tuple(segments), reason, understood, grants, refused, parsed.bare)


def _segments(parsed: Parsed, judge: Judge) -> list[Segment]:
    start = (judge.start,)
    moves = False
    for command in parsed.commands:
        command.cwds = start
        moves = moves or command.words[0].text == "cd"
    if moves and len(parsed.commands) <= MAX_COMMANDS:
        judge.follow(parsed.body, start)
    return [_segment(piece, parsed.text, judge) for piece in parsed.pieces]


def _segment(piece: Piece, text: str, judge: Judge) -> Segment:
    if isinstance(piece, Simple):
        return _command(piece, text, judge)
    shown = text[piece.start : piece.end]
    if isinstance(piece, Operator):
        if piece.problem is None:
            return Segment(shown, "ok", "operator", "operator allowed", "operator")
        return Segment(shown, "ask", piece.problem.rule, piece.problem.reason, "operator")
    if isinstance(piece, Redirect):
        if piece.problem is None:
            return Segment(shown, "ok", "redirection", "no file is involved", "redirect")
        return Segment(shown, "ask", piece.problem.rule, piece.problem.reason, "redirect")
    problem = _assignment(piece)
    if problem is None:
        return Segment(shown, "ok", "assignment", "an inert variable", "assignment")
    return Segment(shown, "ask", problem.rule, problem.reason, "assignment")


def _assignment(word: Word) -> Problem | None:
    """Return why setting a variable for one command is not free, or None."""
    if word.problem is not None:
        return word.problem
    name, _, value = word.text.partition("=")
    if name not in INERT_VARIABLES:
        return Problem(
            "assignment",
            f"{name} may change what the command does; only {len(INERT_VARIABLES)} inert names are free",
        )
    if word.pwd or word.dynamic or word.tilde or not is_inert(name, value):
        return Problem("assignment", f"the value of {name} is not plain")
    return None


def _command(command: Simple, text: str, judge: Judge) -> Segment:
    judged = judge.command(command)
    words = command.words
    shown = _source(command, text)
    argv = tuple(word.text for word in words)
    grant = judged.grant
    return Segment(
        shown,
        "allow" if judged.allowed else "ask",
        judged.rule,
        judged.reason,
        "command",
        argv,
        None if grant is None else grant.tokens,
        grant is not None and grant.exact,
    )


def _source(command: Simple, text: str) -> str:
    """Return the source of the words, without the redirections that may stand between them."""
    words = command.words
    if not command.broken:
        return text[words[0].start : words[-1].end]
    parts = [text[words[0].start : words[0].end]]
    for before, word in pairwise(words):
        if word.start == before.start:
            continue  # both come from one list in braces
        gap = text[before.end : word.start]
        parts.append(gap if gap.isspace() else " ")
        parts.append(text[word.start : word.end])
    return "".join(parts)


def _reason(asking: list[Segment], syntax: Problem | None) -> str:
    """Return one sentence, without a character that is not shown as it is."""
    if not asking:
        return f"{syntax.reason}." if syntax is not None else "No command."
    first = asking[0]
    named = first.text and len(first.text) <= 80 and first.kind != "other"
    text = f"{first.text}: {first.reason}." if named else f"{first.reason[:1].upper()}{first.reason[1:]}."
    return text if text.isprintable() else visible(text)


_NOT_GRANTED = {
    "assignment": "setting such a variable",
    "background": "a background job",
    "brace": "brace expansion",
    "control-char": "text with hidden characters",
    "glob": "a pattern",
    "here-document": "a here-document",
    "name": "this way to name a program",
    "newline": "several lines",
    "path": "leaving the workspace",
    "redirection": "a redirection",
    "substitution": "a substitution",
    "tilde": "a home folder",
    "too-long": "so long a text",
    "too-many": "so many commands",
    "variable": "a variable",
}


def _refusal(rule: str) -> str:
    return f"{_NOT_GRANTED.get(rule, 'text that is not fully understood')} cannot be granted"


def _offers(asking: list[Segment], syntax: Problem | None) -> tuple[tuple[CommandGrant, ...], str]:
    if syntax is not None:
        return (), _refusal(syntax.rule)
    offered: dict[CommandGrant, None] = {}
    for segment in asking:
        if segment.grant is None:
            return (), _refusal(segment.rule)
        offered[CommandGrant(segment.grant, segment.grant_exact)] = None
    if len(offered) > MAX_OFFERED:
        return (), f"more than {MAX_OFFERED} prefixes would be needed"
    return tuple(offered), ""
