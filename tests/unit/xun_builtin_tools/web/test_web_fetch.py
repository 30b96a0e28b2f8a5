"""web_fetch against a server on this machine; the network of the tests leads every public address to it."""

from __future__ import annotations

import gzip
import http.server
import socket
import ssl
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.persons import Person
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.errors import ToolError
from xun.events import PolicyChanged
from xun_builtin_tools.search import tools
from xun_builtin_tools.web.addresses import system_addresses
from xun_builtin_tools.web.pages import WebOptions
from xun_builtin_tools.web.target import parse
from xun_builtin_tools.web.transport import MAX_BODY, Transport

PUBLIC = "93.184.216.34"


class Site(http.server.BaseHTTPRequestHandler):
    """Answers as the pages of the server say; keeps what it was asked."""

    server: Any

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        page = self.server.pages.get(self.path.split("?")[0])
        if page is None:
            self.send_error(404)
        elif callable(page):
            page(self)
        else:
            status, headers, body = page
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as made:
        made.daemon_threads = True
        made.pages, made.asked = {}, []
        made.handle_error = lambda *args: None
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


class Network:
    """Names and addresses of the tests; each connection ends at the server, and is noted."""

    def __init__(self, server: Any) -> None:
        self.names: dict[str, list[list[str]]] = {}
        self.connected: list[str] = []
        self.resolved: list[str] = []
        self._server = server

    def resolve(self, host: str, port: int) -> list[str]:
        self.resolved.append(host)
        answers = self.names.get(host)
        if answers is None:
            return system_addresses(host, port)
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def connect(self, address: str, port: int, seconds: float) -> socket.socket:
        self.connected.append(address)
        return socket.create_connection(self._server.server_address, timeout=seconds)


@pytest.fixture
def network(server):
    made = Network(server)
    for name in ("site.test", "other.test", "xn--bcher-kva.test"):
        made.names[name] = [[PUBLIC]]
    return made


@pytest.fixture
def make(tmp_path, network):
    def build(person: Person | None = None, **config: Any) -> Agent[Any]:
        web = WebOptions(network.resolve, Transport(network.connect))
        agent: Agent[Any] = Agent(
            toolbox=ToolBox(*tools(web=web)),
            workspace=Workspace(tmp_path),
            config=AgentConfig(**config),
            chooser=person,
        )
        agent.seen = []
        agent.listener = agent.seen.append
        return agent.initialize()

    return build


def get(agent: Agent[Any], url: str, **more: Any) -> Any:
    return agent.toolbox.call_tool(agent, "web_fetch", {"url": url, **more}, None)


HTML = {"Content-Type": "text/html; charset=utf-8"}


def test_a_page_is_markdown_text_or_html(server, make):
    body = b"<title>T</title><h1>Head</h1><p>See <a href='/b'>that</a>.</p>"
    server.pages["/a"] = (200, HTML, body)
    agent = make(Person())
    value = get(agent, "http://site.test/a").unwrap()
    assert value["content"] == "# Head\n\nSee [that](http://site.test/b)."
    assert value["title"] == "T" and value["status"] == 200 and value["next_start_char"] is None
    assert value["url"] == "http://site.test/a" and value["content_type"] == HTML["Content-Type"]
    assert "not as instructions" in value["notice"]
    assert get(agent, "http://site.test/a", format="text").unwrap()["content"] == "Head\n\nSee that."
    assert get(agent, "http://site.test/a", format="html").unwrap()["content"] == body.decode()


def test_a_long_page_is_given_in_parts_and_fetched_once(server, make):
    server.pages["/long"] = (200, {"Content-Type": "text/plain"}, b"0123456789" * 3)
    person = Person()
    agent = make(person)
    parts, start = [], 0
    while start is not None:
        value = get(agent, "http://site.test/long", start_char=start, max_chars=13).unwrap()
        parts.append(value["content"])
        start = value["next_start_char"]
    assert "".join(parts) == "0123456789" * 3 and [len(part) for part in parts] == [13, 13, 4]
    assert len(server.asked) == 1 and len(person.asked) == 1
    assert "none at 30" in get(agent, "http://site.test/long", start_char=30).unwrap_err().error


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        ({"Content-Type": "text/plain; charset=koi8-r"}, "привет".encode("koi8-r"), "привет"),
        ({"Content-Type": "text/html"}, b"<meta charset='windows-1251'><p>" + "мир".encode("cp1251"), "мир"),
        ({"Content-Type": "text/plain; charset=latin-1"}, b"\x93q\x94", "“q”"),
        ({"Content-Type": "text/plain"}, b"\xff\xfea\0b\0", "ab"),
        ({"Content-Type": "text/plain; charset=no-such"}, "é".encode(), "é"),
        ({"Content-Type": "text/plain; charset=utf-7"}, b"+ADw-", "+ADw-"),
        ({"Content-Type": "application/json"}, b'{"a": 1}', '{"a": 1}'),
        ({"Content-Type": "text/plain"}, b"\xff!", "\ufffd!"),
        ({}, b"<!DOCTYPE html><p>x", "x"),
    ],
)
def test_charsets_and_types(server, make, headers, body, text):
    server.pages["/"] = (200, headers, body)
    assert get(make(Person()), "http://site.test").unwrap()["content"] == text


def test_what_is_no_text_is_refused_and_an_error_page_is_not(server, make):
    server.pages["/p"] = (200, {"Content-Type": "image/png"}, b"\x89PNG\0")
    agent = make(Person())
    assert "image/png" in get(agent, "http://site.test/p").unwrap_err().error
    assert get(agent, "http://site.test/none").unwrap()["status"] == 404


# -- permission


def test_a_new_host_is_asked_about_and_a_granted_one_is_not(server, make, network):
    server.pages["/"] = (200, HTML, b"x")
    person = Person("grant")
    agent = make(person)
    for _ in range(2):
        get(agent, "http://site.test/?q=1").unwrap()
    assert [request.prompt for request in person.asked] == ["Fetch http://site.test/?q=1?"]
    assert [option.value for option in person.asked[0].options] == ["grant", "once", "deny"]
    assert [entry.host for entry in agent.policy.host_allowlist] == ["site.test"]
    assert [(e.list, e.entry) for e in agent.seen if isinstance(e, PolicyChanged)] == [("hosts", "site.test")]
    assert [record.source for record in agent.policy.log] == ["user", "allowlist"]
    # Another host, and another port of the same one, are others.
    get(agent, "http://other.test/?d=" + "secret" * 50).unwrap()
    get(agent, "http://site.test:81/").unwrap()
    assert len(person.asked) == 3


def test_denied_sends_nothing_and_looks_nothing_up(server, make, network):
    info = get(make(Person("deny")), "http://site.test/").unwrap_err()
    assert info.kind == "denied" and "Denied by the user" in info.error
    assert "nobody can be asked" in get(make(None), "http://site.test/").unwrap_err().error
    assert server.asked == [] and network.resolved == []


def test_allowed_beforehand(server, make):
    server.pages["/"] = (200, HTML, b"x")
    agent = make(None, allowed_hosts=("site.test",))
    assert get(agent, "http://site.test/").is_ok()
    assert get(agent, "http://other.test/").unwrap_err().kind == "denied"
    assert get(make(None, auto_confirm=True), "http://other.test/").is_ok()


def test_headers_are_sent_and_unusual_ones_asked_about_each_time(server, make):
    server.pages["/"] = (200, HTML, b"x")
    person = Person("once")
    agent = make(person, allowed_hosts=("site.test",))
    get(agent, "http://site.test/", headers={"accept": "text/plain"}).unwrap()
    assert person.asked == [] and server.asked[-1][1]["Accept"] == "text/plain"
    get(agent, "http://site.test/", headers={"Authorization": "Bearer x"}).unwrap()
    assert "Authorization" in person.asked[0].message and not person.asked[0].options[0].available
    for name, value in [("Host", "a"), ("Cookie", "a=b"), ("X\r\nY", "a"), ("X", "a\r\nEvil: 1"), ("X", "л")]:
        assert not get(agent, "http://site.test/", headers={name: value}).is_ok()
    assert len(server.asked) == 2


# -- which addresses


@pytest.mark.row("sec-net-001")
@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "[::1]",
        "0.0.0.0",
        "2130706433",
        "0x7f.1",
        "127.1",
        "[::ffff:127.0.0.1]",
        "127。0。0。1",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fec0::1]",
        "169.254.169.254",
        "100.64.0.1",
        "10.0.0.1",
        "224.0.0.1",
        "[fe80::1]",
        "[::127.0.0.1]",
        "0177.0.0.1",
        "255.255.255.255",
        "db.localhost.",
        "router.local",
        "LOCALHOST",
    ],
)
def test_net_001_local_addresses_in_any_spelling(server, make, network, host):
    person = Person("once")
    info = get(make(person), f"http://{host}:8080/").unwrap_err()
    assert "local address" in info.error and "allow_private_urls" in info.error
    assert person.asked == [] and network.connected == []


@pytest.mark.parametrize("answer", [["10.1.2.3"], [PUBLIC, "127.0.0.1"], ["::1"], ["fe80::1%eth0"], ["what"], []])
def test_names_that_lead_to_local_addresses(make, network, answer):
    network.names["evil.test"] = [answer]
    assert not get(make(Person()), "http://evil.test/").is_ok()
    assert network.connected == []


def test_private_addresses_can_be_allowed_and_are_asked_about(server, make):
    server.pages["/"] = (200, HTML, b"x")
    person = Person()
    assert get(make(person, allow_private_urls=True), "http://127.0.0.1/").is_ok()
    assert len(person.asked) == 1


@pytest.mark.row("sec-net-002")
@pytest.mark.parametrize(
    "location", ["http://127.0.0.1/x", "http://169.254.169.254/", "http://rebind.test/", "file:///x"]
)
def test_net_002_each_hop_is_checked(server, make, network, location):
    network.names["rebind.test"] = [["127.0.0.1"]]
    server.pages["/"] = (302, {"Location": location}, b"")
    assert not get(make(Person()), "http://site.test/").is_ok()
    assert [path for path, _ in server.asked] == ["/"] and network.connected == [PUBLIC]


def test_redirects_are_followed_asked_about_and_counted(server, make):
    server.pages["/"] = (301, {"Location": "/two"}, b"")
    server.pages["/two"] = (307, {"Location": "http://other.test/end"}, b"")
    server.pages["/end"] = (200, HTML, b"end")
    server.pages["/loop"] = (302, {"Location": "/loop"}, b"")
    person = Person("grant")
    agent = make(person)
    value = get(agent, "http://site.test/", headers={"X-Mine": "1"}).unwrap()
    assert value["url"] == "http://other.test/end" and value["content"] == "end"
    assert ["X-Mine" in headers for _, headers in server.asked] == [True, True, False]
    assert "other.test" in person.asked[-1].prompt
    server.asked.clear()
    assert "more than 5 times" in get(agent, "http://other.test/loop").unwrap_err().error
    assert len(server.asked) == 6


@pytest.mark.row("sec-net-003")
def test_net_003_the_address_that_was_checked_is_the_one_connected_to(server, make, network):
    network.names["rebind.test"] = [[PUBLIC], ["127.0.0.1"]]
    server.pages["/"] = (200, HTML, b"x")
    assert get(make(Person()), "http://rebind.test/").is_ok()
    assert network.connected == [PUBLIC] and network.resolved == ["rebind.test"]
    assert server.asked[0][1]["Host"] == "rebind.test"


@pytest.mark.row("sec-net-004")
@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "FILE:///etc/passwd",
        "view-source:file:///",
        "data:text/html,x",
        "javascript:alert(1)",
        "ftp://site.test/",
        "chrome://version",
        "site.test",
        "http://",
        "http:///x",
        "http://u:p@site.test/",
        "http://a b/",
        "http://site.test\\@127.0.0.1/",
        "http://site.test:99999/",
        "http://[::1",
        "http://si%74e.test/",
        "\thttp://site.test",
        "http://" + "a" * 70 + ".test/",
        "http://site.test/" + "a" * 9000,
    ],
)
def test_net_004_only_http_and_https(make, network, url):
    person = Person()
    assert not get(make(person), url).is_ok()
    assert person.asked == [] and network.connected == []


def test_names_and_paths_of_other_scripts(server, make, network):
    server.pages["/%C3%BC%20x"] = (200, HTML, b"x")
    assert get(make(Person()), "HTTP://B\u00fccher.test/\u00fc%20x#part").unwrap()["url"].startswith("http://xn--")


# -- limits


def drip(seconds: float):
    def page(site: Any) -> None:
        site.send_response(200)
        site.send_header("Content-Type", "text/plain")
        site.end_headers()
        try:
            for _ in range(100):
                site.wfile.write(b"x")
                time.sleep(seconds)
        except OSError:
            pass

    return page


def drip_headers(site: Any) -> None:
    try:
        site.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for at in range(100):
            site.wfile.write(f"X-{at}: 1\r\n".encode())
            time.sleep(0.1)
    except OSError:
        pass


@pytest.mark.row("sec-net-005")
@pytest.mark.parametrize("page", [drip(0.1), drip_headers, lambda site: time.sleep(2)])
def test_net_005_slow_answers_end_at_the_limit(server, make, page):
    server.pages["/"] = page
    started = time.monotonic()
    info = get(make(Person()), "http://site.test/", timeout=0.4).unwrap_err()
    assert "more than 0.4 seconds" in info.error and time.monotonic() - started < 1.5


def endless(site: Any) -> None:
    site.send_response(200)
    site.send_header("Content-Type", "text/plain")
    site.end_headers()
    try:
        while True:
            site.wfile.write(b"x" * 65536)
    except OSError:
        pass


@pytest.mark.row("sec-net-005")
def test_net_005_an_endless_body_is_cut(server, make):
    server.pages["/"] = endless
    value = get(make(Person()), "http://site.test/", start_char=0).unwrap()
    assert "truncated" in value and value["next_start_char"] == 50_000


@pytest.mark.row("sec-net-005")
@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw"])
def test_compressed_pages_and_bombs(server, make, coding):
    def packed(data: bytes) -> bytes:
        if coding == "gzip":
            return gzip.compress(data)
        plain = zlib.compress(data)
        return plain if coding == "deflate" else plain[2:-4]

    headers = {"Content-Type": "text/plain", "Content-Encoding": "deflate" if coding == "raw" else coding}
    server.pages["/"] = (200, headers, packed(b"hello"))
    server.pages["/bomb"] = (200, headers, packed(b"0" * (MAX_BODY * 8)))
    server.pages["/broken"] = (200, headers, b"\x1f\x8b\x08rubbish")
    agent = make(Person())
    assert get(agent, "http://site.test/").unwrap()["content"] == "hello"
    value = get(agent, "http://site.test/bomb").unwrap()
    assert "truncated" in value
    rest = get(agent, "http://site.test/bomb", start_char=MAX_BODY - 1).unwrap()
    assert rest["content"] == "0" and rest["next_start_char"] is None
    if coding == "gzip":
        assert "damaged" in get(agent, "http://site.test/broken").unwrap_err().error
    server.pages["/br"] = (200, {"Content-Encoding": "br"}, b"x")
    assert "content encoding" in get(agent, "http://site.test/br").unwrap_err().error


@pytest.mark.row("sec-net-009")
def test_net_009_one_sentence_for_what_is_no_http_or_no_tls(server, make):
    server.pages["/"] = lambda site: site.wfile.write(b"SSH-2.0-x\r\n")
    agent = make(Person())
    assert "no HTTP" in get(agent, "http://site.test/").unwrap_err().error
    info = get(agent, "https://site.test/").unwrap_err()
    assert "No secure connection to site.test" in info.error and "\n" not in info.error


CERTIFICATE = Path(__file__).with_name("site_test.pem")
"""A key and its certificate for site.test, made for these tests."""


@pytest.mark.row("sec-net-009")
@pytest.mark.parametrize(
    ("host", "trusted", "error"),
    [
        ("site.test", True, ""),
        ("other.test", True, "other.test is not valid"),
        ("site.test", False, "is not valid: self"),
    ],
)
def test_net_009_certificates_are_checked(tmp_path, server, network, host, trusted, error):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.pages["/"] = (200, HTML, b"safe")

    def trusting() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(CERTIFICATE))

    web = WebOptions(network.resolve, Transport(network.connect, trusting if trusted else None))
    box, config = ToolBox(*tools(web=web)), AgentConfig(auto_confirm=True)
    with Agent(toolbox=box, workspace=Workspace(tmp_path), config=config) as agent:
        result = get(agent, f"https://{host}/")
    if error:
        assert error in result.unwrap_err().error and server.asked == []
    else:
        assert result.unwrap()["content"] == "safe"


def test_from_https_to_http_is_not_followed(network):
    target = parse("https://site.test/a")
    assert target.follow("//other.test/b").url == "https://other.test/b"
    assert target.follow("ü x".encode().decode("latin-1")).url == "https://site.test/%C3%BC%20x"
    with pytest.raises(ToolError, match="not encrypted"):
        target.follow("http://site.test/b")


def test_no_connection_is_one_sentence(tmp_path, network):
    def refuse(address: str, port: int, seconds: float) -> socket.socket:
        raise ConnectionRefusedError(111, "Connection refused")

    box = ToolBox(*tools(web=WebOptions(network.resolve, Transport(refuse))))
    with Agent(toolbox=box, workspace=Workspace(tmp_path), config=AgentConfig(auto_confirm=True)) as agent:
        info = get(agent, "http://site.test/").unwrap_err()
    assert "No connection to site.test" in info.error and "refused" in info.error


def test_it_is_found_and_not_offered_at_first(tmp_path):
    box = ToolBox().with_defaults("search")
    assert [entry["function"]["name"] for entry in box.list_tools_json()] == ["glob", "grep"]
    assert [tool.name for tool in box.search("download a web page", 1)] == ["web_fetch"]
