"""Checks of the small languages: find expressions, sed scripts, awk programs, jq filters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from xun_policies.guards.effects import effects
from xun_policies.guards.options import NOT_FREE, Arguments, Call, compiled, walk
from xun_policies.guards.rules import Rule, apply, links_out
from xun_policies.shell.lexer import Problem, Word
from xun_policies.wordset import wordset

_FIND_PLAIN = wordset(
    "-empty -executable -readable -writable -true -false -nouser -nogroup -print -print0 -ls "
    "-prune -quit -depth -d -mount -xdev "
    "-daystart -noleaf -ignore_readdir_race -noignore_readdir_race -nowarn -warn -not -a -and -o -or ( ) ! , -follow"
)
_FIND_TEXT = wordset(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type "
    "-xtype -perm -size -mtime -mmin -atime "
    "-amin -ctime -cmin -maxdepth -mindepth -links -inum -uid -gid -user -group -fstype -regextype -used -printf"
)
_FIND_PATH = re.compile(r"-(?:newer|anewer|cnewer|samefile|newer[aBcm][aBcm])")
_FIND_TIME = re.compile(r"-newer[aBcm]t")

_AWK_BAD = re.compile(
    # A number ends where a name begins: 1system("x") and 0x1Asystem("x") are calls, so digits and a to f begin none.
    r"(?<![G-Zg-z_])(?:system|getline|ARGV|ARGC|ENVIRON|close|fflush|PROCINFO|SYMTAB|FUNCTAB|function|func)\b|@|\\\n",
    re.A,
)
_AWK_CALL = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*\(", re.A)
_AWK_CALLS = wordset(
    "length substr split sub gsub gensub match index sprintf tolower toupper int sin cos atan2 "
    "exp log sqrt rand srand strftime "
    "systime mktime asort asorti and or xor lshift rshift compl strtonum print printf if while for return in do "
    "else BEGIN END"
)
_AWK_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AWK_REGEX = re.compile(r"/(?:[^/\\\n]|\\.)+/")
_AWK_PATTERN = re.compile(r"[^{}/\"'#\\\n;]*")

_JQ_BAD = re.compile(
    r"\$(?:ENV|__prog|[\s#][\s\S]*(?:ENV|__prog))|(?<![\w.\"])env\b|(?<=\.\.)\s*env\b"
    # Both statements stand at the start or behind a ; so that neither a field nor the start of a string is one.
    r"|(?<![\w.\"])(?:import|include|modulemeta|get_search_list)\b",
    re.A,
)

_SED_PLAIN = frozenset("pd=gGhHxnNDPlQq")
_SED_DELIMITERS = frozenset("/|#,:@%!~=+_-")
_SED_ADDRESS = re.compile(r"[0-9]+(?:~[0-9]+)?|\$")
_SED_FLAGS = re.compile(r"[gpiIm0-9M]*")
_SED_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_]{0,32}[ \t]*(?=[;\n]|\Z)")
_SED_END = re.compile(r"[ \t]*(?:[;\n]|(?=\})|\Z)")


_FIND_RUNS = wordset(
    "cat head tail wc ls stat file du grep nl sha256sum sha1sum md5sum basename dirname realpath readlink"
)
"""What -exec may run: listed names whose every operand is a path or a pattern, and that read no further program."""
_FIND_BRANCHES = wordset("-o -or , ! -not ( )")


def find(rule: Rule, call: Call) -> Problem | None:
    """Starting points inside, then tests and printing only. No end-of-options mark exists."""
    words = call.words
    index, follows = _find_options(words)
    first = index
    while index < len(words) and words[index].text[:1] != "-" and words[index].text not in ("(", "!", ","):
        problem = call.path(words[index].text, glob=words[index].glob)
        if problem is not None:
            return problem
        index += 1
    starts, expression = words[first:index], words[index:]
    problem = _find_expression(expression, call, starts or [Word(".", 0, 0)])
    if problem is not None or not (follows or _opens_links(expression)):
        return problem
    problem = links_out(starts, call)
    if problem is None or follows:
        return problem
    return Problem(problem.rule, f"{problem.reason}; -type f before -exec passes links by")


def _opens_links(expression: Sequence[Word]) -> bool:
    """Tell whether -exec may get a link, which is followed then: not behind ``-type f`` in a plain row of tests."""
    texts = [word.text for word in expression]
    if "-exec" not in texts:
        return False
    if not _FIND_BRANCHES.isdisjoint(texts):
        return True
    before = texts[: texts.index("-exec")]
    return ("-type", "f") not in pairwise(before)


def _find_options(words: Sequence[Word]) -> tuple[int, bool]:
    index = 0
    follows = any(word.text == "-follow" for word in words)
    while index < len(words) and words[index].text in ("-H", "-L", "-P", "-O1", "-O2", "-O3"):
        follows = follows or words[index].text == "-L"
        index += 1
    return index, follows


def _find_expression(words: Sequence[Word], call: Call, starts: Sequence[Word]) -> Problem | None:
    index = 0
    while index < len(words):
        word = words[index]
        text = word.text
        if word.glob:
            return Problem("glob", f"{text} may become several words, which find takes as actions")
        index += 1
        if text in _FIND_PLAIN:
            continue
        if text == "-exec":
            end = _exec_end(words, index)
            problem = _executed(words[index:end], call, starts)
            if problem is None and end == len(words):
                problem = Problem(NOT_FREE, "-exec needs a ; at its end")
            if problem is not None:
                return problem
            index = end + 1
            continue
        is_path = _FIND_PATH.fullmatch(text) is not None
        if not is_path and text not in _FIND_TEXT and not _FIND_TIME.fullmatch(text):
            effect = effects(call.rule).get(text)
            return Problem(NOT_FREE, f"{text} {effect or 'is no test or print of find'}")
        if index >= len(words):
            return Problem(NOT_FREE, f"{text} needs a value")
        value = words[index]
        if value.glob:
            return Problem("glob", f"{value.text} may become several words, which find takes as actions")
        if is_path:
            problem = call.path(value.text)
            if problem is not None:
                return problem
        index += 1
    return None


def _exec_end(words: Sequence[Word], index: int) -> int:
    """Return where the ``;`` or the ``+`` of an -exec that begins at *index* stands."""
    for at in range(index, len(words)):
        if words[at].text == ";" or (words[at].text == "+" and words[at - 1].text == "{}"):
            return at
    return len(words)


def _executed(words: Sequence[Word], call: Call, starts: Sequence[Word]) -> Problem | None:
    """Return why *words*, a command that find runs for what it found below *starts*, are not free."""
    # The table is made of rules whose checks are in this module.
    from xun_policies import defaults

    name = words[0].text if words else ""
    found = defaults.find((name,))
    if name not in _FIND_RUNS or found is None:
        return Problem(NOT_FREE, "-exec runs a program" if not name else f"-exec runs {name}")
    arguments: list[Word] = []
    for word in (*starts, *words[1:]):
        if word.glob:
            return Problem("glob", f"{word.text} may become several words")
    for word in words[1:]:
        if "{}" in word.text and word.text != "{}":
            return Problem(NOT_FREE, f"the name of a file in {word.text} may mean something else there")
        # A name that find prints begins with the place where it started: never with a dash, and never outside.
        arguments += starts if word.text == "{}" else [word]
    call.runs.append(name)
    return apply(found, Call(arguments, call.places, call.cwds, name))


def _script_and_files(found: Arguments, names: tuple[str, ...]) -> tuple[list[str], list[Word]]:
    scripts = [found.options[name] for name in names if name in found.options]
    words = found.operands
    if not scripts and words:
        return [words[0].text], words[1:]
    return scripts, words


def _files(words: Sequence[Word], call: Call) -> Problem | None:
    for word in words:
        problem = call.operand_path(word)
        if problem is not None:
            return problem
    return None


def sed(rule: Rule, call: Call) -> Problem | None:
    """Addresses, printing, deleting and substitution; nothing that writes, reads or runs."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    if any(word.glob for word in found.operands[:1]) and not {"-e", "--expression"} & found.options.keys():
        return Problem("glob", "the script is a pattern")
    scripts, files = _script_and_files(found, ("-e", "--expression"))
    if not scripts:
        return Problem(NOT_FREE, "no script")
    if found.late and len(files) == len(found.operands):
        # Where sed takes no options behind an operand, the first operand would be the script.
        return Problem(NOT_FREE, f"{found.late} stands behind an operand, which may be taken for the script")
    for script in scripts:
        reason = _SedScript(script).fault()
        if reason is not None:
            return Problem(NOT_FREE, reason)
    return _files(files, call)


class _SedScript:
    """A strict reader of sed scripts: what it does not know is a fault."""

    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fault(self) -> str | None:
        """Return what is not free, or None."""
        while self.at < len(self.text):
            if self._skip(" \t\n;}"):
                continue
            if not self._addresses():
                return "an address of the sed script is not understood"
            reason = self._command()
            if reason is not None:
                return reason
        return None

    def _skip(self, chars: str) -> bool:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] in chars:
            self.at += 1
        return self.at > start

    def _addresses(self) -> bool:
        if self._address():
            self._skip(" \t")
            if self.text[self.at : self.at + 1] == ",":
                self.at += 1
                self._skip(" \t")
                if self.text[self.at : self.at + 1] in ("+", "~"):
                    self.at += 1
                if not self._address():
                    return False
        self._skip(" \t")
        while self.text[self.at : self.at + 1] == "!":
            self.at += 1
            self._skip(" \t")
        return self.at < len(self.text)

    def _address(self) -> bool:
        number = _SED_ADDRESS.match(self.text, self.at)
        if number:
            self.at = number.end()
            return True
        char = self.text[self.at : self.at + 1]
        if char == "\\":
            self.at += 1
            char = self.text[self.at : self.at + 1]
        elif char != "/":
            return False
        self.at += 1
        if not char or char not in _SED_DELIMITERS or not self._delimited(char, regex=True):
            self.at = len(self.text)  # nothing behind it is known: what stands there is no command
            return False
        while self.text[self.at : self.at + 1] in ("I", "M") and self.text[self.at : self.at + 1]:
            self.at += 1
        return True

    def _delimited(self, delimiter: str, *, regex: bool) -> bool:
        """Move past the next *delimiter*; False when there is none, or when it may be inside brackets."""
        text, start = self.text, self.at
        while self.at < len(text):
            char = text[self.at]
            if char == "\\":
                self.at += 2
            elif char == delimiter:
                part = text[start : self.at]
                self.at += 1
                return not regex or _brackets_closed(part)
            elif char == "\n" and regex:
                return False
            else:
                self.at += 1
        return False

    def _command(self) -> str | None:
        char = self.text[self.at]
        self.at += 1
        if char == "{":
            return None
        if char in "sy":
            delimiter = self.text[self.at : self.at + 1]
            self.at += 1
            if not delimiter or delimiter not in _SED_DELIMITERS:
                return "a substitution of the sed script is not understood"
            if not self._delimited(delimiter, regex=True) or not self._delimited(delimiter, regex=False):
                return "a substitution of the sed script is not understood"
            if char == "s":
                flags = _SED_FLAGS.match(self.text, self.at)
                self.at = flags.end() if flags else self.at
        elif char in ":btT":
            # For another sed a label reaches to the end of the line, so that what is text here may be a command there.
            label = _SED_LABEL.match(self.text, self.at)
            if label is None or "\n" in self.text[label.end() + 1 :]:
                return f"the label after {char} in the sed script is not understood"
            self.at = label.end()
        elif char in "qQl":
            self._skip(" \t")
            self._skip("0123456789")
        elif char not in _SED_PLAIN:
            return _sed_unfree(char)
        end = _SED_END.match(self.text, self.at)
        if end is None:
            return _sed_unfree(self.text[self.at : self.at + 1])
        self.at = end.end()
        return None


def _sed_unfree(letter: str) -> str:
    effect = {
        "e": "runs a command",
        "r": "reads a file",
        "R": "reads a file",
        "w": "writes a file",
        "W": "writes a file",
    }
    return f"the sed command or flag {letter} {effect.get(letter, 'is not free')}"


def _brackets_closed(part: str) -> bool:
    """Tell whether every ``[`` in the regular expression *part* is closed: else the end of *part* is in doubt."""
    at = 0
    while at < len(part):
        if part[at] == "\\":
            at += 2
        elif part[at] == "[":
            at = _bracket_end(part, at)
            if at < 0:
                return False
        else:
            at += 1
    return True


def _bracket_end(part: str, at: int) -> int:
    """Return the place after the bracket expression at *at*; -1 when it is open or programs read it differently."""
    at += 2 if part[at + 1 : at + 2] == "^" else 1
    if part[at : at + 1] == "]":
        at += 1
    while at < len(part):
        if part[at] == "]":
            return at + 1
        if part[at] == "[" and part[at + 1 : at + 2] in (":", ".", "="):
            close = part.find(f"{part[at + 1]}]", at + 2)
            if close < 0:
                return -1
            at = close + 2
        elif part[at] == "\\" and part[at + 1 : at + 2] == "]":
            return -1
        else:
            at += 1
    return -1


def awk(rule: Rule, call: Call) -> Problem | None:
    """A program of patterns, fields and printing; nothing that runs, writes or opens."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    if not found.operands:
        return Problem(NOT_FREE, "no program")
    program = found.operands[0]
    if program.glob:
        return Problem("glob", "the program is a pattern")
    reason = _awk_fault(program.text)
    return Problem(NOT_FREE, reason) if reason is not None else _files(found.operands[1:], call)


def _awk_fault(program: str) -> str | None:
    code = awk_code(program)
    bare = program if code is None else code
    bad = _AWK_BAD.search(bare)
    if bad is not None:
        return f"{bad[0].strip()!r} in the awk program is not free"
    if "|" in bare.replace("||", ""):
        return "a pipe in the awk program runs a command"
    if ">" in _awk_without_comparisons(bare, code is not None):
        return "> in the awk program may write a file"
    for call in _AWK_CALL.finditer(bare):
        if call[1] not in _AWK_CALLS:
            return f"the awk function {call[1]} is not free"
    return None


def awk_code(program: str) -> str | None:
    """Return *program* with strings and regular expressions emptied; None where their ends are in doubt."""
    kept: list[str] = []
    at = 0
    while at < len(program):
        char = program[at]
        if char in "#\\":
            return None
        if char == '"':
            literal = _AWK_STRING.match(program, at)
        elif char == "/":
            before = "".join(kept).rstrip(" \t")[-1:]
            if before and before not in "({,;!&|~\n}":
                return None  # a division, or a regular expression after a word: not told apart here
            literal = _AWK_REGEX.match(program, at)
            if literal and not _brackets_closed(literal[0][1:-1]):
                return None
        else:
            kept.append(char)
            at += 1
            continue
        if literal is None:
            return None
        kept.append(f"{char}{char}")
        at = literal.end()
    return "".join(kept)


def _awk_without_comparisons(bare: str, emptied: bool) -> str:
    """Return *bare* without what can only compare: ``>=``, patterns before an action, and what parentheses hold."""
    rest = bare.replace(">=", "")
    if not emptied:
        head = _AWK_PATTERN.match(rest)
        return rest[head.end() :] if head else rest
    previous = ""
    while previous != rest:  # of what parentheses hold, only the parts of a "for" can print
        previous, rest = rest, re.sub(r"\((?![^()]*print)[^()]*\)", "", rest)
    depth = 0
    kept: list[str] = []
    outside: list[str] = []
    for char in rest:
        depth += (char == "{") - (char == "}")
        (kept if depth != 0 else outside).append(char)
    return rest if "print" in "".join(outside) else "".join(kept)


def jq(rule: Rule, call: Call) -> Problem | None:
    """A filter without environment and modules; files inside."""
    words = call.words
    kept: list[Word] = []
    index = 0
    while index < len(words):
        text = words[index].text
        if text == "--":
            kept += words[index:]  # what looks like --arg behind it is a file
            break
        if text in ("--arg", "--argjson"):
            if any(word.glob for word in words[index : index + 3]):
                return Problem("glob", f"a pattern as the value of {text}")
            index += 3
        elif text in ("--args", "--jsonargs"):
            index += 1
        else:
            taken = 2 if text == "--indent" else 1  # its value stays its value, whatever it looks like
            kept += words[index : index + taken]
            index += taken
    found = walk(compiled(rule.options), call.of(kept))
    if isinstance(found, Problem):
        return found
    if not found.operands:
        return Problem(NOT_FREE, "no filter")
    if found.operands[0].glob:
        return Problem("glob", "the filter is a pattern")
    bad = _JQ_BAD.search(found.operands[0].text)
    if bad is not None:
        return Problem(NOT_FREE, f"{bad[0].strip()!r} in the jq filter is not free")
    return _files(found.operands[1:], call)
