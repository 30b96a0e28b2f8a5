"""web_search with both kinds of engines."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from typing import Any

import pytest

from xun import Agent, ToolBox, Workspace
from xun_builtin_tools.web.pages import WebOptions
from xun_builtin_tools.web.searching import WebSearch
from xun_builtin_tools.web.transport import Reply, Transport


class Engine(http.server.BaseHTTPRequestHandler):
    """Answers as SearXNG does."""

    server: Any

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def engine():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine) as made:
        made.asked, made.status, made.answer = [], 200, b"{}"
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def search(tmp_path, environment: dict[str, str], options: WebOptions | None = None, **arguments: Any) -> Any:
    box = ToolBox(WebSearch(options, environment).web_search)
    with Agent(toolbox=box, workspace=Workspace(tmp_path)) as agent:
        return box.call_tool(agent, "web_search", {"query": "a b", **arguments}, None)


def test_without_an_engine_one_sentence_says_how_to_get_one(tmp_path):
    error = search(tmp_path, {}).unwrap_err().error
    assert "SERPER_API_KEY" in error and "XUN_SEARCH_URL" in error and error.count(". ") == 0


def test_an_endpoint_of_ones_own(tmp_path, engine):
    row = {"title": "T", "url": "https://x.test/", "content": "C"}
    rows = [row, {"url": "javascript:x"}, "rubbish", {**row, "title": None}, row]
    engine.answer = json.dumps({"results": rows, "answers": ["42", {"answer": "43"}]}).encode()
    url = f"http://127.0.0.1:{engine.server_port}/search?lang=en"
    value = search(tmp_path, {"XUN_SEARCH_URL": url}, max_results=2).unwrap()
    assert engine.asked == ["/search?lang=en&q=a+b&format=json"]
    assert value["engine"] == "searxng" and value["query"] == "a b"
    assert [row["title"] for row in value["results"]] == ["T", ""]
    assert value["results"][0] == {"title": "T", "url": "https://x.test/", "snippet": "C"}
    assert value["notes"][1:] == ["42", "43"]


@pytest.mark.parametrize(
    ("status", "answer", "error"),
    [
        (200, b"<html>", "no results that can be read"),
        (200, b"[]", "no results that can be read"),
        (500, b"{}", "status 500"),
        (403, b"{}", "check its key"),
        (429, b"{}", "no more searches"),
    ],
)
def test_what_an_engine_may_answer_otherwise(tmp_path, engine, status, answer, error):
    engine.status, engine.answer = status, answer
    url = f"http://127.0.0.1:{engine.server_port}/search"
    assert error in search(tmp_path, {"XUN_SEARCH_URL": url}).unwrap_err().error


def test_nothing_found(tmp_path, engine):
    value = search(tmp_path, {"XUN_SEARCH_URL": f"http://127.0.0.1:{engine.server_port}/"}).unwrap()
    assert value["results"] == [] and "Nothing was found" in value["notes"][0]


def test_serper_gets_its_key_over_a_secure_connection_only(tmp_path):
    asked: list[tuple[str, int]] = []

    def connect(address: str, port: int, seconds: float) -> socket.socket:
        asked.append((address, port))
        raise OSError("unplugged")

    options = WebOptions(lambda host, port: ["93.184.216.34"], Transport(connect))
    error = search(tmp_path, {"SERPER_API_KEY": "k"}, options).unwrap_err().error
    assert asked == [("93.184.216.34", 443)] and "unplugged" in error and "k" not in error.split()
    local = WebOptions(lambda host, port: ["127.0.0.1"], Transport(connect))
    assert "local address" in search(tmp_path, {"SERPER_API_KEY": "k"}, local).unwrap_err().error
    assert len(asked) == 1


class Recorded(Transport):
    """Keeps the request, and answers as Serper does."""

    def __init__(self, sent: list[Any]) -> None:
        super().__init__()
        object.__setattr__(self, "sent", sent)

    def exchange(self, target: Any, addresses: Any, headers: Any, line: Any, body: bytes | None = None) -> Reply:
        self.sent.append((target.url, dict(headers), body))
        found = {"organic": [{"title": "T", "link": "https://x.test/", "snippet": "S"}], "answerBox": {"answer": "A"}}
        return Reply(200, {}, json.dumps(found).encode())


def test_serper_answers(tmp_path):
    sent: list[Any] = []
    options = WebOptions(lambda host, port: ["93.184.216.34"], Recorded(sent))
    value = search(tmp_path, {"SERPER_API_KEY": "k"}, options, max_results=3).unwrap()
    assert value["results"] == [{"title": "T", "url": "https://x.test/", "snippet": "S"}] and value["notes"][1] == "A"
    url, headers, body = sent[0]
    assert url.startswith("https://") and headers["X-API-KEY"] == "k" and json.loads(body) == {"q": "a b", "num": 3}


@pytest.mark.parametrize("arguments", [{"query": " "}, {"query": "x" * 501}, {"max_results": 0}, {"max_results": 21}])
def test_arguments(tmp_path, arguments):
    assert not search(tmp_path, {}, **arguments).is_ok()
