"""The search engines that web_search can ask: what each wants to be sent, and where it puts what it found.

The forms are those of the engines' own references: Serper, Brave (Web Search), Tavily (Search), Exa (Search), and the
search API of SearXNG.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from xun.errors import ToolError
from xun_builtin_tools.web.addresses import literal
from xun_builtin_tools.web.target import Target, parse

if TYPE_CHECKING:
    from xun.agent.config import AgentConfig

SEARCH_URL = "XUN_SEARCH_URL"
"""The variable with the search URL of a SearXNG server."""

_SNIPPET = 1000
_TITLE = 300
_NOTES = 3


@dataclass(frozen=True, slots=True)
class Query:
    """One search.

    Attributes:
        text: What is looked for.
        count: How many results are wanted.
        url: Where the engine is.
        key: Its key; "" where it needs none.
    """

    text: str
    count: int
    url: str
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent: to where, with which headers, and as a POST where there is a body."""

    target: Target
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Engine:
    """One kind of engine.

    Attributes:
        name: How it is called in settings and results.
        url: Where it is; "" where everybody has their own.
        variables: The environment variables that hold its key, or with no key its URL.
        longest: Characters of a query that it takes.
        request: Makes the request.
        rows: Returns its results and its direct answers.
    """

    name: str
    url: str
    variables: tuple[str, ...]
    request: Callable[[Query], Request]
    rows: Callable[[dict[str, Any]], tuple[Any, list[Any]]]
    longest: int = 500

    @property
    def has_key(self) -> bool:
        """Whether it wants a key."""
        return bool(self.url)


# -- what each is sent --------------------------------------------------------------------------------


def _searxng(query: Query) -> Request:
    joint = "&" if "?" in query.url else "?"
    return Request(parse(f"{query.url}{joint}{urlencode({'q': query.text, 'format': 'json'})}"), {})


def _serper(query: Query) -> Request:
    return _posted(query, {"X-API-KEY": query.key}, {"q": query.text, "num": query.count})


def _brave(query: Query) -> Request:
    joint = "&" if "?" in query.url else "?"
    words = urlencode({"q": query.text, "count": query.count, "text_decorations": "false"})
    return Request(parse(f"{query.url}{joint}{words}"), {"X-Subscription-Token": query.key})


def _tavily(query: Query) -> Request:
    body = {"query": query.text, "max_results": query.count, "search_depth": "basic"}
    return _posted(query, {"Authorization": f"Bearer {query.key}"}, body)


def _exa(query: Query) -> Request:
    body = {"query": query.text, "numResults": query.count, "type": "auto", "contents": {"highlights": True}}
    return _posted(query, {"x-api-key": query.key}, body)


def _posted(query: Query, headers: dict[str, str], body: dict[str, Any]) -> Request:
    return Request(parse(query.url), {**headers, "Content-Type": "application/json"}, json.dumps(body).encode())


# -- what each answers --------------------------------------------------------------------------------


def _plain_rows(found: dict[str, Any]) -> tuple[Any, list[Any]]:
    answers = found.get("answers")
    rows = answers if isinstance(answers, list) else []
    said = [item.get("answer") if isinstance(item, dict) else item for item in rows]
    return found.get("results"), [*said, found.get("answer")]


def _serper_rows(found: dict[str, Any]) -> tuple[Any, list[Any]]:
    box = found.get("answerBox")
    return found.get("organic"), [box.get("answer") or box.get("snippet")] if isinstance(box, dict) else []


def _brave_rows(found: dict[str, Any]) -> tuple[Any, list[Any]]:
    web = found.get("web")
    rows = web.get("results") if isinstance(web, dict) else None
    return [_unmarked(row) for row in rows] if isinstance(rows, list) else None, []


def _unmarked(row: Any) -> Any:
    """Return a result of Brave as plain text: its titles and descriptions are HTML."""
    if not isinstance(row, dict):
        return row
    texts = {key: row[key] for key in ("title", "description") if isinstance(row.get(key), str)}
    return {**row, **{key: html.unescape(re.sub(r"</?\w+>|&#[0-9]{20,};?", "", text)) for key, text in texts.items()}}


ENGINES = (
    Engine("searxng", "", (SEARCH_URL,), _searxng, _plain_rows),
    Engine("serper", "https://google.serper.dev/search", ("SERPER_API_KEY",), _serper, _serper_rows),
    Engine(
        "brave",
        "https://api.search.brave.com/res/v1/web/search",
        ("BRAVE_SEARCH_API_KEY", "BRAVE_API_KEY"),
        _brave,
        _brave_rows,
        longest=400,
    ),
    Engine("tavily", "https://api.tavily.com/search", ("TAVILY_API_KEY",), _tavily, _plain_rows),
    Engine("exa", "https://api.exa.ai/search", ("EXA_API_KEY",), _exa, _plain_rows),
)
"""All engines, in the order in which they are taken where none is named."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The engine that is asked.

    Attributes:
        engine: It.
        url: Where it is.
        key: Its key, or "".
        source: Where the key or the URL comes from.
        own: Whether the person named the URL, which may then be on their machine.
    """

    engine: Engine
    url: str
    key: str = field(repr=False)
    source: str
    own: bool

    def request(self, text: str, count: int) -> Request:
        """Return what is sent for a search.

        Raises:
            ToolError: The query is too long for the engine, the key is none, or it would be sent in the open.
        """
        if len(text) > self.engine.longest:
            raise ToolError(
                f"query must have at most {self.engine.longest} characters for {self.engine.name}, got {len(text)}."
            )
        if not all("!" <= char <= "~" for char in self.key):
            # Refused here: the error of the layer below would show it.
            raise ToolError(f"The key of {self.engine.name} holds a character that no key has; set it again.")
        made = self.engine.request(Query(text, count, self.url, self.key))
        if self.key and made.target.scheme != "https" and not _is_loopback(made.target.host):
            raise ToolError(
                f"The key of {self.engine.name} is not sent in the open to {made.target.place}: give a URL with https."
            )
        return made


def choose(config: AgentConfig, environment: Mapping[str, str]) -> Chosen:
    """Return the engine that *config* names, else the first that *environment* has a key or URL for.

    Raises:
        ToolError: There is none, or it lacks its key or URL; the text says how to give it.
    """
    name = config.search_engine or ("searxng" if config.search_url else "")
    wanted = [engine for engine in ENGINES if name in ("", engine.name)]
    if not wanted:
        raise ToolError(f"{name} is no search engine that is known; there are {', '.join(e.name for e in ENGINES)}.")
    if name:
        return _named(wanted[0], config, environment)
    for engine in ENGINES:
        value, variable = _from(environment, engine.variables)
        if value:
            return Chosen(engine, engine.url or value, value if engine.has_key else "", variable, not engine.has_key)
    keys = ", ".join(engine.variables[0] for engine in ENGINES if engine.has_key)
    raise ToolError(
        f"No search engine is configured: a person can set one of {keys} to a key of that engine, or {SEARCH_URL} to "
        "the search URL of a SearXNG server."
    )


def _named(engine: Engine, config: AgentConfig, environment: Mapping[str, str]) -> Chosen:
    value, variable = _from(environment, engine.variables)
    given = config.search_key if engine.has_key else config.search_url
    value, source = (given, "the configuration") if given else (value, variable)
    if not value:
        lacks = "a key" if engine.has_key else "the URL of its server"
        raise ToolError(f"The search engine {engine.name} is chosen but lacks {lacks}: set {engine.variables[0]}.")
    if engine.has_key:
        return Chosen(engine, config.search_url or engine.url, value, source, bool(config.search_url))
    return Chosen(engine, value, "", source, True)


def _from(environment: Mapping[str, str], variables: tuple[str, ...]) -> tuple[str, str]:
    found = ((environment.get(name, "").strip(), name) for name in variables)
    return next(((value, name) for value, name in found if value), ("", ""))


def results(engine: Engine, found: dict[str, Any]) -> tuple[list[dict[str, str]], list[str]]:
    """Return the results in an answer, as title, url and snippet, and the direct answers in it."""
    rows, notes = engine.rows(found)
    made = [row for item in (rows if isinstance(rows, list) else ()) if (row := _result(item)) is not None]
    return made, [str(note)[:_SNIPPET] for note in notes if note][:_NOTES]


def _result(item: Any) -> dict[str, str] | None:
    if not isinstance(item, dict):
        return None
    url = item.get("link") or item.get("url")
    if not isinstance(url, str) or not url.lower().startswith(("http://", "https://")):
        return None
    return {"title": _text(item.get("title"))[:_TITLE], "url": url, "snippet": _snippet(item)}


def _snippet(item: dict[str, Any]) -> str:
    highlights = item.get("highlights")
    joined = " ... ".join(_text(part) for part in highlights) if isinstance(highlights, list) else ""
    found = next((item[key] for key in ("snippet", "content", "description", "summary", "text") if item.get(key)), "")
    return (joined or _text(found))[:_SNIPPET]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_loopback(host: str) -> bool:
    address = literal(host)
    return host == "localhost" if address is None else address.is_loopback
