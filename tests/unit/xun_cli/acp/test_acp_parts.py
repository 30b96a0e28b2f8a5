"""What an editor is shown and asked, part by part."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
from acp import helpers
from acp.schema import (
    AcceptElicitationResponse,
    AudioContentBlock,
    DeclineElicitationResponse,
    HttpMcpServer,
    McpServerStdio,
    ResourceContentBlock,
    SseMcpServer,
    TextResourceContents,
)

from xun.choice import DENY, GRANT, ONCE, ChoiceRequest, FileDiff, Option, WriteGrant
from xun.events import MessageCompleted, MessageDelta, Notice, ToolCompleted, ToolOutput, ToolStarted, TurnStarted
from xun_cli.acp.asking import options_of, outcome_of, tool_call_of
from xun_cli.acp.forms import form_of, outcome_of_form
from xun_cli.acp.lines import Lines
from xun_cli.acp.prompts import PromptError, read_prompt
from xun_cli.acp.servers import server_entries
from xun_cli.acp.updates import SHOWN, Updates, clipped, fenced

PERMISSION = (Option(GRANT, "Allow and grant"), Option(ONCE, "Allow this time only"), Option(DENY, "Deny"))


def write_request(path: Path, **more: object) -> ChoiceRequest:
    values: dict[str, object] = {
        "id": "q1",
        "kind": "write",
        "prompt": "Write file?",
        "options": PERMISSION,
        "tool": "replace",
        "call_id": "c1",
        "files": (FileDiff(str(path), "update", "-old\n+new\n", 1, 1, proposed="new\n"),),
        "write_scopes": ((WriteGrant(str(path)),), (WriteGrant(str(path.parent), directory=True),)),
    }
    return ChoiceRequest(**{**values, **more})  # type: ignore[arg-type]


def asking(*labels: str, default: str | None = None) -> ChoiceRequest:
    options = tuple(Option(label, label) for label in labels)
    return ChoiceRequest("q1", "choice", "Which\x1b one?", options, default, message="more", allow_extra=True)


def test_a_question_for_free_text_is_a_form_with_one_field() -> None:
    text, form = form_of(asking(), "s1")
    fields = form.requested_schema.properties or {}
    assert "\x1b" not in text and text.endswith("more") and form.session_id == "s1"
    assert list(fields) == ["answer"] and form.requested_schema.required == ["answer"]
    accept = AcceptElicitationResponse(action="accept", content={"answer": " mine "})
    assert outcome_of_form(asking(), accept).choice == "mine"


def test_a_form_offers_the_answers_and_takes_other_words() -> None:
    request = asking("red", "blue", default="blue")
    choice = (form_of(request, "s1")[1].requested_schema.properties or {})["choice"]
    assert [item.title for item in choice.one_of] == ["red", "blue"] and choice.default == "1"  # type: ignore[union-attr]
    for content, outcome in (({"choice": "0"}, "red"), ({"choice": "0", "answer": "green"}, "green")):
        assert outcome_of_form(request, AcceptElicitationResponse(action="accept", content=content)).choice == outcome


@pytest.mark.parametrize("content", [None, {}, {"choice": "2"}, {"choice": 0}, {"answer": " "}, {"answer": ["x"]}])
def test_a_form_that_says_nothing_is_a_refusal(content: dict[str, object] | None) -> None:
    outcome = outcome_of_form(asking("red"), AcceptElicitationResponse(action="accept", content=content))
    assert outcome.choice == ""
    assert outcome_of_form(asking("red"), DeclineElicitationResponse(action="decline")).choice == ""


@pytest.mark.parametrize("text", ["plain", "a ``` b", "`````", "```\nend\n````"])
def test_nothing_in_a_text_ends_its_block(text: str) -> None:
    first, *middle, last = fenced(text).split("\n")
    assert set(first) == {"`"} and first == last
    assert "\n".join(middle) == text and first not in text


def test_a_very_long_text_keeps_its_two_ends() -> None:
    text = "a" * SHOWN + "b" * SHOWN
    assert clipped("a" * SHOWN) == "a" * SHOWN
    assert clipped(text).startswith("aaa") and clipped(text).endswith("bbb")
    assert len(clipped(text)) < SHOWN + 100 and "30,000 characters more" in clipped(text)


def test_each_scope_of_a_write_is_an_answer_of_its_own(tmp_path: Path) -> None:
    request = write_request(tmp_path / "a.txt")
    options = options_of(request)
    assert [(option.option_id, option.kind) for option in options] == [
        ("0.0", "allow_always"),
        ("0.1", "allow_always"),
        ("1", "allow_once"),
        ("2", "reject_once"),
    ]
    assert options[1].name == f"Allow and grant: {tmp_path} and all below"
    assert outcome_of(request, "0.1").grants == (WriteGrant(str(tmp_path), directory=True),)
    assert outcome_of(request, "1").choice == ONCE


@pytest.mark.parametrize("answer", [None, "", "3", "0", "0.2", "0.-1", "1.0", "-1", "x"])
def test_what_was_never_offered_is_a_refusal(tmp_path: Path, answer: str | None) -> None:
    assert outcome_of(write_request(tmp_path / "a.txt"), answer).choice == DENY


def test_an_answer_that_is_not_available_is_neither_shown_nor_taken(tmp_path: Path) -> None:
    options = (Option(GRANT, "Allow and grant", available=False, note="protected"), *PERMISSION[1:])
    request = write_request(tmp_path / "a.txt", options=options)
    assert [option.option_id for option in options_of(request)] == ["1", "2"]
    assert outcome_of(request, "0.0").choice == DENY


def test_both_versions_of_a_file_go_along_where_they_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old\n")
    text, diff = tool_call_of(write_request(path)).content or []
    assert "-old" in text.content.text  # type: ignore[union-attr]
    assert (diff.old_text, diff.new_text) == ("old\n", "new\n")  # type: ignore[union-attr]
    path.write_bytes(b"\xff\xfe")
    assert len(tool_call_of(write_request(path)).content or []) == 1
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert len(tool_call_of(write_request(path)).content or []) == 1


def test_what_could_deceive_is_made_visible_in_a_question(tmp_path: Path) -> None:
    shown = tool_call_of(write_request(tmp_path / "a", prompt="Write \u202ecod.exe\x1b[2J?", files=())).title or ""
    assert "\u202e" not in shown and "\x1b" not in shown


def test_a_message_is_sent_once_streamed_or_not() -> None:
    updates = Updates("/work")
    sent = [
        *updates.of(MessageDelta(agent="main", text="Hel")),
        *updates.of(MessageDelta(agent="main", text="lo")),
        *updates.of(MessageCompleted(agent="main", text="Hello")),
        *updates.of(MessageCompleted(agent="main", text=" again")),
        *updates.of(MessageDelta(agent="scout#1", text="aside")),
        *updates.of(Notice(level="info", text="aside")),
    ]
    assert [update.content.text for update in sent] == ["Hel", "lo", " again"]  # type: ignore[union-attr]


def test_live_output_is_paced_and_a_call_of_a_sub_agent_has_its_own_id() -> None:
    now = [0.0]
    updates = Updates("/work", clock=lambda: now[0])
    (started,) = updates.of(ToolStarted(agent="scout#1", call_id="c", tool="bash", args={"command": "make"}))
    assert (started.tool_call_id, started.title, started.kind) == ("scout#1/c", "scout#1: make", "execute")  # type: ignore[union-attr]
    sent = []
    for at in range(10):
        now[0] = at / 10
        sent.append(updates.of(ToolOutput(agent="scout#1", call_id="c", text=f"line {at}\n")))
    assert [bool(item) for item in sent] == [True, False, False, True, False, False, True, False, False, True]
    assert "line 0" in sent[-1][0].content[0].content.text  # type: ignore[union-attr]
    (done,) = updates.of(ToolCompleted(agent="scout#1", call_id="c", tool="bash", result="made", content="made"))
    assert done.status == "completed" and "made" in done.content[0].content.text  # type: ignore[union-attr]
    assert updates.of(ToolOutput(agent="scout#1", call_id="c", text="late")) == []


def test_a_replay_has_the_words_of_the_person() -> None:
    (update,) = Updates("/work").replayed(TurnStarted(agent="main", input="long", shown="short"))
    assert update.session_update == "user_message_chunk" and update.content.text == "short"  # type: ignore[union-attr]


def test_files_are_named_by_their_path(tmp_path: Path) -> None:
    blocks = [
        helpers.text_block("look at "),
        ResourceContentBlock(type="resource_link", name="a", uri=f"file://{tmp_path}/a%20b.py#L7"),
        ResourceContentBlock(type="resource_link", name="b", uri="https://example.org/x"),
        helpers.resource_block(TextResourceContents(uri="file:///elsewhere/c.py", text="1 + 1")),
    ]
    message = read_prompt(blocks, tmp_path, None)
    assert message.text == "look at `a b.py:7``https://example.org/x`\n`/elsewhere/c.py`:\n```\n1 + 1\n```"
    assert message.shown == "look at `a b.py:7``https://example.org/x``/elsewhere/c.py`"
    with pytest.raises(PromptError, match="audio"):
        read_prompt([AudioContentBlock(type="audio", data="", mime_type="audio/wav")], tmp_path, None)


def test_lines_too_long_are_skipped_and_the_next_one_is_read() -> None:
    async def body() -> tuple[list[object], list[bytes]]:
        incoming, outgoing = os.pipe(), os.pipe()
        lines = await Lines.over(os.fdopen(incoming[0], "rb", 0), os.fdopen(outgoing[1], "wb", 0), limit=100)
        whole = b"[" + b" " * 5_000 + b"]\n" + json.dumps({"method": "hello"}).encode() + b"\n"
        os.write(incoming[1], whole)
        got = [await lines.receive()]
        os.close(incoming[1])
        got.append(await lines.receive())
        await lines.close()
        await asyncio.sleep(0.01)
        return got, os.read(outgoing[0], 10_000).splitlines()

    got, answers = asyncio.run(body())
    assert got == [{"method": "hello"}, None]
    assert [json.loads(line)["error"]["code"] for line in answers] == [-32600]


def test_a_command_that_printed_nothing_shows_its_head_alone() -> None:
    updates = Updates("/work")
    updates.of(ToolStarted(agent="main", call_id="c", tool="bash", args={"command": "true"}))
    result = {"stdout": "", "stderr": "", "returncode": 0, "duration": 0.1, "truncated": False}
    (done,) = updates.of(ToolCompleted(agent="main", call_id="c", tool="bash", result=result))
    text = done.content[0].content.text  # type: ignore[union-attr]
    assert "exit 0" in text and "stdout" not in text


def test_servers_of_an_editor_are_taken_whatever_their_names() -> None:
    from xun.mcp import McpServer

    entries = server_entries(
        [
            McpServerStdio(name="My Files__v2!", command="files", args=["-v"], env=[]),
            McpServerStdio(name="my files", command="", args=[], env=[]),  # what can't be used is told by the session
            HttpMcpServer(name="a" * 80, url="https://example.com/mcp", headers=[], type="http"),
            SseMcpServer(name="a" * 81, url="https://example.com/sse", headers=[], type="sse"),
            HttpMcpServer(name="42", url="https://example.com/42", headers=[], type="http"),
        ]
    )
    assert list(entries) == ["My-Files_v2", "my-files", "a" * 28, f"{'a' * 28}-2", "mcp-42"]
    assert all(McpServer(name, command=["x"]).name == name for name in entries)
    assert entries["My-Files_v2"] == {"command": "files", "args": ["-v"], "env": {}}
