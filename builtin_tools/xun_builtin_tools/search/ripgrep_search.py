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
from xun_builtin_tools.search.gitignore import RuleSet
from xun_builtin_tools.search.hits import Hits
from xun_builtin_tools.search.ignore_rules import (
    IGNORE_FILE,
    REPOSITORY,
    OuterRules,
    read_ignore_file,
    repository_rules,
)
from xun_builtin_tools.search.limits import Clock
from xun_builtin_tools.search.python_search import PythonSearch
from xun_builtin_tools.search.regex.nodes import has_text_anchor
from xun_builtin_tools.search.request import GlobRequest, GrepRequest, Scope
from xun_builtin_tools.search.ripgrep import RipgrepRun
from xun_builtin_tools.search.ripgrep_filter import filter_arguments
from xun_builtin_tools.search.ripgrep_reader import Reader
from xun_builtin_tools.search.survey import Memory, Survey
from xun_builtin_tools.search.walk import open_folder, reopened

_PARTLY = 2  # the status of a run that could not read everything; above it, or killed, it could not run
_META = re.compile(r"([\\.+*?()|\[\]{}^$#&\-~])")
_GLOB_META = re.compile(r"([\\*?\[\]{}!])")
_PLAIN_PATH = re.compile(r"[\w.+\-@/]*", re.ASCII)
_UNREADABLE = re.compile(
    r"(?:rg: )?(.+): (?:Permission denied|Input/output error|Operation not permitted).*", re.DOTALL
)
_BROKEN_IGNORE = re.compile(rb"error parsing glob|regex parse error|line \d+: error")


_LISTED = b"/" + IGNORE_FILE.encode() + b"\0"
_REPOSITORY = b"/" + REPOSITORY.encode()
_ALL_BUT_HEADS = f"!**/{REPOSITORY}/[!H]*"
"""Of each repository only this much is listed, or its file when it is a linked one, to tell that it is there."""


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
        return None if self.scope.is_closed(path) else path


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


def glob_paths(request: GlobRequest, program: str, clock: Clock, found: list[str]) -> None:
    """Add the paths that match to *found*.

    Raises:
        Unequal: Search the other way.
        TimeUp: The limit is reached.
    """
    with ExitStack() as stack:
        place = _Place(request.scope, stack)
        watch = _IgnoreFiles(request.scope) if request.scope.outer is not None else None
        # Hidden files are listed in any case, so that the ignore files among them are seen.
        arguments = ["--files", "--null", *place.arguments, "--hidden"]
        arguments += place.last if watch is None else ["-g", _ALL_BUT_HEADS, "--", place.target]
        run = place.run(program, arguments, clock, stack)
        strip = len(place.target)
        fullmatch, endings = request.pattern.regex.fullmatch, request.pattern.endings
        simple = request.scope.hidden and not request.scope.closed
        # While ripgrep goes on, each batch is looked through: that is why this is not done at the end.
        for batch in run.batches(b"\0"):
            paths = os.fsdecode(batch[:-1]).split("\0")
            if watch is not None:
                paths = watch.look(batch, paths, strip)
            # The ending of a string is looked at far faster than an expression is.
            matching = [path for path in paths if path.endswith(endings)]
            if not request.pattern.by_ending:
                matching = [path for path in matching if fullmatch(path, strip)]
            if simple:
                found.extend([path[strip:] for path in matching])
            else:
                found.extend(path for path in map(place.relative, matching) if path is not None)
        _check_stderr(run.stderr)
        if run.status > _PARTLY:
            raise Unequal


class _IgnoreFiles:
    """Looks at the ignore files of a listing: whether ripgrep reads them as git does.

    One that is itself ignored is not listed. Where a rule ignores such files, every folder is looked
    into for one; without such a rule only a file that ignores itself, leaves other files of its folder
    visible and is not plain could be missed. The same goes for other repositories in this one.
    """

    def __init__(self, scope: Scope) -> None:
        self._root = str(scope.folder).rstrip("/") + "/"
        self._batches: list[tuple[list[str], int]] = []
        self._around = scope.outer is not None and bool(scope.outer.sets)
        self._everywhere = any(map(_ignores_its_kind, scope.outer.sets if scope.outer else ()))
        self._check("")

    def look(self, batch: bytes, paths: list[str], strip: int) -> list[str]:
        """Look at one batch of a listing, raw and as paths whose first *strip* characters do not count.

        Returns the paths without those that only tell of repositories.

        Raises:
            Unequal: One of the folders has an ignore file that is not plain, or other rules count for it.
        """
        if b"\n" in batch:
            # In version 13 the stars of a rule do not go past a line break in the name of a folder.
            raise Unequal
        if _REPOSITORY in batch:
            paths = [path for path in paths if not self._tells_of_repository(path, strip)]
        self._batches.append((paths, strip))
        if _LISTED in batch:
            for path in paths:
                if path.endswith("/" + IGNORE_FILE):
                    self._check(path[strip : -len(IGNORE_FILE)])
        if self._everywhere:
            for seen, start in self._batches:
                self._check_all({path[start:].rpartition("/")[0] for path in seen})
            self._batches.clear()
        return paths

    def _tells_of_repository(self, path: str, strip: int) -> bool:
        at = f"{path}/".find(f"/{REPOSITORY}/", strip - 1)
        if at >= strip:
            self._require_no_rules(path[strip:at])
        return at >= 0

    def _require_no_rules(self, folder: str) -> None:
        if self._around or repository_rules(self._root + folder):
            raise Unequal

    def _check(self, folder: str) -> None:
        rules = _check_ignore_file(f"{self._root}{folder}{IGNORE_FILE}", folder)
        if rules is not None and _ignores_its_kind(rules):
            self._everywhere = True

    def _check_all(self, folders: set[str]) -> None:
        done = set()
        for folder in folders:
            above = folder
            while above and above not in done:
                done.add(above)
                _check_ignore_file(f"{self._root}{above}/{IGNORE_FILE}")
                if os.path.lexists(f"{self._root}{above}/{REPOSITORY}"):
                    self._require_no_rules(above)
                above = above.rpartition("/")[0]


def _ignores_its_kind(rules: RuleSet) -> bool:
    """Return whether rules may hide ignore files or repositories from a listing."""
    seen = ((IGNORE_FILE, False), (REPOSITORY, False), (REPOSITORY, True), (f"{REPOSITORY}/HEAD", False))
    return any(rules.decide(f"{rules.folder}any/{path}", os.path.basename(path), is_dir) for path, is_dir in seen)


def _check_ignore_file(path: str, folder: str = "") -> RuleSet | None:
    try:
        data = read_ignore_file(path)
    except OSError:
        raise Unequal from None
    if data is None:
        return None
    rules = RuleSet(data, folder)
    _require_plain(rules)
    return rules


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
            survey = Survey(self.request.scope, self.memory) if self.request.scope.outer is not None else None

            def check() -> None:
                if survey is not None and survey.refused:
                    raise Unequal  # without waiting for an end that does not count

            main = place.run(self.program, arguments, self.clock.watching(check), stack)
            if survey is not None:
                stack.enter_context(survey)
            reader = Reader(self.request, place.relative, self.hits)
            if self.request.output == "files":
                reader.read_paths(main.batches(b"\0"))
            else:
                reader.read(main.lines())
            self._finish(main)
            self._search_again(reader.unfinished)
            if survey is not None and not survey.plain(self.clock):
                raise Unequal

    def _search_again(self, paths: list[str]) -> None:
        """Search files of which ripgrep reads the more or the less, as its buffer has it."""
        listed = ((path[: -len(name)], [name]) for path, name in ((path, os.path.basename(path)) for path in paths))
        search = PythonSearch(self.request, self.clock, self.hits)
        search.in_folders(reopened(self.request.scope.folder, listed, self.hits.skipped))

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
