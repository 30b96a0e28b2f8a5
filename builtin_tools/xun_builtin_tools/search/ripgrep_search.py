"""Searches with ripgrep that give what the search without it would give.

ripgrep reads the ignore files below the root itself. Those above the root are handed to it, since its
versions differ on them. It reads braces, and a few rarer things, in ignore files otherwise than git
does: when a file has any of that, `Unequal` sends the search back to the other way.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import ExitStack

from xun_builtin_tools.search.fence import Fence
from xun_builtin_tools.search.folders import open_folder, opened
from xun_builtin_tools.search.gitignore import RuleSet
from xun_builtin_tools.search.hits import Hits
from xun_builtin_tools.search.ignore_rules import OuterRules
from xun_builtin_tools.search.limits import Clock
from xun_builtin_tools.search.memory import Memory
from xun_builtin_tools.search.python_search import PythonSearch
from xun_builtin_tools.search.regex.nodes import has_text_anchor
from xun_builtin_tools.search.request import GrepRequest, Scope
from xun_builtin_tools.search.ripgrep import RipgrepRun
from xun_builtin_tools.search.ripgrep_filter import filter_arguments
from xun_builtin_tools.search.ripgrep_reader import Reader
from xun_builtin_tools.search.survey import Survey

_META = re.compile(r"([\\.+*?()|\[\]{}^$#&\-~])")
_GLOB_META = re.compile(r"([\\*?\[\]{}!])")
_PLAIN_PATH = re.compile(r"[\w.+\-@/]*", re.ASCII)
_UNREADABLE = re.compile(
    r"(?:rg: )?(.+): (?:Permission denied|Input/output error|Operation not permitted).*", re.DOTALL
)
_BROKEN_IGNORE = re.compile(rb"error parsing glob|regex parse error|line \d+: error")


class Unequal(Exception):
    """ripgrep would not give the same result here."""


def _require_plain(rules: RuleSet) -> None:
    if not rules.plain:
        raise Unequal


class _Place:
    """From where ripgrep runs, and how it is told about the scope."""

    def __init__(self, scope: Scope, stack: ExitStack) -> None:
        outer = scope.outer
        self.scope = scope
        self.folder = scope.folder
        self.prefix = ""
        self.files: list[str] = []
        self.arguments = ["--hidden"] if scope.hidden else []
        if outer is None:
            self.arguments.append("--no-ignore")
        else:
            self.arguments += ["--no-require-git", "--no-ignore-parent", "--no-ignore-global"]
            self.arguments += ["--no-ignore-dot", "--no-ignore-exclude"]
            if outer.sets and outer.top is not None:
                self.folder = outer.top
                self.prefix = outer.offset
                self.files = [_outer_file(outer, stack)]
                self.arguments += ["--ignore-file", *self.files]
        self.target = "./" + self.prefix
        self._strip = len(self.target)
        for closed in scope.closed:
            self.arguments += ["-g", f"!/{self.prefix}" + _GLOB_META.sub(r"\\\1", closed)]
        self.last = ["-g", "!.git", "--", self.target]

    def run(self, program: str, arguments: list[str], clock: Clock, stack: ExitStack) -> RipgrepRun:
        """Start ripgrep, which can read nothing but what is searched.

        Raises:
            Unequal: The folder is not there any more.
        """
        try:
            fd = open_folder(str(self.scope.folder))
            try:
                fence = Fence(fd, (program, *self.files))
                return stack.enter_context(RipgrepRun(program, arguments, self.folder, clock, fence))
            finally:
                os.close(fd)
        except OSError:
            raise Unequal from None

    def relative(self, path: str) -> str | None:
        """Return a path of ripgrep relative to the root; None when it is not wanted."""
        path = path[self._strip :]
        if not self.scope.hidden and (path[:1] == "." or "/." in path):
            return None
        return None if self.scope.is_closed(path) or self.scope.ignores(path, False) else path


def _outer_file(outer: OuterRules, stack: ExitStack) -> str:
    """Write the rules above the root to one file, as seen from the folder where paths begin."""
    if not _PLAIN_PATH.fullmatch(outer.offset):
        raise Unequal
    out = []
    for rules in outer.sets:
        _require_plain(rules)
        for rule in rules.rules:
            body = rule.source.removeprefix("!")
            if rules.folder and rule.by_name:
                body = f"/{rules.folder}**/{body}"
            elif rules.folder:
                body = f"/{rules.folder}{body.removeprefix('/')}"
            out.append(("!" if rule.negated else "") + body)
    handle, name = tempfile.mkstemp(prefix="xun-ignore-")
    stack.callback(os.unlink, name)
    with os.fdopen(handle, "wb") as file:
        file.write("\n".join(out).encode("latin-1") + b"\n")
    return name


def _check_stderr(stderr: bytes) -> None:
    if _BROKEN_IGNORE.search(stderr):
        raise Unequal


class RipgrepSearch:
    """Looks for one pattern in the content of files."""

    def __init__(self, request: GrepRequest, program: str, clock: Clock, hits: Hits, memory: Memory) -> None:
        self.request = request
        self.program = program
        self.clock = clock
        self.hits = hits
        self.memory = memory

    def run(self) -> None:
        """Search; *hits* gets what is found.

        Raises:
            Unequal: Search the other way.
            TimeUp: The limit is reached.
            Enough: No more matches are looked for.
        """
        with ExitStack() as stack:
            place = _Place(self.request.scope, stack)
            arguments = [*self._arguments(place), *place.last]
            survey = Survey(self.request.scope, self.memory, self.request.filter)

            def check() -> None:
                if survey.refused:
                    raise Unequal  # without waiting for an end that does not count

            main = place.run(self.program, arguments, self.clock.watching(check), stack)
            stack.enter_context(survey)
            reader = Reader(self.request, place.relative, self.hits)
            if self.request.output == "files":
                reader.read_paths(main.batches(b"\0"))
            else:
                reader.read(main.lines())
            self._finish(main)
            self._search_again(reader.unfinished)
            if not survey.plain(self.clock):
                raise Unequal
            self.hits.skipped.extend(survey.skipped)

    def _search_again(self, paths: list[str]) -> None:
        """Search files of which ripgrep reads the more or the less, as its buffer has it."""
        listed = ((path[: -len(name)], [name]) for path, name in ((path, os.path.basename(path)) for path in paths))
        search = PythonSearch(self.request, self.clock, self.hits)
        search.in_folders(opened(self.request.scope.folder, listed, self.hits.skipped))

    def _arguments(self, place: _Place) -> list[str]:
        request = self.request
        if request.codec is not None:
            # Told of an encoding, ripgrep uses it for files with the mark of UTF-8 as well.
            raise Unequal
        shape = ["--files-with-matches", "--null"] if request.output == "files" else ["--json"]
        arguments = [*shape, "--no-mmap", *place.arguments]
        arguments += ["--crlf"] if request.matcher.crlf and not request.matcher.multiline else []
        arguments += ["--ignore-case"] if request.ignore_case else []
        arguments += ["--word-regexp"] if request.word else []
        if request.matcher.multiline:
            arguments += ["--multiline", *(["--multiline-dotall"] if request.dotall else []), "--crlf"]
        if request.output == "matches":
            arguments += [f"--before-context={request.before}", f"--after-context={request.after}"]
        arguments += filter_arguments(request.filter, place.prefix)
        arguments += ["-e", self._pattern()]
        if any("\0" in argument for argument in arguments):
            # No program can be given one; it is in no text file either.
            raise Unequal
        return arguments

    def _pattern(self) -> str:
        source = self.request.parsed.source
        if self.request.literal:
            source = _META.sub(r"\\\1", source)
        elif not self.request.parsed.exact or has_text_anchor(self.request.parsed.node):
            raise Unequal
        # A line break would begin another pattern.
        return source.replace("\n", "\\n")

    def _finish(self, run: RipgrepRun) -> None:
        _check_stderr(run.stderr)
        unreadable = False
        for line in run.stderr.decode("utf-8", "replace").splitlines():
            match = _UNREADABLE.fullmatch(line)
            if match:
                unreadable = True
                path = match[1].removeprefix("./")
                self.hits.skipped.append(path[len(self._offset()) :] if path.startswith(self._offset()) else path)
        if run.status > 1 and not unreadable:
            raise Unequal

    def _offset(self) -> str:
        outer = self.request.scope.outer
        return outer.offset if outer is not None and outer.sets else ""
