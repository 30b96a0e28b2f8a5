"""Which way a search goes, and what comes of it: names are looked through here, many files are read by ripgrep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from xun.errors import SearchError
from xun_builtin_tools.search import python_search, ripgrep_search
from xun_builtin_tools.search.folders import opened
from xun_builtin_tools.search.hits import Hits
from xun_builtin_tools.search.limits import (
    MAX_HITS,
    SECONDS,
    SMALL_BYTES,
    SMALL_SECONDS,
    SMALL_TREE,
    Clock,
    Enough,
    TimeUp,
    TooLarge,
)
from xun_builtin_tools.search.memory import Memory
from xun_builtin_tools.search.request import GlobRequest, GrepRequest, Scope
from xun_builtin_tools.search.ripgrep import find_ripgrep
from xun_builtin_tools.search.walk import Walk

_PROBE_SECONDS = 0.25
"""A look at what was left out may take so long; after a longer search there is none, it would see but a small part."""

Backend = Literal["auto", "python", "ripgrep"]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How searches are made.

    Attributes:
        backend: "auto" reads few files in Python and leaves many to ripgrep where there is one; "python" and "ripgrep"
            insist. What is found is the same. Names need no ripgrep.
        seconds: How long a search may take before it ends with what it has.
    """

    backend: Backend = "auto"
    seconds: float = SECONDS


@dataclass(slots=True)
class Outcome:
    """How a search ended."""

    stopped: str = ""
    """Why it ended before everything was searched; "" when it did not."""
    hint: str = ""
    """What the caller may want to know about an empty result."""


class Engine:
    """Makes searches.

    Args:
        options: How.
        check_cancel: Raises when the run was cancelled.
        memory: What earlier searches have seen of the folders.
    """

    def __init__(self, options: SearchOptions, check_cancel: Callable[[], None], memory: Memory | None = None) -> None:
        self._options = options
        self._check_cancel = check_cancel
        self._memory = memory or Memory()

    def glob(self, request: GlobRequest) -> tuple[list[str], list[str], Outcome]:
        """Return the paths that match, those that were skipped, and how it ended.

        Raises:
            SearchError: Time ran out before anything was found (timeout).
            CancelledError: The run was cancelled.
        """
        clock = Clock(self._options.seconds, self._check_cancel)
        found: list[str] = []
        skipped: list[str] = []
        outcome = Outcome()
        try:
            self._glob(request, clock, found, skipped)
        except TimeUp:
            outcome.stopped = _time_up(clock, bool(found), "pattern or path")
        if not found and not outcome.stopped and _restricted(request.scope):
            more: list[str] = []
            wide = replace(request, scope=_open(request.scope))
            looked = self._probe(clock, lambda probe: self._glob(wide, probe, more, []))
            outcome.hint = _hidden_hint(looked, bool(more))
        return found, skipped, outcome

    def grep(self, request: GrepRequest) -> tuple[Hits, Outcome]:
        """Return what was found and how it ended; errors as `glob`."""
        clock = Clock(self._options.seconds, self._check_cancel)
        hits = Hits(request.output)
        outcome = Outcome()
        small: set[str] = set()
        try:
            self._grep(request, clock, hits, small)
        except TimeUp:
            outcome.stopped = _time_up(clock, bool(hits.total), "path or glob")
        except Enough:
            outcome.stopped = f"The scan stopped after {MAX_HITS:,} matches; narrow the pattern, path or glob."
        if not hits.total and not outcome.stopped and _restricted(request.scope):
            wide = replace(request, scope=_open(request.scope), output="matches", before=0, after=0)
            more = Hits("matches", enough=1)
            looked = self._probe(clock, lambda probe: self._grep(wide, probe, more, small))
            outcome.hint = _hidden_hint(looked, bool(more.total))
        return hits, outcome

    def _probe(self, done: Clock, search: Callable[[Clock], object]) -> bool:
        """Make a search of which only matters whether it finds anything; False when there was no time for one."""
        if done.taken > _PROBE_SECONDS:
            return False
        with suppress(TimeUp, Enough):
            search(Clock(_PROBE_SECONDS, self._check_cancel))
        return True

    def _ripgrep(self, scope: Scope) -> Callable[[], str | None]:
        """Return what finds ripgrep, once and not before it is needed."""
        if self._options.backend == "python":
            return lambda: None
        return cache(lambda: find_ripgrep(scope.inside))

    def _glob(self, request: GlobRequest, clock: Clock, found: list[str], skipped: list[str]) -> None:
        walk = Walk(request.scope, self._memory, clock.tick, request.pattern)
        try:
            for folder, names in walk.listed():
                found.extend([folder + name for name in names])
        finally:
            skipped.extend(walk.skipped)

    def _grep(self, request: GrepRequest, clock: Clock, hits: Hits, done: set[str]) -> None:
        """Search all but *done*, which gets the files of a small tree that was searched."""
        if request.scope.file is not None:
            python_search.PythonSearch(request, clock, hits).in_one()
            return
        program = self._ripgrep(request.scope)
        if self._options.backend != "ripgrep":
            try:
                self._grep_small(request, clock, hits, program, done)
                return
            except TooLarge:
                _clear(hits)
        if (path := program()) is not None:
            try:
                ripgrep_search.RipgrepSearch(request, path, clock, hits, self._memory).run()
                return
            except ripgrep_search.Unequal:
                _clear(hits)
        walk = Walk(request.scope, self._memory, clock.tick, request.filter)
        try:
            search = python_search.PythonSearch(request, clock, hits)
            search.in_folders(opened(request.scope.folder, walk.listed(), walk.skipped))
        finally:
            hits.skipped.extend(walk.skipped)

    def _grep_small(
        self, request: GrepRequest, clock: Clock, hits: Hits, program: Callable[[], str | None], done: set[str]
    ) -> None:
        """Search a tree of few files.

        Raises:
            TooLarge: It has many, told by the names alone: to read some of them first would only cost time. Or
                they are large, or reading takes long, and there is ripgrep.
        """
        walk = Walk(request.scope, self._memory, clock.tick, request.filter)
        found: list[tuple[str, Sequence[str]]] = []
        for folder, names in walk.listed():
            _too_large(walk.entries > SMALL_TREE)
            found.append((folder, [name for name in names if folder + name not in done] if done else names))

        def grown(size: int) -> None:
            if size > SMALL_BYTES or clock.taken > SMALL_SECONDS:
                _too_large(program() is not None)

        search = python_search.PythonSearch(request, clock, hits, grown)
        search.in_folders(opened(request.scope.folder, found, walk.skipped))
        hits.skipped.extend(walk.skipped)
        done.update(folder + name for folder, names in found for name in names)


def _too_large(large: bool) -> None:
    if large:
        raise TooLarge


def _clear(hits: Hits) -> None:
    hits.lines.clear()
    hits.counts.clear()
    hits.skipped.clear()
    hits.total = 0


def _restricted(scope: Scope) -> bool:
    return scope.file is None and (scope.gitignore or not scope.hidden)


def _open(scope: Scope) -> Scope:
    return replace(scope, hidden=True, gitignore=False)


def _hidden_hint(looked: bool, found: bool) -> str:
    if not looked:
        return "Hidden files and what ignore rules leave out were not searched (hidden=true, gitignore=false)."
    if not found:
        return ""
    return "Nothing is left: hidden files or ignore rules leave out what matches (hidden=true, gitignore=false)."


def _time_up(clock: Clock, found: bool, narrow: str) -> str:
    if not found:
        raise SearchError(f"Nothing was found within {clock.seconds:g} s; narrow the {narrow}.", kind="timeout")
    return f"The search stopped after {clock.seconds:g} s, so this is a part; narrow the {narrow}."
