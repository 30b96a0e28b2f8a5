"""The approval dialog as text: looked at, kept as snapshots, and held to its rules."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scripted_session import DIFF, command_request, write_request
from xun.choice import ChoiceRequest, FileDiff, Option, Risk
from xun_cli.render.approval import DialogState, approval_view, first_state, grant_words
from xun_cli.render.text import line_width, plain_lines
from xun_policies.commands import CommandGrant, CommandVerdict, Segment
from xun_policies.decision import Decision

SNAPSHOTS = Path(__file__).resolve().parents[2] / "snapshots" / "approval"
SIZES = ((80, 24), (120, 40), (40, 10))

LONG = "echo " + "a" * 3000 + "; rm -rf / ;" + "b" * 2985
MANY = "\n".join(f"echo {number}" for number in range(300))


def command(
    text: str, *parts: tuple[str, str, str], grant: str = "", refused: str = "", **changes: Any
) -> ChoiceRequest:
    """Return a question whose segments and reasons are fixed here, whatever the policy says about them."""
    segments = tuple(
        Segment(part, status, "rule", reason, "operator" if status == "ok" else "command")
        for part, status, reason in parts
    )
    grants = (CommandGrant(tuple(grant.split())),) if grant else ()
    verdict = CommandVerdict(text, Decision.ASK, segments, "", True, grants, refused)
    option = Option("grant", "Allow and grant", "g", bool(grants), refused)
    request = command_request("make", **changes)
    return replace(request, command=verdict, options=(option, *request.options[1:]))


NOT_LISTED = "not in the allowlist"
DEEP = "/proj/src/package/of/many/parts/module_with_a_long_name.py"
QUESTION = (
    "Server: Shall the server stay up after this session, or shall I stop it once the check of all pages is done?"
)
URL = "https://docs.example.org/library/http.server.html"
FETCH = (
    Option("grant", "Allow and grant docs.example.org for this session", "g"),
    Option("once", "Allow this time only", "o"),
    Option("deny", "Deny", "d"),
)


def requests() -> dict[str, tuple[ChoiceRequest, dict[str, Any]]]:
    unsure = Risk("unsure", "Installs packages from the network; writes out.txt.", 1.8)
    reject = Risk("reject", "Deletes the home folder.", 0.9)
    failed = Risk("unsure", "", 30.0, failed=True)
    compound = command(
        "pip install -r requirements.txt && python -m pytest -q > out.txt",
        ("pip install -r requirements.txt", "ask", NOT_LISTED),
        ("&&", "ok", "operator"),
        ("python -m pytest -q", "allow", 'built-in prefix "python -m pytest"'),
        ("> out.txt", "ask", "redirection; only /dev/null forms are free"),
        refused="a redirection cannot be granted",
        risk=unsure,
    )
    hidden = "rm -rf build\r\x1b[2Kls\u202e"
    spaces = "ls" + " " * 400 + "; curl x"
    binary = FileDiff("/proj/logo.png", "update", "", note="binary, 1,204 -> 2,408 bytes")
    two = (FileDiff("/proj/a.py", "update", DIFF, 2, 1), FileDiff("/proj/old.py", "delete", "@@ -1 +0,0 @@\n-x", 0, 1))
    options = (Option("a", "SQLite", note="one file"), Option("b", "PostgreSQL"))
    npm = command("npm test -- --watch", ("npm test -- --watch", "ask", NOT_LISTED), grant="npm test")
    home = {"risk": reject, "agent": "reviewer#2", "default": "deny"}
    parts = [("echo " + "a" * 3000, "allow", "built in"), (";", "ok", ""), ("rm -rf /", "ask", NOT_LISTED)]
    echoes = [(f"echo {number}", "allow", "built in") for number in range(300)]
    return {
        "command": (compound, {}),
        "command-grant": (npm, {"selected": 0, "waiting": 2}),
        "command-reject": (command("rm -rf ~", ("rm -rf ~", "ask", "~ is not literal"), refused="~", **home), {}),
        "command-assessor-failed": (command("make", ("make", "ask", NOT_LISTED), grant="make", risk=failed), {}),
        "command-hidden": (command(hidden, (hidden, "ask", "a control character"), refused="a control character"), {}),
        "command-spaces": (command(spaces, ("ls", "allow", "built in"), ("; curl x", "ask", NOT_LISTED)), {}),
        "command-lookalike": (command("сurl http://x；", ("сurl http://x；", "ask", "not plain ASCII")), {}),
        "command-long": (command(LONG, *parts, refused="rm is not in the allowlist"), {}),
        "command-lines": (command(MANY, *echoes, refused="several lines cannot be granted"), {}),
        "write": (write_request(), {}),
        "write-scope": (write_request(), {"selected": 0, "scope": 1}),
        "write-long": (write_request(diff=long_diff()), {}),
        "write-full": (write_request(diff=long_diff()), {"view": "full", "scroll": 20}),
        "write-binary": (write_request(files=(binary,)), {}),
        "write-two": (write_request(files=two), {}),
        "write-reason": (write_request(), {"selected": 2, "reason": "keep the old name"}),
        "write-anew": (write_request(files=(FileDiff("/proj/a.py", "update", anew(), 40, 40),)), {}),
        "write-deep": (write_request(files=(FileDiff(DEEP, "update", DIFF, 2, 1),)), {}),
        "command-tight": (tight(unsure), {}),
        "command-open": (command("make", ("make", "ask", NOT_LISTED), grant="make", held="none"), {}),
        "choice-long": (ChoiceRequest("q", "choice", QUESTION, options[:1], agent="helper#1"), {}),
        "fetch": (ChoiceRequest("q", "choice", f"Fetch {URL}?", FETCH), {}),
        "choice": (ChoiceRequest("q", "choice", "Which database?", options, allow_extra=True), {}),
        "waiting": (write_request(), {"focused": False, "waiting": 1}),
    }


def tight(risk: Risk) -> ChoiceRequest:
    """Return a command of so many parts that they don't all fit, only the last of which is not allowed."""
    greps = [(f"grep -c word{number} notes.txt", "allow", "built in") for number in range(30)]
    parts = [part for item in greps for part in (item, ("&&", "ok", "operator"))]
    text = " && ".join([*(item[0] for item in greps), "curl http://x"])
    return command(text, *parts, ("curl http://x", "ask", NOT_LISTED), risk=risk, held="bubblewrap+network")


def anew(more: str = "") -> str:
    """Return the diff of a file in which every line is another one."""
    gone = [f"-old line {number}" for number in range(1, 41)]
    return "\n".join(["@@ -1,40 +1,40 @@", *gone, *(f"+new line {number}{more}" for number in range(1, 41))])


def long_diff() -> str:
    return "@@ -1,60 +1,60 @@\n" + "\n".join(f" line {number}" for number in range(1, 61))


def drawn(name: str, columns: int, rows: int) -> str:
    request, changes = requests()[name]
    state = replace(first_state(request), **changes)
    return plain_lines(approval_view(request, columns, rows - 3, state)) + "\n"


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", requests())
def test_snapshot(name: str, size: tuple[int, int]) -> None:
    path = SNAPSHOTS / f"{name}-{size[0]}x{size[1]}.txt"
    shown = drawn(name, *size)
    if os.environ.get("XUN_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown, encoding="utf-8")
    assert shown == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", requests())
@pytest.mark.parametrize("size", [(30, 8), (40, 10), (50, 9), (80, 24), (200, 60)])
def test_always_fits_and_always_shows_the_answers(name: str, size: tuple[int, int]) -> None:
    request, changes = requests()[name]
    state = replace(first_state(request), **changes)
    height = size[1] - 2
    lines = approval_view(request, size[0], height, state)
    assert len(lines) <= height
    assert all(line_width(line) <= size[0] for line in lines)
    text = plain_lines(lines).lower()
    if state.focused and request.kind != "choice":
        assert "grant" in text and "deny" in text and ("this time" in text or "once" in text)


@pytest.mark.parametrize("size", [(40, 24), (80, 24), (120, 40)])
def test_what_is_decided_about_is_seen_when_not_all_fits(size: tuple[int, int]) -> None:
    whole, shown = drawn("write-anew", *size), drawn("command-tight", *size)
    assert "old line 1" in whole and "new line 1" in whole
    assert "curl http://x" in shown and "Installs packages" in shown and NOT_LISTED in shown


def test_what_comes_is_seen_also_where_its_lines_are_folded() -> None:
    file = FileDiff("/proj/a.py", "update", anew(" and words enough for a second row"), 40, 40)
    request = write_request(files=(file,))
    shown = plain_lines(approval_view(request, 40, 21, first_state(request)))
    assert "old line 1" in shown and "new line 1" in shown


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_a_long_question_is_there_once_and_its_answers_are_whole(columns: int) -> None:
    for name in ("choice-long", "fetch"):
        request = requests()[name][0]
        rows = plain_lines(approval_view(request, columns, 30, first_state(request))).split("\n")
        text = re.sub(r"[\s│┌└─]", "", "".join(rows))
        assert text.count(re.sub(r"\s", "", request.prompt)) == 1
        assert "…" not in text and all(re.sub(r"\s", "", option.label) in text for option in request.options)


def test_hidden_lines_are_counted_without_the_rows_that_count() -> None:
    request = requests()["write-anew"][0]
    shown = plain_lines(approval_view(request, 80, 21, first_state(request)))
    seen = len(re.findall(r"(old|new) line \d+", shown)) + shown.count("@@ -1")
    hidden = int(re.search(r"… (\d+) of 81 lines hidden", shown)[1])  # type: ignore[index]
    assert seen + hidden == 81


@pytest.mark.parametrize(
    ("held", "columns", "said"),
    [
        ("bubblewrap+network", 80, "in /proj · bubblewrap, with network"),
        ("bubblewrap", 80, "in /proj · bubblewrap, no network"),
        ("landlock+machine", 80, "in /proj · landlock, read-only, with network"),
        ("none", 80, "in /proj · no sandbox"),
        ("outside", 80, "in /proj · outside the sandbox"),
        ("", 80, "in /proj"),
    ],
)
def test_a_command_says_where_it_runs_and_behind_what(held: str, columns: int, said: str) -> None:
    request = command("make", ("make", "ask", NOT_LISTED), grant="make", held=held)
    rows = plain_lines(approval_view(request, columns, 20, first_state(request))).split("\n")
    assert f"│ {said}" in rows


def test_three_answers_in_order_and_the_preselection() -> None:
    request = command_request("npm test")
    rows = plain_lines(approval_view(request, 80, 20, first_state(request))).split("\n")
    answers = [row[2:6].strip(" ▸") for row in rows if "Allow" in row or "Deny" in row]
    assert [row[0] for row in answers] == ["g", "o", "d"]
    assert request.options[first_state(request).selected].value == "once"
    rejected = command_request("rm -rf ~", risk=Risk("reject", "x", 1.0))
    assert rejected.options[first_state(rejected).selected].value == "deny"


def test_grant_is_never_preselected() -> None:
    request = write_request(default="grant")
    assert request.options[first_state(request).selected].value == "deny"


def test_a_confirmation_without_a_default_preselects_no() -> None:
    request = ChoiceRequest("q", "confirm", "Sure?", (Option(True, "Yes", "y"), Option(False, "No", "n")))
    assert first_state(request).selected == 1


def test_a_command_that_came_without_its_parts_is_still_shown() -> None:
    request = replace(command_request("make"), command=None, prompt="Run make?")
    assert "Run make?" in plain_lines(approval_view(request, 80, 20, first_state(request)))


def test_hidden_characters_preselect_deny_and_switch_the_grant_off() -> None:
    request = write_request(files=(FileDiff("/proj/a\u202eb", "update", DIFF),))
    assert request.options[first_state(request).selected].value == "deny"
    assert "not offered: hidden characters" in plain_lines(approval_view(request, 80, 20, first_state(request)))


def test_small_dialog_shows_what_changes_before_what_stays() -> None:
    diff = "@@ -1,7 +1,7 @@\n one\n two\n three\n-old\n+new\n four\n five\n six\n"
    request = write_request(diff=diff)
    small = plain_lines(approval_view(request, 40, 8, first_state(request)))
    assert "4 -old\n4 +new\n… 7 of 9 lines hidden, Ctrl-E" in small
    scrolled_on = plain_lines(approval_view(request, 40, 8, replace(first_state(request), scroll=1)))
    assert "1  one\n" in scrolled_on and "6 of 9 lines hidden" in scrolled_on


def test_explanation_of_a_write_says_why_it_is_asked_about() -> None:
    state = DialogState(view="explain")
    assert "permission that covers its path" in plain_lines(approval_view(write_request(), 100, 30, state))
    protected = (FileDiff("/proj/.git/config", "update", DIFF, protected=True),)
    assert "permission that" not in plain_lines(approval_view(write_request(files=protected), 100, 30, state))


def test_hints_of_a_small_dialog_name_what_the_rest_does_not() -> None:
    file = FileDiff("/proj/src/app.py", "update", DIFF, 2, 1, proposed="x")
    state = replace(first_state(write_request(files=(file,))), edits=True)
    hint = plain_lines(approval_view(write_request(files=(file,)), 40, 12, state)).splitlines()[-1]
    assert hint == "e edit · ? explain · Esc denies"


@pytest.mark.parametrize("text", [LONG, MANY])
def test_nothing_is_hidden_without_a_count_and_all_is_reachable(text: str) -> None:
    request = command_request(text)
    state = first_state(request)
    shown = plain_lines(approval_view(request, 80, 20, state))
    assert "more lines of the command, Ctrl-E shows all" in shown and "lines hidden" in shown
    seen = ""
    for scroll in range(0, 400, 5):
        seen += plain_lines(approval_view(request, 80, 20, replace(state, view="full", scroll=scroll)))
    assert "rm -rf /" in seen if text is LONG else all(f"echo {number}⏎" in seen for number in range(299))


def test_grant_words_say_exactly_what_is_granted() -> None:
    assert grant_words(write_request(), DialogState()) == "src/app.py"
    assert grant_words(write_request(), DialogState(scope=1)) == "src/ and all below"
    assert grant_words(write_request(), DialogState(scope=2)) == "all of this folder"
    request = command_request("make install")
    assert grant_words(request, DialogState()) == ", ".join(f"{g.text} …" for g in request.command.grants)


def test_the_explanation_is_that_of_the_policy() -> None:
    request = command_request("git diff | make install")
    assert request.command is not None
    shown = plain_lines(approval_view(request, 80, 30, replace(first_state(request), view="explain")))
    assert "explained: Run this command?" in shown
    for row in request.command.explain(78).split("\n"):
        assert row.strip()[:40] in shown


def test_no_frame_below_fifty_columns() -> None:
    request = write_request()
    assert "│" not in plain_lines(approval_view(request, 40, 14, first_state(request)))


def test_a_diff_side_by_side_on_a_wide_terminal() -> None:
    request = write_request()
    shown = plain_lines(approval_view(request, 150, 24, replace(first_state(request), split=True)))
    assert "print('old')" in shown and " │ 2 +print('new')" in shown and "s one column" in shown
    narrow = plain_lines(approval_view(request, 100, 24, replace(first_state(request), split=True)))
    assert " │ 2 +print('new')" not in narrow, "the terminal was made narrower"


def test_the_line_of_a_waiting_command_names_the_command() -> None:
    state = DialogState(focused=False)
    assert plain_lines(approval_view(command_request("make all"), 80, 1, state)).endswith("Tab to answer: run make all")
    hidden = plain_lines(approval_view(command_request("ls\x1b[2J"), 80, 1, state))
    assert "run ls<U+001B>[2J" in hidden


def test_rows_beyond_nine_show_no_key_that_would_choose_another() -> None:
    options = tuple(Option(str(number), f"answer {number}") for number in range(1, 13))
    request = ChoiceRequest(id="r", kind="choice", prompt="Which?", options=options)
    shown = plain_lines(approval_view(request, 80, 40, DialogState()))
    assert "9  answer 9\n" in shown and "1  answer 1\n" in shown
    assert not re.search(r"\d+  answer 1[0-2]", shown) and "answer 12" in shown


def test_a_line_end_that_is_a_segment_can_be_seen() -> None:
    request = command("ls\nrm x", ("ls", "allow", ""), ("\n", "ask", "a line end between commands"))
    assert re.search(r"2 ⏎ +✗ a line end", plain_lines(approval_view(request, 80, 24, DialogState())))


def test_a_grant_to_a_sub_agent_is_not_called_one_for_the_session() -> None:
    for agent, span in (("main", "for this session: "), ("helper#1", "for this sub-agent: ")):
        request = command("make all", ("make all", "ask", NOT_LISTED), grant="make", agent=agent)
        assert f"{span}make" in plain_lines(approval_view(request, 80, 24, DialogState()))


def test_why_a_write_cannot_be_granted_is_said_once() -> None:
    note = ".git/hooks/x may run programs later and is never granted"
    options = (Option("grant", "Allow and grant", "g", False, note), *write_request().options[1:])
    request = replace(write_request(), options=options, message=note)
    assert plain_lines(approval_view(request, 120, 30, DialogState())).count("never granted") == 1
    state = DialogState(view="explain")
    assert "Allow and grant: what the row names" in plain_lines(approval_view(write_request(), 120, 30, state))
