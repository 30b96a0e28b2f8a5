"""The parts of the browser tools that need no browser."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, ToolCallContext, Workspace
from xun.errors import Denied, ToolError
from xun_builtin_tools.browser import tools
from xun_builtin_tools.browser.chromium import find, wants_sandbox
from xun_builtin_tools.browser.guard import check_url, local_file
from xun_builtin_tools.browser.proxy import Proxy
from xun_builtin_tools.browser.reach import NotForPages, Reach, place_of
from xun_policies.errors import PathOutsideWorkspace

NAMES = [
    "browser_page",
    "browser_resize",
    "browser_snapshot",
    "browser_interact",
    "browser_evaluate",
    "browser_logs",
    "browser_screenshot",
]


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_group_is_deferred_and_only_the_picture_needs_vision():
    box = ToolBox().with_defaults("browser")
    assert box.list_tools_json() == []
    assert [tool.__name__ for tool in tools()] == NAMES == [tool.name for tool in box.deferred()]
    assert all(tool.attr.search_hint and tool.attr.sequential for tool in box.deferred())
    assert [t.name for t in box.deferred() if t.attr.required_capabilities] == ["browser_screenshot"]
    assert box.search("click a button")[0].name == "browser_interact"


def test_the_page_of_the_docs_names_each_tool_with_its_arguments():
    page = (Path(__file__).parents[4] / "docs" / "browser.md").read_text("utf-8")
    for tool in tools():
        [row] = [line for line in page.splitlines() if line.startswith(f"| `{tool.__name__}(")]
        shown = row.split("(", 1)[1].split(")`", 1)[0].split(", ")
        named = [name for name in inspect.signature(tool).parameters if name != "ctx"]
        assert [item.partition("=")[0] for item in shown] == named


def test_a_missing_driver_is_one_sentence_and_the_group_loads_without_it(tmp_path):
    code = (
        "import sys; sys.modules['playwright'] = None\n"
        "from xun import Agent, ToolBox\n"
        "box = ToolBox().with_defaults('browser')\n"
        "assert box.list_tools_json() is not None\n"
        "with Agent(toolbox=box) as agent:\n"
        "    print(agent.tool.browser_page(action='list').unwrap_err().error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "The browser tools need playwright: pip install 'playwright>=1.50,<2' pillow", (
        done.stderr
    )


def test_chromium_is_found_by_its_variable_then_in_path_then_the_drivers_own(tmp_path):
    named = program(tmp_path / "opt" / "my-chrome")
    late = program(tmp_path / "bin" / "google-chrome")
    first = program(tmp_path / "sbin" / "chromium")
    path = f"{tmp_path / 'bin'}:relative::{tmp_path / 'sbin'}"
    assert find({"CHROME": str(named), "PATH": path}, []) == str(named)
    assert find({"CHROME": "my-chrome", "PATH": path}, []) == str(first)
    assert find({"PATH": str(tmp_path / "bin")}, []) == str(late)
    assert find({"PATH": ""}, [], str(named)) == str(named)
    with pytest.raises(ToolError, match="No Chromium was found: install the chromium package"):
        find({"PATH": str(tmp_path)}, [], str(tmp_path / "none"))


def test_a_chromium_of_the_workspace_is_never_run(tmp_path):
    work = tmp_path / "work"
    own = program(work / "bin" / "chromium")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "chromium").symlink_to(own)
    environment = {"CHROME": str(own), "PATH": f"{work / 'bin'}:{tmp_path / 'links'}"}
    with pytest.raises(ToolError, match="No Chromium was found"):
        find(environment, [str(work)], str(own))
    assert find(environment, [str(tmp_path / "wor")]) == str(own)


def test_the_sandbox_is_off_for_root_only():
    assert wants_sandbox() is (os.geteuid() != 0)


@pytest.mark.parametrize(
    "url",
    [
        "chrome://version",
        "javascript:alert(1)",
        "data:text/html,x",
        "view-source:file:///",
        "VIEW-SOURCE:FILE:///",
        "ftp://a/",
    ],
)
def test_only_http_and_files_are_opened(url):
    with pytest.raises(ToolError, match="only URLs that begin with"):
        check_url(url)


def test_the_fragment_stays():
    assert check_url("HTTP://Known.test/a b#/x y".replace(" ", "%20")) == "http://known.test/a%20b#/x%20y"
    assert check_url("FILE:///a#b") == "FILE:///a#b"


def test_files_are_those_of_the_workspace(tmp_path):
    (tmp_path / "a b.html").write_text("x")
    space = Workspace(tmp_path)
    assert local_file(space, f"file://{tmp_path}/a%20b.html").path == tmp_path / "a b.html"
    for url in ("file:///etc/passwd", "FILE:///", f"file://{tmp_path}/%2e%2e/x"):
        with pytest.raises(PathOutsideWorkspace):
            local_file(space, url)
    with pytest.raises(ToolError, match="names the machine server"):
        local_file(space, "file://server/share/x")


def reach_for(agent: Agent, found: str = "93.184.216.34") -> Reach:
    reach = Reach(lambda host, port: [found])
    reach.refresh(ToolCallContext(agent, "browser_page", None))
    return reach


@pytest.fixture
def agent(tmp_path):
    config = AgentConfig(allowed_hosts=("known.test",))
    with Agent(workspace=Workspace(tmp_path), config=config) as made:
        yield made


async def test_pages_reach_public_hosts_and_no_private_address(agent):
    assert await reach_for(agent).resolved(place_of("http://other.test/")) == ["93.184.216.34"]
    for host, found in (("evil.test", "10.0.0.1"), ("evil.test", "169.254.169.254"), ("127.1", "93.184.216.34")):
        with pytest.raises(ToolError, match="is a local address"):
            await reach_for(agent, found).resolved(place_of(f"wss://{host}/"))


async def test_code_of_the_model_reaches_known_hosts_only(agent):
    reach = reach_for(agent)
    await reach.admit(place_of("https://cdn.test/x.js"))
    reach.strict = True
    await reach.resolved(place_of("https://cdn.test/y.js"))
    await reach.resolved(place_of("http://known.test/"))
    with pytest.raises(ToolError, match=r"new\.test is not reached: while a page is open"):
        await reach.admit(place_of("http://new.test/?secret"))


async def test_what_chromium_wants_for_itself_is_not_reached_unless_a_page_uses_it(agent):
    reach = reach_for(agent)
    own = place_of("https://accounts.google.com/")
    with pytest.raises(NotForPages):
        await reach.resolved(own)
    await reach.admit(own)
    assert await reach.resolved(own)


def test_a_new_host_is_asked_about(agent):
    reach = reach_for(agent)
    context = ToolCallContext(agent, "browser_page", None)
    reach.require(context, place_of("http://known.test/a"))
    with pytest.raises(Denied, match=r"nobody can be asked to approve .*new\.test"):
        reach.require(context, place_of("http://new.test/"))
    assert not reach.may_open(place_of("http://new.test/"))


def test_refusals_are_counted_also_when_old_ones_are_gone():
    reach = Reach()
    for number in range(500):
        reach.refuse(f"http://a/{number}", "no")
    assert [item.url for item in reach.since(498)] == ["http://a/498", "http://a/499"]
    assert reach.since(500) == [] and len(reach.since(0)) == 200


async def exchange(proxy: str, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(proxy.rsplit(":", 1)[1]))
    try:
        writer.write(request)
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_the_proxy_connects_to_checked_addresses_and_serves_one_request(tmp_path):
    asked: list[bytes] = []

    async def serve(reader, writer):
        asked.append(await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(3))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        with contextlib.suppress(TimeoutError):
            asked.append(await asyncio.wait_for(reader.read(100), 0.3))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    config = AgentConfig(allow_private_urls=True)
    with Agent(workspace=Workspace(tmp_path), config=config) as agent:
        reach = reach_for(agent, "127.0.0.1")
        proxy = Proxy(reach)
        at = await proxy.start()
        body = (
            b"POST http://a.test:%d/x?y HTTP/1.1\r\nHost: a.test\r\nProxy-Connection: keep\r\nContent-Length: 3\r\n\r\n"
        )
        answer = await exchange(at, body % port + b"abc" + b"GET http://b.test/ HTTP/1.1\r\n\r\n")
        assert answer.endswith(b"hi")
        assert asked[0] == b"POST /x?y HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc"
        assert b"".join(asked[1:]) == b""
        reach.strict = True
        assert await exchange(at, b"CONNECT c.test:443 HTTP/1.1\r\n\r\n") == b""
        assert await exchange(at, b"nonsense\r\n\r\n") == b""
        assert [item.url for item in reach.refused] == ["https://c.test:443/"]
        await proxy.close()
    server.close()
    await server.wait_closed()
