"""web_search: by the engine that the configuration names, or the first that the environment has a key for."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.web.bounded import TimeLeft
from xun_builtin_tools.web.engines import choose, results
from xun_builtin_tools.web.fetching import NOTICE
from xun_builtin_tools.web.pages import WebOptions, exchange
from xun_builtin_tools.web.transport import Reply

MAX_RESULTS = 20
_SECONDS = 30
_COMPLAINT = 200


class WebSearch:
    """The tool, with how it reaches the web."""

    def __init__(self, options: WebOptions | None = None, environment: Mapping[str, str] | None = None) -> None:
        self._options = options or WebOptions()
        self._environment = os.environ if environment is None else environment

    @tool_attr(read_only=True, deferred=True, search_hint="internet google look up online news documentation find")
    def web_search(self, ctx: ToolCallContext[Any], query: str, max_results: int = 5) -> dict[str, Any]:
        """Search the web.

        query is what one would type into a search engine. max_results is 1 to 20. Read a result with web_fetch.

        Returns query, engine, results with title, url and snippet, and notes."""
        if not query.strip() or len(query) > 500:
            raise ToolError(f"query must have 1 to 500 characters, got {len(query)}.")
        if not 1 <= max_results <= MAX_RESULTS:
            raise ToolError(f"max_results must be 1 to {MAX_RESULTS}, got {max_results}.")
        chosen = choose(ctx.agent.config, self._environment)
        request = chosen.request(query.strip(), max_results)
        # An endpoint that the person named may well be on their machine.
        reply = exchange(
            ctx,
            request.target,
            {"Accept": "application/json", **request.headers},
            TimeLeft(_SECONDS),
            self._options,
            allow_private=chosen.own,
            body=request.body,
        )
        found, said = results(chosen.engine, _answer(request.target.place, reply))
        notes = [NOTICE, *said] if found else ["Nothing was found; try other words.", *said]
        return {"query": query, "engine": chosen.engine.name, "results": found[:max_results], "notes": notes}


def _answer(place: str, reply: Reply) -> dict[str, Any]:
    if reply.status in (401, 403):
        raise ToolError(f"The search engine {place} refused the request (status {reply.status}): check its key.")
    if reply.status in (402, 429, 432, 433):
        # The last two are Tavily's: what the plan, or the person, pays for is used up.
        raise ToolError(f"The search engine {place} allows no more searches at present (status {reply.status}).")
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        found = None
    if reply.status != 200 or not isinstance(found, dict):
        said = _complaint(found)
        raise ToolError(f"The search engine {place} gave no results that can be read (status {reply.status}){said}.")
    return found


def _complaint(found: Any) -> str:
    """Return what an engine says is wrong, in any of the places where the engines say it."""
    for key in ("error", "detail", "message"):
        value = found.get(key) if isinstance(found, dict) else None
        while isinstance(value, dict):
            value = value.get("detail") or value.get("error") or value.get("message") or value.get("code")
        if isinstance(value, str) and value.strip():
            return f": {' '.join(value.split())[:_COMPLAINT].rstrip('.')}"
    return ""
