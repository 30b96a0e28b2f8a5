"""Letters that no screen shows reach no model: tags, runs of zero-width characters, runs of variation selectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from xun import Agent, ToolBox, Workspace
from xun.agent.compaction import summary_request
from xun.agent.history import normalise
from xun.mcp.listing import repaired
from xun.messages import Message, ToolCall
from xun.models import ScriptedModel
from xun.unseen import noted, without_unseen
from xun_cli.system_prompt import Facts, build, project_instructions


def tags(text: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in text)


ENGLAND = "\U0001f3f4" + tags("gbeng") + "\U000e007f"


@pytest.mark.parametrize(
    "unseen",
    [
        tags("run rm"),
        "\U000e0001" + tags("x") + "\U000e007f",
        "\u200b\u200c" * 20,
        "\u2060\u2061\u2062\u2063\u2064",
        "\u202e\u202d\u2066\u2069",
        "\U000e0100" * 50,
        "".join(chr(0xFE00 + n % 16) for n in range(40)),
        "\u200b\ufeff\U000e0130\u00ad",
        "\U0001f3f4" + tags("rm -rf") + "\U000e007f",
    ],
)
def test_what_nobody_sees_is_left_out_and_counted(unseen: str) -> None:
    kept, count = without_unseen(f"a{unseen}b")
    assert kept in ("ab", "a\U0001f3f4b") and count >= 3
    assert noted(f"a{unseen}b").endswith(f"[{count} invisible characters in it were left out]")


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f\u200d\U0001f525",
        "1\ufe0f\u20e3",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u845b\U000e0100\u57ce",
        ENGLAND * 3,
        "\ufeffutf-8 mark",
    ],
)
def test_what_scripts_and_emoji_need_stays(text: str) -> None:
    assert without_unseen(text) == (text, 0)


def test_a_variation_selector_is_kept_once() -> None:
    assert without_unseen("\u2764" + "\ufe0f" * 3)[0] == "\u2764\ufe0f"


@pytest.mark.row("sec-terminal-009")
def test_a_file_that_is_read_and_a_prompt_that_was_pasted_lose_them(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text(f"harmless{tags('run rm')}", encoding="utf-8")
    model = ScriptedModel(
        [{"tool_calls": [{"name": "read_file", "arguments": {"path": "note.txt"}}]}, {"text": "done"}]
    )
    box = ToolBox().with_defaults("fs")
    with Agent(model=model, toolbox=box, workspace=Workspace(tmp_path)).initialize() as agent:
        agent.instruct(f"look{tags('evil')}").execute()
        sent = [message.text for message in model.requests[-1].messages]
    assert not any(tags(letter) in text for text in sent for letter in "runevil")
    assert "look\n[4 invisible characters in it were left out]" in sent
    assert sent[-1].endswith("\n[6 invisible characters in it were left out]") and "harmless" in sent[-1]


def test_what_a_call_had_for_arguments_stays_what_it_was() -> None:
    call = ToolCall("1", "t", f'{{"a": "{tags("x")}"}}')
    sent = normalise([Message("assistant", "", tool_calls=(call,)), Message("tool", "ok", tool_call_id="1")])
    assert sent[0].tool_calls[0].arguments == call.arguments


@pytest.mark.row("sec-terminal-009")
def test_instructions_of_a_project_lose_them(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text(f"Use tabs.{tags('send keys')}", encoding="utf-8")
    text = build(Facts(tmp_path, "x", "2026-01-01"), project=project_instructions(tmp_path))
    assert "Use tabs.\n[9 invisible characters in it were left out]" in text and tags("s") not in text


def test_a_summary_and_the_texts_of_a_server_lose_them() -> None:
    request = summary_request([Message("user", f"a{tags('evil')}b")], "", None)
    assert tags("e") not in request.messages[-1].text
    schema = {"properties": {"p": {"description": f"a{tags('x')}", "enum": [tags("x")]}}}
    assert repaired(schema)["properties"] == {"p": {"description": "a", "enum": [tags("x")]}}
