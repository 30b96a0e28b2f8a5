"""A scripted piece of work through the real openai client and a local server: interactively and headless."""

from __future__ import annotations

import json

import pytest

from tests.e2e.test_demo_in_tmux import wait_for_guard, wait_until
from tests.fakes.model_server import FakeModelServer

pytestmark = [pytest.mark.e2e]


def calls(name, **arguments):
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


PATCH = """*** Begin Patch
*** Update File: calc.py
@@
 def add(a, b):
-    return a - b
+    return a + b
*** End Patch
"""

WORK = [
    calls("read_file", path="calc.py"),
    calls("grep", pattern="def add"),
    calls("apply_patch", patch=PATCH),
    calls("bash", command="python -m pytest -q"),
    {"text": "Fixed: `add` now **adds**, and the tests pass."},
]


def model(server) -> dict[str, str]:
    return {"XUN_BASE_URL": server.base_url, "XUN_API_KEY": "sk-local-test", "XUN_MODEL": "fake-model"}


def test_headless_with_allow_write_does_the_work_and_ends_0(headless, project):
    with FakeModelServer(WORK) as server:
        done = headless("-p", "make the test pass", "--allow-write", ".", **model(server))
    assert done.returncode == 0, done.stderr
    assert "Fixed" in done.stdout
    assert (project / "calc.py").read_text().endswith("return a + b\n")
    results = [
        m for request in server.requests if request.body for m in request.body["messages"] if m["role"] == "tool"
    ]
    assert any("1 passed" in m["content"] for m in results)


def test_t30_headless_json_and_stream_json_parse(headless):
    with FakeModelServer(WORK) as server:
        done = headless("-p", "make the test pass", "--allow-write", ".", "--output", "json", **model(server))
    ended = json.loads(done.stdout)
    assert ended["type"] == "session.ended" and ended["exit_code"] == 0
    with FakeModelServer(WORK) as server:
        done = headless("-p", "again", "--allow-write", ".", "--output", "stream-json", **model(server))
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0]["type"] == "session.started" and events[-1]["type"] == "session.ended"
    assert [e["seq"] for e in events] == sorted(e["seq"] for e in events)


def test_t28_t29_headless_denies_what_would_need_a_person_and_ends_4(headless, project):
    turns = [calls("bash", command="touch made"), {"text": "I was not allowed to."}]
    with FakeModelServer(turns) as server:
        done = headless("-p", "make a file", **model(server))
    assert done.returncode == 4 and not (project / "made").exists()
    assert "not allowed" in done.stdout and "enied" in done.stderr
    sent = server.requests[-1].body["messages"][-1]
    assert sent["role"] == "tool" and "no human present" in sent["content"]


def test_interactively_the_same_work_is_approved_once(pane, project):
    with FakeModelServer(WORK) as server:
        screen = pane(**model(server))
        screen.wait("fake-model")
        screen.type("make the test pass")
        screen.press("Enter")
        shown = screen.wait("Allow this time only")
        assert "+    return a + b" in shown
        wait_for_guard()
        screen.type("o")
        screen.wait("the tests pass")
        wait_until(lambda: (project / "calc.py").read_text().endswith("return a + b\n"))
        screen.type("/quit")
        screen.press("Enter")
        assert screen.exit_code() == 0


def test_interactively_an_unlisted_command_shows_its_segments(pane, project):
    turns = [calls("bash", command="ls && touch made"), {"text": "done"}]
    with FakeModelServer(turns, risk=[{"verdict": "unsure", "reason": "it makes a file"}]) as server:
        screen = pane(**model(server))
        screen.wait("fake-model")
        screen.type("go")
        screen.press("Enter")
        shown = screen.wait("Allow this time only")
        assert "touch made" in shown and "it makes a file" in shown
        wait_for_guard()
        screen.type("d")
        screen.wait("done")
        assert not (project / "made").exists()


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [(401, 3, "key"), (429, 75, ""), (500, 75, "")],
)
def test_provider_trouble_has_its_exit_code_and_one_sentence(headless, status, code, words):
    turns = [{"status": status, "body": {"error": {"message": "no"}}}] * 8
    with FakeModelServer(turns) as server:
        done = headless("-p", "hi", "--config", "provider.retries=0", **model(server))
    assert done.returncode == code, done.stderr
    assert words in done.stderr.lower() and "Traceback" not in done.stderr
    assert "sk-local-test" not in done.stderr + done.stdout


def test_no_server_is_75_and_no_model_is_3(headless):
    done = headless("-p", "hi", "--config", "provider.retries=0", XUN_BASE_URL="http://127.0.0.1:9", XUN_MODEL="m")
    assert done.returncode == 75 and "127.0.0.1:9" in done.stderr
    done = headless("-p", "hi")
    assert done.returncode == 3 and "OPENAI_API_KEY" in done.stderr and done.stdout == ""
