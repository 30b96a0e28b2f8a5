"""Texts that the grammar of the command gate accepts, made from its productions and the tables of its guards.

Every choice is counted under a tag, and `tags` says which there are, so that a test can tell what was never made.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from tests.fakes.command_words import AWK, FIND, JQ, NAMES, OPERANDS, SED, TESTS
from xun_policies import defaults
from xun_policies.guards.data_system import ANSWERING, VERSIONS
from xun_policies.guards.options import compiled
from xun_policies.guards.rules import Rule
from xun_policies.guards.scripts import _FIND_RUNS
from xun_policies.shell.environment import INERT_VARIABLES

T = TypeVar("T")
_OPERATORS = ("&&", "||", ";")
_BLANKS = ("", " ", "  ", "\t", " \t ")
_REDIRECTS = (
    ">/dev/null",
    "> /dev/null",
    "2>/dev/null",
    "2> /dev/null",
    "1>>/dev/null",
    ">>/dev/null",
    "&>/dev/null",
    "&>>/dev/null",
    "</dev/null",
    "< /dev/null",
    "0</dev/null",
    "2>&1",
    "1>&2",
    ">&2",
    "2>&\t1",
    "9>&1",
)
_VALUES = {"CI": "1", "TZ": "Europe/Berlin", "LANG": "C.UTF-8", "LC_ALL": "C"}
_CD = (
    "src",
    "./src",
    "docs/",
    "'my dir'",
    "-- src",
    "-P src",
    "-L -P tests",
    "missing",
    "a.txt",
    "src/app",
    "./missing/x",
    "in_dir",
    "outdir",
    "d\\ ir",
    '"src"',
    "..",
    "src/..",
    "-",
    "~",
    "src tests",
)
_WORD_FORMS = ("bare", "single", "double", "backslash", "middle", "empty", "brace", "glob", "class", "pwd", "status")
_PIECES = ("comment line", "comment", "leading newline", "trailing newline", "trailing ;", "group", "negation", "pipe")
_GIT_GLOBALS = ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "-C src", "-C .", "-C 'my dir'")
_SAFE = r"[A-Za-z0-9_./,:+%@^=-]+"


def options_of(rule: Rule) -> list[tuple[str, str]]:
    """Return every free option of *rule* with the kind of its value."""
    found = compiled(rule.options)
    return [(f"-{name}", kind) for name, kind in found.short.items()] + list(found.long.items())


def tags() -> set[str]:
    """Return every tag that a composer can count."""
    rules = [rule for found in defaults.rules().values() for rule in found]
    found = {f"operator {sign}" for sign in _OPERATORS} | {f"redirect {text}" for text in _REDIRECTS}
    found |= {f"word {form}" for form in _WORD_FORMS} | set(_PIECES) | {f"variable {name}" for name in INERT_VARIABLES}
    found |= {f"rule {rule.name}" for rule in rules} | {f"blank {blank!r}" for blank in _BLANKS}
    found |= {f"option {rule.name} {name}" for rule in rules for name, _ in options_of(rule)}
    found |= {f"global {text}" for text in _GIT_GLOBALS} | {f"exec {name}" for name in _FIND_RUNS}
    return found | {f"version {' '.join(words)}" for words in VERSIONS} | {f"answer {name}" for name in ANSWERING}


class Composer:
    """Makes one text after the other; the same *seed* makes the same texts.

    Attributes:
        made: How often each choice was made.
    """

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.made: Counter[str] = Counter()
        self._rules = [rule for found in defaults.rules().values() for rule in found]
        self._decks: dict[str, list[tuple[str, str]]] = {}
        self._deck: list[Rule] = []
        self._readers: list[str] = []
        self._own: dict[str, Callable[[], list[str]]] = {
            "find": self._find,
            "sed": self._sed,
            "awk": self._awk,
            "jq": self._jq,
            "curl": self._curl,
            "cd": self._cd,
            "test": self._test,
            "[": self._bracket,
            "printf": self._printf,
            "date": self._date,
            "ps": self._ps,
            "expr": lambda: [
                self.word(self.chance.choice(("1", "+", "2", "a.txt", ":", "*", "-x", "("))) for _ in "123"
            ],
        }

    def text(self) -> str:
        """Return the next text."""
        before = self._take({"": 30, "\n": 1, "# a note\n": 2, "\n# it's `a` $(note)\n": 1, "  ": 1, "\t": 1})
        if before.strip():
            self._count("comment line")
        elif "\n" in before:
            self._count("leading newline")
        body = self.sequence(0)
        after = self._take({"": 30, "\n": 2, ";": 2, " ; ": 1, " # and 'so on": 2, "\n\n": 1, " #\n": 1})
        self._count(
            {"#": "comment", ";": "trailing ;"}.get(after.strip()[:1], "trailing newline" if after else "plain")
        )
        return before + body + after

    def sequence(self, depth: int) -> str:
        """Return pipelines joined by operators."""
        made = [self._pipeline(depth)]
        for _ in range(self._take({0: 9, 1: 4, 2: 2, 4: 1})):
            sign = self.chance.choice(_OPERATORS)
            self._count(f"operator {sign}")
            made += [self._blank(), sign, self._blank(), self._pipeline(depth)]
        return "".join(made)

    def _pipeline(self, depth: int) -> str:
        start = ""
        if self.chance.random() < 0.08:
            self._count("negation")
            start = self.chance.choice(("! ", "!\t", "!  "))
        made = [self._command(depth)]
        for _ in range(self._take({0: 8, 1: 3, 2: 1})):
            self._count("pipe")
            made += [self._blank(), "|", self._blank(), self._command(depth)]
        return start + "".join(made)

    def _command(self, depth: int) -> str:
        if depth < 3 and self.chance.random() < 0.06:
            self._count("group")
            group = f"({self._blank()}{self.sequence(depth + 1)}{self._take({'': 4, ';': 1, ' ; ': 1})}{self._blank()})"
            return group + "".join(f"{self._blank()}{it}" for it in self._redirects())
        return self._simple()

    def _simple(self) -> str:
        words = self._rule_words()
        start = [self._assignment() for _ in range(self._take({0: 20, 1: 2, 2: 1}))]
        for redirect in self._redirects():
            # A number right before a sign would be its descriptor, and before the name it is one more place to stand.
            words.insert(self._take({len(words): 6, 1: 1, 0: 1}), redirect)
        gap = self._take({" ": 12, "  ": 1, "\t": 1, " \t": 1})
        return gap.join([*start, *words])

    def _redirects(self) -> list[str]:
        found = [self.chance.choice(_REDIRECTS) for _ in range(self._take({0: 12, 1: 3, 2: 1}))]
        for text in found:
            self._count(f"redirect {text}")
        return found

    def _assignment(self) -> str:
        name = self.chance.choice(sorted(INERT_VARIABLES))
        self._count(f"variable {name}")
        value = _VALUES.get(name, "0")
        return f"{name}={self._take({value: 5, chr(39) + value + chr(39): 1, chr(34) + value + chr(34): 1, '': 1})}"

    def _rule_words(self) -> list[str]:
        kind = self.chance.random()
        if kind < 0.03:
            words = self.chance.choice(VERSIONS)
            self._count(f"version {' '.join(words)}")
            return list(words)
        if kind < 0.04:
            name = self.chance.choice(sorted(ANSWERING))
            self._count(f"answer {name}")
            return [name, self.chance.choice(("--version", "--help"))]
        if not self._deck:
            self._deck = self._rules * 2 + [rule for rule in self._rules if rule.name in self._own] * 8
            self.chance.shuffle(self._deck)
        rule = self._deck.pop()
        self._count(f"rule {rule.name}")
        own = self._own.get(rule.name)
        return [*self._prefix(rule), *(own() if own is not None else self._arguments(rule))]

    def _prefix(self, rule: Rule) -> list[str]:
        if rule.prefix[0] != "git" or self.chance.random() < 0.8:
            return list(rule.prefix)
        extra = self.chance.choice(_GIT_GLOBALS)
        self._count(f"global {extra}")
        return ["git", extra, *rule.prefix[1:]]

    def _arguments(self, rule: Rule) -> list[str]:
        words = [self._option(rule) for _ in range(self._take({0: 4, 1: 5, 2: 3, 3: 1}))] if rule.options else []
        words = [word for word in words if word]
        most = rule.most if rule.most >= 0 else 3
        operands = [self.operand(rule) for _ in range(self.chance.randint(0, most) if rule.operands != "none" else 0)]
        if operands and self.chance.random() < 0.06:
            operands.insert(0, "--")
        if self.chance.random() < 0.12:
            words = [*operands, *words]
            operands = []
        return words + operands

    def _option(self, rule: Rule) -> str:
        deck = self._decks.get(rule.name)
        if not deck:
            deck = self._decks[rule.name] = options_of(rule)
            self.chance.shuffle(deck)
        if not deck:
            return ""
        name, kind = deck.pop()
        self._count(f"option {rule.name} {name}")
        if not kind:
            return name
        value = self._value(kind[-1])
        if name.startswith("--"):
            attached = kind[0] in "?=" or self.chance.random() < 0.6
            return f"{name}={value}" if attached else f"{name} {value}"
        if kind[0] == "=" or (kind[0] != "?" and self.chance.random() < 0.5):
            return f"{name} {value}"
        return f"{name}{value}"

    def _value(self, kind: str) -> str:
        if kind == "#":
            return self._take({"1": 5, "20": 3, "+3": 1, "0x10": 1, "1k": 1})
        if kind == "@":
            return self.word(self._take({"a.txt": 4, "names.txt": 2, "-": 1, "in_link": 1}))
        return self.word(
            self._take(
                {
                    "x": 3,
                    "a.txt": 2,
                    ",": 1,
                    "%s": 1,
                    "*.py": 1,
                    "-x": 1,
                    "auto": 2,
                    "../secret.txt": 1,
                    "HEAD": 1,
                    "2": 2,
                }
            )
        )

    def operand(self, rule: Rule) -> str:
        """Return one operand for *rule*, spelled in one of the ways that a shell knows."""
        pool = OPERANDS["git"] if rule.prefix[0] == "git" and self.chance.random() < 0.5 else NAMES
        return self.word(self.chance.choice(pool))

    def word(self, text: str) -> str:
        """Return *text* as a shell may have it written, or at times as something that the shell changes."""
        form = self._take(
            {"bare": 8, "single": 4, "double": 4, "backslash": 2, "middle": 2, "empty": 1, "brace": 2, "glob": 2}
            | {"class": 1, "pwd": 1, "status": 1}
        )
        self._count(f"word {form}")
        return str(getattr(self, f"_{form}")(text))

    def _bare(self, text: str) -> str:
        return text if re.fullmatch(_SAFE, text) else self._single(text)

    def _single(self, text: str) -> str:
        return "'" + text.replace("'", "'\\''") + "'"

    def _double(self, text: str) -> str:
        return '"' + re.sub(r'([$`"\\])', r"\\\1", text) + '"'

    def _backslash(self, text: str) -> str:
        if "\n" in text:
            return self._single(text)
        return "".join(
            f"\\{char}" if not re.fullmatch(_SAFE, char) or self.chance.random() < 0.2 else char for char in text
        )

    def _middle(self, text: str) -> str:
        """Quote a part of *text* only."""
        first, second = sorted((self.chance.randint(0, len(text)), self.chance.randint(0, len(text))))
        quote = self.chance.choice((self._single, self._double))
        start, end = (self._backslash(part) if part else "" for part in (text[:first], text[second:]))
        return f"{start}{quote(text[first:second])}{end}"

    def _empty(self, text: str) -> str:
        return self.chance.choice(("''", '""')) + self._bare(text)

    def _brace(self, text: str) -> str:
        return self.chance.choice(
            (
                "{a,b}.txt",
                "src/{app,app}.py",
                "*.{txt,log}",
                "{src,tests}",
                "x{,y}",
                "{-n,a.txt}",
                "--include={a,b}",
                "{a.txt,names.txt}",
                "'{a,b}'",
                "a{b",
                "{}",
                "{a}",
                "HEAD@{0}",
                "{a,b}{c,d}",
                "{1..3}",
                "{,.}/a.txt",
            )
        )

    def _glob(self, text: str) -> str:
        return self.chance.choice(
            (
                "*.txt",
                "src/*.py",
                "?.txt",
                "./*",
                "s*/*",
                "*",
                "?",
                "src/**/*.py",
                "*a*",
                "./-*",
                "./*\\ *",
                "n*'.'txt",
                "logs/*",
                "*/",
                "docs/*.md",
                "'*'.txt",
                "./?rc",
                "=*",
                "@*",
                "d*/x.txt",
                "in*",
                ".?*",
                "./..*",
            )
        )

    def _class(self, text: str) -> str:
        return self.chance.choice(
            (
                "[ab].txt",
                "./[!x]*",
                "src/ap[p].py",
                "[a-c].txt",
                "[[:alpha:]].txt",
                "./[=-]*",
                "x[",
                "[",
                "]",
                "a[b",
                "[']']x",
            )
        )

    def _pwd(self, text: str) -> str:
        return self.chance.choice(
            ('"$PWD"', "$PWD", '"$PWD/a.txt"', "$PWD/src", "x$PWD", '"$PWD"/../secret.txt', "'$PWD'")
        )

    def _status(self, text: str) -> str:
        return self.chance.choice(("$?", '"$?"', "x$?", "$", '"$"', "a$", "$.", "'$x'", "\\$x"))

    def _find(self) -> list[str]:
        starts = [self.word(self.chance.choice(NAMES)) for _ in range(self._take({0: 2, 1: 6, 2: 1}))]
        options = [self.chance.choice(("-H", "-P", "-L", "-O2"))] if self.chance.random() < 0.15 else []
        tests = [
            part for _ in range(self._take({0: 1, 1: 3, 2: 3, 3: 2})) for part in self.chance.choice(FIND).split("\0")
        ]
        words = options + starts + [self._single(it) if it in ("(", ")", "!", ",") else self._bare(it) for it in tests]
        if self.chance.random() < 0.3:
            words += self._executed()
        return words

    def _executed(self) -> list[str]:
        self._readers = self._readers or sorted(_FIND_RUNS)
        name = self._readers.pop()
        self._count(f"exec {name}")
        rule = defaults.find((name,))
        assert rule is not None
        words = [name, *(self._option(rule) for _ in range(self._take({0: 3, 1: 2}))), "{}"]
        if rule.operands == "pattern":
            words.insert(-1, "error")
        start = ["-type", "f"] if self.chance.random() < 0.6 else []
        return [*start, "-exec", *(word for word in words if word), self.chance.choice(("\\;", "';'", "+", '";"'))]

    def _sed(self) -> list[str]:
        rule = defaults.find(("sed",))
        assert rule is not None
        words = [self._option(rule)] if self.chance.random() < 0.4 else []
        script = self.chance.choice((self._single, self._double))(self._take_joined(SED))
        named = self.chance.random() < 0.3
        words = [word for word in words if not word.startswith(("-e", "--expression"))]
        return [*words, *(["-e", script] if named else [script]), *self._files(rule)]

    def _awk(self) -> list[str]:
        rule = defaults.find(("awk",))
        assert rule is not None
        start = [self._option(rule)] if self.chance.random() < 0.3 else []
        return [*start, self._single(self._take_joined(AWK)), *self._files(rule)]

    def _jq(self) -> list[str]:
        rule = defaults.find(("jq",))
        assert rule is not None
        words = [self._option(rule) for _ in range(self._take({0: 2, 1: 3, 2: 1}))]
        words += self._take({"": 5, "--arg x 1": 1, "--argjson y '{\"a\":1}'": 1}).split(" ")
        return [*(word for word in words if word), self._single(self.chance.choice(JQ)), "package.json"]

    def _take_joined(self, pool: Sequence[str]) -> str:
        sign = "\n" if self.chance.random() < 0.2 else ";"
        return sign.join(self.chance.choice(pool) for _ in range(self._take({1: 8, 2: 2, 3: 1})))

    def _files(self, rule: Rule) -> list[str]:
        return [self.operand(rule) for _ in range(self._take({0: 1, 1: 6, 2: 1}))]

    def _curl(self) -> list[str]:
        rule = defaults.find(("curl",))
        assert rule is not None
        words = [self._option(rule) for _ in range(self._take({0: 1, 1: 3, 2: 2}))]
        url = self.chance.choice(
            (
                "localhost",
                "localhost:8000/x",
                "http://127.0.0.1/",
                "'http://[::1]:80/'",
                "127.0.0.1:9",
                "https://localhost/a?b=c",
                "'http://localhost/{a,b}'",
                "localhost/*",
                "http://localhost/?x",
                "localhost.evil",
                "'localhost:80/[1-3]'",
            )
        )
        return [*words, url]

    def _cd(self) -> list[str]:
        return [self.chance.choice(_CD)]

    def _test(self) -> list[str]:
        return [
            self.word(it) if it not in ("(", ")") else self._single(it) for it in self.chance.choice(TESTS).split(" ")
        ]

    def _bracket(self) -> list[str]:
        return [*self._test(), "]"]

    def _printf(self) -> list[str]:
        form = self.chance.choice(
            ("%s\\n", "%d %s\\n", "--", "%5.2f", "%q", "%%n", "%b", "%(%F)T", "x", "%c", "%x", "%s$")
        )
        return [self._single(form), *(self.operand(self._rules[0]) for _ in range(self.chance.randint(0, 2)))]

    def _date(self) -> list[str]:
        rule = defaults.find(("date",))
        assert rule is not None
        return [
            *(self._option(rule) for _ in range(self._take({0: 2, 1: 3}))),
            *self._take({"": 2, "+%F": 2, "'+%s %z'": 1}).split("\0"),
        ]

    def _ps(self) -> list[str]:
        return [
            self.chance.choice(
                ("aux", "-ef", "-eo pid,cmd", "axo pid,etime", "-p 1", "-o pid= -p 1", "--forest", "-eLf", "u")
            )
        ]

    def _blank(self) -> str:
        blank = self._take(dict(zip(_BLANKS, (2, 12, 1, 1, 1), strict=True)))
        self._count(f"blank {blank!r}")
        return blank

    def _take(self, weights: dict[T, int]) -> T:
        return self.chance.choices(list(weights), list(weights.values()))[0]

    def _count(self, tag: str) -> None:
        self.made[tag] += 1
