"""Tools that are offered only once they are looked for: their search, and the part of a toolbox that keeps it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from xun.errors import ToolCallFormatError

if TYPE_CHECKING:
    from xun.tools.function import Function

INDEX_WIDTH = 48
"""Characters of a description in the index of deferred tools, which goes with every request."""

FAMILY = 3
"""Tools of one family that are shown in one line."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_WORD = re.compile(r"\+?[\w.-]+")
_CLAUSE = re.compile(r"(?<=.{12})(?:[.!?,;:]\s|\s\()")
"""The end of the first clause; a few characters alone say too little."""


def score(tool: Function, words: Iterable[str]) -> int:
    """Return how well *tool* fits *words*, 0 for not at all.

    A word is worth 10 as a part of the name, else 5 as a piece of it; 4 in the hint, 2 in the description. A word
    that begins with ``+`` must be in the name.
    """
    name, hint, text = tool.name.lower(), tool.attr.search_hint.lower(), tool.description.lower()
    parts = {part.lower() for part in _PART.findall(tool.name)}
    total = 0
    for word in words:
        needed, bare = word.startswith("+"), word.lstrip("+").lower()
        if needed and bare not in name:
            return 0
        total += 10 if bare in parts or bare == name else 5 if bare in name else 0
        total += 4 * (bare in hint) + 2 * (bare in text)
    return total


class Deferring:
    """The deferred tools of a toolbox; mixed into `ToolBox`."""

    _tools: dict[str, Function]
    _loaded: set[str]
    _deferred: set[str]

    if TYPE_CHECKING:

        def _is_hidden(self, tool: Function) -> bool: ...

        def get(self, name: str) -> Function | None: ...

    @property
    def loaded(self) -> frozenset[str]:
        """The names of the deferred tools that are offered now."""
        return frozenset(self._loaded)

    def share_loaded(self, other: Deferring) -> Self:
        """Have the same deferred tools loaded as *other*, from now on too: what one loads is loaded in both."""
        self._loaded = other._loaded
        return self

    def defer(self, *names: str) -> Self:
        """Have tools of this toolbox deferred, whatever their own mark says; unknown names are passed over."""
        self._deferred.update(tool.name for name in names if (tool := self.get(name)) is not None)
        return self

    def is_deferred(self, tool: Function) -> bool:
        """Tell whether *tool* is offered only once it was looked for."""
        return tool.attr.deferred or tool.name in self._deferred

    def deferred(self) -> list[Function]:
        """Return the tools that are deferred, loaded or not, without those that are disabled."""
        return [tool for tool in self._tools.values() if self.is_deferred(tool) and not self._is_hidden(tool)]

    def is_offered(self, tool: Function) -> bool:
        """Tell whether *tool* is not deferred, or loaded."""
        return not self.is_deferred(tool) or tool.name in self._loaded

    def load(self, *names: str) -> list[Function]:
        """Offer deferred tools from the next request on; return them.

        Raises:
            ToolCallFormatError: There is no such tool; nothing is loaded.
        """
        unknown = [name for name in names if self.get(name) is None]
        if unknown:
            known = ", ".join(tool.name for tool in self.deferred()) or "none"
            raise ToolCallFormatError(f"There is no tool named {', '.join(unknown)}; the deferred tools are: {known}.")
        found = [tool for name in names if (tool := self.get(name)) is not None]
        self._loaded.update(tool.name for tool in found if self.is_deferred(tool))
        return found

    def search(self, query: str, max_results: int = 5) -> list[Function]:
        """Load the deferred tools that fit *query* best, and return them, best first.

        A query that names tools exactly loads just those. Words count as `score` says.
        """
        words = _WORD.findall(query)
        there = self.deferred()
        named = [tool for tool in there if tool.name in words]
        if named and len(named) == len(set(words)):
            return self.load(*(tool.name for tool in named[: max(0, max_results)]))
        ranked = [(score(tool, words), -index, tool) for index, tool in enumerate(there)]
        best = sorted((item for item in ranked if item[0] > 0), key=lambda item: item[:2], reverse=True)
        return self.load(*(tool.name for _, _, tool in best[: max(0, max_results)]))

    def deferred_index(self, model_capabilities: Iterable[str] | None = None) -> str:
        """Return one line for each deferred tool: its name and the beginning of its description.

        Of three or more in a row whose names begin with the same word the line of the first names the others too.
        Tools that need what is not among *model_capabilities* are left out; None leaves none out.
        """
        have = None if model_capabilities is None else frozenset(model_capabilities)
        there = [tool for tool in self.deferred() if have is None or tool.required_capabilities <= have]
        families = [list(group) for _, group in itertools.groupby(there, key=_family)]
        return "\n".join(line for family in families for line in _lines(family))


def _family(tool: Function) -> str:
    first, bar, _ = tool.name.partition("_")
    return first if bar else tool.name


def _lines(family: list[Function]) -> list[str]:
    lines = [_line(tool) for tool in family]
    if len(lines) < FAMILY:
        return lines
    return [f"{lines[0]}; {', '.join(tool.name for tool in family[1:])}"]


def _line(tool: Function) -> str:
    text = _gist(" ".join(tool.description.split()))
    return f"{tool.name}: {text}" if text else tool.name


def _gist(text: str) -> str:
    """Return the first clause of *text*, or what of it fits."""
    clause = _CLAUSE.split(text, maxsplit=1)[0].removesuffix(".")
    if len(clause) <= INDEX_WIDTH:
        return clause
    room = clause[: INDEX_WIDTH - 2]
    return (room.rpartition(" ")[0] or room[:-1]).rstrip() + "..."
