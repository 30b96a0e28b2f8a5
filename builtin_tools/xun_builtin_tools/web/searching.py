"""web_search: by a Serper key, or an endpoint that answers as SearXNG does."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools.web.bounded import TimeLeft
from xun_builtin_tools.web.fetching import NOTICE
from xun_builtin_tools.web.pages import WebOptions, exchange
from xun_builtin_tools.web.target import Target, parse
from xun_builtin_tools.web.transport import Reply

SEARCH_URL = "XUN_SEARCH_URL"
"""The variable with the URL of a SearXNG-style endpoint."""

SERPER_KEY = "SERPER_API_KEY"
"""The variable with a key of Serper."""

MAX_RESULTS = 20
_SERPER = "https://google.serper.dev/search"
_SECONDS = 30
_SNIPPET = 1000


@dataclass(frozen=True, slots=True)
class _Request:
    engine: str
    target: Target
    headers: dict[str, str]
    body: bytes | None = None


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
        request = self._request(query.strip(), max_results)
        # The endpoint is the person's own choice, which may well be on their machine.
        reply = exchange(
            ctx,
            request.target,
            request.headers,
            TimeLeft(_SECONDS),
            self._options,
            allow_private=request.engine == "searxng",
            body=request.body,
        )
        found = _answer(request, reply)
        rows = found.get("organic" if request.engine == "serper" else "results")
        results = [row for item in (rows if isinstance(rows, list) else []) if (row := _result(item)) is not None]
        notes = [NOTICE, *_notes(found)] if results else ["Nothing was found; try other words.", *_notes(found)]
        return {"query": query, "engine": request.engine, "results": results[:max_results], "notes": notes}

    def _request(self, query: str, count: int) -> _Request:
        url, key = self._environment.get(SEARCH_URL, ""), self._environment.get(SERPER_KEY, "")
        if url:
            joint = "&" if "?" in url else "?"
            return _Request("searxng", parse(f"{url}{joint}{urlencode({'q': query, 'format': 'json'})}"), {})
        if key:
            body = json.dumps({"q": query, "num": count}).encode()
            headers = {"X-API-KEY": key.strip(), "Content-Type": "application/json"}
            return _Request("serper", parse(_SERPER), headers, body)
        raise ToolError(
            f"No search engine is configured: set {SERPER_KEY} to a key of serper.dev, or {SEARCH_URL} to the search "
            "URL of a SearXNG server."
        )


def _answer(request: _Request, reply: Reply) -> dict[str, Any]:
    place = request.target.place
    if reply.status in (401, 403):
        raise ToolError(f"The search engine {place} refused the request (status {reply.status}): check its key.")
    if reply.status == 429:
        raise ToolError(f"The search engine {place} allows no more searches at present (status 429).")
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        found = None
    if reply.status != 200 or not isinstance(found, dict):
        raise ToolError(f"The search engine {place} gave no results that can be read (status {reply.status}).")
    return found


def _result(item: Any) -> dict[str, str] | None:
    if not isinstance(item, dict):
        return None
    url = item.get("link") or item.get("url")
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        return None
    snippet = item.get("snippet") or item.get("content") or ""
    return {"title": str(item.get("title") or "")[:300], "url": url, "snippet": str(snippet)[:_SNIPPET]}


def _notes(found: dict[str, Any]) -> list[str]:
    """Return the direct answers that some engines give."""
    notes = []
    box = found.get("answerBox")
    if isinstance(box, dict):
        notes.append(str(box.get("answer") or box.get("snippet") or ""))
    answers = found.get("answers")
    for answer in answers if isinstance(answers, list) else []:
        notes.append(str(answer.get("answer", "")) if isinstance(answer, dict) else str(answer))
    return [note[:_SNIPPET] for note in notes if note]
