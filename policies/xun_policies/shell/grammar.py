"""Tokens -> commands, pipelines, lists and subshells, by recursive descent.

The grammar (anything else is a problem, and a problem is never allowed):

    list     = and_or { ";" and_or } [ ";" ]
    and_or   = pipeline { ("&&" | "||") pipeline }
    pipeline = [ "!" ] command { "|" command }
    command  = "(" list ")" { redirect } | { assignment | redirect } word { word | redirect }
    redirect = [digit] (">" | ">>" | "<") "/dev/null" | ("&>" | "&>>") "/dev/null" | [digit] ">&" digit

A file as input asks, also one of the workspace: the specification frees redirections to and from /dev/null only.
"""

from __future__ import annotations

import re

from xun_policies.shell.lexer import Operator, Problem, Token, Word, lex, screen
from xun_policies.wordset import wordset

MAX_COMMANDS = 60
"""Most commands in one text; more ask (a cap that lets the rest through has been exploited elsewhere)."""
MAX_DEPTH = 16
"""Deepest nesting of parentheses."""
MAX_PIECES = 600
"""Most commands, operators and redirections in one text; what follows is not looked at, and the text asks."""

RESERVED = wordset("if then elif else fi for while until do done case esac select function time coproc { } ! [[ ]] in")
_ASSIGNMENT = r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^=]*)?\+?="
_JOINING = frozenset({"&&", "||", ";", "|", "&", "|&", ";;", ";&", ";;&", "\n"})
_REDIRECTS = frozenset({"<", ">", ">>", "&>", "&>>", ">&", "<&", "<>", ">|", "<<", "<<-", "<<<"})
_COMMENT_LIKE = r"(?:^|[\s;&|()<>`])#"
_DOUBTFUL = frozenset({"[[", "case", "function", "coproc", "time"})
"""Words that may be reserved where they stand, and after which bash may read a ``#`` in another way."""
_TO_NULL = frozenset({"<", ">", ">>", "&>", "&>>"})
_DIGITS = frozenset("0123456789")
_WRITES = Problem("redirection", "redirection; only /dev/null forms are free")


class Simple:
    """One simple command: assignments, words, redirections."""

    __slots__ = ("assignments", "broken", "cwds", "words")

    def __init__(self) -> None:
        self.broken = False
        self.assignments: list[Word] = []
        self.words: list[Word] = []
        self.cwds: tuple[str, ...] = ()


class Redirect:
    """One redirection with its descriptor and target."""

    __slots__ = ("end", "problem", "start")

    def __init__(self, start: int, end: int, problem: Problem | None) -> None:
        self.start = start
        self.end = end
        self.problem = problem


class Sequence:
    """Pipelines, each with the operator before it (the first has ``;``)."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[tuple[str, Pipeline]] = []


class Group:
    """A list in parentheses."""

    __slots__ = ("body",)

    def __init__(self, body: Sequence) -> None:
        self.body = body


class Pipeline:
    """Commands joined by ``|``; `negated` by a ``!`` before them."""

    __slots__ = ("commands", "negated")

    def __init__(self, first: Simple | Group, negated: bool = False) -> None:
        self.commands = [first]
        self.negated = negated


Piece = Simple | Redirect | Operator | Word
"""A row of the explanation: a command, a redirection, an operator, or an assignment."""


class Parsed:
    """The one parse that verdict, prompt, grant and explanation share.

    Attributes:
        text: The text as given.
        body: The tree.
        pieces: Commands, operators, redirections and assignments in source order.
        commands: The commands among the pieces.
        problem: What is wrong with the text as a whole, or the first problem of a piece; None when accepted.
        bare: The text without its comments; "" when it is not fit for being taken apart, or when it is not certain what
            of it is a comment.
    """

    __slots__ = ("bare", "body", "commands", "pieces", "problem", "text")

    def __init__(
        self,
        text: str,
        body: Sequence,
        pieces: list[Piece],
        commands: list[Simple],
        problem: Problem | None,
        bare: str = "",
    ) -> None:
        self.text = text
        self.body = body
        self.pieces = pieces
        self.commands = commands
        self.problem = problem
        self.bare = bare


class _Parser:
    __slots__ = ("at", "commands", "depth", "exact", "negates", "pieces", "problem", "redirection", "text", "tokens")

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.depth = 0
        self.pieces: list[Piece] = []
        self.commands: list[Simple] = []
        self.problem: Problem | None = None
        self.exact = True
        self.redirection: Problem | None = None
        self.negates = "!" in text

    def fail(self, reason: str, token: Token | None = None, rule: str = "syntax") -> None:
        problem = Problem(rule, reason)
        # Line ends, where bash may take one and this grammar does not, and reserved words leave comments what they are.
        harmless = token is not None and token.text in (RESERVED if isinstance(token, Word) else ("\n",))
        self.exact = self.exact and harmless
        if token is not None and token.problem is None:
            token.problem = problem
            if isinstance(token, Word):
                token.odd = True
        if self.problem is None:
            self.problem = problem

    def parse(self) -> Sequence:
        tokens = self.tokens
        while tokens and tokens[-1].text == "\n" and isinstance(tokens[-1], Operator):
            tokens.pop()
        while self._peek() == "\n":
            self.at += 1
        body = self._list()
        while self.at < len(tokens):
            token = tokens[self.at]
            if isinstance(token, Operator):
                self.fail(f"an unexpected {token.text}", token)
                self.pieces.append(token)
                self.at += 1
            extra = self._list()
            body.items.extend(extra.items)
        if not self.commands:
            self.fail("no command")
        elif len(self.commands) > MAX_COMMANDS:
            self.fail(f"more than {MAX_COMMANDS} commands", rule="too-many")
        return body

    def words_only(self) -> Sequence:
        """Parse tokens that are words, all of them: one command, the commonest text."""
        command, body = Simple(), Sequence()
        for index, token in enumerate(self.tokens):
            self._word(command, token)  # type: ignore[arg-type]
            if command.words:
                command.words.extend(self.tokens[index + 1 :])  # type: ignore[arg-type]
                break
        else:
            self._empty()
        if not self.commands:
            self.fail("no command")
        body.items.append((";", Pipeline(command)))
        return body

    def _peek(self) -> str:
        """Return the operator at the current place, or ""."""
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            if isinstance(token, Operator):
                return token.text
        return ""

    def _list(self) -> Sequence:
        body = Sequence()
        operator = ";"
        while True:
            body.items.append((operator, self._pipeline()))
            sign = self._peek()
            if sign not in _JOINING or sign == "|":
                return body
            token = self._take_operator()
            operator = ";" if sign not in ("&&", "||") else sign
            if sign == "\n":
                self.fail("a line end between commands", token, "newline")
            if self._ends() and sign in (";", "&"):
                return body

    def _ends(self) -> bool:
        return self.at >= len(self.tokens) or self._peek() == ")"

    def _take_operator(self) -> Operator:
        token = self.tokens[self.at]
        assert isinstance(token, Operator)
        self.pieces.append(token)
        self.at += 1
        if len(self.pieces) >= MAX_PIECES:
            self.fail(f"more than {MAX_PIECES} parts", rule="too-many")
            self.at = len(self.tokens)
        return token

    def _pipeline(self) -> Pipeline:
        negated = self.negates and self._negation()
        result = Pipeline(self._command(), negated)
        while self._peek() == "|":
            self._take_operator()
            result.commands.append(self._command())
        return result

    def _negation(self) -> bool:
        """Take a ``!`` before a pipeline."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if not isinstance(token, Word) or token.text != "!" or token.quoted:
            return False
        if self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].start == token.end:
            return False  # with another option of bash, !( begins a pattern
        self.pieces.append(Operator("!", token.start, token.end))
        self.at += 1
        return True

    def _command(self) -> Simple | Group:
        if self._peek() == "(":
            return self._group()
        return self._simple()

    def _group(self) -> Simple | Group:
        opening = self._take_operator()
        if self._peek() == "(" and self.tokens[self.at].start == opening.end:
            self.fail("(( )) is arithmetic", opening, "arithmetic")
        if self.depth >= MAX_DEPTH:
            self.fail(f"parentheses more than {MAX_DEPTH} deep", opening)
            self.at = len(self.tokens)
            return Simple()
        self.depth += 1
        body = self._list()
        self.depth -= 1
        if self._peek() == ")":
            self._take_operator()
        else:
            self.fail("an opening ( without its )", opening)
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if self._redirect(token):
                continue
            if isinstance(token, Word):
                if self._io_number(token):
                    continue
                self.fail("a word after )", token)
            break
        return Group(body)

    def _simple(self) -> Simple:
        tokens, command = self.tokens, Simple()
        while self.at < len(tokens):
            token = tokens[self.at]
            if isinstance(token, Word):
                if token.text[-1:] in _DIGITS and self._io_number(token):
                    continue
                self.at += 1
                if command.words and self.pieces[-1] is command:
                    command.words.append(token)
                else:
                    self._word(command, token)
            elif not self._redirect(token):
                break
        if not command.words:
            self._empty()
        elif self._peek() == "(":
            self.fail("a ( after a word", tokens[self.at])
        return command

    def _word(self, command: Simple, word: Word) -> None:
        if not command.words:
            # Matched on the source: a quote in the name makes it a command name for bash, which then asks.
            if "=" in word.text and re.match(_ASSIGNMENT, self.text[word.start : word.end]):
                command.assignments.append(word)
                self.pieces.append(word)
                return
            self.commands.append(command)
            self.pieces.append(command)
            if word.text in RESERVED and not word.quoted:
                self.fail(f"{word.text} is shell syntax", word)
        elif self.pieces[-1] is not command:
            command.broken = True
        command.words.append(word)

    def _empty(self) -> None:
        if self.at < len(self.tokens) and isinstance(self.tokens[self.at], Operator):
            token = self.tokens[self.at]
            self.fail(f"a command is missing before {token.text!r}", token)
        else:
            self.fail("a command is missing at the end")

    def _io_number(self, word: Word) -> bool:
        """Take a redirection whose descriptor is *word*."""
        # Not isdigit(): for bash a ² is a word like any other.
        if word.quoted or not word.text or not _DIGITS.issuperset(word.text) or self.at + 1 >= len(self.tokens):
            return False
        sign = self.tokens[self.at + 1]
        if (
            not isinstance(sign, Operator)
            or sign.start != word.end
            or sign.text not in _REDIRECTS
            or sign.text[0] == "&"
        ):
            return False
        self.at += 1
        self._redirect(sign, word)
        return True

    def _redirect(self, sign: Token, descriptor: Word | None = None) -> bool:
        """Take a redirection whose sign is *sign*; False when it is something else."""
        if not isinstance(sign, Operator) or sign.text not in _REDIRECTS:
            if isinstance(sign, Operator) and sign.text in ("<(", ">("):
                self.at += 1
                self.pieces.append(Redirect(sign.start, self._process_end(), sign.problem))
                return True
            return False
        self.at += 1
        target = self.tokens[self.at] if self.at < len(self.tokens) else None
        problem = sign.problem
        end = sign.end
        if not isinstance(target, Word):
            problem = problem or Problem("syntax", "a redirection without target")
        else:
            self.at += 1
            end = target.end
            problem = problem or target.problem or _target_problem(sign.text, target)
        if descriptor is not None and len(descriptor.text) > 1:
            problem = problem or _WRITES
        start = sign.start if descriptor is None else descriptor.start
        if problem is not None and self.redirection is None:
            self.redirection = problem
        self.pieces.append(Redirect(start, end, problem))
        return True

    def _process_end(self) -> int:
        """Move past a process substitution, for display only; return where it ends."""
        depth = 1
        while self.at < len(self.tokens) and depth:
            sign = self._peek()
            depth += (sign in ("(", "<(", ">(")) - (sign == ")")
            self.at += 1
        return self.tokens[self.at - 1].end


def _target_problem(sign: str, target: Word) -> Problem | None:
    if target.quoted or target.glob or target.tilde:
        return _WRITES
    if sign in _TO_NULL:
        return None if target.text == "/dev/null" else _WRITES
    if sign == ">&":
        return None if len(target.text) == 1 and target.text in "0123456789" else _WRITES
    return _WRITES


def parse(text: str) -> Parsed:
    """Parse *text*; never raises. Everything outside the grammar ends in ``problem``."""
    problem = screen(text)
    if problem is not None:
        return Parsed(text, Sequence(), [], [], problem)
    lexer = lex(text)
    parser = _Parser(text, lexer.tokens)
    body = parser.words_only() if lexer.plain and lexer.tokens and lexer.tokens[0].text != "!" else parser.parse()
    problem = parser.problem or lexer.problem or parser.redirection
    certain = lexer.exact and parser.exact and not any(token.text in _DOUBTFUL for token in lexer.tokens)
    bare = _without(text, lexer.comments) if certain else ""
    if not bare and not re.search(_COMMENT_LIKE, text):
        bare = text
    return Parsed(text, body, parser.pieces, parser.commands, problem, bare)


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text
