"""A matcher whose time grows with the length of the text and never explodes.

The pattern becomes a nondeterministic automaton. Sets of its states, ordered by preference as the
alternatives of a backtracking matcher would be tried, are the states of a deterministic one that is
built while reading. Each step remembers where every thread came from, so that the start of a match
is known as well as its end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from xun_builtin_tools.search.regex import charset
from xun_builtin_tools.search.regex.charset import LAST, Ranges
from xun_builtin_tools.search.regex.nodes import Alt, Chars, Look, LookKind, Node, Repeat, Seq

_MAX_STATES = 4000
_CHECK_EVERY = 4096
# What stands before a position: the text's start, a line break, a word character, a byte that is no character,
# something else.
_START, _NEWLINE, _WORD, _BROKEN, _OTHER = range(5)
_END = ""
_CRLF = "\r\n"


class _Split(NamedTuple):
    targets: tuple[int, ...]


class _Take(NamedTuple):
    ranges: Ranges
    target: int


class _Test(NamedTuple):
    kind: LookKind
    target: int


class _Match(NamedTuple):
    pass


_Op = _Split | _Take | _Test | _Match


@dataclass(slots=True)
class _State:
    """Threads by preference, with what stands before the position, and whether to look for new starts."""

    threads: tuple[int, ...]
    before: int
    seeking: bool
    steps: dict[str, _Step] = field(default_factory=dict)


class _Step(NamedTuple):
    matched: int | None
    """The thread that is complete at this position, as an index of the threads before."""
    state: _State
    origins: tuple[int, ...]
    """For each thread after the step the one before that it came from."""


class Automaton:
    """Finds matches of one pattern; not to be used by two threads at once."""

    __slots__ = ("_crlf", "_ops", "_start", "_states", "_word")

    def __init__(self, node: Node, *, crlf: bool) -> None:
        self._crlf = crlf
        self._ops: list[_Op] = [_Match()]
        self._start = self._build(node, 0)
        self._states: dict[tuple[tuple[int, ...], int, bool], _State] = {}
        self._word = charset.word()

    def find(self, text: str, at: int = 0, tick: Callable[[], None] = lambda: None) -> tuple[int, int] | None:
        """Return start and end of the first match from position *at* on.

        Args:
            text: What to search; conditions see all of it.
            at: Where to begin.
            tick: Called now and then; may raise to give up.
        """
        state = self._state((self._start,), self._before(text, at), True)
        starts = [at]
        best: tuple[int, int] | None = None
        for i in range(at, len(text) + 1):
            if not i % _CHECK_EVERY:
                tick()
            key = text[i : i + 1]
            if key == "\r" and self._crlf and text[i + 1 : i + 2] in ("\n", ""):
                key = _CRLF
            step = state.steps.get(key)
            if step is None:
                tick()
                step = self._advance(state, key)
            if step.matched is not None:
                best = (starts[step.matched], i)
            starts.append(i + 1)
            starts = [starts[origin] for origin in step.origins]
            state = step.state
            if not state.threads:
                break
        return best

    def _before(self, text: str, at: int) -> int:
        return self._kind(text[at - 1]) if at else _START

    def _kind(self, char: str) -> int:
        if char == "\n":
            return _NEWLINE
        if _is_broken(char):
            return _BROKEN
        return _WORD if charset.contains(self._word, ord(char)) else _OTHER

    def _state(self, threads: tuple[int, ...], before: int, seeking: bool) -> _State:
        key = (threads, before, seeking)
        state = self._states.get(key)
        if state is None:
            if len(self._states) >= _MAX_STATES:
                # What is in use stays alive through its references; only the memory of it is lost.
                for old in self._states.values():
                    old.steps.clear()
                self._states.clear()
            state = self._states[key] = _State(threads, before, seeking)
        return state

    def _advance(self, state: _State, key: str) -> _Step:
        closed, matched = self._closure(state, key)
        char = key[:1]
        point = ord(char) if char else -1
        threads: list[int] = []
        origins: list[int] = []
        seen: set[int] = set()
        for position, origin in closed:
            op = self._ops[position]
            if isinstance(op, _Take) and op.target not in seen and point >= 0 and _holds(op.ranges, point):
                seen.add(op.target)
                threads.append(op.target)
                origins.append(origin)
        seeking = state.seeking and matched is None
        if seeking and char and self._start not in seen:
            threads.append(self._start)
            origins.append(len(state.threads))
        following = self._state(tuple(threads), self._kind(char) if char else _OTHER, seeking)
        step = _Step(matched, following, tuple(origins))
        state.steps[key] = step
        return step

    def _closure(self, state: _State, key: str) -> tuple[list[tuple[int, int]], int | None]:
        """Follow everything that takes no character; stop at the first complete thread."""
        out: list[tuple[int, int]] = []
        seen: set[int] = set()
        for origin, thread in enumerate(state.threads):
            stack = [thread]
            while stack:
                position = stack.pop()
                if position in seen:
                    continue
                seen.add(position)
                op = self._ops[position]
                if isinstance(op, _Match):
                    return out, origin
                if isinstance(op, _Split):
                    stack.extend(reversed(op.targets))
                elif isinstance(op, _Take):
                    out.append((position, origin))
                elif self._passes(op.kind, state.before, key):
                    stack.append(op.target)
        return out, None

    def _passes(self, kind: LookKind, before: int, key: str) -> bool:
        if kind is LookKind.LINE_START:
            return before in (_START, _NEWLINE)
        if kind is LookKind.LINE_END:
            return key in (_END, "\n", _CRLF)
        if kind in (LookKind.TEXT_START, LookKind.TEXT_END):
            return before == _START if kind is LookKind.TEXT_START else key == _END
        left = before == _WORD
        right = bool(key) and charset.contains(self._word, ord(key[0]))
        return {
            LookKind.WORD: left != right,
            LookKind.NOT_WORD: left == right,
            LookKind.WORD_START: right and not left,
            LookKind.WORD_END: left and not right,
            LookKind.START_HALF: not left and before != _BROKEN,
            LookKind.END_HALF: not right and not _is_broken(key[:1]),
        }[kind]

    def _add(self, op: _Op) -> int:
        self._ops.append(op)
        return len(self._ops) - 1

    def _build(self, node: Node, target: int) -> int:
        """Add the states of *node*, which lead to *target*; return the first of them."""
        if isinstance(node, Chars):
            return self._add(_Take(node.ranges, target))
        if isinstance(node, Look):
            return self._add(_Test(node.kind, target))
        if isinstance(node, Seq):
            for item in reversed(node.items):
                target = self._build(item, target)
            return target
        if isinstance(node, Alt):
            return self._add(_Split(tuple(self._build(item, target) for item in node.items)))
        return self._repeat(node, target)

    def _repeat(self, node: Repeat, target: int) -> int:
        if node.high is None:
            loop = self._add(_Split(()))
            body = self._build(node.body, loop)
            self._ops[loop] = _Split((body, target) if node.greedy else (target, body))
            target = loop
        else:
            leave = target
            for _ in range(node.high - node.low):
                body = self._build(node.body, target)
                target = self._add(_Split((body, leave) if node.greedy else (leave, body)))
        for _ in range(node.low):
            target = self._build(node.body, target)
        return target


def _is_broken(char: str) -> bool:
    return "\udc80" <= char <= "\udcff"


def _holds(ranges: Ranges, point: int) -> bool:
    at = bisect_right(ranges, (point, LAST))
    return at > 0 and ranges[at - 1][1] >= point
