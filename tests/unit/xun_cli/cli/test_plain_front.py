"""The line-based front end: through a pipe, and on a real terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pexpect
import pytest

from xun.choice import ChoiceOutcome, ChoiceRequest, FileDiff, Option, WriteGrant
from xun_cli.plain_questions import grant_text, question_text, read_reply, refusal

XUN = Path(sys.executable).with_name("xun")

REPLACE = [
    {"tool_calls": [{"name": "replace", "arguments": {"path": "a.txt", "old": "foo", "new": "baz"}}]},
    {"text": "The text is **changed**."},
    {"text": "Second answer."},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "proj"
    project.mkdir()
    (project / "a.txt").write_text("hello foo\n")
    return project


def environment(folder: Path) -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("XUN_", "OPENAI_"))}
    return {**env, "XUN_HOME": str(folder.parent / "home"), "TERM": "dumb"}


def script(folder: Path, turns: Any) -> str:
    path = folder.parent / "turns.json"
    path.write_text(json.dumps(turns))
    return f"scripted:{path}"


def piped(folder: Path, typed: str, *args: str, turns: Any = REPLACE) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(XUN), "--tui", "plain", "--model", script(folder, turns), *args],
        input=typed,
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_prepared_input_is_taken_line_by_line(folder: Path) -> None:
    done = piped(folder, "please change it\n2\nmore\n/quit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "a.txt").read_text() == "hello baz\n"
    for words in ("QUESTION:", "1  Allow and grant", "2  Allow this time only", "3  Deny", "changed", "Second answer."):
        assert words in done.stdout
    assert "\x1b" not in done.stdout
    assert "\r" not in done.stdout
    assert re.search(r"xun -r \S+", done.stdout)


def test_denial_with_a_reason_reaches_the_model(folder: Path) -> None:
    done = piped(folder, "change it\n3 leave it alone\n")
    assert done.returncode == 0
    assert (folder / "a.txt").read_text() == "hello foo\n"
    store = next((folder.parent / "home" / "data" / "sessions").glob("*/*.jsonl")).read_text()
    assert "leave it alone" in store


def test_grant_covers_the_next_write(folder: Path) -> None:
    turns = [REPLACE[0], {"text": "one"}, *json.loads(json.dumps(REPLACE[:2]).replace("foo", "hello"))]
    done = piped(folder, "change it\n1a\nagain\n/policy show writes\n", turns=turns)
    assert done.stdout.count("QUESTION:") == 1
    assert (folder / "a.txt").read_text() == "baz baz\n"
    assert done.stdout.split("Paths that are written unasked")[1].startswith(" (1):")


def test_grants_are_there_after_a_resume(folder: Path) -> None:
    first = piped(folder, "change it\n1b\n/policy show\n")
    again = piped(folder, "/policy show\n", "-c")
    shown = [done.stdout.split("Commands that run unasked")[1].split("To go on")[0] for done in (first, again)]
    assert shown[0] == shown[1]
    assert "dialog" in shown[0]


def test_end_of_input_denies_and_leaves(folder: Path) -> None:
    done = piped(folder, "change it\n")
    assert done.returncode == 0
    assert (folder / "a.txt").read_text() == "hello foo\n"


def test_line_that_is_no_answer_is_not_taken_as_one(folder: Path) -> None:
    done = piped(folder, "change it\nyes\n7\n?\n2\n")
    assert done.stdout.count("Not an answer.") == 2
    assert (folder / "a.txt").read_text() == "hello baz\n"


def test_slash_command_with_a_question(folder: Path) -> None:
    done = piped(folder, "change it\n2\n/undo\n1\n/nosuchcommand\n/quit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "a.txt").read_text() == "hello foo\n"
    assert "nosuchcommand" in done.stdout


def test_new_session_in_the_same_process(folder: Path) -> None:
    done = piped(folder, "one\n3\n/clear\ntwo\n3\n/quit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((folder.parent / "home" / "data" / "sessions").glob("*/*.jsonl"))) == 2


def test_shell_line_of_the_person(folder: Path) -> None:
    done = piped(folder, "!echo typed-by-hand\n/quit\n")
    assert "typed-by-hand" in done.stdout.replace("!echo typed-by-hand", "")


def test_resumed_session_is_shown_again(folder: Path) -> None:
    piped(folder, "remember this\n3\n")
    done = piped(folder, "/quit\n", "-c")
    assert "remember this" in done.stdout
    assert "changed" in done.stdout


class Terminal:
    """xun on a terminal of its own."""

    def __init__(self, folder: Path, *args: str, **variables: str) -> None:
        environ = {**environment(folder), **variables}
        self.child = pexpect.spawn(
            str(XUN), list(args), cwd=str(folder), env=environ, encoding="utf-8", timeout=20, echo=False
        )

    def wait(self, words: str) -> str:
        """Return what came before *words*, once they are there."""
        self.child.expect_exact(words)
        return str(self.child.before)

    def type(self, line: str) -> None:
        """Type a line."""
        self.child.sendline(line)

    def code(self) -> int:
        """Wait for the end and return the exit code."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus if self.child.exitstatus is not None else -1)


def test_dumb_terminal_gets_lines(folder: Path) -> None:
    terminal = Terminal(folder, "--model", script(folder, REPLACE))
    terminal.wait("> ")
    terminal.type("change it")
    terminal.wait("3  Deny")
    time.sleep(0.6)
    terminal.type("2")
    terminal.wait("changed")
    terminal.wait("> ")
    terminal.type("/quit")
    assert terminal.code() == 0
    assert (folder / "a.txt").read_text() == "hello baz\n"


def test_the_memory_is_edited(folder: Path) -> None:
    editor = folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho EDITOR "$1"; read answer; echo "$answer" >> "$1"\n')
    editor.chmod(0o755)
    terminal = Terminal(folder, "--model", script(folder, []), EDITOR=str(editor))
    terminal.wait("> ")
    terminal.type("/memory edit")
    terminal.wait("EDITOR")
    terminal.type("Use tabs.")
    terminal.wait("the model has it as it is now.")
    terminal.wait("> ")
    terminal.type("/quit")
    assert terminal.code() == 0
    assert (folder / "AGENTS.md").read_text() == "Use tabs.\n"


def test_proposed_content_is_edited_before_it_is_written(folder: Path) -> None:
    editor = folder / "editor.sh"
    editor.write_text('#!/bin/sh\necho EDITOR $(cat "$1"); read answer; sed -i "s/baz/$answer/" "$1"\n')
    editor.chmod(0o755)
    terminal = Terminal(folder, "--model", script(folder, REPLACE), EDITOR=str(editor))
    terminal.wait("> ")
    terminal.type("change it")
    terminal.wait("e opens your editor")
    time.sleep(0.6)
    terminal.type("e")
    terminal.wait("EDITOR hello baz")
    terminal.child.sendintr()  # the editor's, not ours: this one dies of it
    terminal.wait("was stopped by signal 2: nothing was taken. The question is still open")
    terminal.type("e")
    terminal.wait("EDITOR hello baz")
    terminal.type("mine")
    terminal.wait("+hello mine")
    assert (folder / "a.txt").read_text() == "hello foo\n"
    terminal.wait("o, d.")
    time.sleep(0.6)
    terminal.type("o")
    terminal.wait("changed")
    terminal.wait("> ")
    terminal.type("/quit")
    assert terminal.code() == 0
    assert (folder / "a.txt").read_text() == "hello mine\n"


def test_second_of_two_questions_is_asked_too(folder: Path) -> None:
    write = {"tool_calls": [{"name": "bash", "arguments": {"command": "echo one > one.txt"}}]}
    calls = [{"name": "agent_run", "arguments": {"task": f"write {n}"}} for n in (1, 2)]
    turns = [{"tool_calls": calls}, write, write, {"text": "done"}, {"text": "done"}, {"text": "All done."}]
    run = piped(folder, "go on\n3 first\n3 second\n", turns=turns)
    assert run.stdout.count("QUESTION") == 2
    assert "All done." in run.stdout


def test_what_was_typed_before_a_question_never_answers_it(folder: Path) -> None:
    turns = [{"delay": 0.5, **REPLACE[0]}, *REPLACE[1:]]
    terminal = Terminal(folder, "--model", script(folder, turns))
    terminal.wait("> ")
    terminal.type("change it")
    terminal.wait("3  Deny")
    terminal.type("1")
    terminal.wait("typed before the question")
    assert (folder / "a.txt").read_text() == "hello foo\n"
    time.sleep(0.6)
    terminal.type("3")
    terminal.wait("> ")
    terminal.type("/quit")
    assert terminal.code() == 0
    assert (folder / "a.txt").read_text() == "hello foo\n"


def test_ctrl_c_interrupts_then_leaves(folder: Path) -> None:
    terminal = Terminal(folder, "--model", script(folder, [{"delay": 600, "text": "never"}]))
    terminal.wait("> ")
    terminal.type("wait")
    time.sleep(0.5)
    terminal.child.sendintr()
    terminal.wait("interrupting")
    terminal.wait("> ")
    terminal.child.sendintr()
    terminal.wait("again within 2 seconds")
    terminal.child.sendintr()
    terminal.wait("xun -r ")
    assert terminal.code() == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signal_closes_the_session(folder: Path, number: signal.Signals, code: int) -> None:
    terminal = Terminal(folder, "--model", script(folder, [{"delay": 600, "text": "never"}]))
    terminal.wait("> ")
    terminal.type("wait")
    time.sleep(0.5)
    terminal.child.kill(number)
    assert terminal.code() == code
    store = next((folder.parent / "home" / "data" / "sessions").glob("*/*.jsonl")).read_text()
    assert '"session.ended"' in store.splitlines()[-1]


def test_ctrl_d_leaves(folder: Path) -> None:
    terminal = Terminal(folder, "--model", script(folder, [{"text": "ok"}]))
    terminal.wait("> ")
    terminal.child.sendeof()
    assert terminal.code() == 0


def test_trust_question_before_anything_counts(folder: Path) -> None:
    (folder / ".xun").mkdir()
    (folder / ".xun" / "config.toml").write_text(
        '[mcp.servers.x]\ncommand = "\x1b]52;c;x"\n'.replace("\x1b", "\\u001b")
    )
    model = script(folder, [{"text": "ok"}])
    terminal = Terminal(folder, "--model", model)
    shown = terminal.wait("Use these settings? [y/N] ")
    assert "mcp.servers.x.command" in shown
    assert "\x1b" not in shown
    terminal.type("")
    terminal.wait("not trusted")
    terminal.wait("> ")
    terminal.type("/quit")
    assert terminal.code() == 0
    again = Terminal(folder, "--model", model)
    assert "Use these settings?" not in again.wait("> ")
    again.type("/quit")
    again.code()
    (folder / ".xun" / "config.toml").write_text('[mcp.servers.x]\ncommand = "other"\n')
    changed = Terminal(folder, "--model", model)
    assert '+ mcp.servers.x.command = "other"' in changed.wait("Use these settings? [y/N] ")
    changed.type("y")
    changed.wait("> ")
    changed.type("/quit")
    assert changed.code() == 0


def test_what_can_not_be_shown_can_not_be_trusted(folder: Path) -> None:
    (folder / ".xun").mkdir()
    padding = "".join(f"a{number} = 1\n" for number in range(60))
    (folder / ".xun" / "config.toml").write_text(padding + '[hooks]\nstart = "touch pwn"\n')
    terminal = Terminal(folder, "--model", script(folder, [{"text": "ok"}]))
    shown = terminal.wait("> ")
    assert "too many to show" in shown
    assert "Use these settings?" not in shown
    assert "not trusted" in shown
    terminal.type("/quit")
    assert terminal.code() == 0


def test_session_is_chosen_by_number(folder: Path) -> None:
    piped(folder, "the first one\n3\n")
    terminal = Terminal(folder, "-r", "--model", script(folder, [{"text": "ok"}]))
    assert "the first one" in terminal.wait("Go on with which?")
    terminal.type("9")
    terminal.wait("Type a number")
    terminal.type("1")
    terminal.wait("the first one")
    terminal.wait("> ")
    terminal.type("/quit")
    assert terminal.code() == 0


# -- questions as text --------------------------------------------------------------------------------


def request(kind: str = "write", **values: Any) -> ChoiceRequest:
    options = values.pop(
        "options", (Option("grant", "Allow and grant"), Option("once", "Once"), Option("deny", "Deny"))
    )
    return ChoiceRequest("q1", kind, values.pop("prompt", "Write?"), options, **values)  # type: ignore[arg-type]


SCOPES = ((WriteGrant("/p/a"),), (WriteGrant("/p", True),))


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("1", ChoiceOutcome("grant", grants=SCOPES[0])),
        ("1a", ChoiceOutcome("grant", grants=SCOPES[0])),
        ("1b", ChoiceOutcome("grant", grants=SCOPES[1])),
        ("1c", None),
        ("2", ChoiceOutcome("once")),
        ("2a", None),
        ("2 why", None),
        ("3", ChoiceOutcome("deny")),
        ("3 use sed ", ChoiceOutcome("deny", reason="use sed")),
        ("", None),
        ("0", None),
        ("4", None),
        ("y", None),
        ("²", None),
        ("e ls", None),
    ],
)
def test_answers_to_a_write(line: str, outcome: Any) -> None:
    assert read_reply(request(write_scopes=SCOPES, default="once"), line).outcome == outcome


def test_what_is_not_offered_can_not_be_chosen() -> None:
    options = (
        Option("grant", "Allow and grant", available=False, note="protected"),
        Option("once", "Once"),
        Option("deny", "Deny"),
    )
    asked = request(options=options)
    assert "not offered: protected" in question_text(asked, 80)
    assert read_reply(asked, "1").outcome is None


def test_content_is_edited_only_where_an_editor_can_show_it() -> None:
    asked = request(files=(FileDiff("/p/a", "update", proposed="new\n"),))
    fixed = request(files=(FileDiff("/p/a", "delete"),))
    assert read_reply(asked, "e", edits=True).edit
    assert "e opens your editor" in question_text(asked, 80, edits=True)
    assert "e opens your editor" not in question_text(asked, 80) + question_text(fixed, 80, edits=True)
    assert "needs a terminal" in read_reply(asked, "e").text
    assert "can't be edited" in read_reply(fixed, "e", edits=True).text


def test_command_can_be_replaced() -> None:
    assert read_reply(request("command"), "e ls -l").outcome == ChoiceOutcome("once", edited="ls -l")
    assert read_reply(request("command"), "e").outcome is None


def test_free_questions() -> None:
    options = (Option("a", "Alpha", "a"), Option("b", "Beta", "b"))
    asked = request("choice", options=options, default="b", allow_extra=True)
    assert read_reply(asked, "1").outcome == ChoiceOutcome("a")
    assert read_reply(asked, "beta").outcome == ChoiceOutcome("b")
    assert read_reply(asked, "").outcome == ChoiceOutcome("b")
    assert read_reply(asked, "my own").outcome == ChoiceOutcome("my own")
    assert read_reply(request("choice", options=options), "my own").outcome is None
    assert read_reply(request("choice", options=options), "").outcome is None
    assert refusal(request("confirm", options=(Option(True, "Yes"), Option(False, "No")))).choice is False
    assert refusal(request()).choice == "deny"


def test_question_shows_hidden_characters() -> None:
    text = question_text(request(prompt="Write a\u202eb\x1b[2J?", write_scopes=((WriteGrant("/p/\u200b"),),)), 80, 2)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\u200b" not in text
    assert "2 more waiting" in text
    assert grant_text(request(write_scopes=SCOPES)) == "\n     1a  /p/a\n     1b  /p and all below"


def test_the_letters_of_the_other_front_end_answer_too(folder: Path) -> None:
    denied = piped(folder, "change it\nd not yet\n")
    assert "Not an answer" not in denied.stdout and (folder / "a.txt").read_text() == "hello foo\n"
    done = piped(folder, "change it\no\n")
    assert "Not an answer" not in done.stdout and (folder / "a.txt").read_text() == "hello baz\n"
