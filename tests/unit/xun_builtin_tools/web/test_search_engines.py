"""Each engine over a real connection: what it is sent, and how what it answers is read."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun_builtin_tools.web.engines import ENGINES
from xun_builtin_tools.web.searching import WebSearch


class _Server(http.server.ThreadingHTTPServer):
    status, answer = 200, b"{}"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/search"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        size = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(size)) if size else None
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append({"verb": self.command, "path": self.path, "body": body, "headers": headers})
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[_Server]:
    with _Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def search(
    tmp_path: Path, environment: dict[str, str] | None = None, *, query: str = "a b", count: int = 3, **config: str
) -> Any:
    box = ToolBox(WebSearch(None, environment or {}).web_search)
    with Agent(toolbox=box, workspace=Workspace(tmp_path), config=AgentConfig(**config)) as agent:
        return box.call_tool(agent, "web_search", {"query": query, "max_results": count}, None)


ROW = {"title": "T", "url": "https://x.test/", "snippet": "S"}


@pytest.mark.parametrize(
    ("engine", "header", "path", "body", "answer"),
    [
        (
            "serper",
            ("x-api-key", "k1"),
            "/search",
            {"q": "a b", "num": 3},
            {"organic": [{"title": "T", "link": "https://x.test/", "snippet": "S", "position": 1}]},
        ),
        (
            "brave",
            ("x-subscription-token", "k1"),
            "/search?q=a+b&count=3&text_decorations=false",
            None,
            {
                "type": "search",
                "web": {"results": [{"title": "<strong>T</strong>", "url": ROW["url"], "description": "S"}]},
            },
        ),
        (
            "tavily",
            ("authorization", "Bearer k1"),
            "/search",
            {"query": "a b", "max_results": 3, "search_depth": "basic"},
            {
                "query": "a b",
                "answer": None,
                "results": [{"title": "T", "url": ROW["url"], "content": "S", "score": 0.8}],
            },
        ),
        (
            "exa",
            ("x-api-key", "k1"),
            "/search",
            {"query": "a b", "numResults": 3, "type": "auto", "contents": {"highlights": True}},
            {"requestId": "1", "results": [{"title": "T", "url": ROW["url"], "id": ROW["url"], "highlights": ["S"]}]},
        ),
    ],
)
def test_what_goes_over_the_wire(
    tmp_path: Path, server: _Server, engine: str, header: tuple[str, str], path: str, body: Any, answer: Any
) -> None:
    server.answer = json.dumps(answer).encode()
    value = search(tmp_path, search_engine=engine, search_url=server.url, search_key="k1").unwrap()
    (asked,) = server.asked
    assert (asked["path"], asked["body"]) == (path, body) and asked["verb"] == ("GET" if body is None else "POST")
    assert asked["headers"][header[0]] == header[1] and asked["headers"]["accept"] == "application/json"
    assert value["engine"] == engine and value["results"] == [ROW]


@pytest.mark.parametrize(
    ("engine", "answer", "snippet"),
    [
        ("brave", {"web": {"results": [{"url": "https://x.test/", "description": "a &lt;b&gt; <b>c</b>"}]}}, "a <b> c"),
        ("tavily", {"results": [{"url": "https://x.test/", "content": "use <b> &amp;"}]}, "use <b> &amp;"),
        ("exa", {"results": [{"url": "https://x.test/", "highlights": ["one", "two"]}]}, "one ... two"),
        ("exa", {"results": [{"url": "https://x.test/", "text": "all of it", "highlights": []}]}, "all of it"),
        ("exa", {"results": [{"url": "https://x.test/", "title": None, "highlights": None, "summary": 3}]}, ""),
    ],
)
def test_snippets(tmp_path: Path, server: _Server, engine: str, answer: Any, snippet: str) -> None:
    server.answer = json.dumps(answer).encode()
    value = search(tmp_path, search_engine=engine, search_url=server.url, search_key="k1").unwrap()
    assert [row["snippet"] for row in value["results"]] == [snippet]


@pytest.mark.parametrize("answer", [{"web": None}, {"web": {"results": "x"}}, {"results": [1, {"url": 2}]}, {}])
def test_answers_of_another_shape_are_no_results(tmp_path: Path, server: _Server, answer: Any) -> None:
    server.answer = json.dumps(answer).encode()
    for engine in ("brave", "exa"):
        value = search(tmp_path, search_engine=engine, search_url=server.url, search_key="k1").unwrap()
        assert value["results"] == [] and "Nothing was found" in value["notes"][0]


def test_a_direct_answer(tmp_path: Path, server: _Server) -> None:
    server.answer = json.dumps({"answer": "42", "results": [{"url": "https://x.test/"}]}).encode()
    assert search(tmp_path, search_engine="tavily", search_url=server.url, search_key="k").unwrap()["notes"][1:] == [
        "42"
    ]


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (401, {"detail": {"error": "no"}}, "check its key"),
        (432, {"detail": {"error": "plan"}}, "no more searches"),
        (422, {"error": {"code": "X", "detail": "The subscription token is invalid."}}, "422): The subscription token"),
        (400, {"error": "numResults is wrong"}, "400): numResults is wrong."),
        (400, {"detail": {"error": "Query is empty"}}, "400): Query is empty."),
        (503, "down", "503)."),
    ],
)
def test_what_an_engine_complains_of(tmp_path: Path, server: _Server, status: int, answer: Any, said: str) -> None:
    server.status, server.answer = status, json.dumps(answer).encode()
    error = search(tmp_path, search_engine="brave", search_url=server.url, search_key="k1").unwrap_err()
    assert said in error.error and "k1" not in error.error + error.details


@pytest.mark.parametrize(("variable", "engine"), [(v, e.name) for e in ENGINES[1:] for v in e.variables])
def test_a_key_in_the_environment_is_enough(tmp_path: Path, server: _Server, variable: str, engine: str) -> None:
    search(tmp_path, {variable: " k2\n"}, search_engine=engine, search_url=server.url)
    assert "k2" in " ".join(server.asked[0]["headers"].values())


def test_which_one_is_taken(tmp_path: Path, server: _Server) -> None:
    server.answer = json.dumps({"results": []}).encode()
    found = {"XUN_SEARCH_URL": server.url, "TAVILY_API_KEY": "k"}
    assert search(tmp_path, found).unwrap()["engine"] == "searxng"
    assert search(tmp_path, {"TAVILY_API_KEY": "k"}, search_url=server.url).unwrap()["engine"] == "searxng"
    assert search(tmp_path, found, search_engine="tavily", search_url=server.url).unwrap()["engine"] == "tavily"
    assert "lacks a key: set EXA_API_KEY" in search(tmp_path, found, search_engine="exa").unwrap_err().error
    assert "lacks the URL" in search(tmp_path, {}, search_engine="searxng").unwrap_err().error
    assert "brave" in search(tmp_path, found, search_engine="bing").unwrap_err().error
    error = search(tmp_path).unwrap_err().error
    assert all(engine.variables[0] in error for engine in ENGINES)


def test_a_key_is_not_sent_in_the_open(tmp_path: Path) -> None:
    error = search(tmp_path, search_engine="exa", search_url="http://search.test/", search_key="k1").unwrap_err().error
    assert error == "The key of exa is not sent in the open to search.test: give a URL with https."
    assert "k1" not in repr(AgentConfig(search_key="k1"))


def test_a_key_that_no_header_can_hold(tmp_path: Path, server: _Server) -> None:
    found = search(tmp_path, search_engine="exa", search_url=server.url, search_key="k1\r\nX: y")
    assert "no key has" in found.unwrap_err().error and server.asked == []


def test_a_query_that_is_too_long_for_the_engine(tmp_path: Path, server: _Server) -> None:
    given = {"search_engine": "brave", "search_url": server.url, "search_key": "k"}
    assert "at most 400" in search(tmp_path, query="x" * 401, **given).unwrap_err().error and server.asked == []
