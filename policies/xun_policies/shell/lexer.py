"""Text of a command -> words and operators, strictly: what is not understood becomes a problem.

The accepted subset is far smaller than bash. A token with a problem is kept, with a best guess of
its extent, so that an explanation can show it; text that holds any problem is never allowed.
"""

from __future__ import annotations

import re
from functools import cache

MAX_LENGTH = 10_000
"""Longest command, in characters, that is looked at."""
MAX_OPERATORS = 1500
"""Most operators in one text; what follows is not looked at, and the text asks."""


MAX_LIST = 400
"""Longest word with a list in braces, in characters, of which the alternatives are looked at."""


class Problem:
    """Why text is not free: a stable rule id and a short human clause."""

    __slots__ = ("reason", "rule")

    def __init__(self, rule: str, reason: str) -> None:
        self.rule = rule
        self.reason = reason


class Word:
    """One word: its text once quotes and backslashes are removed, and what the shell would still do to it.

    Attributes:
        text: The text; ``$PWD`` and ``$?`` stay as they are written.
        start: Where it begins in the source.
        end: Where it ends.
        quoted: A part of it was quoted or escaped.
        glob: It holds an unquoted wildcard.
        lead: It begins with one.
        tilde: It holds a tilde that expands.
        pwd: How ``$PWD`` stands in it: quoted or bare (at the start), inner, "" for not at all.
        dynamic: It holds ``$?``.
        problem: Why it is outside the accepted subset, None when it is inside.
        odd: One of tilde, pwd, dynamic and problem is set.
    """

    __slots__ = ("dynamic", "end", "glob", "lead", "odd", "problem", "pwd", "quoted", "start", "text", "tilde")

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.quoted = False
        self.glob = False
        self.lead = False
        self.tilde = False
        self.pwd = ""
        self.dynamic = False
        self.problem: Problem | None = None
        self.odd = False


class Operator:
    """An operator, a redirection sign or a newline."""

    __slots__ = ("end", "problem", "start", "text")

    def __init__(self, text: str, start: int, end: int, problem: Problem | None = None) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.problem = problem


Token = Word | Operator

_TOKEN = r"""([ \t]+)
    |([A-Za-z0-9_./,:+%@^=-]+)
    |'([^']*)'
    |"([^"$`\\]*)"
    |(&&|\|\||;;&?|;&|;|\|&|\||&>>|&>|&|\(|\)|<<<|<<-|<<|<&|<>|<\(|<|>>|>&|>\||>\(|>|\n)
    |([*?]+(?:[A-Za-z0-9_./,:+%@^=-]*[*?]+)*)
    |(.)"""
_INVISIBLE = "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]"
_AFTER_SYMBOL = "([\\s\\S])\ufe0f"
_SPECIAL = r"(\?)|(PWD)(?![A-Za-z0-9_])"
_LITERAL_DOLLAR = frozenset(" \t\n|);&<>/.,:%\\]")
_NAME = r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#$!-]"
_LIST = r"([A-Za-z0-9_./:+%@=*?-]*)\{([A-Za-z0-9_./:+%@=*?,-]*,[A-Za-z0-9_./:+%@=*?,-]*)\}([A-Za-z0-9_./:+%@=*?-]*)"
_SETTING = r"[A-Za-z_][A-Za-z0-9_]*\+?="
"""In such a word, as an assignment, bash leaves braces alone."""
_BRACED = r"\{([^{}]*)\}"

_CONTROL = Problem("control-char", "a control, invisible or text-direction character")
_SUBSTITUTION = Problem("substitution", "command substitution")
_VARIABLE = Problem("variable", "an expansion whose value is not known; only $? and $PWD are free")
_BACKQUOTE = Problem("substitution", "backquote substitution")
_PROCESS = Problem("substitution", "process substitution")
_ANSI = Problem("quoting", "a $'..' or $\"..\" string")
_UNTERMINATED = Problem("syntax", "an unterminated quote")
_CONTINUATION = Problem("newline", "a backslash before a line end joins lines")
_BRACES = Problem("brace", "brace expansion makes several words")

_OPERATOR_PROBLEMS = {
    "&": Problem("background", "& starts a background job"),
    "|&": Problem("background", "|& also pipes the error output; write 2>&1 |"),
    ";;": Problem("syntax", "case syntax"),
    ";&": Problem("syntax", "case syntax"),
    ";;&": Problem("syntax", "case syntax"),
    "<(": _PROCESS,
    ">(": _PROCESS,
    "<<": Problem("here-document", "here-document"),
    "<<-": Problem("here-document", "here-document"),
    "<<<": Problem("here-document", "here-string"),
}


@cache
def _token() -> re.Pattern[str]:
    """Compile at the first use: nothing happens on import."""
    return re.compile(_TOKEN, re.X | re.S)


def _expands(raw: str) -> bool:
    """Tell whether braces in the word *raw* may expand; more than bash does, in a time that grows with its length."""
    first, last = raw.find("{"), raw.rfind("}")
    if "," in raw[first : last + 1]:
        return True
    return any(".." in inner for inner in re.findall(_BRACED, raw))


def _alternatives(word: Word, raw: str) -> list[Word]:
    """Return what bash makes of *word* where that is beyond doubt: one list of plain alternatives, else nothing.

    They count as quoted, so that none of them names a program or a file of a redirection.
    """
    found = re.fullmatch(_LIST, raw) if len(raw) <= MAX_LIST else None
    if found is None or ".." in found[2] or re.match(_SETTING, raw):
        return []
    words = []
    for inner in found[2].split(","):
        text = f"{found[1]}{inner}{found[3]}"
        if not text:
            return []
        one = Word(text, word.start, word.end)
        one.quoted = True
        one.glob = "*" in text or "?" in text
        one.lead = text[0] in "*?"
        words.append(one)
    return words


def screen(text: str) -> Problem | None:
    """Return what makes *text* unfit for lexing: its length, or a character that is not shown as it is."""
    if len(text) > MAX_LENGTH:
        return Problem("too-long", f"longer than {MAX_LENGTH} characters")
    plain = text if text.isprintable() else text.replace("\n", "").replace("\t", "")
    if plain.isascii():
        return None if plain.isprintable() else _CONTROL
    if re.search(_INVISIBLE, plain):
        return _CONTROL
    if "\ufe0f" in plain:
        import unicodedata

        if any(unicodedata.category(base) != "So" for base in re.findall(_AFTER_SYMBOL, "x" + plain)):
            return _CONTROL
    return None if plain.isprintable() else _CONTROL


class Lexer:
    """One pass over *text*; `tokens` holds the result, comments, blanks and the bodies of here-documents dropped.

    `comments` holds where the comments begin and end. `exact` tells whether bash finds the ends of everything where
    this pass does: an expansion whose end is a guess, for one, makes all that follows doubtful.
    """

    __slots__ = ("_bodies", "_left", "braced", "comments", "exact", "plain", "pos", "problem", "text", "tokens", "word")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        self.word: Word | None = None
        self.braced = False
        self.plain = True
        self.pos = 0
        self.problem: Problem | None = None
        self.comments: list[tuple[int, int]] = []
        self.exact = True
        self._bodies: list[int] = []
        self._left = MAX_OPERATORS

    def run(self) -> None:
        """Fill `tokens`; `problem` is then the first of their problems."""
        text, size, match = self.text, len(self.text), _token().match
        take = self.tokens.append
        pos = 0
        while pos < size:
            found = match(text, pos)
            assert found is not None  # the last alternative takes any character
            kind, end = found.lastindex, found.end()
            if kind == 2 and self.word is None and (end == size or text[end] in " \t"):
                take(Word(found[2], pos, end))
                pos = end + 1  # past the blank, if there is one
                continue
            self.pos = pos
            if kind == 1:
                if self.word is not None:
                    self._close()
            elif kind == 2:
                self._add(found[2], end)
            elif kind == 3 or kind == 4:
                self._add(found[kind], end).quoted = True
            elif kind == 5:
                end = self._operator(found[5], end)
            elif kind == 6:
                word = self._add(found[6], end)
                word.glob = True
                word.lead = word.lead or len(word.text) == len(found[6])
            else:
                end = self._character(found[7], end)
            pos = end
        self._close()

    def _add(self, piece: str, end: int) -> Word:
        word = self.word
        if word is None:
            word = self.word = Word(piece, self.pos, end)
        else:
            word.text += piece
            word.end = end
        return word

    def _close(self) -> None:
        word = self.word
        if word is None:
            return
        if self.braced:
            self.braced = False
            raw = self.text[word.start : word.end]
            if word.problem is None and _expands(raw):
                words = _alternatives(word, raw)
                if words:
                    self.tokens += words
                    self.word = None
                    return
                word.problem = _BRACES
        if word.text == "[" and not word.quoted:
            word.glob = word.lead = False
        word.odd = word.tilde or word.dynamic or word.pwd != "" or word.problem is not None
        if word.problem is not None and self.problem is None:
            self.problem = word.problem
        self.tokens.append(word)
        self.word = None

    def _operator(self, sign: str, end: int) -> int:
        word = self.word
        if word is not None and sign[0] in "<>" and self.text[word.end - 1] == "}":
            word.problem = word.problem or Problem("redirection", "a file-descriptor variable")
        self._close()
        self.plain = False
        problem = _OPERATOR_PROBLEMS.get(sign)
        if problem is not None and self.problem is None:
            self.problem = problem
        self.tokens.append(Operator(sign, self.pos, end, problem))
        self._left -= 1
        if self._left < 0:
            self.exact = False
            self.problem = self.problem or Problem("too-many", f"more than {MAX_OPERATORS} operators")
            return len(self.text)
        if sign[:2] == "<<" and sign != "<<<":
            self._bodies.append(len(self.tokens) - 1)
        return self._skip_bodies(end) if sign == "\n" and self._bodies else end

    def _skip_bodies(self, at: int) -> int:
        """Move past the here-documents that begin at *at*, for display only: text that holds one is never allowed."""
        for index in self._bodies:
            sign, name = self.tokens[index], self.tokens[index + 1]
            if not isinstance(name, Word) or name.problem is not None:
                self.exact = False
                continue
            lines = 0
            while at < len(self.text):
                found = self.text.find("\n", at)
                line = self.text[at:found] if found >= 0 else self.text[at:]
                at = len(self.text) if found < 0 else found + 1
                if (line.lstrip("\t") if sign.text == "<<-" else line) == name.text:
                    break
                lines += 1
            sign.problem = Problem("here-document", f"here-document of {lines} line{'' if lines == 1 else 's'}")
        self._bodies.clear()
        return at

    def _character(self, char: str, end: int) -> int:
        """Take one character that is not plain; return where to go on."""
        if char == "#" and self.word is None:
            line_end = self.text.find("\n", end)
            line_end = len(self.text) if line_end < 0 else line_end
            self.comments.append((self.pos, line_end))
            return line_end
        if char == "\\":
            return self._backslash(end)
        if char == "$":
            return self._dollar(self.pos, quoted=False)
        if char == '"':
            return self._double(end)
        word = self._add("" if char in "'`" else char, end)
        if char == "'":
            word.problem, word.end, word.quoted = _UNTERMINATED, len(self.text), True
        elif char == "`":
            return self._backquote(word, end)
        elif char == "[":
            # NAME[ can begin a subscript, which bash reads to its end, blanks and # and all.
            self.exact = self.exact and not word.text[:-1].isidentifier()
            word.glob = True
            word.lead = word.lead or len(word.text) == 1
        elif char == "{":
            self.braced = True
        elif char == "~" and (len(word.text) == 1 or word.text[-2] in "=:"):
            word.tilde = True
        return word.end

    def _backslash(self, end: int) -> int:
        following = self.text[end : end + 1]
        word = self._add("" if following in ("", "\n") else following, min(end + 1, len(self.text)))
        word.quoted = True
        if not following:
            word.problem = Problem("syntax", "a backslash at the end")
        elif following == "\n":
            self.exact = False
            word.problem = _CONTINUATION
        return word.end

    def _backquote(self, word: Word, end: int) -> int:
        """Skip to the closing backquote, for display only."""
        close = self.text.find("`", end)
        self.exact = False
        word.problem = word.problem or _BACKQUOTE
        word.end = len(self.text) if close < 0 else close + 1
        return word.end

    def _double(self, start: int) -> int:
        """Take a double-quoted string that holds a ``$``, a backquote or a backslash; *start* is after the quote."""
        text = self.text
        word = self._add("", start)
        word.quoted = True
        at = start
        while at < len(text):
            char = text[at]
            if char == '"':
                word.end = at + 1
                return at + 1
            if char == "\\":
                following = text[at + 1 : at + 2]
                if following == "\n":
                    word.problem = word.problem or _CONTINUATION
                word.text += following if following in ("$", "`", '"', "\\") else char + following
                at += 2
            elif char == "$":
                at = self._dollar(at, quoted=True)
            elif char == "`":
                at = self._backquote(word, at + 1)
            else:
                word.text += char
                at += 1
        word.problem = _UNTERMINATED
        word.end = len(text)
        return word.end

    def _dollar(self, at: int, *, quoted: bool) -> int:
        """Take a ``$`` at *at*; return the position after it and what belongs to it."""
        text = self.text
        following = text[at + 1 : at + 2]
        special = re.match(_SPECIAL, text[at + 1 : at + 5])
        if special:
            end = at + 1 + special.end()
            word = self._add("$?" if special[1] else "$PWD", end)
            word.dynamic = word.dynamic or bool(special[1])
            if special[2]:
                word.pwd = "inner" if word.pwd or word.text != "$PWD" else "quoted" if quoted else "bare"
            return end
        if not following or following in _LITERAL_DOLLAR or (quoted and following == '"'):
            self._add("$", at + 1)
            return at + 1
        word = self._add("$", at + 1)
        self.exact = self.exact and following not in "({['\""
        if following in "'\"" and not quoted:
            word.problem = word.problem or _ANSI
            return at + 1
        word.problem = word.problem or (_SUBSTITUTION if following == "(" else _VARIABLE)
        word.end = self._expansion_end(at + 1, following)
        return word.end

    def _expansion_end(self, at: int, opener: str) -> int:
        """Guess where an expansion ends, for display only."""
        text = self.text
        closer = {"(": ")", "{": "}", "[": "]"}.get(opener)
        if closer is None:
            name = re.match(_NAME, text[at:])
            return at + name.end() if name else at
        depth = 0
        for index in range(at, len(text)):
            if text[index] == opener:
                depth += 1
            elif text[index] == closer:
                depth -= 1
                if depth == 0:
                    return index + 1
        return len(text)


def lex(text: str) -> Lexer:
    """Return the lexer after its pass over *text*; never raises. Call `screen` first.

    ``tokens`` holds the tokens, ``problem`` the first of their problems, ``plain`` whether all are words.
    """
    lexer = Lexer(text)
    lexer.run()
    return lexer
