"""The browser tools in a real headless Chromium, against pages of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.form_site import form_site, has_chromium
from xun import Agent, AgentConfig, CancelledError, ToolBox, ToolCallContext, Workspace
from xun.tools.context import CallScope
from xun_builtin_tools.browser.paging import browser_page
from xun_builtin_tools.browser.session import Session
from xun_builtin_tools.browser.tabs import MAX_PAGES

pytest.importorskip("playwright", reason="playwright is not installed")

pytestmark = pytest.mark.skipif(not has_chromium(), reason="no Chromium is installed")


@pytest.fixture(scope="module")
def site():
    with form_site() as made:
        yield made


@pytest.fixture(scope="module")
def agent(site, tmp_path_factory):
    """One agent for all tests: a browser takes a second to start."""
    folder = tmp_path_factory.mktemp("work")
    config = AgentConfig(allowed_hosts=(f"127.0.0.1:{site.server_port}",), allow_private_urls=True)
    box = ToolBox().with_defaults("browser")
    with Agent(toolbox=box, workspace=Workspace(folder), config=config) as made:
        yield made


@pytest.fixture
def home(agent, site):
    url = f"http://127.0.0.1:{site.server_port}"
    loaded = agent.tool.browser_page(action="navigate", url=f"{url}/").unwrap()
    assert (loaded["title"], loaded["status"], loaded["url"]) == ("Form", 200, f"{url}/")
    site.asked.clear()
    return url


def failure(agent: Agent, name: str, **arguments: Any) -> str:
    return agent.toolbox.call_tool(agent, name, arguments, None).unwrap_err().error


def test_a_form_is_filled_and_sent(agent, home):
    tool = agent.tool
    tool.browser_interact(action="fill", selector="input", text="Ann").unwrap()
    tool.browser_interact(action="select", selector="select", value="Bee").unwrap()
    sent = tool.browser_interact(action="click", selector='role=button[name="Send"]').unwrap()
    assert (sent["title"], sent["url"]) == ("Done", f"{home}/done?n=Ann&s=b")
    assert "got /done" in tool.browser_snapshot(format="markdown").unwrap()["content"]


def test_keys_and_waiting(agent, home):
    tool = agent.tool
    tool.browser_interact(action="press", selector="input", key="x").unwrap()
    tool.browser_interact(action="press", key="Enter").unwrap()
    assert tool.browser_interact(action="wait", text="got /done?n=x").unwrap()["title"] == "Done"
    assert "Timeout 200ms" in failure(agent, "browser_interact", action="wait", selector="#none", timeout_ms=200)


def test_the_page_is_read_in_three_forms_and_in_parts(agent, home):
    read = agent.tool.browser_snapshot
    tree = read().unwrap()
    assert '- heading "Hello"' in tree["content"] and '- textbox "Name"' in tree["content"]
    assert read(format="html", selector="h1").unwrap()["content"] == "<h1>Hello</h1>"
    assert read(format="markdown").unwrap()["content"].startswith("# Hello")
    first = read(max_chars=10).unwrap()
    rest = read(start_char=first["next_start_char"]).unwrap()
    assert first["content"] + rest["content"] == tree["content"] and rest["next_start_char"] is None
    assert "there is none at" in failure(agent, "browser_snapshot", start_char=99_999)


def test_logs(agent, home):
    read = agent.tool.browser_logs
    assert ("log", "from the page") in [(entry["type"], entry["text"]) for entry in read().unwrap()["entries"]]
    network = read(kind="network").unwrap()["entries"]
    assert {"method": "GET", "url": f"{home}/", "type": "document", "status": 200} in network
    agent.tool.browser_interact(action="click", selector="#ask").unwrap()
    assert "false" in agent.tool.browser_snapshot(selector="#ask").unwrap()["content"]
    assert any(entry["type"] == "dialog confirm" for entry in read().unwrap()["entries"])
    assert {"text": "boom"} in read(kind="errors", clear=True).unwrap()["entries"]
    assert read(kind="errors").unwrap()["entries"] == []


def test_expressions(agent, home):
    run = agent.tool.browser_evaluate
    assert run(expression="document.title").unwrap()["value"] == "Form"
    assert run(expression="async () => ({a: [1, null]})").unwrap()["value"] == {"a": [1, None]}
    assert "ReferenceError" in failure(agent, "browser_evaluate", expression="nothing.at.all")
    assert "no JSON" in failure(agent, "browser_evaluate", expression="0 / 0")
    assert "no JSON" in failure(agent, "browser_evaluate", expression="(() => { const a = []; a.push(a); return a })()")


@pytest.mark.slow
def test_an_expression_that_never_ends_loses_its_page_only(agent, home):
    assert "did not end within 20 s" in failure(agent, "browser_evaluate", expression="(() => { for (;;); })()")
    assert agent.tool.browser_page(action="navigate", url=f"{home}/").unwrap()["title"] == "Form"


def test_code_of_the_model_gets_to_no_new_host(agent, home, site):
    elsewhere = f"localhost:{site.server_port}"
    script = f"fetch('http://{elsewhere}/secret', {{mode: 'no-cors'}}).then(() => 'sent', () => 'failed')"
    tried = agent.tool.browser_evaluate(expression=script).unwrap()
    assert tried["value"] == "failed" and tried["refused"][0]["url"] == f"http://{elsewhere}/secret"
    bounced = script.replace(elsewhere, f"127.0.0.1:{site.server_port}/to/{elsewhere}")
    assert agent.tool.browser_evaluate(expression=bounced).unwrap()["value"] == "failed"
    socket = f"new Promise(done => {{ new WebSocket('ws://{elsewhere}/secret').onerror = () => done('failed') }})"
    assert agent.tool.browser_evaluate(expression=socket).unwrap()["value"] == "failed"
    assert not [path for path in site.asked if path == "/secret"]
    # Loaded anew, the page is free again.
    agent.tool.browser_page(action="reload").unwrap()
    assert agent.tool.browser_interact(action="press", key="Tab").unwrap()["url"] == f"{home}/"


def test_links_and_redirects_to_new_hosts_are_not_shown(agent, home, site):
    stayed = agent.tool.browser_interact(action="click", selector="text=away").unwrap()
    assert stayed["url"] == f"{home}/" and "was not asked about" in stayed["refused"][-1]["reason"]
    elsewhere = f"localhost:{site.server_port}"
    assert f"approve fetching from {elsewhere}" in failure(
        agent, "browser_page", action="navigate", url=f"{home}/to/{elsewhere}/"
    )
    assert agent.tool.browser_snapshot().unwrap()["url"] == "about:blank"


def test_a_page_that_never_ends_is_closed_after_its_time(agent, home):
    told = failure(agent, "browser_page", action="navigate", url=f"{home}/loop", timeout_ms=1000)
    assert told == "Page.goto: Timeout 1000ms exceeded. The page does not respond, so it was closed."
    assert agent.tool.browser_page(action="navigate", url=f"{home}/").unwrap()["title"] == "Form"


@pytest.mark.row("sec-net-001")
def test_net_001_spellings_of_local_addresses(tmp_path, site):
    hosts = ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"]
    asked = len(site.asked)
    with Agent(toolbox=ToolBox().with_defaults("browser"), workspace=Workspace(tmp_path)) as strict:
        for host in hosts:
            url = f"http://{host}:{site.server_port}/"
            assert "is a local address" in failure(strict, "browser_page", action="navigate", url=url), host
    assert len(site.asked) == asked


@pytest.mark.row("sec-net-010")
def test_net_010_pages_that_do_not_behave(agent, home):
    tool = agent.tool
    assert "Download" in failure(agent, "browser_page", action="navigate", url=f"{home}/file")
    tool.browser_page(action="navigate", url=f"{home}/where").unwrap()
    assert tool.browser_interact(action="wait", text="refused").unwrap()["title"] == "Where"
    # Asked whether to leave, it is left.
    tool.browser_page(action="navigate", url=f"{home}/popups").unwrap()
    pages = tool.browser_page(action="list").unwrap()["pages"]
    assert 1 < len(pages) <= MAX_PAGES
    for page in pages[1:]:
        tool.browser_page(action="close", page_id=page["page_id"]).unwrap()
    told = failure(agent, "browser_page", action="navigate", url=f"{home}/alerts", timeout_ms=10_000)
    assert told.endswith("The page asked 50 questions, so it was closed.")
    assert tool.browser_page(action="navigate", url=f"{home}/#part").unwrap()["url"] == f"{home}/#part"
    assert not [path for path in Path(agent.workspace.workdir).rglob("*") if "evil" in path.name]


def test_files_of_the_workspace_only(agent, home):
    folder = Path(agent.workspace.workdir)
    (folder / "a.html").write_text(
        f"<title>Mine</title>mine<iframe src='file:///etc/hostname'></iframe><img src='{home}/i'>"
    )
    shown = agent.tool.browser_page(action="navigate", url=f"file://{folder}/a.html").unwrap()
    assert shown["title"] == "Mine" and [item["url"] for item in shown["refused"]] == ["file:///etc/hostname"]
    assert "not within" in failure(agent, "browser_page", action="navigate", url="file:///etc/passwd")
    (folder / "link.html").symlink_to("/etc/passwd")
    assert "not within" in failure(agent, "browser_page", action="navigate", url=f"file://{folder}/link.html")


def test_pages_are_opened_selected_and_closed(agent, home):
    tool = agent.tool
    new = tool.browser_page(action="new").unwrap()["page_id"]
    pages = tool.browser_page(action="list").unwrap()["pages"]
    assert len(pages) == 2 and [page["page_id"] for page in pages if page["current"]] == [new]
    tool.browser_page(action="select", page_id=pages[0]["page_id"]).unwrap()
    assert tool.browser_snapshot().unwrap()["title"] == "Form"
    left = tool.browser_page(action="close", page_id=new).unwrap()["pages"]
    assert [page["page_id"] for page in left] == [pages[0]["page_id"]]
    assert "There is no page" in failure(agent, "browser_snapshot", page_id=new)


def test_the_view_is_resized(agent, home):
    agent.tool.browser_resize(width=400, height=300).unwrap()
    assert agent.tool.browser_evaluate(expression="[innerWidth, innerHeight]").unwrap()["value"] == [400, 300]
    agent.tool.browser_resize(width=1280, height=800).unwrap()
    assert "1 to 4096" in failure(agent, "browser_resize", width=0, height=10)


def test_wrong_arguments_are_named(agent, home):
    assert failure(agent, "browser_interact", action="fill", selector="input") == "fill needs text."
    assert failure(agent, "browser_interact", action="wait") == "wait needs a selector or a text."
    assert "does not take key" in failure(agent, "browser_interact", action="click", selector="a", key="x")
    assert "navigate needs a url" in failure(agent, "browser_page", action="navigate")
    assert "timeout_ms must be" in failure(agent, "browser_page", action="reload", timeout_ms=0)
    assert "at most" in failure(agent, "browser_screenshot", selector="h1", full_page=True)


def test_a_cancelled_run_does_not_wait_for_a_page(agent, home):
    def reason() -> str | None:
        return "stop" if time.monotonic() > began + 0.5 else None

    began = time.monotonic()
    context = ToolCallContext(agent, "browser_page", None, scope=CallScope(cancelled=reason))
    with pytest.raises(CancelledError, match="stop"):
        browser_page(context, "navigate", url=f"{home}/hang")
    assert time.monotonic() - began < 15
    assert agent.tool.browser_page(action="navigate", url=f"{home}/").unwrap()["title"] == "Form"


def test_dry_runs_open_nothing(tmp_path, site):
    box = ToolBox().with_defaults("browser")
    box.dry_run = True
    config = AgentConfig(allow_private_urls=True)
    asked = len(site.asked)
    with Agent(toolbox=box, workspace=Workspace(tmp_path), config=config) as dry:
        url = f"http://127.0.0.1:{site.server_port}/"
        told = dry.tool.browser_page(action="navigate", url=url).unwrap()
        assert (told["dry_run"], told["url"], told["would_ask"]) == (True, url, True)
        assert dry.tool.browser_evaluate(expression="1").unwrap() == {"dry_run": True, "expression": "1"}
    assert len(site.asked) == asked


def test_a_saved_agent_holds_no_browser(agent, home):
    assert json.loads(json.dumps(agent.save()))


def test_private_addresses_are_refused_before_anything_starts(tmp_path, site):
    with Agent(toolbox=ToolBox().with_defaults("browser"), workspace=Workspace(tmp_path)) as strict:
        url = f"http://127.0.0.1:{site.server_port}/"
        assert "is a local address" in failure(strict, "browser_page", action="navigate", url=url)
        assert "No page is open" in failure(strict, "browser_snapshot")
        assert strict.tool.browser_page(action="list").unwrap() == {"pages": []}


def local_page(agent: Agent, name: str, text: str) -> dict[str, Any]:
    file = Path(agent.workspace.roots[0]) / name
    file.write_text(text)
    return agent.tool.browser_page(action="navigate", url=file.as_uri()).unwrap()


def test_frames_are_read_and_their_elements_are_selected_as_it_says(agent, home):
    button = "<button onclick='document.title=1'>Inside</button>"
    local_page(agent, "framed.html", f'<title>Outside</title><h1>Top</h1><iframe srcdoc="<p>x</p>{button}"></iframe>')
    content = agent.tool.browser_snapshot().unwrap()["content"]
    assert '- heading "Top"' in content and '- button "Inside"' in content
    begin = content.partition("its selectors begin with ")[2].partition("\n")[0]
    agent.tool.browser_interact(action="click", selector=f'{begin}role=button[name="Inside"]', timeout_ms=5000).unwrap()


def test_a_page_that_crashed_is_gone_and_the_next_one_loads(agent, home):
    session = Session.of(agent)
    tab = session.tabs.find(None)

    async def crash() -> None:
        from playwright.async_api import Error

        devtools = await tab.page.context.new_cdp_session(tab.page)
        with contextlib.suppress(Error, TimeoutError):
            await asyncio.wait_for(devtools.send("Page.crash"), 1)

    session.call(ToolCallContext(agent, "test", None), crash)
    assert f"The page {tab.id} crashed" in failure(agent, "browser_snapshot")
    assert agent.tool.browser_page(action="navigate", url=f"{home}/").unwrap()["title"] == "Form"


def test_what_a_page_says_is_held_in_bounds(agent, home):
    flood = "<script>document.title = 'x'.repeat(5000); for (let i = 0; i < 3000; i++) console.log(i)</script>"
    assert len(local_page(agent, "flood.html", flood)["title"]) == 300
    deadline = time.monotonic() + 10
    while not any(entry["type"] == "note" for entry in agent.tool.browser_logs().unwrap()["entries"]):
        assert time.monotonic() < deadline
    agent.tool.browser_page(action="navigate", url=f"{home}/").unwrap()
    assert any(entry["text"] == "from the page" for entry in agent.tool.browser_logs().unwrap()["entries"])
